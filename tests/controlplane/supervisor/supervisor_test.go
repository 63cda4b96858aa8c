package supervisor

import (
	"bytes"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ichor.maesh.dev/tests/controlplane/planetest"
)

func TestTwoAtOnce(t *testing.T) {
	var planes [2]*planetest.Plane
	var starts sync.WaitGroup
	for i := range planes {
		starts.Go(func() { planes[i] = planetest.Start(t) })
	}
	starts.Wait()
	one, two := planes[0], planes[1]
	if one == nil || two == nil { // it has said why
		t.FailNow()
	}
	if one.URL == two.URL {
		t.Fatalf("both serve at %s", one.URL)
	}

	one.Kubectl(t, "create", "namespace", "only-in-one")
	if names := two.Kubectl(t, "get", "namespaces", "-o", "name"); strings.Contains(names, "only-in-one") {
		t.Errorf("the second control plane shows an object of the first: %s", names)
	}
	one.Stop(t)
	two.Kubectl(t, "get", "--raw", "/readyz") // not disturbed
	two.Stop(t)
}

func TestOneControlPlane(t *testing.T) {
	plane := planetest.Start(t)

	t.Run("is Kubernetes 1.37.2 throughout", func(t *testing.T) {
		version := plane.Kubectl(t, "version")
		for _, line := range []string{"Client Version: v1.37.2", "Server Version: v1.37.2"} {
			if !strings.Contains(version, line) {
				t.Errorf("%q is missing in %q", line, version)
			}
		}
	})
	t.Run("listens on 127.0.0.1 only", func(t *testing.T) {
		listeners := listeningAddresses(t, planetest.ProcessesOf(t, plane.Dir))
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
		plane.Kubectl(t, "create", "serviceaccount", "robot")
		token := strings.TrimSpace(plane.Kubectl(t, "create", "token", "robot"))
		who := plane.KubectlAs(t, "--token="+token, "auth", "whoami")
		if !strings.Contains(who, "system:serviceaccount:default:robot") {
			t.Errorf("the token is not the account's: %s", who)
		}
	})
	t.Run("garbage is collected and namespaces end", func(t *testing.T) {
		plane.Kubectl(t, "create", "namespace", "short")
		plane.Kubectl(t, "create", "configmap", "content", "-n", "short")
		plane.Kubectl(t, "delete", "namespace", "short", "--timeout=60s") // waits
		owner := plane.Kubectl(t, "create", "configmap", "owner", "-o", "jsonpath={.metadata.uid}")
		plane.KubectlInput(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"owned","namespace":"default",
			"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"`+owner+`"}]}}`, "apply", "-f", "-")
		plane.Kubectl(t, "delete", "configmap", "owner")
		plane.Kubectl(t, "wait", "--for=delete", "configmap/owned", "--timeout=60s")
	})
	t.Run("the audit log has a request's annotations at once", func(t *testing.T) {
		plane.Kubectl(t, "create", "configmap", "audited")
		for _, event := range plane.AuditEvents(t) {
			if event.Verb != "create" || event.ObjectRef.Name != "audited" {
				continue
			}
			if event.Annotations["authorization.k8s.io/decision"] != "allow" || event.Stage != "ResponseComplete" {
				t.Errorf("event: %+v", event)
			}
			return
		}
		t.Error("no event of the request")
	})
	plane.Stop(t)
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
	plane := planetest.Start(t, "--ca-cert", certFile, "--ca-key", keyFile)

	published := plane.Kubectl(t, "get", "configmap", "kube-root-ca.crt", "-n", "kube-system", "-o", `jsonpath={.data.ca\.crt}`)
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
	who := plane.KubectlAs(t, "--client-certificate="+certFile, "--client-key="+keyFile, "auth", "whoami")
	if !strings.Contains(who, "person") {
		t.Errorf("a client certificate of the given CA is someone else: %s", who)
	}
	plane.Stop(t)
}

func TestEndOfInputStops(t *testing.T) {
	plane := planetest.Start(t)
	plane.Stdin.Close()
	if err := plane.Command.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	plane.AssertGone(t)
}

func TestKilledSupervisorLeavesNoChild(t *testing.T) {
	plane := planetest.Start(t)
	if children := planetest.ProcessesOf(t, plane.Dir); len(children) != 4 { // with the supervisor
		t.Fatalf("processes: %v", children)
	}
	_ = plane.Command.Process.Kill()
	_ = plane.Command.Wait()
	plane.AssertGone(t)
}

func TestChildThatEndsIsReported(t *testing.T) {
	plane := planetest.Start(t)
	for pid, command := range planetest.ProcessesOf(t, plane.Dir) {
		if strings.Contains(command, "/etcd\x00") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	err := plane.Command.Wait()
	if err == nil || !strings.Contains(plane.Stderr.String(), "etcd ended by itself (signal: killed)") {
		t.Errorf("exit %v, stderr %q", err, plane.Stderr.String())
	}
	plane.AssertGone(t)
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
			cmd := exec.Command(planetest.Program(t), test.args...)
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
		if err := os.Symlink(planetest.Program(t), filepath.Join(assets, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	plane := planetest.Start(t)
	if plane.Bin != assets {
		t.Errorf("bin is %s", plane.Bin)
	}
	plane.Stop(t)
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
