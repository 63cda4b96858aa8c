package main

import "fmt"

// warnings says what is legal and probably not meant. old is nil at creation; its status is the one that counts.
func warnings(old, reclaim *MachineReclaim) []string {
	if old != nil && !specChanged(old, reclaim) {
		return nil
	}

	var (
		all    []string
		status MachineReclaimStatus
	)

	if old != nil {
		status = old.Status
	}

	spec, seen := &reclaim.Spec, status.Inspection
	if seen == nil {
		seen = &Inspection{}
	}

	switch typed := spec.ConfirmClusterName; {
	case isTrue(spec.Force) && typed == nil:
		all = append(all, "spec.force has no effect until spec.confirmClusterName holds the name of the cluster")
	case !isTrue(spec.Force) && typed != nil:
		all = append(all, "spec.confirmClusterName has no effect without spec.force")
	case typed != nil:
		if first, matches := clusterNamed(spec, seen, *typed); first != "" && !matches {
			all = append(all, fmt.Sprintf("spec.confirmClusterName %.60q is not the cluster's name %.60q", *typed, first))
		}
	}

	if isTrue(spec.ForceUngraceful) {
		switch {
		case seen.Role == "worker":
			all = append(all, "spec.forceUngraceful: the machine is a worker; its pods are not drained, and a graceful reset needs no etcd")
		case seen.EtcdMemberID != "":
			all = append(all, fmt.Sprintf("spec.forceUngraceful: the machine does not leave etcd; its member %.60q stays and has to be removed by hand", seen.EtcdMemberID))
		default:
			all = append(all, "spec.forceUngraceful: the machine is not drained and does not leave etcd; meant for a control plane whose cluster does not answer")
		}
	}

	if old == nil {
		return all
	}

	if machine, known := old.inspected(); known && spec.ConfirmUUID != nil {
		if typed, ok := parseUUID(*spec.ConfirmUUID); ok && typed != machine {
			all = append(all, mismatch(typed, machine))
		}
	}

	if old.ended() {
		all = append(all, fmt.Sprintf("this request has ended (%s), so the change has no effect: create another MachineReclaim", status.Phase))
	}

	return all
}

// clusterNamed tells whether name is one of the names the cluster goes by, and the first of those.
func clusterNamed(spec *MachineReclaimSpec, seen *Inspection, name string) (first string, matches bool) {
	known := [...]string{"", seen.ManagedCluster, seen.ClusterName}
	if spec.ClusterRef != nil {
		known[0] = spec.ClusterRef.Name
	}

	for _, one := range known {
		if first == "" {
			first = one
		}

		matches = matches || one == name
	}

	return first, matches
}

func mismatch(typed, machine systemUUID) string {
	if typed.sameBoard(machine) {
		return fmt.Sprintf("spec.confirmUUID is the machine's UUID in another byte order: type it as %s", machine)
	}

	return fmt.Sprintf("spec.confirmUUID %s is not the UUID of the machine, %s: nothing is wiped", typed, machine)
}
