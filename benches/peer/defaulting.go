package main

import (
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
)

// defaults says what the mutating webhook changes. old is nil at creation.
func defaults(request *admissionv1.AdmissionRequest, old, reclaim *MachineReclaim) []jsonpatch.JsonPatchOperation {
	var stored map[string]string
	if old != nil {
		stored = old.Annotations
	}

	patch := stamp(request, reclaim.Annotations, stored, old == nil || specChanged(old, reclaim))

	// A spec that does not change is left as it is stored: a finalizer must come off without a change of spec.
	if old != nil && !specChanged(old, reclaim) {
		return patch
	}

	if text := canonicalAddress(old, reclaim); text != reclaim.Spec.Address {
		patch = append(patch, jsonpatch.NewOperation("replace", "/spec/address", text))
	}

	if typed := reclaim.Spec.ConfirmUUID; typed != nil {
		if uuid, ok := parseUUID(*typed); ok && uuid.String() != *typed {
			patch = append(patch, jsonpatch.NewOperation("replace", "/spec/confirmUUID", uuid.String()))
		}
	}

	return patch
}

// canonicalAddress keeps the stored text where both mean one address, so that applying a file again changes nothing.
// What is no address is left for the validation to refuse.
func canonicalAddress(old, reclaim *MachineReclaim) string {
	address, err := parseAddress(reclaim.Spec.Address)
	if err != nil {
		return reclaim.Spec.Address
	}

	if old != nil {
		if stored, err := parseAddress(old.Spec.Address); err == nil && stored == address {
			return old.Spec.Address
		}
	}

	return address.String()
}
