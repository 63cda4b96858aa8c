package main

import (
	"context"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
)

func genConfig(_ context.Context, args []string) (any, error) {
	set := newFlags("gen-config")
	file := set.require("secrets", "secrets bundle")
	cluster := set.require("cluster", "cluster name")
	endpoint := set.require("endpoint", "https URL of the Kubernetes API")
	role := set.require("role", "controlplane or worker")
	contract := set.String("contract", defaultContract, "version contract: the Talos release the configuration is for")
	kubernetes := set.String("kubernetes-version", constants.DefaultKubernetesVersion, "Kubernetes version")
	disk := set.String("install-disk", "/dev/sda", "disk Talos is installed on")
	image := set.String("install-image", "", "installer image; empty leaves the choice to the node")
	sans := set.String("cert-sans", "", "further names and addresses for the certificates, separated by commas")
	out := set.String("out", "", "write the configuration to this file instead")

	if err := set.parse(args); err != nil {
		return nil, err
	}

	version, err := config.ParseContractFromVersion(*contract)
	if err != nil {
		return nil, usageError{err}
	}

	machineType, err := machine.ParseType(*role)
	if err != nil || (machineType != machine.TypeControlPlane && machineType != machine.TypeWorker) {
		return nil, usagef("--role is controlplane or worker, not %q", *role)
	}

	bundle, err := loadBundle(*file)
	if err != nil {
		return nil, err
	}

	input, err := generate.NewInput(*cluster, *endpoint, strings.TrimPrefix(*kubernetes, "v"),
		generate.WithVersionContract(version),
		generate.WithSecretsBundle(bundle),
		generate.WithInstallDisk(*disk),
		generate.WithInstallImage(*image),
		generate.WithAdditionalSubjectAltNames(splitWords(*sans)),
	)
	if err != nil {
		return nil, err
	}

	generated, err := input.Config(machineType)
	if err != nil {
		return nil, err
	}

	text, err := generated.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	if err != nil {
		return nil, err
	}

	return emit(text, *out)
}

// metal is the runtime mode of a machine with disks, the only kind Ichor manages.
type metal struct{}

func (metal) String() string        { return "metal" }
func (metal) RequiresInstall() bool { return true }
func (metal) InContainer() bool     { return false }

// validation is the answer of validate.
type validation struct {
	Valid    bool     `json:"valid"`
	Warnings []string `json:"warnings,omitempty"`
	Error    string   `json:"error,omitempty"`
}

func validateConfig(_ context.Context, args []string) (any, error) {
	set := newFlags("validate")
	file := set.require("file", `machine configuration, "-" for stdin`)

	if err := set.parse(args); err != nil {
		return nil, err
	}

	text, err := readInput(*file)
	if err != nil {
		return nil, err
	}

	// Loading is part of the verdict: unknown kinds and fields are refused there.
	provider, err := configloader.NewFromBytes(text)
	if err != nil {
		return validation{Error: err.Error()}, errRejected
	}

	// Documents without the main one parse and validate, but no machine leaves maintenance mode with them.
	if provider.RawV1Alpha1() == nil {
		return validation{Error: "no v1alpha1 document: the machine would stay in maintenance mode"}, errRejected
	}

	warnings, err := provider.Validate(metal{})
	if err != nil {
		return validation{Warnings: warnings, Error: err.Error()}, errRejected
	}

	return validation{Valid: true, Warnings: warnings}, nil
}
