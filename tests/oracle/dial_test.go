package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cosiapi "github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/impl/inmem"
	"github.com/cosi-project/runtime/pkg/state/impl/namespaced"
	"github.com/cosi-project/runtime/pkg/state/protobuf/server"
	siderox509 "github.com/siderolabs/crypto/x509"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// fakeNode answers just enough, with Talos's own server stubs, to show that what dial sends and prints is right. How
// nodes behave is the simulator's business, not this test's.
type fakeNode struct {
	machineapi.UnimplementedMachineServiceServer

	mu      sync.Mutex
	applied *machineapi.ApplyConfigurationRequest
	resets  []*machineapi.ResetRequest
}

func (n *fakeNode) Version(context.Context, *emptypb.Empty) (*machineapi.VersionResponse, error) {
	return &machineapi.VersionResponse{Messages: []*machineapi.Version{{Version: &machineapi.VersionInfo{Tag: "v1.13.5"}}}}, nil
}

func (n *fakeNode) ApplyConfiguration(_ context.Context, request *machineapi.ApplyConfigurationRequest) (*machineapi.ApplyConfigurationResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()

	n.applied = request

	return &machineapi.ApplyConfigurationResponse{Messages: []*machineapi.ApplyConfiguration{{ModeDetails: "applied"}}}, nil
}

func (n *fakeNode) Reset(_ context.Context, request *machineapi.ResetRequest) (*machineapi.ResetResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()

	if n.resets = append(n.resets, request); request.Graceful {
		return nil, status.Error(codes.Unknown, "etcdserver: no leader")
	}

	return &machineapi.ResetResponse{Messages: []*machineapi.Reset{{ActorId: "actor"}}}, nil
}

// start serves the node on a loopback port until the test ends and returns its address and its leaf's fingerprint.
func (n *fakeNode) start(t *testing.T, serving signer, clientCA *x509.Certificate) (string, string) {
	t.Helper()

	config := &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{serving.cert.Raw}, PrivateKey: serving.key}},
	}

	if clientCA != nil {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		config.ClientCAs.AddCert(clientCA)
	}

	resources := state.WrapCore(namespaced.NewState(inmem.Build))

	system := hardware.NewSystemInformation(hardware.SystemInformationID)
	system.TypedSpec().UUID, system.TypedSpec().SerialNumber = "4c4c4544-0000-1111-8000-000000000001", "SN1"

	machine := runtime.NewMachineStatus()
	machine.TypedSpec().Stage = runtime.MachineStageRunning

	info := cluster.NewInfo()
	info.TypedSpec().ClusterName = "demo"

	for _, r := range []resource.Resource{system, machine, info} {
		if err := resources.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	served := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)))
	machineapi.RegisterMachineServiceServer(served, n)
	cosiapi.RegisterStateServer(served, server.NewState(resources))

	go func() { _ = served.Serve(listener) }()

	t.Cleanup(served.Stop)

	return listener.Addr().String(), siderox509.SPKIFingerprint(serving.cert).String()
}

func servingTemplate(now time.Time) *x509.Certificate {
	template := adminTemplate(now)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}

	return template
}

func TestDialWithCredentials(t *testing.T) {
	bundleFile := produce(t, "gen-secrets")

	bundle, err := loadBundle(bundleFile)
	if err != nil {
		t.Fatal(err)
	}

	caCert, err := bundle.Certs.OS.GetCert()
	if err != nil {
		t.Fatal(err)
	}

	caKey, err := bundle.Certs.OS.GetEd25519Key()
	if err != nil {
		t.Fatal(err)
	}

	node := &fakeNode{}
	address, fingerprint := node.start(t, sign(t, servingTemplate(time.Now()), x509.Ed25519, &signer{caCert, caKey}), caCert)
	config := produce(t, "gen-talosconfig", "--secrets", bundleFile, "--cluster", "demo")
	dialled := []string{"dial", "--talosconfig", config, "--node", address}

	for name, test := range map[string]struct {
		words []string
		want  string
	}{
		"version":  {[]string{"version"}, `"tag":"v1.13.5"`},
		"stage":    {[]string{"stage"}, `"stage":"running"`},
		"identity": {[]string{"identity"}, `"uuid":"4c4c4544-0000-1111-8000-000000000001","serial":"SN1"`},
		"cluster":  {[]string{"identity"}, `"clusterName":"demo"`},
		"list":     {[]string{"list", hardware.SystemInformationType, hardware.NamespaceName}, `"id":"systeminformation"`},
		"get":      {[]string{"get", runtime.MachineStatusType, runtime.NamespaceName, "machine"}, `"stage":"running"`},
		"watch":    {[]string{"watch", "--events", "2", runtime.MachineStatusType, runtime.NamespaceName}, `"event":"Bootstrapped"`},
		"reset":    {[]string{"reset"}, `"actorId":"actor"`},
	} {
		var said struct {
			Result json.RawMessage
			Peer   peerInfo
		}

		code := oracle(t, &said, append(slices.Clone(dialled), test.words...)...)
		if result := compact(t, said.Result); code != 0 || !strings.Contains(result, test.want) {
			t.Errorf("%s: exit code %d, %s, want %s", name, code, result, test.want)
		}

		// gRPC tells the peer of a stream when it ends, and a watch never does.
		if name != "watch" && (said.Peer.Fingerprint != fingerprint || said.Peer.ALPN != "h2") {
			t.Errorf("%s: peer %+v, want fingerprint %s", name, said.Peer, fingerprint)
		}
	}

	for name, test := range map[string]struct {
		words []string
		want  failure
	}{
		"refused by the server": {
			append(slices.Clone(dialled), "reset", "--graceful"),
			failure{"Unknown", 2, "etcdserver: no leader"},
		},
		"not there": {
			append(slices.Clone(dialled), "get", cluster.InfoType, cluster.NamespaceName, "other"),
			failure{"NotFound", 5, "resource Infos.cluster.talos.dev(cluster/other@undefined) doesn't exist"},
		},
		"not implemented": {
			append(slices.Clone(dialled), "members"),
			failure{"Unimplemented", 12, "method EtcdMemberList not implemented"},
		},
	} {
		var said failure

		if code := oracle(t, &said, test.words...); code != 1 || said != test.want {
			t.Errorf("%s: exit code %d, %+v, want %+v", name, code, said, test.want)
		}
	}

	// A node that verifies clients refuses one without a certificate; which words reach it is a race.
	var said failure

	if code := oracle(t, &said, "dial", "--insecure", "--node", address, "version"); code != 1 || said.Code != "Unavailable" {
		t.Errorf("no certificate: exit code %d, %+v", code, said)
	}

	if len(node.resets) != 2 {
		t.Fatalf("%d resets were sent, want 2", len(node.resets))
	}

	for _, request := range node.resets {
		if labels := request.SystemPartitionsToWipe; !request.Reboot || len(labels) != 2 || labels[0].Label != "STATE" || labels[1].Label != "EPHEMERAL" {
			t.Errorf("reset sent as %v", request)
		}
	}
}

func TestDialInMaintenanceMode(t *testing.T) {
	node := &fakeNode{}
	address, fingerprint := node.start(t, sign(t, servingTemplate(time.Now()), x509.Ed25519, nil), nil)
	config := write(t, "machine.yaml", []byte("version: v1alpha1\n"))

	var said struct{ Peer peerInfo }

	code := oracle(t, &said, "dial", "--insecure", "--fingerprint", fingerprint, "--node", address, "apply", "--file", config, "--dry-run")
	if code != 0 || said.Peer.Fingerprint != fingerprint {
		t.Errorf("exit code %d, %+v", code, said)
	}

	if sent := node.applied; sent == nil || !sent.DryRun || string(sent.Data) != "version: v1alpha1\n" || sent.Mode != machineapi.ApplyConfigurationRequest_AUTO {
		t.Errorf("sent %v", sent)
	}

	node.applied = nil
	other := siderox509.Fingerprint(make([]byte, 32)).String()

	var refused failure

	code = oracle(t, &refused, "dial", "--insecure", "--fingerprint", other, "--node", address, "apply", "--file", config)
	if code != 1 || refused.Code != "Unavailable" || !strings.Contains(refused.Message, "fingerprint") || node.applied != nil {
		t.Errorf("a certificate that is not the pinned one: exit code %d, %+v, sent %v", code, refused, node.applied)
	}
}

func compact(t *testing.T, text json.RawMessage) string {
	t.Helper()

	var value strings.Builder

	for line := range strings.Lines(string(text)) {
		value.WriteString(strings.Replace(strings.TrimSpace(line), `": `, `":`, 1))
	}

	return value.String()
}
