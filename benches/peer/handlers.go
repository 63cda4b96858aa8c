package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// reclaims answers for machinereclaims. Plain handlers instead of admission.Defaulter and Validator, because the answer
// carries audit annotations, which those cannot set.
type reclaims struct{ *asks }

// hook drops the values that controller-runtime would attach to a logger for each request: nothing is logged on the way
// of a review, and attaching them costs more than some rules.
func hook(handle admission.HandlerFunc) *admission.Webhook {
	return &admission.Webhook{
		Handler:        handle,
		LogConstructor: func(base logr.Logger, _ *admission.Request) logr.Logger { return base },
	}
}

func (h *reclaims) mutate(_ context.Context, request admission.Request) admission.Response {
	if request.Operation == admissionv1.Delete {
		return admission.Allowed("")
	}

	old, reclaim, err := h.decode(&request)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}

	return admission.Patched("", defaults(&request.AdmissionRequest, old, reclaim)...)
}

func (h *reclaims) validate(ctx context.Context, request admission.Request) admission.Response {
	if request.Operation == admissionv1.Delete {
		return admission.Allowed("")
	}

	old, reclaim, err := h.decode(&request)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}

	response := answer(h.judge(ctx, &request.AdmissionRequest, old, reclaim))
	response.AuditAnnotations = auditAnnotations(reclaim, response.Allowed)

	if response.Allowed {
		response.Warnings = warnings(old, reclaim)
	}

	return response
}

// decode returns the object, and what it was unless it is being created.
func (h *reclaims) decode(request *admission.Request) (old, reclaim *MachineReclaim, err error) {
	reclaim = &MachineReclaim{}
	if err := h.decoder.DecodeRaw(request.Object, reclaim); err != nil {
		return nil, nil, err
	}

	if request.Operation == admissionv1.Create {
		return nil, reclaim, nil
	}

	old = &MachineReclaim{}
	if err := h.decoder.DecodeRaw(request.OldObject, old); err != nil {
		return nil, nil, err
	}

	return old, reclaim, nil
}

// judge asks whether the caller may at all before it says anything about the request. nil lets it pass.
func (h *reclaims) judge(ctx context.Context, request *admissionv1.AdmissionRequest, old, reclaim *MachineReclaim) error {
	touchesSpec := old == nil || specChanged(old, reclaim)

	if touchesSpec {
		if request.Namespace != h.namespace {
			return apierrors.NewInvalid(reclaimKind.GroupKind(), request.Name, field.ErrorList{field.Invalid(
				field.NewPath("metadata", "namespace"), request.Namespace, "Ichor reads MachineReclaims in namespace "+h.namespace+" only")})
		}

		if err := h.checkAccess(ctx, request, reclaim); err != nil {
			return err
		}
	}

	errs := validateFields(request, old, reclaim, h.local)

	// What is wrong by itself is not looked up.
	if touchesSpec && len(errs) == 0 {
		errs = h.checkReferences(ctx, request.Namespace, old, reclaim)
	}

	if len(errs) > 0 {
		return apierrors.NewInvalid(reclaimKind.GroupKind(), request.Name, errs)
	}

	return nil
}

// answer turns the judgement into a response, keeping the status an API error carries.
func answer(err error) admission.Response {
	var status apierrors.APIStatus

	switch {
	case err == nil:
		return admission.Allowed("")
	case errors.As(err, &status):
		result := status.Status()

		return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &result}}
	default:
		return admission.Denied(err.Error())
	}
}

func auditAnnotations(reclaim *MachineReclaim, allowed bool) map[string]string {
	annotations := map[string]string{
		"address":           reclaim.Spec.Address,
		"credential-source": "cluster",
		"decision":          decision(allowed),
		"force":             strconv.FormatBool(isTrue(reclaim.Spec.Force)),
		"force-ungraceful":  strconv.FormatBool(isTrue(reclaim.Spec.ForceUngraceful)),
	}

	if reclaim.Spec.CredentialSecretRef != nil {
		annotations["credential-source"] = "secret"
	}

	if reclaim.Spec.ClusterRef != nil {
		annotations["cluster"] = reclaim.Spec.ClusterRef.Name
	}

	if reclaim.Spec.ConfirmUUID != nil {
		annotations["confirmed-uuid"] = *reclaim.Spec.ConfirmUUID
	}

	return annotations
}

func decision(allowed bool) string {
	if allowed {
		return "allowed"
	}

	return "denied"
}
