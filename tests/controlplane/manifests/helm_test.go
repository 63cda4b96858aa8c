package manifests

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"ichor.maesh.dev/tests/controlplane/planetest"
)

func chart() string { return filepath.Join(planetest.Root(), "manifests/chart") }

var helmProgram = sync.OnceValues(func() (string, error) {
	build := exec.Command(filepath.Join(planetest.Root(), "scripts/helm"))
	build.Stderr = os.Stderr
	path, err := build.Output()
	return strings.TrimSpace(string(path)), err
})

// helm runs Helm, which knows nothing of the cluster or the settings of whoever runs the tests.
func helm(t *testing.T, args ...string) (stdout, stderr string, ok bool) {
	t.Helper()
	program, err := helmProgram()
	if err != nil {
		t.Fatalf("scripts/helm: %v", err)
	}
	cmd := exec.Command(program, args...)
	home := t.TempDir()
	cmd.Env = []string{"HOME=" + home, "KUBECONFIG=/dev/null", "PATH=" + os.Getenv("PATH")}
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	err = cmd.Run()
	return out.String(), errors.String(), err == nil
}

// rendered is what the chart gives.
func rendered(t *testing.T, args ...string) string {
	t.Helper()
	out, errors, ok := helm(t, append([]string{"template", "ichor", chart(), "-n", "ichor-system"}, args...)...)
	if !ok {
		t.Fatalf("helm template %v: %s", args, errors)
	}
	return out
}

type object map[string]any

func (o object) at(path ...string) any {
	var value any = map[string]any(o)
	for _, key := range path {
		inner, _ := value.(map[string]any)
		value = inner[key]
	}
	return value
}

// objects reads a stream of YAML documents, by kind and name.
func objects(t *testing.T, stream string) map[string]object {
	t.Helper()
	all := map[string]object{}
	for _, document := range strings.Split("\n"+stream, "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if o == nil {
			continue // only comments
		}
		name := o["kind"].(string) + " " + o.at("metadata", "name").(string)
		if _, twice := all[name]; twice {
			t.Errorf("%s is there twice", name)
		}
		all[name] = o
	}
	return all
}

func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", program, args, err, errors.String())
	}
	return string(out)
}
