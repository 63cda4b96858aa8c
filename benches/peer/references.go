package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// referenceReader looks up what a request refers to.
type referenceReader interface {
	// cluster is nil when there is none of that name.
	cluster(ctx context.Context, namespace, name string) (*TalosCluster, error)
	clusters(ctx context.Context, namespace string) ([]TalosCluster, error)
	machines(ctx context.Context, namespace string) ([]TalosMachine, error)
	// operations of a cluster.
	operations(ctx context.Context, namespace, cluster string) ([]TalosOperation, error)
	storages(ctx context.Context, namespace string) ([]TalosStorage, error)
	// bundle reads the secrets bundle in a Secret, and returns the cluster's ID.
	bundle(ctx context.Context, namespace, name string) (string, error)
	// secretType is empty when there is no such Secret.
	secretType(ctx context.Context, namespace, name string) (corev1.SecretType, error)
	// unfinished finds a reclaim that has not ended and of which clashes is true; nil when there is none.
	unfinished(ctx context.Context, namespace string, clashes func(*MachineReclaim) bool) (*MachineReclaim, error)
}

func (h *reclaims) checkReferences(ctx context.Context, namespace string, old, reclaim *MachineReclaim) field.ErrorList {
	var errs field.ErrorList

	if reference := reclaim.Spec.ClusterRef; reference != nil {
		_, errs = h.clusterOf(ctx, *reference)
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

// clusterReader reads from the cache what the controller's account may watch, and asks the API server again before anything
// is refused for a cluster or a reclaim: a cache may lag behind whoever just created or ended an object. Secrets are read
// live: a cache of them would hold keys that nobody asked about.
type clusterReader struct {
	cached client.Reader
	live   client.Reader
}

func (r clusterReader) cluster(ctx context.Context, namespace, name string) (*TalosCluster, error) {
	for _, reader := range [...]client.Reader{r.cached, r.live} {
		found := &TalosCluster{}

		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found, client.UnsafeDisableDeepCopy)
		if err == nil {
			return found, nil
		}

		if !apierrors.IsNotFound(err) {
			return nil, err
		}
	}

	return nil, nil
}

func (r clusterReader) clusters(ctx context.Context, namespace string) ([]TalosCluster, error) {
	return listed[TalosCluster](ctx, r.cached, namespace, client.UnsafeDisableDeepCopy)
}

func (r clusterReader) machines(ctx context.Context, namespace string) ([]TalosMachine, error) {
	return listed[TalosMachine](ctx, r.cached, namespace, client.UnsafeDisableDeepCopy)
}

func (r clusterReader) operations(ctx context.Context, namespace, cluster string) ([]TalosOperation, error) {
	return listed[TalosOperation](ctx, r.live, namespace, client.MatchingFields{"spec.clusterRef.name": cluster})
}

func (r clusterReader) storages(ctx context.Context, namespace string) ([]TalosStorage, error) {
	return listed[TalosStorage](ctx, r.live, namespace)
}

func listed[O any](ctx context.Context, reader client.Reader, namespace string, options ...client.ListOption) ([]O, error) {
	found := &list[O]{}
	err := reader.List(ctx, found, append(options, client.InNamespace(namespace))...)

	return found.Items, err
}

func (r clusterReader) bundle(ctx context.Context, namespace, name string) (string, error) {
	found := &corev1.Secret{}
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found); err != nil {
		return "", err
	}

	text, there := found.Data["bundle"]
	if !there {
		return "", errNoBundle
	}

	return parseBundle(text)
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
