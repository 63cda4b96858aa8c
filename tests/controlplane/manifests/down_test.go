package manifests

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ichor.maesh.dev/tests/controlplane/planetest"
)

// kubernetes#109964, cozystack#3125: a webhook that is down stops nothing but Ichor's own objects, and not the ways to
// mend it. Here it is always down: nothing runs Pods.
func TestWebhookDown(t *testing.T) {
	t.Parallel()
	plane := planetest.Start(t)
	plane.Kubectl(t, "apply", "-k", base())
	plane.Kubectl(t, "wait", "--for=condition=Established", "crd", "-l", "app.kubernetes.io/name=ichor")
	withObjects(t, plane)
	refused := func(t *testing.T, want, input string, args ...string) {
		t.Helper()
		began := time.Now()
		_, refusal, ok := plane.KubectlOutcome(t, input, args...)
		if ok || !strings.Contains(refusal, want) {
			t.Errorf("admitted %v: %s", ok, refusal)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the refusal took %s", took)
		}
	}
	// The configurations are in force a moment after they were written.
	deadline := time.Now().Add(30 * time.Second)
	for {
		if _, _, ok := plane.KubectlOutcome(t, named("probe"), "create", "--dry-run=server", "-f", "-"); !ok {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("the webhook is not asked")
		}
	}

	t.Run("what is not Ichor's is written as ever", func(t *testing.T) {
		for _, other := range []string{
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default"},"spec":{"containers":[{"name":"a","image":"a"}]}}`,
			`{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"ichor-system"}}`,
			`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a","namespace":"ichor-system"}}`,
			`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"ichor-system"}}`,
		} {
			plane.KubectlInput(t, other, "apply", "-f", "-")
		}
	})
	t.Run("every kind of Ichor is refused", func(t *testing.T) {
		judged := strings.Fields(plane.Kubectl(t, "get", "validatingwebhookconfiguration", "ichor",
			"-o", "jsonpath={.webhooks[*].rules[*].resources[*]}"))
		if len(judged) == 0 {
			t.Fatal("no rule")
		}
		examples := exampleFiles(t)
		for _, resource := range judged {
			example, ok := examples[resource]
			if !ok {
				t.Errorf("no example of %s", resource)
				continue
			}
			refused(t, "failed calling webhook", "", "create", "--dry-run=server", "-f", example)
			refused(t, "failed calling webhook", "", "label", resource, "--all", "-n", "ichor-system", "a=b")
		}
	})
	t.Run("the policies still hold", func(t *testing.T) {
		plane.Kubectl(t, "create", "clusterrolebinding", "controller-patches", "--clusterrole=cluster-admin",
			"--serviceaccount=ichor-system:ichor-controller")
		for resource := range exampleFiles(t) {
			name := strings.Fields(plane.Kubectl(t, "get", resource, "-n", "ichor-system", "-o", "name"))[0]
			status := []string{"patch", name, "-n", "ichor-system", "--type=merge", "--subresource=status", "-p", `{"status":{"observedGeneration":9}}`}
			refused(t, "may not write the status of "+resource+".ichor.maesh.dev", "", status...)
			plane.Kubectl(t, append(status, controller)...) // its own record, also now
		}
	})
	t.Run("it can be mended and removed", func(t *testing.T) {
		plane.Kubectl(t, "rollout", "restart", "deployment/ichor-controller", "-n", "ichor-system")
		plane.Kubectl(t, "apply", "-k", base())
		plane.Kubectl(t, "delete", "namespace", "ichor-system", "--timeout=60s")
	})
}

// exampleFiles is an example of each resource.
func exampleFiles(t *testing.T) map[string]string {
	t.Helper()
	plural := map[string]string{}
	for _, crd := range objects(t, rendered(t, "--show-only=templates/crds.yaml")) {
		plural[crd.at("spec", "names", "kind").(string)] = crd.at("spec", "names", "plural").(string)
	}
	files := map[string]string{}
	err := filepath.WalkDir(filepath.Join(planetest.Root(), "manifests/examples"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".yaml" {
			relative, _ := filepath.Rel(planetest.Root(), path)
			for _, example := range objects(t, string(file(t, relative))) {
				files[plural[example["kind"].(string)]] = path
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
