package main

import (
	"context"
	"fmt"

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
	// unfinished finds a reclaim that has not ended and of which clashes is true; nil when there is none.
	unfinished(ctx context.Context, namespace string, clashes func(*MachineReclaim) bool) (*MachineReclaim, error)
}

func (h *reclaims) checkReferences(ctx context.Context, namespace string, old, reclaim *MachineReclaim) field.ErrorList {
	var errs field.ErrorList

	if reference := reclaim.Spec.ClusterRef; reference != nil {
		path := specPath.Child("clusterRef", "name")

		switch exists, err := h.references.clusterExists(ctx, namespace, reference.Name); {
		case err != nil:
			errs = append(errs, field.InternalError(path, err))
		case !exists:
			errs = append(errs, field.NotFound(path, reference.Name))
		}
	}

	if reference := reclaim.Spec.CredentialSecretRef; reference != nil {
		path := specPath.Child("credentialSecretRef", "name")

		switch kind, err := h.references.secretType(ctx, namespace, reference.Name); {
		case err != nil:
			errs = append(errs, field.InternalError(path, err))
		case kind == "":
			errs = append(errs, field.NotFound(path, reference.Name))
		case kind != talosconfigSecretType:
			errs = append(errs, field.Invalid(path, reference.Name, "the Secret must have type "+talosconfigSecretType))
		}
	}

	return append(errs, h.checkConflict(ctx, namespace, old, reclaim)...)
}

// checkConflict: one machine, one actor. A new request may not have the address of an unfinished one, and a consent may
// not be to a machine that another one acts on.
func (h *reclaims) checkConflict(ctx context.Context, namespace string, old, reclaim *MachineReclaim) field.ErrorList {
	path, value := specPath.Child("address"), reclaim.Spec.Address

	var clashes func(*MachineReclaim) bool

	if old == nil {
		address, _ := parseAddress(reclaim.Spec.Address)
		clashes = func(other *MachineReclaim) bool {
			theirs, err := parseAddress(other.Spec.Address)

			return err == nil && theirs == address
		}
	} else {
		if reclaim.Spec.ConfirmUUID == nil || equal(old.Spec.ConfirmUUID, reclaim.Spec.ConfirmUUID) {
			return nil
		}

		path, value = specPath.Child("confirmUUID"), *reclaim.Spec.ConfirmUUID
		typed, _ := parseUUID(value)
		clashes = func(other *MachineReclaim) bool {
			machine, known := other.inspected()

			return known && other.consented() && typed.sameBoard(machine)
		}
	}

	switch other, err := h.references.unfinished(ctx, namespace, func(other *MachineReclaim) bool {
		return other.Name != reclaim.Name && clashes(other)
	}); {
	case err != nil:
		return field.ErrorList{field.InternalError(path, err)}
	case other != nil:
		duplicate := field.Duplicate(path, value)
		duplicate.Detail = fmt.Sprintf("MachineReclaim %q has not ended; wait for it, or end it with kubectl delete machinereclaim %s", other.Name, other.Name)

		return field.ErrorList{duplicate}
	default:
		return nil
	}
}

// everything is the stub beside everybody: whatever is referred to exists, and nothing else does.
type everything struct{}

func (everything) clusterExists(context.Context, string, string) (bool, error) { return true, nil }

func (everything) secretType(context.Context, string, string) (corev1.SecretType, error) {
	return talosconfigSecretType, nil
}

func (everything) unfinished(context.Context, string, func(*MachineReclaim) bool) (*MachineReclaim, error) {
	return nil, nil
}

// clusterReader reads clusters (their metadata only) and reclaims from the cache, and asks the API server again before
// anything is refused for it: a cache may lag behind whoever just created or ended an object. Secrets are read live: a
// cache of them would hold keys that nobody asked about.
type clusterReader struct {
	cached client.Reader
	live   client.Reader
}

func (r clusterReader) clusterExists(ctx context.Context, namespace, name string) (bool, error) {
	for _, reader := range [...]client.Reader{r.cached, r.live} {
		found := &metav1.PartialObjectMetadata{}
		found.SetGroupVersionKind(clusterKind)

		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found)
		if !apierrors.IsNotFound(err) {
			return err == nil, err
		}
	}

	return false, nil
}

func (r clusterReader) secretType(ctx context.Context, namespace, name string) (corev1.SecretType, error) {
	found := &corev1.Secret{}

	err := r.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found)
	if apierrors.IsNotFound(err) {
		return "", nil
	}

	return found.Type, err
}

func (r clusterReader) unfinished(ctx context.Context, namespace string, clashes func(*MachineReclaim) bool) (*MachineReclaim, error) {
	list := &MachineReclaimList{}
	if err := r.cached.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}

	for i := range list.Items {
		if other := &list.Items[i]; other.ended() || !clashes(other) {
			continue
		}

		fresh := &MachineReclaim{}

		err := r.live.Get(ctx, client.ObjectKeyFromObject(&list.Items[i]), fresh)
		if apierrors.IsNotFound(err) {
			continue
		}

		if err != nil {
			return nil, err
		}

		if !fresh.ended() && clashes(fresh) {
			return fresh, nil
		}
	}

	return nil, nil
}
