package main

import (
	"maps"
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The annotations that admission writes and nobody sets or changes by hand: who created the object, by name and UID, and
// the request that last said what it shall be.
const (
	requestedBy    = "ichor.maesh.dev/requested-by"
	requestedByUID = "ichor.maesh.dev/requested-by-uid"
	requestID      = "ichor.maesh.dev/request-id"
)

var stampKeys = [...]string{requestID, requestedBy, requestedByUID}

// stamps are the values as they have to be, "" for one that has to be absent. old is nil at creation.
func stamps(request *admissionv1.AdmissionRequest, old map[string]string, specChanges bool) map[string]string {
	want := map[string]string{requestedBy: old[requestedBy], requestedByUID: old[requestedByUID], requestID: old[requestID]}

	if request.Operation == admissionv1.Create {
		want[requestedBy], want[requestedByUID] = request.UserInfo.Username, request.UserInfo.UID
	}

	if specChanges {
		want[requestID] = string(request.UID)
	}

	return want
}

// stamp is the patch that makes the annotations so, made by hand: comparing two encoded objects, which is what a Defaulter
// does, costs more than all the rules together.
func stamp(request *admissionv1.AdmissionRequest, now, old map[string]string, specChanges bool) []jsonpatch.JsonPatchOperation {
	want := stamps(request, old, specChanges)

	if now == nil {
		maps.DeleteFunc(want, func(_, value string) bool { return value == "" })

		if len(want) == 0 {
			return nil
		}

		return []jsonpatch.JsonPatchOperation{jsonpatch.NewOperation("add", "/metadata/annotations", want)}
	}

	var patch []jsonpatch.JsonPatchOperation

	for _, key := range stampKeys {
		path := "/metadata/annotations/" + strings.ReplaceAll(key, "/", "~1")
		value, there := now[key]

		switch {
		case want[key] == "" && there:
			patch = append(patch, jsonpatch.NewOperation("remove", path, nil))
		case want[key] != value:
			patch = append(patch, jsonpatch.NewOperation("add", path, want[key]))
		}
	}

	return patch
}

// validateStamps refuses what the mutating webhook did not write. Where it did not run they may be missing; the ID of its
// review cannot be known in another one, so that any ID passes.
func validateStamps(request *admissionv1.AdmissionRequest, now, old map[string]string, specChanges bool) field.ErrorList {
	want := stamps(request, old, specChanges)

	forged := func(key string) bool {
		value, there := now[key]
		_, had := old[key]

		if key == requestID && specChanges {
			_, isUUID := parseUUID(value)

			return there && !isUUID
		}

		return value != want[key] && (there || had)
	}

	if !slices.ContainsFunc(stampKeys[:], forged) {
		return nil
	}

	return field.ErrorList{field.Forbidden(field.NewPath("metadata", "annotations"),
		"what admission writes cannot be set or changed by hand: "+strings.Join(stampKeys[:], ", "))}
}
