//go:build kubernetes

// Command controlplane is kube-apiserver, kube-controller-manager, kubectl and etcd in one binary that looks at the
// name it was called by; under its own name it is the supervisor that starts them on loopback for tests and the demo.
//
// It is built with -tags kubernetes (build.sh), so that go vet and go test of ./... do not compile Kubernetes again
// with other settings than the build's.
package main

import (
	"os"
	"path/filepath"
	_ "time/tzdata" // CronJob time zones

	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl's client plugins
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"          // JSON log format
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // version metric
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"

	"ichor.maesh.dev/tests/controlplane/supervisor"
)

func main() {
	switch filepath.Base(os.Args[0]) {
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllermanager.NewControllerManagerCommand()))
	case "etcd":
		etcdmain.Main(os.Args)
	case "kubectl":
		kubectl()
	default:
		os.Exit(supervisor.Main(os.Args[1:]))
	}
}

func kubectl() {
	// The verbosity must be set before the command is built, as in kubectl's own main.
	_, _ = logs.GlogSetter(cmd.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
