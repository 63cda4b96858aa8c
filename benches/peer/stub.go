package main

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// everybody may everything: benchmarks of the webhook alone must not measure an API server.
type everybody struct{}

func (everybody) allowed(context.Context, authenticationv1.UserInfo, authorizationv1.ResourceAttributes) (bool, error) {
	return true, nil
}

// everything holds what the reviews of the benchmarks refer to, as the stub of Ichor's webhook does: cluster prod, its one
// worker, and whatever Secret.
type everything struct{}

var (
	stubClusters = []TalosCluster{{
		ObjectMeta: metav1.ObjectMeta{Name: "prod", Namespace: "ichor-system"},
		Spec: ClusterSpec{
			Endpoint: "https://10.5.0.2:6443", TalosVersion: "v1.13.5", VersionContract: "v1.13", KubernetesVersion: "v1.35.4",
			SecretsBundleRef: LocalReference{Name: "prod-bundle"}, KubernetesAccess: "self",
		},
	}}
	stubMachines = []TalosMachine{{
		ObjectMeta: metav1.ObjectMeta{Name: "4c4c4544-0042-3510-8052-b4c04f463137", Namespace: "ichor-system"},
		Spec:       stubMachine(),
	}}
)

func stubMachine() MachineSpec {
	spec := MachineSpec{
		ClusterRef: &LocalReference{Name: "prod"}, Approval: "Approved", Role: "worker", Endpoint: "10.5.0.17", Hostname: "worker-7",
		MaintenanceFingerprint: "q1Xg8mM0bXq6h3m1m0c2r5t8u1w4x7z0A3C6E9H2K5M=",
	}
	spec.Identity.UUID = "4c4c4544-0042-3510-8052-b4c04f463137"

	return spec
}

func (everything) cluster(_ context.Context, _, name string) (*TalosCluster, error) {
	if name == stubClusters[0].Name {
		return &stubClusters[0], nil
	}

	return nil, nil
}

func (everything) clusters(context.Context, string) ([]TalosCluster, error) { return stubClusters, nil }

func (everything) machines(context.Context, string) ([]TalosMachine, error) { return stubMachines, nil }

func (everything) operations(context.Context, string, string) ([]TalosOperation, error) {
	return nil, nil
}

func (everything) storages(context.Context, string) ([]TalosStorage, error) { return nil, nil }

func (everything) bundle(_ context.Context, _, name string) (string, error) {
	return "id-of-" + name, nil
}

func (everything) secretType(context.Context, string, string) (corev1.SecretType, error) {
	return talosconfigSecretType, nil
}

func (everything) unfinished(context.Context, string, func(*MachineReclaim) bool) (*MachineReclaim, error) {
	return nil, nil
}
