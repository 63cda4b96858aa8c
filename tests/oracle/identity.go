package main

import (
	"context"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
)

// nodeIdentity is what Ichor knows a machine by, and which cluster's it says it is. A resource that the node does not have
// (the cluster's before it is configured) leaves its fields empty; any other failure fails the whole.
type nodeIdentity struct {
	UUID         string   `json:"uuid"`
	Serial       string   `json:"serial"`
	Manufacturer string   `json:"manufacturer"`
	Product      string   `json:"product"`
	MACs         []string `json:"macs"`
	Hostname     string   `json:"hostname"`
	NodeName     string   `json:"nodeName,omitempty"`
	MachineType  string   `json:"machineType"`
	ClusterID    string   `json:"clusterID,omitempty"`
	ClusterName  string   `json:"clusterName,omitempty"`
}

func identity(ctx context.Context, c *client.Client) (any, error) {
	system, err := one[*hardware.SystemInformation](ctx, c, hardware.NewSystemInformation(hardware.SystemInformationID))
	if err != nil {
		return nil, err
	}

	hostname, err := one[*network.HostnameStatus](ctx, c, network.NewHostnameStatus(network.NamespaceName, network.HostnameID))
	if err != nil {
		return nil, err
	}

	nodename, err := one[*k8s.Nodename](ctx, c, k8s.NewNodename(k8s.NamespaceName, k8s.NodenameID))
	if err != nil {
		return nil, err
	}

	machineType, err := one[*config.MachineType](ctx, c, config.NewMachineType())
	if err != nil {
		return nil, err
	}

	info, err := one[*cluster.Info](ctx, c, cluster.NewInfo())
	if err != nil {
		return nil, err
	}

	links, err := safe.StateListAll[*network.LinkStatus](ctx, c.COSI)
	if err != nil {
		return nil, err
	}

	found := nodeIdentity{
		UUID:         system.TypedSpec().UUID,
		Serial:       system.TypedSpec().SerialNumber,
		Manufacturer: system.TypedSpec().Manufacturer,
		Product:      system.TypedSpec().ProductName,
		Hostname:     hostname.TypedSpec().Hostname,
		NodeName:     nodename.TypedSpec().Nodename,
		MachineType:  machineType.MachineType().String(),
		ClusterID:    info.TypedSpec().ClusterID,
		ClusterName:  info.TypedSpec().ClusterName,
	}

	for link := range links.All() {
		if link.TypedSpec().Physical() {
			found.MACs = append(found.MACs, link.TypedSpec().PermanentAddr.String())
		}
	}

	return found, nil
}

func stage(ctx context.Context, c *client.Client) (any, error) {
	status, err := safe.StateGet[*runtime.MachineStatus](ctx, c.COSI, runtime.NewMachineStatus().Metadata())
	if err != nil {
		return nil, err
	}

	return struct {
		Stage string `json:"stage"`
		Ready bool   `json:"ready"`
	}{status.TypedSpec().Stage.String(), status.TypedSpec().Status.Ready}, nil
}
