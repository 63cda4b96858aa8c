// Package supervisor runs one Kubernetes control plane (etcd, kube-apiserver, kube-controller-manager) on free
// loopback ports in a folder of its own, for as long as its caller wants it.
package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

const usage = `Usage: controlplane start --dir DIR [--ca-cert FILE --ca-key FILE]

Starts etcd, kube-apiserver and kube-controller-manager on free ports of 127.0.0.1, prints one line of JSON when they
are ready, and stops them at SIGTERM, SIGINT or the end of its standard input.

`

// Main is the command line; it returns the exit code.
func Main(args []string) int {
	// The kernel sends a child its parent-death signal when the thread that forked it ends, so all children are
	// forked from the main thread, which lives as long as the process.
	runtime.LockOSThread()

	if err := run(args, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		return 1
	}
	return 0
}

func run(args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("start", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	dir := flags.String("dir", "", "folder for all files of this control plane; new or empty")
	caCert := flags.String("ca-cert", "", "certificate (PEM) of the cluster's CA; made when not given")
	caKey := flags.String("ca-key", "", "its private key (PEM)")
	if len(args) == 0 || args[0] != "start" {
		flags.Usage()
		return fmt.Errorf("the only command is start")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if *dir == "" || flags.NArg() > 0 {
		return fmt.Errorf("--dir DIR is required, and nothing stands beside the flags")
	}
	if (*caCert == "") != (*caKey == "") {
		return fmt.Errorf("--ca-cert and --ca-key belong together: give both or neither")
	}

	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()

	plane, err := Start(ctx, *dir, *caCert, *caKey)
	if err != nil {
		if errors.Is(err, context.Canceled) { // asked to stop while starting
			return nil
		}
		return err
	}
	if err := json.NewEncoder(stdout).Encode(plane.Info); err != nil {
		plane.Stop()
		return fmt.Errorf("print the description: %w", err)
	}
	return plane.Wait(ctx)
}
