package manifests

import (
	"strings"
	"testing"

	"ichor.maesh.dev/tests/controlplane/planetest"
)

// What the roles give and, as much, what they do not.
func TestRoles(t *testing.T) {
	t.Parallel()
	plane := planetest.Start(t)
	plane.Kubectl(t, "apply", "-k", base())
	for person, role := range map[string]string{"vera": "ichor-viewer", "olga": "ichor-operator", "april": "ichor-approver",
		"ada": "ichor-admin", "norm": "admin", "wim": "view"} {
		plane.Kubectl(t, "create", "rolebinding", person, "-n", "ichor-system", "--clusterrole="+role, "--user="+person)
	}
	const (
		group      = ".ichor.maesh.dev"
		requests   = "machinereclaims" + group
		machines   = "talosmachines" + group
		operations = "talosoperations" + group
		patches    = "talosconfigpatches" + group
		access     = "talosaccessrequests" + group
	)
	for _, test := range []struct {
		who, verb, what string
		allowed         bool
	}{
		{"--as=vera", "list", requests, true},
		{"--as=vera", "watch", "talosmachines.ichor.maesh.dev", true},
		{"--as=vera", "list", access, true},
		{"--as=vera", "get", patches, false},
		{"--as=vera", "create", requests, false},
		{"--as=vera", "create", access, false},
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
		{"--as=olga", "create", "secrets", true},
		{"--as=olga", "patch", "secrets", false},
		{"--as=olga", "update", "secrets", false},
		{"--as=olga", "update", "talosclusters" + group, false},
		{"--as=olga", "patch", "talosetcdbackups" + group, true},
		{"--as=olga", "update", "talosetcdbackups" + group, false},
		{"--as=olga", "create", "talosetcdbackups" + group, false},
		{"--as=olga", "get", patches, true},
		{"--as=olga", "create", patches, false},
		{"--as=olga", "patch", patches, false},
		{"--as=olga", "create", operations, true},
		{"--as=olga", "patch", machines, true},
		{"--as=olga", "delete", machines, false},
		{"--as=olga", "approve", machines, false},
		{"--as=olga", "wipe", machines, false},
		{"--as=olga", "create", access, true},
		{"--as=olga", "patch", access, false},
		{"--as=olga", "approve", access, false},
		{"--as=april", "approve", machines, true},
		{"--as=april", "patch", machines, true},
		{"--as=april", "approve", access, true},
		{"--as=april", "patch", access, true},
		{"--as=april", "wipe", machines, false},
		{"--as=april", "reclaim", requests, false},
		{"--as=april", "create", operations, false},
		{"--as=april", "get", "secrets", false},
		{"--as=ada", "create", patches, true},
		{"--as=ada", "wipe", machines, true},
		{"--as=ada", "approve", machines, true},
		{"--as=ada", "approve", access, true},
		{"--as=ada", "reclaim", requests, true},
		{"--as=ada", "update", "talosclusters" + group, true},
		{"--as=ada", "patch", "secrets", true},
		{"--as=ada", "update", requests + "/status", false},
		{"--as=ada", "create", "pods", false},
		{"--as=wim", "list", requests, true},
		{"--as=wim", "list", patches, false},
		{"--as=norm", "reclaim", requests, false},
		{"--as=norm", "create", requests, false},
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
}
