package manifests

import (
	"strings"
	"testing"

	"ichor.maesh.dev/tests/controlplane/planetest"
)

// What the roles give and, as much, what they do not.
func TestRoles(t *testing.T) {
	plane := planetest.Start(t)
	plane.Kubectl(t, "apply", "-k", base())
	for person, role := range map[string]string{"vera": "ichor-viewer", "olga": "ichor-operator", "ada": "admin", "wim": "view"} {
		plane.Kubectl(t, "create", "rolebinding", person, "-n", "ichor-system", "--clusterrole="+role, "--user="+person)
	}
	const requests = "machinereclaims.ichor.maesh.dev"
	for _, test := range []struct {
		who, verb, what string
		allowed         bool
	}{
		{"--as=vera", "list", requests, true},
		{"--as=vera", "watch", "talosmachines.ichor.maesh.dev", true},
		{"--as=vera", "create", requests, false},
		{"--as=vera", "reclaim", requests, false},
		{"--as=vera", "get", "secrets", false},
		{"--as=olga", "reclaim", requests, true},
		{"--as=olga", "create", requests, true},
		{"--as=olga", "patch", requests, true},
		{"--as=olga", "delete", requests, true},
		{"--as=olga", "patch", "talosclusters.ichor.maesh.dev", true},
		{"--as=olga", "create", "talosclusters.ichor.maesh.dev", false},
		{"--as=olga", "patch", requests + "/status", false},
		{"--as=olga", "get", "secrets", false},
		{"--as=olga", "create", "secrets", false},
		{"--as=wim", "list", requests, true},
		{"--as=ada", "reclaim", requests, false},
		{"--as=ada", "create", requests, false},
		{controller, "get", "secrets/prod", true},
		{controller, "list", "secrets", false},
		{controller, "update", "secrets/ichor-webhook-tls", true},
		{controller, "update", "secrets/prod", false},
		{controller, "delete", "secrets", false},
		{controller, "update", requests + "/status", true},
		{controller, "update", requests, false},
		{controller, "patch", "talosclusters.ichor.maesh.dev", false},
		{controller, "reclaim", requests, false},
		{controller, "delete", "nodes", true},
		{controller, "update", "nodes", false},
		{controller, "create", "pods", false},
		{controller, "update", "validatingwebhookconfigurations/ichor", true},
		{controller, "update", "validatingwebhookconfigurations/other", false},
	} {
		t.Run(test.who+" "+test.verb+" "+test.what, func(t *testing.T) {
			what, subresource, _ := strings.Cut(test.what, "/status")
			args := []string{test.who, "auth", "can-i", test.verb, what, "-n", "ichor-system"}
			if what != test.what {
				args = append(args, "--subresource=status"+subresource)
			}
			answer, _, _ := plane.KubectlOutcome(t, "", args...)
			if allowed := strings.HasPrefix(answer, "yes"); allowed != test.allowed {
				t.Errorf("answer: %s", answer)
			}
		})
	}
	t.Run("an operator registers an address by server-side apply", func(t *testing.T) {
		plane.Kubectl(t, "delete", "mutatingwebhookconfiguration,validatingwebhookconfiguration", "ichor")
		plane.KubectlInput(t, cluster, "create", "-f", "-")
		plane.KubectlInput(t, `apiVersion: ichor.maesh.dev/v1alpha1
kind: TalosCluster
metadata: {name: prod, namespace: ichor-system}
spec: {discovery: {addresses: [10.5.0.7]}}
`, "--as=olga", "apply", "--server-side", "--field-manager=ichor", "-f", "-")
	})
}
