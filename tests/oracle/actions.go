package main

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
)

// action reads its own words and returns the call they ask for.
type action func(args []string) (call, error)

type call func(ctx context.Context, c *client.Client) (any, error)

var actions = map[string]action{
	"version":     plain("version", version),
	"identity":    plain("identity", identity),
	"stage":       plain("stage", stage),
	"members":     plain("members", members),
	"etcd-status": plain("etcd-status", etcdStatus),
	"boot-id":     plain("boot-id", bootID),
	"list":        list,
	"get":         get,
	"watch":       watch,
	"apply":       apply,
	"bootstrap":   plain("bootstrap", bootstrap),
	"reboot":      plain("reboot", reboot),
	"shutdown":    plain("shutdown", shutdown),
	"reset":       reset,
}

func actionNames() string {
	return strings.Join(slices.Sorted(maps.Keys(actions)), ", ")
}

// plain is an action without flags of its own.
func plain(name string, c call) action {
	return func(args []string) (call, error) {
		return c, newFlags(name).parse(args)
	}
}

func version(ctx context.Context, c *client.Client) (any, error) {
	response, err := c.Version(ctx)
	if err != nil {
		return nil, err
	}

	return messages(response)
}

func members(ctx context.Context, c *client.Client) (any, error) {
	response, err := c.EtcdMemberList(ctx, &machineapi.EtcdMemberListRequest{})
	if err != nil {
		return nil, err
	}

	return messages(response)
}

func etcdStatus(ctx context.Context, c *client.Client) (any, error) {
	response, err := c.EtcdStatus(ctx)
	if err != nil {
		return nil, err
	}

	return messages(response)
}

// bootID reads the file, which needs os:admin; the BootIDs resource is there for everybody else.
func bootID(ctx context.Context, c *client.Client) (any, error) {
	stream, err := c.Read(ctx, "/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, err
	}

	defer stream.Close()

	text, err := io.ReadAll(stream)
	if err != nil {
		return nil, err
	}

	return strings.TrimSpace(string(text)), nil
}

func bootstrap(ctx context.Context, c *client.Client) (any, error) {
	return nil, c.Bootstrap(ctx, &machineapi.BootstrapRequest{})
}

func reboot(ctx context.Context, c *client.Client) (any, error) {
	response, err := c.RebootWithResponse(ctx)
	if err != nil {
		return nil, err
	}

	return messages(response)
}

func shutdown(ctx context.Context, c *client.Client) (any, error) {
	response, err := c.ShutdownWithResponse(ctx)
	if err != nil {
		return nil, err
	}

	return messages(response)
}

// modes are ApplyConfiguration's, as talosctl spells them. REBOOT is kept so that tests can see it refused.
var modes = map[string]machineapi.ApplyConfigurationRequest_Mode{
	"auto":      machineapi.ApplyConfigurationRequest_AUTO,
	"no-reboot": machineapi.ApplyConfigurationRequest_NO_REBOOT,
	"reboot":    machineapi.ApplyConfigurationRequest_REBOOT,
	"staged":    machineapi.ApplyConfigurationRequest_STAGED,
	"try":       machineapi.ApplyConfigurationRequest_TRY,
}

func apply(args []string) (call, error) {
	set := newFlags("apply")
	file := set.require("file", `machine configuration, "-" for stdin`)
	name := set.String("mode", "auto", "auto, no-reboot, reboot, staged or try")
	dryRun := set.Bool("dry-run", false, "change nothing")

	if err := set.parse(args); err != nil {
		return nil, err
	}

	mode, known := modes[*name]
	if !known {
		return nil, usagef("--mode %q is not known", *name)
	}

	text, err := readInput(*file)
	if err != nil {
		return nil, err
	}

	return func(ctx context.Context, c *client.Client) (any, error) {
		response, err := c.ApplyConfiguration(ctx, &machineapi.ApplyConfigurationRequest{Data: text, Mode: mode, DryRun: *dryRun})
		if err != nil {
			return nil, err
		}

		return messages(response)
	}, nil
}

func reset(args []string) (call, error) {
	set := newFlags("reset")
	graceful := set.Bool("graceful", false, "drain and leave etcd first")
	reboot := set.Bool("reboot", true, "reboot afterwards, otherwise power off")
	wipe := set.String("wipe", "STATE,EPHEMERAL", "partitions to wipe; empty wipes the whole system disk")

	if err := set.parse(args); err != nil {
		return nil, err
	}

	request := &machineapi.ResetRequest{Graceful: *graceful, Reboot: *reboot}

	for _, label := range splitWords(*wipe) {
		request.SystemPartitionsToWipe = append(request.SystemPartitionsToWipe, &machineapi.ResetPartitionSpec{Label: label, Wipe: true})
	}

	return func(ctx context.Context, c *client.Client) (any, error) {
		response, err := c.ResetGenericWithResponse(ctx, request)
		if err != nil {
			return nil, err
		}

		return messages(response)
	}, nil
}
