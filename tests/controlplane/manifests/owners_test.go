package manifests

import (
	"path/filepath"
	"strings"
	"testing"

	"ichor.maesh.dev/tests/controlplane/planetest"
)

// Who may change what inside an object, and which Secrets operators may create: no role can say it, so policies do, and they
// hold without the webhook as well.
func TestOwners(t *testing.T) {
	t.Parallel()
	plane := planetest.Start(t)
	plane.Kubectl(t, "apply", "-k", base())
	plane.Kubectl(t, "delete", "mutatingwebhookconfiguration,validatingwebhookconfiguration", "ichor")
	for person, role := range map[string]string{"olga": "ichor-operator", "ada": "ichor-admin"} {
		plane.Kubectl(t, "create", "rolebinding", person, "-n", "ichor-system", "--clusterrole="+role, "--user="+person)
	}
	examples := filepath.Join(planetest.Root(), "manifests/examples")
	plane.Kubectl(t, "create", "-f", filepath.Join(examples, "talosetcdbackup.yaml"))
	plane.KubectlInput(t, cluster, "create", "-f", "-") // no discovery, no install image

	const (
		noUpdate = `beyond spec.discovery.addresses: the verb "update" on it is missing. The role ichor-admin has it`
		noImage  = "may not name an install image"
		noSecret = "may create only Secrets of type ichor.maesh.dev/talosconfig"
	)
	change := func(kind, how, patch string) []string {
		name := map[string]string{"taloscluster": "prod", "talosetcdbackup": "nightly"}[kind]
		return []string{"patch", kind, name, "-n", "ichor-system", "--type=" + how, "-p", patch}
	}
	applied := func(spec string) string {
		return "apiVersion: ichor.maesh.dev/v1alpha1\nkind: TalosCluster\nmetadata: {name: prod, namespace: ichor-system}\nspec: " + spec
	}
	apply := []string{"apply", "--server-side", "--field-manager=ichor", "-f", "-"}
	upgrade := func(name, image string) string {
		return "apiVersion: ichor.maesh.dev/v1alpha1\nkind: TalosOperation\nmetadata: {name: " + name + ", namespace: ichor-system}\n" +
			"spec: {clusterRef: {name: prod}, kind: talosUpgrade, talosUpgrade: {version: v1.13.6" + image + "}}"
	}
	secret := func(name, typed, data string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {" + name + ", namespace: ichor-system}\ntype: " + typed + "\nstringData: " + data
	}
	const talosconfig = "ichor.maesh.dev/talosconfig"

	inForce(t, plane, noUpdate, "", append(change("taloscluster", "merge", `{"spec":{"installImage":"i"}}`), olga[0])...)
	inForce(t, plane, noImage, upgrade("probe", ", image: i"), append(create, olga[0])...)
	inForce(t, plane, noSecret, secret("name: probe", "Opaque", "{}"), append(create, olga[0])...)

	attempts(t, plane, []attempt{
		{"the first address", olga, apply, applied("{discovery: {addresses: [10.5.0.7]}}"), ""},
		{"a contract that admission would not fill in", olga,
			change("taloscluster", "merge", `{"spec":{"versionContract":"v1.1","discovery":{"addresses":["10.5.0.7","10.5.0.8"]}}}`), "", noUpdate},
		{"the contract that admission fills in beside an address", olga,
			change("taloscluster", "merge", `{"spec":{"versionContract":"v1.13","discovery":{"addresses":["10.5.0.7","10.5.0.8"]}}}`), "", ""},
		{"the contract later", olga, change("taloscluster", "merge", `{"spec":{"versionContract":"v1.12"}}`), "", noUpdate},
		{"a label", olga, change("taloscluster", "merge", `{"metadata":{"labels":{"a":"b"}}}`), "", ""},
		{"endpoint", olga, change("taloscluster", "merge", `{"spec":{"endpoint":"https://10.5.0.66:6443"}}`), "", noUpdate},
		{"install image", olga, change("taloscluster", "json", `[{"op":"add","path":"/spec/installImage","value":"evil"}]`), "", noUpdate},
		{"install image, server-side apply", olga, apply, applied("{installImage: evil, discovery: {addresses: [10.5.0.9]}}"), noUpdate},
		{"networks beside addresses", olga, change("taloscluster", "merge", `{"spec":{"discovery":{"cidrs":["10.5.0.0/24"]}}}`), "", noUpdate},
		{"a field taken away", olga, change("taloscluster", "json", `[{"op":"remove","path":"/spec/versionContract"}]`), "", noUpdate},
		{"addresses taken away", olga, change("taloscluster", "merge", `{"spec":{"discovery":null}}`), "", ""},
		{"install image by an admin", ada, change("taloscluster", "merge", `{"spec":{"installImage":"ours"}}`), "", ""},
		{"backup now", olga, change("talosetcdbackup", "merge", `{"metadata":{"annotations":{"ichor.maesh.dev/backup-now":"true"}}}`), "", ""},
		// Two policies refuse it, and either may be told.
		{"where backups go", olga, change("talosetcdbackup", "merge", `{"spec":{"destination":{"s3":{"bucket":"mine"}}}}`), "", "may not"},
		{"who can read backups", olga, change("talosetcdbackup", "merge", `{"spec":{"encryption":null}}`), "", noUpdate},
		{"where backups go, by an admin", ada, change("talosetcdbackup", "merge", `{"spec":{"destination":{"s3":{"bucket":"ours"}}}}`), "", ""},
		{"an upgrade", olga, create, upgrade("one", ""), ""},
		{"an upgrade to an image of one's own", olga, create, upgrade("two", ", image: evil"), noImage},
		{"an upgrade to an image by an admin", ada, create, upgrade("three", ", image: ours"), ""},
		{"a patch", olga, []string{"create", "-f", filepath.Join(examples, "talosconfigpatch.yaml")}, "", "cannot create resource"},
		{"a talosconfig", olga, create, secret("generateName: reclaim-talosconfig-", talosconfig, "{talosconfig: x}"), ""},
		{"a talosconfig with a bundle beside it", olga, create, secret("name: a", talosconfig, "{talosconfig: x, bundle: z}"), noSecret},
		{"a bundle", olga, create, secret("name: b", "Opaque", "{bundle: z}"), noSecret},
		{"a serving certificate", olga, create, secret("name: ichor-webhook-other", "kubernetes.io/tls", "{tls.crt: x, tls.key: z}"), noSecret},
		{"a token of the controller's account", olga, create, strings.Replace(secret("name: c", "kubernetes.io/service-account-token", "{}"),
			"{name: c", "{name: c, annotations: {kubernetes.io/service-account.name: ichor-controller}", 1), noSecret},
		{"a bundle by an admin", ada, create, secret("name: b", "Opaque", "{bundle: z}"), ""},
		{"the controller's own certificate", []string{controller}, create, secret("name: ichor-webhook-tls", "kubernetes.io/tls", "{tls.crt: x, tls.key: z}"), ""},
		{"another Secret of the controller", []string{controller}, create, secret("name: d", "Opaque", "{}"), noSecret},
		{"change of a Secret", olga, apply, secret("name: b", "Opaque", "{bundle: mine}"), "cannot patch resource"},
	})
	t.Run("Secrets of other namespaces are nobody's business", func(t *testing.T) {
		plane.Kubectl(t, "create", "role", "maker", "-n", "default", "--verb=create", "--resource=secrets")
		plane.Kubectl(t, "create", "rolebinding", "maker", "-n", "default", "--role=maker", "--user=olga")
		plane.Kubectl(t, "create", "secret", "generic", "any", "-n", "default", "--from-literal=a=b", olga[0])
	})
}
