package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// asks is what the rules of every kind need.
type asks struct {
	decoder    admission.Decoder
	access     accessReviewer
	references referenceReader
	namespace  string // the one that objects are read in
	local      bool   // loopback and link-local addresses may be dialled
}

// rules are those of a creation, for the kinds beside MachineReclaim. Only creations are measured, so changes have none.
type rules interface {
	// needs says what the caller has to be allowed for the object called name.
	needs(name string) []need
	// fill says what admission fills into the spec.
	fill(ctx context.Context, a *asks) ([]jsonpatch.JsonPatchOperation, error)
	// fields looks at the object alone, and returns every error at once.
	fields(a *asks) field.ErrorList
	// lookUp looks at what the object called name refers to, and says what is legal and probably not meant.
	lookUp(ctx context.Context, a *asks, name string) (errs field.ErrorList, warnings []string)
	// audit says what the audit log shall keep.
	audit() map[string]string
}

// plain is for kinds that need no verb and have nothing filled in.
type plain struct{}

func (plain) needs(string) []need { return nil }

func (plain) fill(context.Context, *asks) ([]jsonpatch.JsonPatchOperation, error) { return nil, nil }

// need is something that the caller has to be allowed.
type need struct{ verb, group, resource, name, role string }

// creations judges the creations of one kind, whose spec is S.
type creations[S, T any, R interface {
	*S
	rules
}] struct {
	*asks
	kind schema.GroupKind
}

// judge answers for the reviews of one resource.
type judge interface {
	mutate(ctx context.Context, request admission.Request) admission.Response
	validate(ctx context.Context, request admission.Request) admission.Response
}

// judges of all resources.
func (a *asks) judges() map[string]judge {
	return map[string]judge{
		reclaimsResource:      &reclaims{a},
		"talosaccessrequests": of[AccessRequestSpec, struct{}](a, "TalosAccessRequest"),
		"talosclusters":       of[ClusterSpec, struct{}](a, "TalosCluster"),
		"talosconfigpatches":  of[ConfigPatchSpec, struct{}](a, "TalosConfigPatch"),
		"talosetcdbackups":    of[BackupSpec, struct{}](a, "TalosEtcdBackup"),
		machinesResource:      of[MachineSpec, MachineStatus](a, "TalosMachine"),
		"talosoperations":     of[OperationSpec, OperationStatus](a, "TalosOperation"),
		"talosstorages":       of[StorageSpec, struct{}](a, "TalosStorage"),
	}
}

func of[S, T any, R interface {
	*S
	rules
}](a *asks, kind string) judge {
	return creations[S, T, R]{asks: a, kind: groupVersion.WithKind(kind).GroupKind()}
}

func (c creations[S, T, R]) mutate(ctx context.Context, request admission.Request) admission.Response {
	created, err := c.decode(&request)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}

	filled, err := R(&created.Spec).fill(ctx, c.asks)
	if err != nil {
		return answer(err)
	}

	return admission.Patched("", append(stamp(&request.AdmissionRequest, created.Annotations, nil, true), filled...)...)
}

func (c creations[S, T, R]) validate(ctx context.Context, request admission.Request) admission.Response {
	created, err := c.decode(&request)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}

	spec := R(&created.Spec)
	warnings, err := c.decide(ctx, &request.AdmissionRequest, created.Annotations, spec)
	response := answer(err)
	response.AuditAnnotations = map[string]string{"decision": decision(response.Allowed)}
	maps.Copy(response.AuditAnnotations, spec.audit())

	if response.Allowed {
		response.Warnings = warnings
	}

	return response
}

func (c creations[S, T, R]) decode(request *admission.Request) (*object[S, T], error) {
	if request.Operation != admissionv1.Create {
		return nil, fmt.Errorf("of %s the peer judges creations only", c.kind.Kind)
	}

	created := &object[S, T]{}

	return created, c.decoder.DecodeRaw(request.Object, created)
}

// decide asks whether the caller may at all before it says anything about the object.
func (c creations[S, T, R]) decide(ctx context.Context, request *admissionv1.AdmissionRequest, annotations map[string]string, spec rules) ([]string, error) {
	if request.Namespace != c.namespace {
		return nil, apierrors.NewInvalid(c.kind, request.Name, field.ErrorList{field.Invalid(
			field.NewPath("metadata", "namespace"), request.Namespace, "Ichor reads its objects in namespace "+c.namespace+" only")})
	}

	for _, needed := range spec.needs(request.Name) {
		if err := c.checkNeed(ctx, request, needed); err != nil {
			return nil, err
		}
	}

	errs := append(validateStamps(request, annotations, nil, true), spec.fields(c.asks)...)

	var warnings []string

	// What is wrong by itself is not looked up.
	if len(errs) == 0 {
		errs, warnings = spec.lookUp(ctx, c.asks, request.Name)
	}

	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(c.kind, request.Name, errs)
	}

	return warnings, nil
}

func (c creations[S, T, R]) checkNeed(ctx context.Context, request *admissionv1.AdmissionRequest, needed need) error {
	user := request.UserInfo.Username

	may, err := c.access.allowed(ctx, request.UserInfo, authorizationv1.ResourceAttributes{
		Namespace: request.Namespace,
		Verb:      needed.verb,
		Group:     needed.group,
		Resource:  needed.resource,
		Name:      needed.name,
	})
	if err != nil {
		return unknown("whether user %q has verb %q on %s could not be checked, so it is refused: %w", user, needed.verb, needed.resource, err)
	}

	if !may {
		return apierrors.NewForbidden(schema.GroupResource{Group: groupVersion.Group, Resource: c.kind.Kind}, request.Name,
			fmt.Errorf("user %q needs verb %q on %s %q in namespace %s (role %s has it)", user, needed.verb, needed.resource, needed.name, request.Namespace, needed.role))
	}

	return nil
}

// clusterOf looks the cluster up that the object names.
func (a *asks) clusterOf(ctx context.Context, reference LocalReference) (*TalosCluster, field.ErrorList) {
	path := specPath.Child("clusterRef", "name")

	switch cluster, err := a.references.cluster(ctx, a.namespace, reference.Name); {
	case err != nil:
		return nil, field.ErrorList{field.InternalError(path, err)}
	case cluster == nil:
		return nil, field.ErrorList{field.NotFound(path, reference.Name)}
	default:
		return cluster, nil
	}
}

// useSecret is the need to read a Secret that is read for the caller: no confused deputy.
func useSecret(name string) need { return need{"get", "", "secrets", name, "ichor-admin"} }

// clusterID reads the bundle in a Secret; it is empty when there is no such Secret.
func (a *asks) clusterID(ctx context.Context, secret string) (string, error) {
	id, err := a.references.bundle(ctx, a.namespace, secret)
	if apierrors.IsNotFound(err) || errors.Is(err, errNoBundle) {
		return "", nil
	}

	return id, err
}
