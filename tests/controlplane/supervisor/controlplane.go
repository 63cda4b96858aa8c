package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	startTimeout = 3 * time.Minute // a loaded machine with two cores; seconds otherwise
	stopTimeout  = 20 * time.Second
	stopCrippled = 2 * time.Second // once a process is missing, the others cannot shut down as they should
)

// Info is what a caller needs to use the control plane.
type Info struct {
	URL        string `json:"url"`
	Kubeconfig string `json:"kubeconfig"` // of system:masters
	CAFile     string `json:"caFile"`
	AuditLog   string `json:"auditLog"`
	Bin        string `json:"bin"` // folder that holds kubectl
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	Info      Info
	processes []*process // in the order of their start
	exited    chan *process
	ports     *ports
}

// Start writes the files of a control plane into dir, starts its processes and waits until they are ready.
// Must be called from the main thread (see Main).
func Start(ctx context.Context, dir, caCert, caKey string) (*ControlPlane, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready after %s", startTimeout))
	defer cancel()

	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	if dir, err = emptyFolder(dir); err != nil {
		return nil, err
	}
	reserved, err := reservePorts(3)
	if err != nil {
		return nil, err
	}
	layout := newLayout(dir, bin, reserved.numbers)
	credentials, err := layout.write(caCert, caKey)
	if err != nil {
		reserved.release()
		return nil, err
	}
	client, err := newClient(layout.url(), credentials)
	if err != nil {
		reserved.release()
		return nil, err
	}

	plane := &ControlPlane{Info: layout.info(), exited: make(chan *process, 3), ports: reserved}
	for _, step := range []struct {
		name string
		args []string
		// The paths that answer 200 once the process does its work.
		ready []string
	}{
		{"etcd", layout.etcd(), nil}, // kube-apiserver waits for it, and its readiness includes it
		{"kube-apiserver", layout.apiserver(), []string{"/readyz"}},
		{"kube-controller-manager", layout.controllerManager(), []string{
			"/api/v1/namespaces/default/serviceaccounts/default",
			"/api/v1/namespaces/default/configmaps/kube-root-ca.crt",
		}},
	} {
		if err := plane.start(dir, bin, step.name, step.args); err != nil {
			return nil, errors.Join(err, plane.Stop())
		}
		for _, path := range step.ready {
			if err := plane.waitFor(ctx, client, path); err != nil {
				return nil, errors.Join(err, plane.Stop())
			}
		}
	}
	return plane, nil
}

func (c *ControlPlane) start(dir, bin, name string, args []string) error {
	p, err := startProcess(dir, filepath.Join(bin, name), args, c.exited)
	if err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	return nil
}

func (c *ControlPlane) waitFor(ctx context.Context, client *client, path string) error {
	for {
		err := client.get(ctx, path)
		if err == nil {
			return nil
		}
		select {
		case p := <-c.exited:
			return p.failure()
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last answer: %w", path, context.Cause(ctx), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Wait returns after ctx ended and everything was stopped, or with an error when a process ended by itself.
func (c *ControlPlane) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return c.Stop()
	case p := <-c.exited:
		return errors.Join(p.failure(), c.stop(stopCrippled))
	}
}

// Stop ends the processes in reverse order, so that none misses one it needs while it shuts down.
func (c *ControlPlane) Stop() error { return c.stop(stopTimeout) }

func (c *ControlPlane) stop(timeout time.Duration) error {
	var errs []error
	for i := len(c.processes) - 1; i >= 0; i-- {
		errs = append(errs, c.processes[i].stop(timeout))
	}
	c.ports.release()
	return errors.Join(errs...)
}

// binaries is the folder of the four programs: KUBEBUILDER_ASSETS where set, else this binary's own.
func binaries() (string, error) {
	bin, given := os.LookupEnv("KUBEBUILDER_ASSETS")
	if !given || bin == "" {
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		bin = filepath.Dir(self)
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		return "", err
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kubectl"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return "", fmt.Errorf("%s is missing in %s (KUBEBUILDER_ASSETS, or the build's folder): %w", name, bin, err)
		}
	}
	return bin, nil
}

// emptyFolder makes the folder, or refuses one that holds something, such as another control plane.
func emptyFolder(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty: give each control plane a folder of its own", dir)
	}
	return dir, nil
}
