// Package manifests tests the folder manifests/ on a real API server: that it can be applied again and again, and what
// its policies and roles say to people while no webhook answers.
package manifests

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"ichor.maesh.dev/tests/controlplane/planetest"
)

const (
	controller = "--as=system:serviceaccount:ichor-system:ichor-controller"

	request = `apiVersion: ichor.maesh.dev/v1alpha1
kind: MachineReclaim
metadata: {NAME, namespace: ichor-system}
spec: {address: 10.5.0.7, clusterRef: {name: prod}, clusterCredentials: true}
`
	cluster = `apiVersion: ichor.maesh.dev/v1alpha1
kind: TalosCluster
metadata: {name: prod, namespace: ichor-system}
spec: {endpoint: "https://10.5.0.2:6443", talosVersion: v1.13.5, kubernetesVersion: v1.37.2, secretsBundleRef: {name: prod}, kubernetesAccess: self}
`
)

func named(name string) string { return strings.ReplaceAll(request, "NAME", "name: "+name) }

func base() string   { return filepath.Join(planetest.Root(), "manifests/base") }
func ground() string { return filepath.Join(planetest.Root(), "manifests/overlays/ground") }

// kubebuilder#3370: a large CRD cannot be applied client-side; kubernetes#121162: one over the CEL budget not at all.
func TestAppliedAgainAndAgain(t *testing.T) {
	t.Parallel()
	plane := planetest.Start(t)
	for _, how := range [][]string{{}, {}, {"--server-side"}, {"--server-side"}, {}} {
		plane.Kubectl(t, append([]string{"apply", "-k", base()}, how...)...) // a conflict of field managers would fail
	}
	if differs, failure, ok := plane.KubectlOutcome(t, "", "diff", "-k", base()); !ok {
		t.Errorf("kubectl diff: %s%s", differs, failure)
	}

	var crds struct{ Items []json.RawMessage }
	if err := json.Unmarshal([]byte(plane.Kubectl(t, "get", "crds", "-o", "json")), &crds); err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds.Items {
		if len(crd) > 200_000 {
			t.Errorf("a CRD of %d bytes: %.200s", len(crd), crd)
		}
	}
	t.Run("policies pass the API server's type check", func(t *testing.T) {
		plane.Kubectl(t, "wait", "validatingadmissionpolicies", "--all", "--for=jsonpath={.status.observedGeneration}", "--timeout=60s")
		warnings := plane.Kubectl(t, "get", "validatingadmissionpolicies",
			"-o", "jsonpath={.items[*].status.typeChecking.expressionWarnings}")
		if warnings != "" {
			t.Error(warnings)
		}
	})
	t.Run("the caBundle the controller wrote stays", func(t *testing.T) {
		bundle := `[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"` + serving().caBundle() + `"}]`
		plane.Kubectl(t, "patch", "validatingwebhookconfiguration", "ichor", "--type=json", "-p", bundle)
		for _, how := range [][]string{{}, {"--server-side"}} {
			plane.Kubectl(t, append([]string{"apply", "-k", base()}, how...)...)
		}
		kept := plane.Kubectl(t, "get", "validatingwebhookconfiguration", "ichor",
			"-o", "jsonpath={.webhooks[0].clientConfig.caBundle}")
		if kept != serving().caBundle() {
			t.Errorf("caBundle is %q", kept)
		}
	})
}

// The policies hold with the webhook gone, for each way a person can be named and each way a change can be sent.
func TestPoliciesAlone(t *testing.T) {
	t.Parallel()
	plane := planetest.Start(t)
	plane.Kubectl(t, "apply", "-k", base())
	plane.Kubectl(t, "delete", "mutatingwebhookconfiguration,validatingwebhookconfiguration", "ichor")
	// nora may write requests and their status, but lacks the verb reclaim; operators have the role through a group.
	plane.Kubectl(t, "create", "clusterrole", "writer", "--verb=create,get,patch,update",
		"--resource=machinereclaims.ichor.maesh.dev,machinereclaims.ichor.maesh.dev/status")
	plane.Kubectl(t, "create", "rolebinding", "writer", "-n", "ichor-system", "--clusterrole=writer", "--user=nora")
	plane.Kubectl(t, "create", "rolebinding", "operators", "-n", "ichor-system", "--clusterrole=ichor-operator", "--group=operators")
	nora, olga := []string{"--as=nora"}, []string{"--as=olga", "--as-group=operators"}
	admin := []string{}

	const (
		noVerb   = `the verb "reclaim" on machinereclaims.ichor.maesh.dev is missing. The role ichor-operator has it`
		tooEarly = "spec.confirmUUID cannot be set when the request is created"
		unseen   = "spec.confirmUUID cannot be set before the machine was inspected"
		notYours = "may not write the status of machinereclaims.ichor.maesh.dev"
	)
	patch := func(kind, text string, more ...string) []string {
		return append([]string{"patch", "machinereclaim", "one", "-n", "ichor-system", "--type=" + kind, "-p", text}, more...)
	}
	withConsent := strings.Replace(named("early"), "clusterCredentials: true", `clusterCredentials: true, confirmUUID: "x"`, 1)
	forced := strings.Replace(named("one"), "clusterCredentials: true", "clusterCredentials: true, force: true", 1)
	nothing := `{"status":{"phase":"Done"}}`

	inForce(t, plane, noVerb, named("probe"), append(nora, "create", "-f", "-")...)

	attempts(t, plane, []attempt{
		{"no verb", nora, create, named("one"), noVerb},
		{"no verb, generated name", nora, create, strings.ReplaceAll(request, "NAME", "generateName: r-"), noVerb},
		{"no verb, server-side apply", nora, []string{"apply", "--server-side", "-f", "-"}, named("one"), noVerb},
		{"consent before inspection", olga, create, withConsent, tooEarly},
		{"consent before inspection, by an administrator", admin, create, withConsent, tooEarly},
		{"verb through a group", olga, create, named("one"), ""},
		{"verb through a group, generated name", olga, create, strings.ReplaceAll(request, "NAME", "generateName: r-"), ""},
		{"label without the verb", nora, patch("merge", `{"metadata":{"labels":{"a":"b"}}}`), "", ""},
		{"finalizer without the verb", nora, patch("merge", `{"metadata":{"finalizers":["a.example/b"]}}`), "", ""},
		{"consent without the verb", nora, patch("merge", `{"spec":{"confirmUUID":"x"}}`), "", noVerb},
		{"force without the verb, JSON patch", nora, patch("json", `[{"op":"add","path":"/spec/force","value":true}]`), "", noVerb},
		{"force without the verb, server-side apply", nora, []string{"apply", "--server-side", "--force-conflicts", "-f", "-"}, forced, noVerb},
		{"consent with the verb, before the inspection", olga, patch("merge", `{"spec":{"confirmUUID":"x"}}`), "", unseen},
		{"force with the verb", olga, patch("merge", `{"spec":{"force":true}}`), "", ""},
		{"forged status by who may update it in RBAC", nora, patch("merge", nothing, "--subresource=status"), "", notYours},
		{"forged status by an administrator", admin, patch("merge", nothing, "--subresource=status"), "", notYours},
		{"forged status, server-side apply", admin, []string{"apply", "--server-side", "--subresource=status", "-f", "-"},
			named("one") + "status: {phase: Done}\n", notYours},
		{"deleted, kept by its finalizer", admin, []string{"delete", "machinereclaim", "one", "-n", "ichor-system", "--wait=false"}, "", ""},
		{"spec while terminating", nora, patch("merge", `{"spec":{"force":false}}`), "", noVerb},
		{"finalizer removed while terminating", nora, patch("merge", `{"metadata":{"finalizers":null}}`), "", ""},
	})
	t.Run("refusals are in the audit log", func(t *testing.T) {
		for _, event := range plane.AuditEvents(t) {
			failure := event.Annotations["validation.policy.admission.k8s.io/validation_failure"]
			if strings.Contains(failure, `User \"nora\" may not reclaim the machine at 10.5.0.7`) {
				return
			}
		}
		t.Error("no audit event names the refusal")
	})
}
