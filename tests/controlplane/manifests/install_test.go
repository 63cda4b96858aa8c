package manifests

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ichor.maesh.dev/tests/controlplane/planetest"
)

// release runs Helm against the control plane.
func release(t *testing.T, plane *planetest.Plane, args ...string) string {
	t.Helper()
	out, errors, ok := helm(t, append(args, "-n", "ichor-system", "--kubeconfig", plane.Kubeconfig)...)
	if !ok {
		t.Fatalf("helm %v: %s", args, errors)
	}
	return out
}

// withObjects stores one of each example, as if there had been a webhook that agreed.
func withObjects(t *testing.T, plane *planetest.Plane) {
	t.Helper()
	kept := map[string]string{}
	for _, kind := range []string{"validatingwebhookconfiguration", "mutatingwebhookconfiguration"} {
		kept[kind] = plane.Kubectl(t, "get", kind, "ichor", "-o", "jsonpath={.webhooks}")
		plane.Kubectl(t, "patch", kind, "ichor", "--type=json", "-p", `[{"op":"replace","path":"/webhooks","value":[]}]`)
	}
	// The API server forgets the webhooks a moment later.
	deadline := time.Now().Add(30 * time.Second)
	for {
		_, refusal, ok := plane.KubectlOutcome(t, "", "apply", "-R", "-f", filepath.Join(planetest.Root(), "manifests/examples"))
		if ok {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(refusal)
		}
	}
	if stored := strings.Fields(plane.Kubectl(t, "get", "ichor", "-n", "ichor-system", "-o", "name")); len(stored) < 8 {
		t.Fatalf("stored only %v", stored)
	}
	for kind, webhooks := range kept {
		plane.Kubectl(t, "patch", kind, "ichor", "--type=json", "-p", `[{"op":"replace","path":"/webhooks","value":`+webhooks+`}]`)
	}
}

// The webhook cannot answer here (nothing runs Pods), so a removal that asked it would never end.
func gone(t *testing.T, plane *planetest.Plane) {
	t.Helper()
	plane.Kubectl(t, "delete", "namespace", "ichor-system", "--timeout=60s")
	if left := plane.Kubectl(t, "get", "namespace", "--ignore-not-found", "ichor-system"); left != "" {
		t.Error(left)
	}
}

func TestInstallUpgradeUninstall(t *testing.T) {
	t.Parallel()
	plane := planetest.Start(t)
	plane.Kubectl(t, "apply", "-f", filepath.Join(base(), "namespace.yaml"))
	release(t, plane, "install", "ichor", chart())

	t.Run("an upgrade keeps the caBundle and brings new CRDs", func(t *testing.T) {
		bundle := `[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"` + serving().caBundle() + `"}]`
		plane.Kubectl(t, "patch", "validatingwebhookconfiguration", "ichor", "--type=json", "-p", bundle)
		plane.Kubectl(t, "wait", "--for=condition=Established", "crd", "-l", "app.kubernetes.io/name=ichor")
		release(t, plane, "upgrade", "ichor", newer(t), "--set=replicas=3")
		for want, from := range map[string][]string{
			serving().caBundle(): {"validatingwebhookconfiguration", "ichor", "-o", "jsonpath={.webhooks[0].clientConfig.caBundle}"},
			"3":                  {"deployment", "ichor-controller", "-n", "ichor-system", "-o", "jsonpath={.spec.replicas}"},
			"newer":              {"crd", "talosclusters.ichor.maesh.dev", "-o", "jsonpath={.spec.names.shortNames[1]}"},
		} {
			if got := plane.Kubectl(t, append([]string{"get"}, from...)...); got != want {
				t.Errorf("%v is %q, not %q", from, got, want)
			}
		}
	})

	withObjects(t, plane)
	release(t, plane, "uninstall", "ichor")
	t.Run("only the CRDs and the objects stay", func(t *testing.T) {
		var left []string
		for kind, of := range map[string]string{
			"all,networkpolicies,poddisruptionbudgets,serviceaccounts,roles,rolebindings":                             "ichor-system",
			"validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicies":               "",
			"validatingadmissionpolicybindings,clusterroles,clusterrolebindings,customresourcedefinitions,namespaces": "",
		} {
			args := []string{"get", kind, "-l", "app.kubernetes.io/name=ichor", "-o", "name"}
			if of != "" {
				args = append(args, "-n", of)
			}
			for _, name := range strings.Fields(plane.Kubectl(t, args...)) {
				// Pods and ReplicaSets of the Deployment end in the background.
				if !strings.HasPrefix(name, "pod/") && !strings.HasPrefix(name, "replicaset.apps/") {
					left = append(left, name)
				}
			}
		}
		slices.Sort(left)
		if len(left) != 8 || !strings.HasPrefix(left[0], "customresourcedefinition") || !strings.HasPrefix(left[7], "customresourcedefinition") {
			t.Errorf("left: %v", left)
		}
		if plane.Kubectl(t, "get", "talosmachines", "-n", "ichor-system", "-o", "name") == "" {
			t.Error("no machine is left")
		}
	})
	t.Run("it can be installed again beside them", func(t *testing.T) {
		release(t, plane, "install", "ichor", chart())
		release(t, plane, "uninstall", "ichor")
	})
	t.Run("the namespace goes", func(t *testing.T) { gone(t, plane) })
}

// What docs/install.md says for kustomize; and a namespace that is deleted in the wrong order, with the configurations
// of a webhook that is gone still there.
func TestKustomizeIsRemoved(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		first []string
	}{
		{"as the guide says", []string{"delete", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "ichor"}},
		{"the namespace first", []string{"delete", "namespace", "ichor-system", "--timeout=60s"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			plane := planetest.Start(t)
			plane.Kubectl(t, "apply", "-k", base())
			plane.Kubectl(t, "wait", "--for=condition=Established", "crd", "-l", "app.kubernetes.io/name=ichor")
			withObjects(t, plane)
			plane.Kubectl(t, test.first...)
			plane.Kubectl(t, "delete", "-k", base(), "--ignore-not-found", "--timeout=120s")
			if left := plane.Kubectl(t, "get", "namespace", "--ignore-not-found", "ichor-system"); left != "" {
				t.Error(left)
			}
		})
	}
}

// crds.keep=false: the release takes the objects along.
func TestUninstallWithTheCRDs(t *testing.T) {
	t.Parallel()
	plane := planetest.Start(t)
	plane.Kubectl(t, "apply", "-f", filepath.Join(base(), "namespace.yaml"))
	release(t, plane, "install", "ichor", chart(), "--set=crds.keep=false")
	plane.Kubectl(t, "wait", "--for=condition=Established", "crd", "-l", "app.kubernetes.io/name=ichor")
	withObjects(t, plane)
	release(t, plane, "uninstall", "ichor", "--wait", "--timeout=60s")
	if left := plane.Kubectl(t, "get", "crds", "-o", "name"); left != "" {
		t.Error(left)
	}
	gone(t, plane)
}

// newer is the chart of a later version, whose TalosCluster has one more short name.
func newer(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "chart")
	run(t, "cp", "-RL", chart(), folder)
	edit := func(name, old, new string) {
		path := filepath.Join(folder, name)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if changed := strings.Replace(string(content), old, new, 1); changed == string(content) {
			t.Fatalf("%s has no %q", name, old)
		} else if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edit("Chart.yaml", "\nversion: ", "\nversion: 9")
	edit("files/crds/talosclusters.yaml", "shortNames:\n    - tc\n", "shortNames:\n    - tc\n    - newer\n")
	return folder
}
