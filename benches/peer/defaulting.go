package main

import (
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
)

// defaults says what the mutating webhook changes, as a patch made by hand: comparing two encoded objects, which is what
// a Defaulter does, costs more than all the rules together. old is nil at creation.
func defaults(request *admissionv1.AdmissionRequest, old, reclaim *MachineReclaim) []jsonpatch.JsonPatchOperation {
	var patch []jsonpatch.JsonPatchOperation

	if creator, had := creatorOf(request, old), reclaim.Annotations[requestedBy]; creator != had {
		patch = append(patch, annotate(reclaim.Annotations, creator))
	}

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

// creatorOf is the value the annotation must have: whoever creates the object, and after that what it was.
func creatorOf(request *admissionv1.AdmissionRequest, old *MachineReclaim) string {
	if old == nil {
		return request.UserInfo.Username
	}

	return old.Annotations[requestedBy]
}

func annotate(annotations map[string]string, creator string) jsonpatch.JsonPatchOperation {
	path := "/metadata/annotations/" + strings.ReplaceAll(requestedBy, "/", "~1")

	switch {
	case creator == "":
		return jsonpatch.NewOperation("remove", path, nil)
	case annotations == nil:
		return jsonpatch.NewOperation("add", "/metadata/annotations", map[string]string{requestedBy: creator})
	default:
		return jsonpatch.NewOperation("add", path, creator)
	}
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
