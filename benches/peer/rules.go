package main

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The rules that need neither the caller nor another object (DESIGN section 4, record 0136).

const (
	unchangeable = "cannot be set, cleared or changed after creation; create another MachineReclaim"
	consented    = "cannot change any more: the confirmed UUID matched the inspected machine"
)

// validateCreate holds a new request to its shape, and to consent coming after the inspection.
func validateCreate(reclaim *MachineReclaim) field.ErrorList {
	errs := validateShape(&reclaim.Spec)

	if reclaim.Spec.ConfirmUUID != nil {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "confirmUUID"),
			"is not accepted at creation: wait for the inspection in status.inspection, then set it"))
	}

	return errs
}

// validateUpdate compares what must not change, always; the shape only when the spec changed, so that finalizers and
// labels can be changed on objects that an older rule let in.
func validateUpdate(old, reclaim *MachineReclaim) field.ErrorList {
	errs := validateImmutable(&old.Spec, &reclaim.Spec)

	if !specChanged(old, reclaim) {
		return errs
	}

	errs = append(errs, validateShape(&reclaim.Spec)...)

	return append(errs, validateConsent(old, reclaim)...)
}

func specChanged(old, reclaim *MachineReclaim) bool {
	return !reflect.DeepEqual(old.Spec, reclaim.Spec)
}

func validateShape(spec *MachineReclaimSpec) field.ErrorList {
	var errs field.ErrorList

	path := field.NewPath("spec")
	fromCluster := spec.ClusterCredentials != nil && *spec.ClusterCredentials

	switch {
	case fromCluster && spec.CredentialSecretRef != nil:
		errs = append(errs, field.Forbidden(path.Child("credentialSecretRef"), "exactly one of credentialSecretRef and clusterCredentials: true is needed"))
	case !fromCluster && spec.CredentialSecretRef == nil:
		errs = append(errs, field.Required(path.Child("credentialSecretRef"), "exactly one of credentialSecretRef and clusterCredentials: true is needed"))
	case fromCluster && spec.ClusterRef == nil:
		errs = append(errs, field.Required(path.Child("clusterRef"), "clusterCredentials needs the cluster whose credentials are used"))
	}

	if _, err := parseAddress(spec.Address); err != nil {
		errs = append(errs, field.Invalid(path.Child("address"), spec.Address, err.Error()))
	}

	if spec.ConfirmUUID != nil && *spec.ConfirmUUID != "" && !isUUID(*spec.ConfirmUUID) {
		errs = append(errs, field.Invalid(path.Child("confirmUUID"), *spec.ConfirmUUID, "must be a UUID such as 4c4c4544-0042-3510-8052-b4c04f463133"))
	}

	return errs
}

func validateImmutable(old, spec *MachineReclaimSpec) field.ErrorList {
	var errs field.ErrorList

	path := field.NewPath("spec")

	if old.Address != spec.Address {
		errs = append(errs, field.Forbidden(path.Child("address"), unchangeable))
	}

	if !equal(old.ClusterRef, spec.ClusterRef) {
		errs = append(errs, field.Forbidden(path.Child("clusterRef"), unchangeable))
	}

	if !equal(old.ClusterCredentials, spec.ClusterCredentials) {
		errs = append(errs, field.Forbidden(path.Child("clusterCredentials"), unchangeable))
	}

	if !equal(old.CredentialSecretRef, spec.CredentialSecretRef) {
		errs = append(errs, field.Forbidden(path.Child("credentialSecretRef"), unchangeable))
	}

	return errs
}

// validateConsent keeps a consent as it was given, once it matched the machine that was inspected.
func validateConsent(old, reclaim *MachineReclaim) field.ErrorList {
	typed, seen := old.Spec.ConfirmUUID, old.Status.Inspection
	if typed == nil || seen == nil || !strings.EqualFold(*typed, seen.Identity.UUID) {
		return nil
	}

	var errs field.ErrorList

	path := field.NewPath("spec")

	if !equal(old.Spec.ConfirmUUID, reclaim.Spec.ConfirmUUID) {
		errs = append(errs, field.Forbidden(path.Child("confirmUUID"), consented))
	}

	if !equal(old.Spec.Force, reclaim.Spec.Force) {
		errs = append(errs, field.Forbidden(path.Child("force"), consented))
	}

	if !equal(old.Spec.ConfirmClusterName, reclaim.Spec.ConfirmClusterName) {
		errs = append(errs, field.Forbidden(path.Child("confirmClusterName"), consented))
	}

	if !equal(old.Spec.ForceUngraceful, reclaim.Spec.ForceUngraceful) {
		errs = append(errs, field.Forbidden(path.Child("forceUngraceful"), consented))
	}

	return errs
}

func equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}

	return *a == *b
}
