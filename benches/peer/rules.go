package main

import (
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The rules that need neither another object nor the API server (DESIGN section 4, record 0136).

const (
	onlyOne      = "exactly one of credentialSecretRef and clusterCredentials: true (with clusterRef) says how the machine is dialled"
	unchangeable = "cannot be set, cleared or changed after creation; create another MachineReclaim"
	consentGiven = "cannot change any more: the machine's UUID was confirmed, and that is what is carried out"
	early        = "consent follows inspection: wait for phase AwaitingConfirmation, read status.inspection, then type the machine's UUID"
)

var specPath = field.NewPath("spec")

func specChanged(old, reclaim *MachineReclaim) bool {
	return !reflect.DeepEqual(old.Spec, reclaim.Spec)
}

// validateFields returns every error at once. old is nil at creation.
func validateFields(request *admissionv1.AdmissionRequest, old, reclaim *MachineReclaim, local bool) field.ErrorList {
	var stored map[string]string
	if old != nil {
		stored = old.Annotations
	}

	errs := validateStamps(request, reclaim.Annotations, stored, old == nil || specChanged(old, reclaim))

	if old == nil {
		errs = append(errs, validateNodeAddress(specPath.Child("address"), reclaim.Spec.Address, local)...)
		errs = append(errs, validateShape(&reclaim.Spec)...)

		if reclaim.Spec.ConfirmUUID != nil {
			errs = append(errs, field.Forbidden(specPath.Child("confirmUUID"), "is not accepted at creation: "+early))
		}

		return errs
	}

	// Finalizers and labels can be changed on objects that an older rule let in.
	if !specChanged(old, reclaim) {
		return errs
	}

	errs = append(errs, validateShape(&reclaim.Spec)...)
	errs = append(errs, validateImmutable(&old.Spec, &reclaim.Spec)...)

	return append(errs, validateConsent(old, reclaim)...)
}

func validateNodeAddress(path *field.Path, text string, local bool) field.ErrorList {
	address, err := parseAddress(text)
	if err != nil {
		return field.ErrorList{field.Invalid(path, text, err.Error())}
	}

	if isLocal(address) && !local {
		return field.ErrorList{field.Invalid(path, text,
			"is a loopback or link-local address, which the controller does not dial without --allow-local-addresses")}
	}

	return nil
}

func validateShape(spec *MachineReclaimSpec) field.ErrorList {
	var errs field.ErrorList

	fromCluster := isTrue(spec.ClusterCredentials)

	switch {
	case fromCluster && spec.CredentialSecretRef != nil:
		errs = append(errs, field.Forbidden(specPath.Child("credentialSecretRef"), onlyOne))
	case !fromCluster && spec.CredentialSecretRef == nil:
		errs = append(errs, field.Required(specPath.Child("credentialSecretRef"), onlyOne))
	}

	if fromCluster && spec.ClusterRef == nil {
		errs = append(errs, field.Required(specPath.Child("clusterRef"), "clusterCredentials: true needs the cluster whose credentials are used"))
	}

	errs = append(errs, validateName(spec.ClusterRef, "clusterRef")...)
	errs = append(errs, validateName(spec.CredentialSecretRef, "credentialSecretRef")...)

	if spec.ConfirmUUID != nil {
		if _, ok := parseUUID(*spec.ConfirmUUID); !ok {
			errs = append(errs, field.Invalid(specPath.Child("confirmUUID"), *spec.ConfirmUUID, "is not a UUID such as 4c4c4544-0042-3510-8052-b4c04f463133"))
		}
	}

	return errs
}

func validateName(reference *LocalReference, name string) field.ErrorList {
	if reference == nil || len(validation.IsDNS1123Subdomain(reference.Name)) == 0 {
		return nil
	}

	return field.ErrorList{field.Invalid(specPath.Child(name, "name"), reference.Name, "is not the name of an object")}
}

func validateImmutable(old, spec *MachineReclaimSpec) field.ErrorList {
	var errs field.ErrorList

	for _, compared := range [...]struct {
		name string
		same bool
	}{
		{"address", old.Address == spec.Address},
		{"clusterRef", equal(old.ClusterRef, spec.ClusterRef)},
		{"clusterCredentials", equal(old.ClusterCredentials, spec.ClusterCredentials)},
		{"credentialSecretRef", equal(old.CredentialSecretRef, spec.CredentialSecretRef)},
	} {
		if !compared.same {
			errs = append(errs, field.Forbidden(specPath.Child(compared.name), unchangeable))
		}
	}

	return errs
}

// validateConsent wants an inspection before a consent, and keeps a consent that matched as it was given.
func validateConsent(old, reclaim *MachineReclaim) field.ErrorList {
	var errs field.ErrorList

	sameUUID := equal(old.Spec.ConfirmUUID, reclaim.Spec.ConfirmUUID)

	if _, known := old.inspected(); !known && reclaim.Spec.ConfirmUUID != nil && !sameUUID {
		errs = append(errs, field.Forbidden(specPath.Child("confirmUUID"), "the machine is not inspected yet: "+early))
	}

	if !old.consented() {
		return errs
	}

	for _, compared := range [...]struct {
		name string
		same bool
	}{
		{"confirmUUID", sameUUID},
		{"force", equal(old.Spec.Force, reclaim.Spec.Force)},
		{"confirmClusterName", equal(old.Spec.ConfirmClusterName, reclaim.Spec.ConfirmClusterName)},
		{"forceUngraceful", equal(old.Spec.ForceUngraceful, reclaim.Spec.ForceUngraceful)},
	} {
		if !compared.same {
			errs = append(errs, field.Forbidden(specPath.Child(compared.name), consentGiven))
		}
	}

	return errs
}

func equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}

	return *a == *b
}

func isTrue(flag *bool) bool { return flag != nil && *flag }
