package main

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ClusterSpec describes a cluster.
type ClusterSpec struct {
	Endpoint                       string         `json:"endpoint"`
	TalosVersion                   string         `json:"talosVersion"`
	VersionContract                string         `json:"versionContract,omitempty"`
	KubernetesVersion              string         `json:"kubernetesVersion"`
	SecretsBundleRef               LocalReference `json:"secretsBundleRef"`
	InstallImage                   string         `json:"installImage,omitempty"`
	CertSANs                       []string       `json:"certSANs,omitempty"`
	AllowSchedulingOnControlPlanes *bool          `json:"allowSchedulingOnControlPlanes,omitempty"`
	DriftPolicy                    string         `json:"driftPolicy,omitempty"`
	RebootPolicy                   string         `json:"rebootPolicy,omitempty"`
	KubernetesAccess               string         `json:"kubernetesAccess,omitempty"`
	Network                        *struct {
		PodCIDRs     []string `json:"podCIDRs,omitempty"`
		ServiceCIDRs []string `json:"serviceCIDRs,omitempty"`
		DNSDomain    string   `json:"dnsDomain,omitempty"`
	} `json:"network,omitempty"`
	ControlPlane *struct {
		Max *int `json:"max,omitempty"`
	} `json:"controlPlane,omitempty"`
	Discovery *struct {
		Addresses []string `json:"addresses,omitempty"`
		CIDRs     []string `json:"cidrs,omitempty"`
		Interval  string   `json:"interval,omitempty"`
	} `json:"discovery,omitempty"`
	CNI *struct {
		Provider string `json:"provider,omitempty"`
		Handover string `json:"handover,omitempty"`
		Cilium   *struct {
			Version string `json:"version,omitempty"`
			Values  string `json:"values,omitempty"`
		} `json:"cilium,omitempty"`
	} `json:"cni,omitempty"`
}

func (s *ClusterSpec) needs(string) []need { return []need{useSecret(s.SecretsBundleRef.Name)} }

// fill gives the cluster the contract of its version, once.
func (s *ClusterSpec) fill(context.Context, *asks) ([]jsonpatch.JsonPatchOperation, error) {
	minor, ok := parseMinor(s.TalosVersion)
	if s.VersionContract != "" || !ok {
		return nil, nil
	}

	return []jsonpatch.JsonPatchOperation{jsonpatch.NewOperation("add", "/spec/versionContract", fmt.Sprintf("v1.%d", minor))}, nil
}

// parseMinor reads the minor release of v1.14.3.
func parseMinor(version string) (int, bool) {
	numbers, isOne := strings.CutPrefix(version, "v1.")
	minor, patch, two := strings.Cut(numbers, ".")
	patch, _, _ = strings.Cut(patch, "-")
	number, err := strconv.Atoi(minor)
	_, patchErr := strconv.Atoi(patch)

	return number, isOne && two && err == nil && patchErr == nil
}

const oldestTalos, newestTalos = 9, 14

func (s *ClusterSpec) fields(a *asks) field.ErrorList {
	errs := validateName(&s.SecretsBundleRef, "secretsBundleRef")
	talos, isTalos := parseMinor(s.TalosVersion)
	kubernetes, isKubernetes := parseMinor(s.KubernetesVersion)

	if !isTalos || talos < oldestTalos || talos > newestTalos {
		errs = append(errs, field.Invalid(specPath.Child("talosVersion"), s.TalosVersion, "must be a version from v1.9 to v1.14, such as v1.14.3"))
	} else if newest := talos + 23; !isKubernetes || kubernetes > newest || kubernetes < newest-5 {
		errs = append(errs, field.Invalid(specPath.Child("kubernetesVersion"), s.KubernetesVersion,
			fmt.Sprintf("Talos v1.%d runs Kubernetes v1.%d to v1.%d", talos, newest-5, newest)))
	}

	if contract, ok := parseMinor(s.VersionContract + ".0"); s.VersionContract != "" && (!ok || contract < oldestTalos || contract > talos) {
		errs = append(errs, field.Invalid(specPath.Child("versionContract"), s.VersionContract, "must be a contract that the cluster's Talos understands, such as v1.14"))
	}

	if s.Discovery != nil {
		for _, address := range s.Discovery.Addresses {
			errs = append(errs, validateNodeAddress(specPath.Child("discovery", "addresses"), address, a.local)...)
		}
	}

	return errs
}

// lookUp wants a bundle that is there, sound, and no other cluster's.
func (s *ClusterSpec) lookUp(ctx context.Context, a *asks, name string) (field.ErrorList, []string) {
	path, secret := specPath.Child("secretsBundleRef", "name"), s.SecretsBundleRef.Name

	id, err := a.references.bundle(ctx, a.namespace, secret)
	if err != nil {
		return field.ErrorList{field.Invalid(path, secret, err.Error())}, nil
	}

	clusters, err := a.references.clusters(ctx, a.namespace)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}, nil
	}

	for i := range clusters {
		other := &clusters[i]
		if other.Name == name {
			continue
		}

		theirs, err := a.clusterID(ctx, other.Spec.SecretsBundleRef.Name)
		if err != nil {
			return field.ErrorList{field.InternalError(path, err)}, nil
		}

		if other.Spec.SecretsBundleRef == s.SecretsBundleRef || theirs == id {
			duplicate := field.Duplicate(path, secret)
			duplicate.Detail = fmt.Sprintf("TalosCluster %q has the same secrets", other.Name)

			return field.ErrorList{duplicate}, nil
		}
	}

	return nil, nil
}

func (s *ClusterSpec) audit() map[string]string {
	return map[string]string{
		"bundle": s.SecretsBundleRef.Name, "talos-version": s.TalosVersion, "kubernetes-version": s.KubernetesVersion,
		"version-contract": s.VersionContract,
	}
}

var errNoBundle = errors.New("no Secret with a bundle of talosctl gen secrets")

// parseBundle reads the parts of a secrets bundle that Ichor signs with, and returns the cluster's ID.
func parseBundle(text []byte) (string, error) {
	type pair struct {
		Crt string `yaml:"crt"`
		Key string `yaml:"key"`
	}

	var bundle struct {
		Cluster struct {
			ID string `yaml:"id"`
		} `yaml:"cluster"`
		Certs struct {
			OS  pair `yaml:"os"`
			K8s pair `yaml:"k8s"`
		} `yaml:"certs"`
	}

	if yaml.Unmarshal(text, &bundle) != nil || bundle.Cluster.ID == "" {
		return "", errors.New("the bundle is not what talosctl gen secrets writes")
	}

	for name, pair := range map[string]pair{"certs.os": bundle.Certs.OS, "certs.k8s": bundle.Certs.K8s} {
		crt, crtErr := base64.StdEncoding.DecodeString(pair.Crt)
		key, keyErr := base64.StdEncoding.DecodeString(pair.Key)

		// Talos's label of Ed25519 keys is not the standard's.
		key = []byte(strings.ReplaceAll(string(key), "ED25519 PRIVATE KEY", "PRIVATE KEY"))
		if _, err := tls.X509KeyPair(crt, key); errors.Join(crtErr, keyErr, err) != nil {
			return "", fmt.Errorf("%s of the bundle is no certificate with its key", name)
		}
	}

	return bundle.Cluster.ID, nil
}
