package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// referenceReader looks up what a request refers to.
type referenceReader interface {
	clusterExists(ctx context.Context, namespace, name string) (bool, error)
	// secretType is empty when there is no such Secret.
	secretType(ctx context.Context, namespace, name string) (corev1.SecretType, error)
}

func (h *reclaims) checkReferences(ctx context.Context, namespace string, reclaim *MachineReclaim) field.ErrorList {
	var errs field.ErrorList

	spec := field.NewPath("spec")

	if reference := reclaim.Spec.ClusterRef; reference != nil {
		path := spec.Child("clusterRef", "name")

		switch exists, err := h.references.clusterExists(ctx, namespace, reference.Name); {
		case err != nil:
			errs = append(errs, field.InternalError(path, err))
		case !exists:
			errs = append(errs, field.NotFound(path, reference.Name))
		}
	}

	if reference := reclaim.Spec.CredentialSecretRef; reference != nil {
		path := spec.Child("credentialSecretRef", "name")

		switch kind, err := h.references.secretType(ctx, namespace, reference.Name); {
		case err != nil:
			errs = append(errs, field.InternalError(path, err))
		case kind == "":
			errs = append(errs, field.NotFound(path, reference.Name))
		case kind != talosconfigSecretType:
			errs = append(errs, field.Invalid(path, reference.Name, "the Secret must have type "+talosconfigSecretType))
		}
	}

	return errs
}

// everything is the stub beside everybody: whatever is referred to exists.
type everything struct{}

func (everything) clusterExists(context.Context, string, string) (bool, error) { return true, nil }

func (everything) secretType(context.Context, string, string) (corev1.SecretType, error) {
	return talosconfigSecretType, nil
}

// clusterReader reads clusters from the cache (their metadata only) and Secrets live: a cache of Secrets would hold
// keys that nobody asked about.
type clusterReader struct {
	client client.Client
}

func (r clusterReader) clusterExists(ctx context.Context, namespace, name string) (bool, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(clusterKind)

	err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found)

	return err == nil, client.IgnoreNotFound(err)
}

func (r clusterReader) secretType(ctx context.Context, namespace, name string) (corev1.SecretType, error) {
	found := &corev1.Secret{}

	err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found)
	if apierrors.IsNotFound(err) {
		return "", nil
	}

	return found.Type, err
}
