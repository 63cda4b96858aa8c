package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const machinesResource = "talosmachines"

// MachineSpec is a machine as it shall be.
type MachineSpec struct {
	ClusterRef *LocalReference `json:"clusterRef,omitempty"`
	Approval   string          `json:"approval,omitempty"`
	Role       string          `json:"role,omitempty"`
	Identity   struct {
		UUID   string   `json:"uuid"`
		Serial string   `json:"serial,omitempty"`
		MACs   []string `json:"macs,omitempty"`
	} `json:"identity"`
	Endpoint string `json:"endpoint,omitempty"`
	Hostname string `json:"hostname,omitempty"`
	Network  *struct {
		Interface  string   `json:"interface,omitempty"`
		Addressing string   `json:"addressing,omitempty"`
		Addresses  []string `json:"addresses,omitempty"`
		Routes     []struct {
			Network string `json:"network,omitempty"`
			Gateway string `json:"gateway"`
		} `json:"routes,omitempty"`
	} `json:"network,omitempty"`
	Install *struct {
		Disk         string         `json:"disk,omitempty"`
		DiskSelector map[string]any `json:"diskSelector,omitempty"`
	} `json:"install,omitempty"`
	DriftPolicy string            `json:"driftPolicy,omitempty"`
	UpgradeHold string            `json:"upgradeHold,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Taints      []struct {
		Key    string `json:"key"`
		Value  string `json:"value,omitempty"`
		Effect string `json:"effect"`
	} `json:"taints,omitempty"`
	MaintenanceFingerprint string `json:"maintenanceFingerprint,omitempty"`
}

// MachineStatus is what the rules look at of how a machine was seen.
type MachineStatus struct {
	ObservedEndpoint string `json:"observedEndpoint,omitempty"`
	NodeName         string `json:"nodeName,omitempty"`
}

func (s *MachineSpec) approved() bool { return s.Approval == "Approved" }

// addresses of the machine, where it is dialled and those of its link.
func (s *MachineSpec) addresses() []netip.Addr {
	texts := []string{s.Endpoint}
	if s.Network != nil {
		texts = append(texts, s.Network.Addresses...)
	}

	var all []netip.Addr

	for _, text := range texts {
		bare, _, _ := strings.Cut(text, "/")
		if address, err := parseAddress(bare); err == nil {
			all = append(all, address)
		}
	}

	return all
}

func (s *MachineSpec) needs(name string) []need {
	if !s.approved() {
		return nil
	}

	return []need{{"approve", groupVersion.Group, machinesResource, name, "ichor-approver"}}
}

// fill gives a UUID and an address one text.
func (s *MachineSpec) fill(context.Context, *asks) ([]jsonpatch.JsonPatchOperation, error) {
	var patch []jsonpatch.JsonPatchOperation

	if uuid, ok := parseUUID(s.Identity.UUID); ok && uuid.String() != s.Identity.UUID {
		patch = append(patch, jsonpatch.NewOperation("replace", "/spec/identity/uuid", uuid.String()))
	}

	if address, err := parseAddress(s.Endpoint); err == nil && address.String() != s.Endpoint {
		patch = append(patch, jsonpatch.NewOperation("replace", "/spec/endpoint", address.String()))
	}

	return patch, nil
}

func (s *MachineSpec) fields(a *asks) field.ErrorList {
	errs := validateName(s.ClusterRef, "clusterRef")

	if s.Endpoint != "" {
		errs = append(errs, validateNodeAddress(specPath.Child("endpoint"), s.Endpoint, a.local)...)
	}

	if !s.approved() {
		return errs
	}

	for _, needed := range [...]struct {
		name  string
		there bool
	}{
		{"clusterRef", s.ClusterRef != nil},
		{"role", s.Role != ""},
		{"install", s.Install != nil},
		{"maintenanceFingerprint", s.MaintenanceFingerprint != ""},
	} {
		if !needed.there {
			errs = append(errs, field.Required(specPath.Child(needed.name), "an approved machine has it"))
		}
	}

	return errs
}

// lookUp lets no approved machine share a UUID, a hostname or an address, nor be let in while something acts on it.
func (s *MachineSpec) lookUp(ctx context.Context, a *asks, name string) (field.ErrorList, []string) {
	var errs field.ErrorList

	if s.ClusterRef != nil {
		_, errs = a.clusterOf(ctx, *s.ClusterRef)
	}

	if !s.approved() || len(errs) > 0 {
		return errs, nil
	}

	machines, err := a.references.machines(ctx, a.namespace)
	if err != nil {
		return field.ErrorList{field.InternalError(specPath, err)}, nil
	}

	uuid, known := parseUUID(s.Identity.UUID)
	mine := s.addresses()

	for i := range machines {
		if other := &machines[i]; other.Spec.approved() && other.Name != name {
			errs = append(errs, s.shared(other, uuid, known, mine)...)
		}
	}

	return append(errs, s.checkActors(ctx, a, name, uuid, mine)...), nil
}

func (s *MachineSpec) shared(other *TalosMachine, uuid systemUUID, known bool, mine []netip.Addr) field.ErrorList {
	var errs field.ErrorList

	taken := func(path *field.Path, value any) {
		duplicate := field.Duplicate(path, value)
		duplicate.Detail = fmt.Sprintf("the approved machine %s has it", other.Name)
		errs = append(errs, duplicate)
	}

	if theirs, ok := parseUUID(other.Spec.Identity.UUID); ok && known && uuid.sameBoard(theirs) {
		taken(specPath.Child("identity", "uuid"), s.Identity.UUID)
	}

	if s.Hostname != "" && s.Hostname == other.Spec.Hostname {
		taken(specPath.Child("hostname"), s.Hostname)
	}

	theirs := other.Spec.addresses()
	if seen, err := parseAddress(other.Status.ObservedEndpoint); err == nil {
		theirs = append(theirs, seen)
	}

	for _, address := range mine {
		if slices.Contains(theirs, address) {
			taken(specPath.Child("endpoint"), address)

			break
		}
	}

	return errs
}

// checkActors: one machine, one actor.
func (s *MachineSpec) checkActors(ctx context.Context, a *asks, name string, uuid systemUUID, mine []netip.Addr) field.ErrorList {
	path := specPath.Child("approval")

	acting, err := a.references.unfinished(ctx, a.namespace, func(reclaim *MachineReclaim) bool {
		address, err := parseAddress(reclaim.Spec.Address)
		if err == nil && slices.Contains(mine, address) {
			return true
		}

		if reclaim.Spec.ConfirmUUID == nil {
			return false
		}

		typed, ok := parseUUID(*reclaim.Spec.ConfirmUUID)

		return ok && typed.sameBoard(uuid)
	})
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}

	var errs field.ErrorList

	if acting != nil {
		errs = append(errs, field.Forbidden(path, fmt.Sprintf("MachineReclaim %q acts on this machine", acting.Name)))
	}

	operations, err := a.references.operations(ctx, a.namespace, s.ClusterRef.Name)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}

	for i := range operations {
		if one := &operations[i]; one.Status.Phase != "Completed" && one.Spec.Node != nil && one.Spec.Node.Machine == name {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("TalosOperation %q acts on this machine", one.Name)))
		}
	}

	return errs
}

func (s *MachineSpec) audit() map[string]string {
	audit := map[string]string{"approval": s.Approval, "role": s.Role, "endpoint": s.Endpoint, "fingerprint": s.MaintenanceFingerprint}

	if s.ClusterRef != nil {
		audit["cluster"] = s.ClusterRef.Name
	}

	return audit
}
