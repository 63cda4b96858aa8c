package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	groupVersion = schema.GroupVersion{Group: "ichor.maesh.dev", Version: "v1alpha1"}
	reclaimKind  = groupVersion.WithKind("MachineReclaim")
	clusterKind  = groupVersion.WithKind("TalosCluster")
)

// Names that the rules and the objects share with Ichor (crds/src/lib.rs).
const (
	requestedBy           = "ichor.maesh.dev/requested-by"
	talosconfigSecretType = "ichor.maesh.dev/talosconfig"
	reclaimsResource      = "machinereclaims"
	reclaimVerb           = "reclaim"
)

// MachineReclaim is a request to wipe one machine. Of the status only what the rules look at is decoded: a webhook has
// no use for the rest, and not decoding it is the fastest way to handle it.
type MachineReclaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MachineReclaimSpec   `json:"spec"`
	Status MachineReclaimStatus `json:"status,omitempty"`
}

type MachineReclaimSpec struct {
	Address             string          `json:"address"`
	ClusterRef          *LocalReference `json:"clusterRef,omitempty"`
	ClusterCredentials  *bool           `json:"clusterCredentials,omitempty"`
	CredentialSecretRef *LocalReference `json:"credentialSecretRef,omitempty"`
	ConfirmUUID         *string         `json:"confirmUUID,omitempty"`
	Force               *bool           `json:"force,omitempty"`
	ConfirmClusterName  *string         `json:"confirmClusterName,omitempty"`
	ForceUngraceful     *bool           `json:"forceUngraceful,omitempty"`
}

type LocalReference struct {
	Name string `json:"name"`
}

type MachineReclaimStatus struct {
	Inspection *Inspection `json:"inspection,omitempty"`
}

type Inspection struct {
	Identity Identity `json:"identity"`
}

type Identity struct {
	UUID string `json:"uuid"`
}

// DeepCopyObject makes MachineReclaim a runtime.Object, which the decoder asks for. Nothing here copies one.
func (m *MachineReclaim) DeepCopyObject() runtime.Object {
	out := *m
	m.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec = MachineReclaimSpec{
		Address:             m.Spec.Address,
		ClusterRef:          clone(m.Spec.ClusterRef),
		ClusterCredentials:  clone(m.Spec.ClusterCredentials),
		CredentialSecretRef: clone(m.Spec.CredentialSecretRef),
		ConfirmUUID:         clone(m.Spec.ConfirmUUID),
		Force:               clone(m.Spec.Force),
		ConfirmClusterName:  clone(m.Spec.ConfirmClusterName),
		ForceUngraceful:     clone(m.Spec.ForceUngraceful),
	}
	out.Status.Inspection = clone(m.Status.Inspection)

	return &out
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}

	value := *p

	return &value
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &MachineReclaim{})
	metav1.AddToGroupVersion(scheme, groupVersion)

	return scheme
}
