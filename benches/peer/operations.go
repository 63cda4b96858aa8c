package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// OperationSpec is something that is done to one machine. Of the kinds that Ichor has, the peer has these only: versions of
// an upgrade and the snapshot of a restore cost a reset nothing.
type OperationSpec struct {
	ClusterRef LocalReference `json:"clusterRef"`
	Kind       string         `json:"kind"`
	Paused     *bool          `json:"paused,omitempty"`
	Node       *OperationNode `json:"node,omitempty"`
}

// OperationNode is the machine, as typed and as resolved.
type OperationNode struct {
	Name               string `json:"name"`
	Machine            string `json:"machine,omitempty"`
	Confirm            string `json:"confirm,omitempty"`
	Force              *bool  `json:"force,omitempty"`
	ConfirmClusterName string `json:"confirmClusterName,omitempty"`
}

// OperationStatus is what the rules look at.
type OperationStatus struct {
	Phase string `json:"phase,omitempty"`
}

var oneMachineKinds = []string{"reboot", "reset", "remove", "powerOff"}

func (s *OperationSpec) wipes() bool { return s.Kind == "reset" || s.Kind == "remove" }

func (s *OperationSpec) needs(string) []need {
	if !s.wipes() || s.Node == nil {
		return nil
	}

	return []need{{"wipe", groupVersion.Group, machinesResource, s.Node.Machine, "ichor-admin"}}
}

// fill resolves the name that was typed, where it stands for one machine.
func (s *OperationSpec) fill(ctx context.Context, a *asks) ([]jsonpatch.JsonPatchOperation, error) {
	if s.Node == nil || s.Node.Machine != "" {
		return nil, nil
	}

	machines, err := a.references.machines(ctx, a.namespace)
	if err != nil {
		return nil, unknown("the machines could not be read: %w", err)
	}

	if found := s.resolve(machines); len(found) == 1 {
		return []jsonpatch.JsonPatchOperation{jsonpatch.NewOperation("add", "/spec/node/machine", found[0].Name)}, nil
	}

	return nil, nil
}

// resolve finds the machines of the cluster that the name may stand for: by name or UUID, else by hostname, else by Node or
// address.
func (s *OperationSpec) resolve(machines []TalosMachine) []*TalosMachine {
	name := s.Node.Name
	uuid, isUUID := parseUUID(name)
	address, notAddress := parseAddress(name)

	for _, matches := range [...]func(*TalosMachine) bool{
		func(m *TalosMachine) bool {
			own, ok := parseUUID(m.Spec.Identity.UUID)

			return m.Name == name || isUUID && ok && own == uuid
		},
		func(m *TalosMachine) bool { return m.Spec.Hostname == name },
		func(m *TalosMachine) bool {
			at := m.Status.ObservedEndpoint
			if at == "" {
				at = m.Spec.Endpoint
			}

			dialled, err := parseAddress(at)

			return m.Status.NodeName == name || notAddress == nil && err == nil && dialled == address
		},
	} {
		var found []*TalosMachine

		for i := range machines {
			if m := &machines[i]; m.Spec.ClusterRef != nil && *m.Spec.ClusterRef == s.ClusterRef && matches(m) {
				found = append(found, m)
			}
		}

		if len(found) > 0 {
			return found
		}
	}

	return nil
}

func (s *OperationSpec) fields(*asks) field.ErrorList {
	errs := validateName(&s.ClusterRef, "clusterRef")
	path := specPath.Child("node")

	switch ofOneMachine := slices.Contains(oneMachineKinds, s.Kind); {
	case !ofOneMachine && s.Kind != "shutdown":
		return append(errs, field.NotSupported(specPath.Child("kind"), s.Kind, append(oneMachineKinds, "shutdown")))
	case ofOneMachine && s.Node == nil:
		return append(errs, field.Required(path, "kind "+s.Kind+" needs this block"))
	case !ofOneMachine && s.Node != nil:
		return append(errs, field.Forbidden(path, "does not belong to kind "+s.Kind))
	}

	if !s.wipes() {
		return errs
	}

	if s.Node.Confirm == "" || s.Node.Confirm != s.Node.Name && s.Node.Confirm != s.Node.Machine {
		errs = append(errs, field.Invalid(path.Child("confirm"), s.Node.Confirm, fmt.Sprintf("type the name of the machine, %q", s.Node.Name)))
	}

	if isTrue(s.Node.Force) && s.Node.ConfirmClusterName != s.ClusterRef.Name {
		errs = append(errs, field.Invalid(path.Child("confirmClusterName"), s.Node.ConfirmClusterName, "type the name of the cluster"))
	}

	return errs
}

func (s *OperationSpec) lookUp(ctx context.Context, a *asks, _ string) (field.ErrorList, []string) {
	_, errs := a.clusterOf(ctx, s.ClusterRef)

	if s.Node != nil {
		path := specPath.Child("node", "name")

		switch machines, err := a.references.machines(ctx, a.namespace); {
		case err != nil:
			errs = append(errs, field.InternalError(path, err))
		default:
			errs = append(errs, s.validateNode(s.resolve(machines))...)
		}
	}

	operations, err := a.references.operations(ctx, a.namespace, s.ClusterRef.Name)
	if err != nil {
		errs = append(errs, field.InternalError(specPath, err))
	}

	for i := range operations {
		if one := &operations[i]; one.Status.Phase != "Completed" && (s.Kind != "shutdown" || one.Spec.Kind == "shutdown") {
			return errs, []string{fmt.Sprintf("operation %q (%s) on this cluster is not finished (phase %q)", one.Name, one.Spec.Kind, one.Status.Phase)}
		}
	}

	return errs, nil
}

func (s *OperationSpec) validateNode(found []*TalosMachine) field.ErrorList {
	path := specPath.Child("node")

	switch {
	case len(found) == 0:
		return field.ErrorList{field.NotFound(path.Child("name"), s.Node.Name)}
	case len(found) > 1:
		return field.ErrorList{field.Invalid(path.Child("name"), s.Node.Name, "may be any of several machines; give the name of the one that is meant")}
	case !found[0].Spec.approved():
		return field.ErrorList{field.Invalid(path.Child("name"), s.Node.Name, "is not an approved machine")}
	case s.Node.Machine != found[0].Name:
		return field.ErrorList{field.Invalid(path.Child("machine"), s.Node.Machine, "admission fills it in: "+found[0].Name)}
	default:
		return nil
	}
}

func (s *OperationSpec) audit() map[string]string {
	audit := map[string]string{"cluster": s.ClusterRef.Name, "kind": s.Kind, "paused": strconv.FormatBool(isTrue(s.Paused))}

	if s.Node != nil {
		audit["node"], audit["machine"], audit["force"] = s.Node.Name, s.Node.Machine, strconv.FormatBool(isTrue(s.Node.Force))
	}

	return audit
}
