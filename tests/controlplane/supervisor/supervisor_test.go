package supervisor

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var program string // the built controlplane

func TestMain(m *testing.M) {
	build := exec.Command("../build.sh")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		os.Stderr.WriteString("../build.sh: " + err.Error() + "\n")
		os.Exit(1)
	}
	program, _ = filepath.Abs("../../../target/controlplane/current/controlplane")
	os.Exit(m.Run())
}

func TestTwoAtOnce(t *testing.T) {
	var planes [2]*running
	var starts sync.WaitGroup
	for i := range planes {
		starts.Go(func() { planes[i] = start(t) })
	}
	starts.Wait()
	one, two := planes[0], planes[1]
	if one == nil || two == nil {
		t.FailNow()
	}
	if one.URL == two.URL {
		t.Fatalf("both serve at %s", one.URL)
	}

	one.kubectl(t, "create", "namespace", "only-in-one")
	if names := two.kubectl(t, "get", "namespaces", "-o", "name"); strings.Contains(names, "only-in-one") {
		t.Errorf("the second control plane shows an object of the first: %s", names)
	}
	one.stop(t)
	two.kubectl(t, "get", "--raw", "/readyz") // not disturbed
	two.stop(t)
}

func TestOneControlPlane(t *testing.T) {
	plane := start(t)

	t.Run("is Kubernetes 1.37.2 throughout", func(t *testing.T) {
		version := plane.kubectl(t, "version")
		for _, line := range []string{"Client Version: v1.37.2", "Server Version: v1.37.2"} {
			if !strings.Contains(version, line) {
				t.Errorf("%q is missing in %q", line, version)
			}
		}
	})
	t.Run("listens on 127.0.0.1 only", func(t *testing.T) {
		listeners := listeningAddresses(t, processesOf(t, plane.dir))
		if len(listeners) != 3 { // kube-apiserver, etcd's clients and peers
			t.Errorf("listeners: %v", listeners)
		}
		for _, address := range listeners {
			if address != "127.0.0.1" {
				t.Errorf("listens on %s", address)
			}
		}
	})
	t.Run("service account tokens work", func(t *testing.T) {
		plane.kubectl(t, "create", "serviceaccount", "robot")
		token := strings.TrimSpace(plane.kubectl(t, "create", "token", "robot"))
		who := plane.run(t, "--server="+plane.URL, "--certificate-authority="+plane.CAFile, "--token="+token, "auth", "whoami")
		if !strings.Contains(who, "system:serviceaccount:default:robot") {
			t.Errorf("the token is not the account's: %s", who)
		}
	})
	t.Run("garbage is collected and namespaces end", func(t *testing.T) {
		plane.kubectl(t, "create", "namespace", "short")
		plane.kubectl(t, "create", "configmap", "content", "-n", "short")
		plane.kubectl(t, "delete", "namespace", "short", "--timeout=60s") // waits
		owner := plane.kubectl(t, "create", "configmap", "owner", "-o", "jsonpath={.metadata.uid}")
		plane.apply(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"owned","namespace":"default",
			"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"`+owner+`"}]}}`)
		plane.kubectl(t, "delete", "configmap", "owner")
		plane.kubectl(t, "wait", "--for=delete", "configmap/owned", "--timeout=60s")
	})
	t.Run("the audit log has a request's annotations at once", func(t *testing.T) {
		plane.kubectl(t, "create", "configmap", "audited")
		event := plane.auditEvent(t, "create", "audited")
		if event.Annotations["authorization.k8s.io/decision"] != "allow" || event.Stage != "ResponseComplete" {
			t.Errorf("event: %+v", event)
		}
	})
	plane.stop(t)
}

func TestGivenCA(t *testing.T) {
	ca, err := makeCA()
	if err != nil {
		t.Fatal(err)
	}
	files := t.TempDir()
	certFile, keyFile := filepath.Join(files, "ca.crt"), filepath.Join(files, "ca.key")
	writeFile(t, certFile, ca.certPEM)
	writeFile(t, keyFile, pemKey(t, "EC PRIVATE KEY", ca.key)) // as Talos writes the Kubernetes CA
	plane := start(t, "--ca-cert", certFile, "--ca-key", keyFile)

	published := plane.kubectl(t, "get", "configmap", "kube-root-ca.crt", "-n", "kube-system", "-o", `jsonpath={.data.ca\.crt}`)
	if strings.TrimSpace(published) != strings.TrimSpace(string(ca.certPEM)) {
		t.Errorf("the published root CA is not the given one: %s", published)
	}
	if content, err := os.ReadFile(plane.CAFile); err != nil || !bytes.Equal(content, ca.certPEM) {
		t.Errorf("caFile is not the given CA (%v)", err)
	}
	person, err := ca.issueClient("person", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(files, "person.crt"), filepath.Join(files, "person.key")
	writeFile(t, certFile, person.certPEM)
	writeFile(t, keyFile, person.keyPEM)
	who := plane.run(t, "--server="+plane.URL, "--certificate-authority="+plane.CAFile,
		"--client-certificate="+certFile, "--client-key="+keyFile, "auth", "whoami")
	if !strings.Contains(who, "person") {
		t.Errorf("a client certificate of the given CA is someone else: %s", who)
	}
	plane.stop(t)
}

func TestEndOfInputStops(t *testing.T) {
	plane := start(t)
	plane.stdin.Close()
	if err := plane.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	plane.assertGone(t)
}

func TestKilledSupervisorLeavesNoChild(t *testing.T) {
	plane := start(t)
	if children := processesOf(t, plane.dir); len(children) != 4 { // with the supervisor
		t.Fatalf("processes: %v", children)
	}
	_ = plane.cmd.Process.Kill()
	_ = plane.cmd.Wait()
	plane.assertGone(t)
}

func TestChildThatEndsIsReported(t *testing.T) {
	plane := start(t)
	for pid, command := range processesOf(t, plane.dir) {
		if strings.Contains(command, "/etcd\x00") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	err := plane.cmd.Wait()
	if err == nil || !strings.Contains(plane.stderr.String(), "etcd ended by itself (signal: killed)") {
		t.Errorf("exit %v, stderr %q", err, plane.stderr.String())
	}
	plane.assertGone(t)
}

func TestRefusals(t *testing.T) {
	full := t.TempDir()
	writeFile(t, filepath.Join(full, "something"), nil)
	empty := t.TempDir()
	for _, test := range []struct {
		name string
		args []string
		env  string
		want string
	}{
		{"no folder", []string{"start"}, "", "--dir DIR is required"},
		{"a folder in use", []string{"start", "--dir", full}, "", "is not empty"},
		{"half a CA", []string{"start", "--dir", empty, "--ca-cert", "x"}, "", "--ca-cert and --ca-key belong together"},
		{"programs missing", []string{"start", "--dir", empty}, "KUBEBUILDER_ASSETS=" + full, "etcd is missing in " + full},
		{"another command", []string{"stop"}, "", "the only command is start"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.Command(program, test.args...)
			if cmd.Env = os.Environ(); test.env != "" {
				cmd.Env = append(cmd.Env, test.env)
			}
			output, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(output), test.want) {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
}

func TestAssetsFolderIsHonoured(t *testing.T) {
	assets := t.TempDir()
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kubectl"} {
		if err := os.Symlink(program, filepath.Join(assets, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	plane := start(t)
	if plane.Bin != assets {
		t.Errorf("bin is %s", plane.Bin)
	}
	plane.stop(t)
}

// running is a started control plane.
type running struct {
	Info
	dir    string
	cmd    *exec.Cmd
	stdin  interface{ Close() error }
	stderr *bytes.Buffer
}

func start(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{dir: filepath.Join(t.TempDir(), "plane"), stderr: &bytes.Buffer{}}
	r.cmd = exec.Command(program, append([]string{"start", "--dir", r.dir}, args...)...)
	r.cmd.Stderr = r.stderr
	stdin, err := r.cmd.StdinPipe()
	if err != nil {
		t.Error(err)
		return nil
	}
	r.stdin = stdin
	stdout, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return nil
	}
	if err := r.cmd.Start(); err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	if err := json.NewDecoder(stdout).Decode(&r.Info); err != nil {
		_ = r.cmd.Wait()
		t.Errorf("no description: %v; stderr: %s", err, r.stderr)
		return nil
	}
	return r
}

// stop asks it to end and checks that it did so cleanly.
func (r *running) stop(t *testing.T) {
	t.Helper()
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("exit after SIGTERM: %v; stderr: %s", err, r.stderr)
	}
	r.assertGone(t)
}

func (r *running) assertGone(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for len(processesOf(t, r.dir)) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("still there: %v", processesOf(t, r.dir))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (r *running) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return r.run(t, append([]string{"--kubeconfig=" + r.Kubeconfig}, args...)...)
}

// run is kubectl with no kubeconfig but what args name.
func (r *running) run(t *testing.T, args ...string) string {
	t.Helper()
	return r.output(t, "", args...)
}

func (r *running) apply(t *testing.T, manifest string) {
	t.Helper()
	r.output(t, manifest, "--kubeconfig="+r.Kubeconfig, "apply", "-f", "-")
}

func (r *running) output(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(r.Bin, "kubectl"), args...)
	cmd.Env = []string{"HOME=" + r.dir, "KUBECONFIG=/dev/null"}
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, stderr.String())
	}
	return stdout.String()
}

type auditEvent struct {
	Verb, Stage string
	ObjectRef   struct{ Name string }
	Annotations map[string]string
}

func (r *running) auditEvent(t *testing.T, verb, name string) auditEvent {
	t.Helper()
	log, err := os.Open(r.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for events := json.NewDecoder(log); events.More(); {
		var event auditEvent
		if err := events.Decode(&event); err != nil {
			t.Fatal(err)
		}
		if event.Verb == verb && event.ObjectRef.Name == name {
			return event
		}
	}
	t.Fatalf("no audit event %s of %s", verb, name)
	return auditEvent{}
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func pemKey(t *testing.T, label string, key any) []byte {
	t.Helper()
	der, err := marshalKey(label, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der})
}
