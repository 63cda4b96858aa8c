package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// object is a stored object with a spec and the part of its status that rules look at.
type object[S, T any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   S `json:"spec"`
	Status T `json:"status,omitempty"`
}

// DeepCopyObject shares what spec and status point to: nobody changes an object that was read.
func (o *object[S, T]) DeepCopyObject() runtime.Object {
	out := *o
	o.ObjectMeta.DeepCopyInto(&out.ObjectMeta)

	return &out
}

// list is what the cache or the API server lists.
type list[O any] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []O `json:"items"`
}

// DeepCopyObject shares the items, likewise.
func (l *list[O]) DeepCopyObject() runtime.Object {
	out := *l

	return &out
}

type (
	// TalosCluster is a cluster that Ichor manages.
	TalosCluster = object[ClusterSpec, struct{}]
	// TalosMachine is a machine, let in or not.
	TalosMachine = object[MachineSpec, MachineStatus]
	// TalosOperation is something that is done to a cluster or a machine.
	TalosOperation = object[OperationSpec, OperationStatus]
	// TalosStorage gives machines volumes.
	TalosStorage = object[StorageSpec, struct{}]
)

// addObjects makes the kinds known that are read or decoded.
func addObjects(scheme *runtime.Scheme) {
	for kind, types := range map[string][2]runtime.Object{
		"TalosAccessRequest": {&object[AccessRequestSpec, struct{}]{}, nil},
		"TalosCluster":       {&TalosCluster{}, &list[TalosCluster]{}},
		"TalosConfigPatch":   {&object[ConfigPatchSpec, struct{}]{}, nil},
		"TalosEtcdBackup":    {&object[BackupSpec, struct{}]{}, nil},
		"TalosMachine":       {&TalosMachine{}, &list[TalosMachine]{}},
		"TalosOperation":     {&TalosOperation{}, &list[TalosOperation]{}},
		"TalosStorage":       {&TalosStorage{}, &list[TalosStorage]{}},
	} {
		scheme.AddKnownTypeWithName(groupVersion.WithKind(kind), types[0])

		if types[1] != nil {
			scheme.AddKnownTypeWithName(groupVersion.WithKind(kind+"List"), types[1])
		}
	}
}
