package main

import (
	"fmt"
	"net/netip"
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

	if address, err := parseAddress(reclaim.Spec.Address); err == nil && address.String() != reclaim.Spec.Address {
		patch = append(patch, jsonpatch.NewOperation("replace", "/spec/address", address.String()))
	}

	if typed := reclaim.Spec.ConfirmUUID; typed != nil {
		if lower := strings.ToLower(strings.TrimSpace(*typed)); lower != *typed && isUUID(lower) {
			patch = append(patch, jsonpatch.NewOperation("replace", "/spec/confirmUUID", lower))
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

// parseAddress reads the address of one machine; its String is the canonical form.
func parseAddress(text string) (netip.Addr, error) {
	bare := strings.TrimSpace(text)
	if inner, found := strings.CutPrefix(bare, "["); found {
		bare = strings.TrimSuffix(inner, "]")
	}

	address, err := netip.ParseAddr(bare)
	if err != nil || address.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("not an IP address: give the IPv4 or IPv6 address of the node, such as 10.5.0.7")
	}

	// An IPv4 address written as IPv6 is the same machine.
	address = address.Unmap()
	if address.IsUnspecified() || address.IsMulticast() || address == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return netip.Addr{}, fmt.Errorf("not the address of one machine (unspecified, multicast or broadcast)")
	}

	return address, nil
}

// isUUID reports whether text is a UUID with hyphens, in either case.
func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}

	for at := range len(text) {
		switch char := text[at]; {
		case at == 8 || at == 13 || at == 18 || at == 23:
			if char != '-' {
				return false
			}
		case !('0' <= char && char <= '9' || 'a' <= char && char <= 'f' || 'A' <= char && char <= 'F'):
			return false
		}
	}

	return true
}
