// Command peer is Ichor's admission webhook as a good Go engineer would write it on controller-runtime: the same rules over
// the same TLS, for the benchmarks to hold Ichor's webhook against. All rules of machinereclaims are here, and those of a
// creation for the other kinds (docs/benchmarks.md lists them). It is no part of what Ichor ships.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:9443", "address to serve on")
	certDir := flag.String("cert-dir", "", "folder with tls.crt and tls.key (required)")
	stub := flag.Bool("stub-access-review", false, "let every caller and every reference pass, without an API server")
	namespace := flag.String("namespace", "ichor-system", "namespace whose requests are accepted")
	local := flag.Bool("allow-local-addresses", false, "accept loopback and link-local addresses")
	flag.Parse() // controller-runtime adds --kubeconfig; without it, KUBECONFIG counts

	// Warnings and errors only, as one line on stderr.
	ctrl.SetLogger(klog.Background().V(0))

	asked := &asks{
		decoder:    admission.NewDecoder(newScheme()),
		access:     everybody{},
		references: everything{},
		namespace:  *namespace,
		local:      *local,
	}

	if err := serve(ctrl.SetupSignalHandler(), asked, *addr, *certDir, *stub); err != nil {
		fmt.Fprintf(os.Stderr, "peer: %v\n", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, asked *asks, addr, certDir string, stub bool) error {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}

	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 {
		return fmt.Errorf("--addr: port %q is not a number from 1 to 65535", portText)
	}

	if certDir == "" {
		return fmt.Errorf("--cert-dir is required: a folder with tls.crt and tls.key")
	}

	if !stub {
		if err := asked.connect(ctx); err != nil {
			return err
		}
	}

	server := webhook.NewServer(webhook.Options{
		Host:    host,
		Port:    int(port),
		CertDir: certDir,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion = tls.VersionTLS13
			c.NextProtos = []string{"h2", "http/1.1"}
		}},
	})

	for resource, judge := range asked.judges() {
		server.Register("/mutate/"+resource, hook(judge.mutate))
		server.Register("/validate/"+resource, hook(judge.validate))
	}

	go announce(ctx, server, addr)

	return server.Start(ctx)
}

// announce prints one line when reviews are answered, for whoever started the program to wait for.
func announce(ctx context.Context, server webhook.Server, addr string) {
	ready := server.StartedChecker()

	if wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		return ready(nil) == nil, nil
	}) == nil {
		fmt.Printf("{\"addr\":%q}\n", addr)
	}
}

// connect has the rules ask a real API server instead of the stubs.
func (a *asks) connect(ctx context.Context) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}

	// The API server's own fairness limits callers; client-go's five requests a second would be the only bottleneck.
	config.QPS = -1

	reviews := rest.CopyConfig(config)
	reviews.ContentType = "application/vnd.kubernetes.protobuf"

	access, err := newAPIServer(reviews)
	if err != nil {
		return err
	}

	reader, err := cluster.New(config, func(o *cluster.Options) {
		o.Logger = logr.Discard()
		o.Scheme = newScheme()
		o.Cache.DefaultNamespaces = map[string]cache.Config{a.namespace: {}}
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
	})
	if err != nil {
		return err
	}

	// A cache that ended would answer with what it last knew.
	go func() {
		if err := reader.Start(ctx); err != nil {
			klog.Background().Error(err, "the cache ended")
			os.Exit(1)
		}
	}()

	a.access = access
	a.references = clusterReader{cached: reader.GetCache(), live: reader.GetAPIReader()}

	return nil
}
