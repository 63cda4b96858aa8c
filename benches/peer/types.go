package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

var (
	groupVersion = schema.GroupVersion{Group: "ichor.maesh.dev", Version: "v1alpha1"}
	reclaimKind  = groupVersion.WithKind("MachineReclaim")
)

// Names that the rules and the objects share with Ichor (crds/src/lib.rs).
const (
	talosconfigSecretType = "ichor.maesh.dev/talosconfig"
	reclaimsResource      = "machinereclaims"
	reclaimVerb           = "reclaim"
	operatorRole          = "ichor-operator"
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
	Phase      string       `json:"phase,omitempty"`
	Inspection *Inspection  `json:"inspection,omitempty"`
	Reset      *ResetRecord `json:"reset,omitempty"`
}

type Inspection struct {
	Identity       Identity `json:"identity"`
	Role           string   `json:"role,omitempty"`
	ClusterName    string   `json:"clusterName,omitempty"`
	ManagedCluster string   `json:"managedCluster,omitempty"`
	EtcdMemberID   string   `json:"etcdMemberID,omitempty"`
}

type Identity struct {
	UUID string `json:"uuid"`
}

// ResetRecord only counts as being there.
type ResetRecord struct{}

// MachineReclaimList is what the cache lists.
type MachineReclaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MachineReclaim `json:"items"`
}

func (m *MachineReclaim) ended() bool {
	return m.Status.Phase == "Done" || m.Status.Phase == "Refused" || m.Status.Phase == "Failed"
}

// inspected is the UUID that the inspection found.
func (m *MachineReclaim) inspected() (systemUUID, bool) {
	if m.Status.Inspection == nil {
		return systemUUID{}, false
	}

	return parseUUID(m.Status.Inspection.Identity.UUID)
}

// consented tells whether the typed UUID is the machine's; a recorded reset does not happen without.
func (m *MachineReclaim) consented() bool {
	if m.Status.Reset != nil {
		return true
	}

	if m.Spec.ConfirmUUID == nil {
		return false
	}

	typed, isUUID := parseUUID(*m.Spec.ConfirmUUID)
	machine, known := m.inspected()

	return isUUID && known && typed == machine
}

// DeepCopyObject makes MachineReclaim a runtime.Object, which the decoder asks for and the cache uses.
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
	out.Status.Reset = clone(m.Status.Reset)

	return &out
}

// DeepCopyObject makes MachineReclaimList a runtime.Object.
func (l *MachineReclaimList) DeepCopyObject() runtime.Object {
	out := &MachineReclaimList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)

	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*MachineReclaim))
	}

	return out
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}

	value := *p

	return &value
}

// newScheme has the types of reviews and of the cache, and nothing else: client-go's own scheme knows every kind.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &MachineReclaim{}, &MachineReclaimList{})
	addObjects(scheme)
	metav1.AddToGroupVersion(scheme, groupVersion)
	utilruntime.Must(corev1.AddToScheme(scheme))

	return scheme
}
