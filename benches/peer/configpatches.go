package main

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ConfigPatchSpec changes the configuration of machines.
type ConfigPatchSpec struct {
	plain

	ClusterRef LocalReference `json:"clusterRef"`
	Target     *Target        `json:"target,omitempty"`
	Priority   int            `json:"priority,omitempty"`
	Patch      string         `json:"patch"`
}

func (s *ConfigPatchSpec) fields(*asks) field.ErrorList {
	return append(validateName(&s.ClusterRef, "clusterRef"), validateTarget(s.Target)...)
}

// lookUp tries the patch with Talos's own library on a sample of the cluster's configuration, for each role it is for.
func (s *ConfigPatchSpec) lookUp(ctx context.Context, a *asks, _ string) (field.ErrorList, []string) {
	cluster, errs := a.clusterOf(ctx, s.ClusterRef)
	if errs != nil {
		return errs, nil
	}

	refuse := func(why string) field.ErrorList {
		return field.ErrorList{field.Forbidden(specPath.Child("patch"), why)}
	}

	patch, err := configpatcher.LoadPatch([]byte(s.Patch))
	if err != nil {
		return refuse("cannot be read: " + err.Error()), nil
	}

	for _, role := range [...]machine.Type{machine.TypeControlPlane, machine.TypeWorker} {
		if s.Target != nil && s.Target.Role != "" && s.Target.Role != role.String() {
			continue
		}

		base, err := sample(cluster.Spec.contract(), role)
		if err != nil {
			return refuse("there is no sample to try it on: " + err.Error()), nil
		}

		patched, err := configpatcher.Apply(configpatcher.WithConfig(base), []configpatcher.Patch{patch})
		if err != nil {
			return refuse(fmt.Sprintf("does not apply to a %s: %v", role, err)), nil
		}

		result, err := patched.Config()
		if err != nil {
			return refuse(fmt.Sprintf("makes no configuration of a %s: %v", role, err)), nil
		}

		if !reflect.DeepEqual(protected(base), protected(result)) {
			return refuse(fmt.Sprintf("changes on a %s what makes it trust its cluster, and no patch may", role)), nil
		}
	}

	return nil, nil
}

func (s *ConfigPatchSpec) audit() map[string]string {
	audit := map[string]string{
		"cluster": s.ClusterRef.Name, "role": "all", "priority": strconv.Itoa(s.Priority), "bytes": strconv.Itoa(len(s.Patch)),
	}

	if s.Target != nil && s.Target.Role != "" {
		audit["role"] = s.Target.Role
	}

	return audit
}

func (s *ClusterSpec) contract() string {
	if s.VersionContract != "" {
		return s.VersionContract
	}

	return s.TalosVersion
}

// samples are made once for each contract and role: keys take long to make.
var samples sync.Map

func sample(contract string, role machine.Type) (config.Provider, error) {
	key := contract + " " + role.String()
	if known, there := samples.Load(key); there {
		return known.(config.Provider), nil
	}

	version, err := config.ParseContractFromVersion(contract)
	if err != nil {
		return nil, err
	}

	input, err := generate.NewInput("sample", "https://sample:6443", constants.DefaultKubernetesVersion, generate.WithVersionContract(version))
	if err != nil {
		return nil, err
	}

	made, err := input.Config(role)
	if err != nil {
		return nil, err
	}

	known, _ := samples.LoadOrStore(key, made)

	return known.(config.Provider), nil
}

// protected are the fields that say who the cluster is and whom it trusts.
func protected(provider config.Provider) []any {
	raw := provider.RawV1Alpha1()
	if raw == nil || raw.MachineConfig == nil || raw.ClusterConfig == nil {
		return nil
	}

	m, c := raw.MachineConfig, raw.ClusterConfig
	fields := []any{
		m.MachineCA, m.MachineAcceptedCAs, m.MachineToken, c.ClusterID, c.ClusterSecret, c.BootstrapToken,
		c.ClusterAESCBCEncryptionSecret, c.ClusterSecretboxEncryptionSecret, c.ClusterCA, c.ClusterAcceptedCAs,
		c.ClusterAggregatorCA, c.ClusterServiceAccount,
	}

	if features := m.MachineFeatures; features != nil {
		fields = append(fields, features.RBAC, features.ApidCheckExtKeyUsage, features.KubernetesTalosAPIAccessConfig)
	}

	if c.EtcdConfig != nil {
		fields = append(fields, c.EtcdConfig.RootCA)
	}

	return fields
}
