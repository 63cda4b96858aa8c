package manifests

import (
	"fmt"
	"strings"
	"testing"

	"ichor.maesh.dev/tests/controlplane/planetest"
)

const (
	waits, joined, runs = "9f0c0000-0042-3510-8052-b4c04f463134", "9f0c0000-0042-3510-8052-b4c04f463135", "4c4c4544-0042-3510-8052-b4c04f463133"
	print1, print2      = "5MyYvGEYNLhaDCqSeI9zIZPmSsO3a7hQnaMsmcjM2aU=", "6MyYvGEYNLhaDCqSeI9zIZPmSsO3a7hQnaMsmcjM2aU="
)

func of(kind, metadata, spec string) string {
	return "apiVersion: ichor.maesh.dev/v1alpha1\nkind: " + kind + "\nmetadata: {" + metadata + ", namespace: ichor-system}\nspec: " + spec + "\n"
}

func machine(uuid, approval string) string {
	return of("TalosMachine", "name: "+uuid, fmt.Sprintf(`{approval: %s, clusterRef: {name: prod}, role: worker, identity: {uuid: %s, serial: S},`+
		` endpoint: 10.5.0.9, install: {disk: /dev/sda}, maintenanceFingerprint: %s}`, approval, uuid, print1))
}

func operation(metadata, kind, block string) string {
	return of("TalosOperation", metadata, "{clusterRef: {name: prod}, kind: "+kind+", "+block+"}")
}

func access(metadata string) string {
	return of("TalosAccessRequest", metadata, `{clusterRef: {name: prod}, role: "os:reader", reason: a disk, duration: 8h,`+
		` csr: "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"}`)
}

func by(annotations string) string {
	var written []string
	for _, one := range strings.Split(annotations, ",") {
		written = append(written, "ichor.maesh.dev/"+one)
	}
	return "annotations: {" + strings.Join(written, ", ") + "}"
}

func patched(resource, name, patch string) []string {
	return []string{"patch", resource, name, "-n", "ichor-system", "--type=merge", "-p", patch}
}

// verbs is a control plane whose webhooks are gone: what is asked by verb is asked by the API server alone. ed may write
// every object of Ichor and holds no verb; wanda may wipe, wim one machine.
func verbs(t *testing.T) *planetest.Plane {
	t.Helper()
	plane := planetest.Start(t)
	plane.Kubectl(t, "apply", "-k", base())
	plane.Kubectl(t, "delete", "mutatingwebhookconfiguration,validatingwebhookconfiguration", "ichor")
	const role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: %s, namespace: ichor-system}\nrules: %s\n---\n"
	plane.KubectlInput(t, fmt.Sprintf(role, "ed", `[{apiGroups: [ichor.maesh.dev], resources: ["*"], verbs: [get, create, update, patch]}]`)+
		fmt.Sprintf(role, "wipe", `[{apiGroups: [ichor.maesh.dev], resources: [talosmachines], verbs: [wipe]}]`)+
		fmt.Sprintf(role, "wipe-one", `[{apiGroups: [ichor.maesh.dev], resources: [talosmachines], resourceNames: [`+runs+`], verbs: [wipe]}]`)+
		fmt.Sprintf(role, "get-mine", `[{apiGroups: [""], resources: [secrets], resourceNames: [mine], verbs: [get]}]`), "create", "-f", "-")
	bind := func(person, role string) {
		plane.Kubectl(t, "create", "rolebinding", person+"-"+role[strings.Index(role, "=")+1:], "-n", "ichor-system", "--"+role, "--user="+person)
	}
	for person, roles := range map[string][]string{
		"vera": {"clusterrole=ichor-viewer"}, "olga": {"clusterrole=ichor-operator", "role=get-mine"}, "april": {"clusterrole=ichor-approver"},
		"ada": {"clusterrole=ichor-admin"}, "ed": {"role=ed"}, "wanda": {"role=ed", "role=wipe"}, "wim": {"clusterrole=ichor-operator", "role=wipe-one"},
	} {
		for _, role := range roles {
			bind(person, role)
		}
	}
	plane.Kubectl(t, "create", "clusterrolebinding", "controller-patches", "--clusterrole=cluster-admin",
		"--serviceaccount=ichor-system:ichor-controller")
	return plane
}

var (
	vera, olga, april, ada, ed = []string{"--as=vera"}, []string{"--as=olga"}, []string{"--as=april"}, []string{"--as=ada"}, []string{"--as=ed"}
	wanda, wim                 = []string{"--as=wanda"}, []string{"--as=wim"}
	create                     = []string{"create", "-f", "-"}
)

// Who lets machines in, and who changes what was approved.
func TestApproveAlone(t *testing.T) {
	t.Parallel()
	plane := verbs(t)
	const (
		noApprove = `" may not approve machines in namespace ichor-system: needs verb "approve" on talosmachines.ichor.maesh.dev (role ichor-approver has it)`
		noChange  = `" may not change role, endpoint or install of an approved machine that is not configured in namespace ichor-system: needs verb "approve"`
		noPrint   = `" may not change maintenanceFingerprint of an approved machine: what the approver saw in namespace ichor-system: needs verb "approve"`
		noAbandon = `" may not abandon machines in namespace ichor-system: needs verb "approve"`
		approved  = `{"spec":{"approval":"Approved"}}`
		abandoned = `{"metadata":{"annotations":{"ichor.maesh.dev/abandon":"true"}}}`
	)
	change := func(name, patch string) []string { return patched("talosmachine", name, patch) }
	spec := func(name, field string) []string { return change(name, `{"spec":{`+field+`}}`) }
	inForce(t, plane, noApprove, machine(waits, "Approved"), append(create, ed...)...)
	attempts(t, plane, []attempt{
		{"created approved without the verb", ed, create, machine(joined, "Approved"), noApprove},
		{"created approved by an admin", ada, create, machine(joined, "Approved"), ""},
		{"created to wait", ed, create, machine(waits, "Pending"), ""},
		{"what nobody approved yet may change", olga, spec(waits, `"endpoint":"10.5.0.8","role":"controlplane"`), "", ""},
		{"approved by an operator", olga, change(waits, approved), "", noApprove},
		{"approved by who may write everything", ed, change(waits, approved), "", noApprove},
		{"approved by a viewer", vera, change(waits, approved), "", "cannot patch resource"},
		{"approved through server-side apply", olga, []string{"apply", "--server-side", "--force-conflicts", "-f", "-"}, machine(waits, "Approved"), noApprove},
		{"approved by an approver", april, change(waits, approved), "", ""},
		{"another role", olga, spec(joined, `"role":"controlplane"`), "", noChange},
		{"another endpoint", olga, spec(joined, `"endpoint":"10.5.0.66"`), "", noChange},
		{"no endpoint", olga, spec(joined, `"endpoint":null`), "", noChange},
		{"another disk", olga, spec(joined, `"install":{"disk":"/dev/sdb"}`), "", noChange},
		{"another fingerprint", olga, spec(joined, `"maintenanceFingerprint":"`+print2+`"`), "", noPrint},
		{"what approval is not about", olga, spec(joined, `"upgradeHold":"disk","labels":{"a":"b"}`), "", ""},
		{"another fingerprint by an approver", april, spec(joined, `"maintenanceFingerprint":"`+print2+`"`), "", ""},
		{"taken back", olga, spec(joined, `"approval":"Rejected"`), "", ""},
		{"and approved again", olga, change(joined, approved), "", noApprove},
		{"abandoned by an operator", olga, change(waits, abandoned), "", noAbandon},
		{"abandoned at creation", ed, create, strings.Replace(machine(runs, "Pending"), "name: ", `annotations: {ichor.maesh.dev/abandon: "true"}, name: `, 1), noAbandon},
		{"an annotation that means nothing", olga, change(waits, strings.Replace(abandoned, "true", "yes", 1)), "", ""},
		{"abandoned by an approver", april, change(waits, abandoned), "", ""},
		{"a label of an abandoned machine", olga, change(waits, `{"metadata":{"labels":{"a":"b"}}}`), "", ""},
		{"not abandoned any more", olga, change(waits, `{"metadata":{"annotations":null}}`), "", ""},
		{"a machine that runs", ada, create, machine(runs, "Approved"), ""},
		{"is configured", []string{controller}, append(change(runs, `{"status":{"appliedHash":"a"}}`), "--subresource=status"), "", ""},
		{"then its endpoint is nobody's approval", olga, spec(runs, `"endpoint":"10.5.0.7"`), "", ""},
		{"but its fingerprint is", olga, spec(runs, `"maintenanceFingerprint":"`+print2+`"`), "", noPrint},
		{"and it waits again after a reset", []string{controller}, append(change(runs, `{"status":{"stage":"maintenance"}}`), "--subresource=status"), "", ""},
		{"then its endpoint is the approval's again", olga, spec(runs, `"endpoint":"10.5.0.66"`), "", noChange},
		{"and so is its disk", olga, spec(runs, `"install":{"disk":"/dev/sdb"}`), "", noChange},
		{"which an approver may change", april, spec(runs, `"endpoint":"10.5.0.66"`), "", ""},
		{"machines of other namespaces are not Ichor's", nil, create, strings.Replace(machine(runs, "Approved"), "ichor-system", "default", 1), ""},
	})
}

// Who wipes what is in use.
func TestWipeAlone(t *testing.T) {
	t.Parallel()
	plane := verbs(t)
	refused := func(doing string) string {
		return `" may not ` + doing + ` in namespace ichor-system: needs verb "wipe" on talosmachines.ichor.maesh.dev (role ichor-admin has it)`
	}
	node := func(machine string) string { return "node: {name: cp-1, machine: " + machine + ", confirm: cp-1}" }
	const (
		restore = "etcdRestore: {backupRef: {name: nightly}, snapshot: s1, confirm: prod}"
		replace = "replaceControlPlane: {machine: " + runs + ", replacement: " + waits + ", confirm: " + runs + "}"
	)
	inForce(t, plane, refused("reset machines"), operation("name: probe", "reset", node(runs)), append(create, ed...)...)
	attempts(t, plane, []attempt{
		{"a reboot", olga, create, operation("name: reboot", "reboot", "node: {name: cp-1}"), ""},
		{"reset", olga, create, operation("name: a", "reset", node(runs)), refused("reset machines")},
		{"reset, generated name", olga, create, operation("generateName: a-", "reset", "node: {name: cp-1, confirm: cp-1}"), refused("reset machines")},
		{"reset, server-side apply", olga, []string{"apply", "--server-side", "-f", "-"}, operation("name: a", "reset", node(runs)), refused("reset machines")},
		{"remove", olga, create, operation("name: a", "remove", node(runs)), refused("remove machines")},
		{"replaceControlPlane", olga, create, operation("name: a", "replaceControlPlane", replace), refused("replace control planes")},
		{"etcdRestore", olga, create, operation("name: a", "etcdRestore", restore), refused("restore etcd")},
		{"by who may write everything", ed, create, operation("name: a", "remove", node(runs)), refused("remove machines")},
		{"by an approver", april, create, operation("name: a", "remove", node(runs)), "cannot create resource"},
		{"the one machine that somebody may wipe", wim, create, operation("name: one", "reset", node(runs)), ""},
		{"to replace it", wim, create, operation("name: replace", "replaceControlPlane", replace), ""},
		{"another machine", wim, create, operation("name: other", "reset", node(joined)), refused("reset machines")},
		{"a machine that nobody resolved", wim, create, operation("name: any", "reset", "node: {name: cp-1, confirm: cp-1}"), refused("reset machines")},
		{"a restore by who may wipe one machine", wim, create, operation("name: restore", "etcdRestore", restore), refused("restore etcd")},
		{"with the verb alone", wanda, create, operation("name: wanda", "etcdRestore", restore), ""},
		{"by an admin", ada, create, operation("name: ada", "remove", node(runs)), ""},
	})
}

// Who decides about access, and what is recorded of who asked.
func TestAccessAlone(t *testing.T) {
	t.Parallel()
	plane := verbs(t)
	const (
		noDecision = `" may not decide about access to the Talos API in namespace ichor-system: needs verb "approve" on talosaccessrequests.ichor.maesh.dev (role ichor-approver has it)`
		nobody     = "nobody recorded who asked, so nobody can decide; create another TalosAccessRequest"
		own        = "asked for it, so somebody else decides: another person with role ichor-approver"
		byHand     = " is set by admission and cannot be set or changed by hand"
	)
	decide := func(name, approval string) []string {
		return patched("talosaccessrequest", name, `{"spec":{"approval":"`+approval+`"}}`)
	}
	annotate := func(name, annotation string) []string {
		return []string{"annotate", "--overwrite", "talosaccessrequest", name, "-n", "ichor-system", "ichor.maesh.dev/" + annotation}
	}
	asUID := func(who []string, uid string) []string { return append([]string{"--as-uid=" + uid}, who...) }
	inForce(t, plane, byHand, access("name: probe, "+by("requested-by: mallory")), append(create, olga...)...)
	attempts(t, plane, []attempt{
		{"asked while nobody records who", olga, create, access("name: nameless"), ""},
		{"in the name of another", olga, create, access("name: a, " + by("requested-by: mallory")), "requested-by" + byHand},
		{"with the uid of another", asUID(olga, "1"), create, access("name: a, " + by("requested-by: olga,requested-by-uid: \"2\"")), "requested-by-uid" + byHand},
		{"decided at creation", olga, create, access("name: a, " + by("decided-by: olga")), "decided-by" + byHand},
		{"with an ID that is none", olga, create, access("name: a, " + by("request-id: x")), "request-id" + byHand},
		{"as admission would write it", asUID(olga, "1"), create, access("name: hers, " + by("requested-by: olga,requested-by-uid: \"1\",request-id: "+waits)), ""},
		{"an admin's own", ada, create, access("name: own, " + by("requested-by: ada")), ""},
		{"by who may write everything", ed, decide("hers", "Approved"), "", noDecision},
		{"by an operator", olga, decide("hers", "Approved"), "", "cannot patch resource"},
		{"what nobody is known to have asked for", april, decide("nameless", "Approved"), "", nobody},
		{"one's own", ada, decide("own", "Approved"), "", own},
		{"one's own under another name", asUID(april, "1"), decide("hers", "Approved"), "", own},
		{"the requester is changed", ada, annotate("own", "requested-by=olga"), "", "requested-by" + byHand},
		{"or taken away", ada, annotate("own", "requested-by-"), "", "requested-by" + byHand},
		{"or added", ada, annotate("nameless", "requested-by=olga"), "", "requested-by" + byHand},
		{"who decided, by hand", ada, annotate("hers", "decided-by=olga"), "", "decided-by" + byHand},
		{"which request it was, by hand", ada, annotate("hers", "request-id="+runs), "", "request-id" + byHand},
		{"another annotation", ada, []string{"annotate", "talosaccessrequest", "hers", "-n", "ichor-system", "a=b"}, "", ""},
		{"decided in another's name", april, patched("talosaccessrequest", "hers",
			`{"metadata":{"annotations":{"ichor.maesh.dev/decided-by":"ada"}},"spec":{"approval":"Denied"}}`), "", "decided-by" + byHand},
		{"decided by an approver", april, patched("talosaccessrequest", "hers",
			`{"metadata":{"annotations":{"ichor.maesh.dev/decided-by":"april"}},"spec":{"approval":"Denied"}}`), "", ""},
		{"another's by an approver", april, decide("own", "Approved"), "", ""},
	})
}

// A Secret that Ichor reads for somebody is one that they may read.
func TestUsedSecretsAlone(t *testing.T) {
	t.Parallel()
	plane := verbs(t)
	noGet := func(name string) string {
		return `" may not get Secret "` + name + `" in namespace ichor-system, so Ichor does not use it for them: needs verb "get" on secrets`
	}
	pasted := func(name, secret string) string {
		return of("MachineReclaim", "name: "+name, "{address: 10.5.0.7, credentialSecretRef: {name: "+secret+"}}")
	}
	backup := func(name, bucket string) string {
		return of("TalosEtcdBackup", "name: "+name, `{clusterRef: {name: prod}, schedule: "0 3 * * *", destination: {s3: {endpoint: "https://s3.example.com", bucket: `+
			bucket+`, credentialsSecretRef: {name: theirs}}}}`)
	}
	restore := func(secret string) string {
		return "etcdRestore: {backupRef: {name: nightly}, snapshot: s1, confirm: prod, identitySecretRef: {name: " + secret + "}}"
	}
	change := func(patch string) []string { return patched("talosetcdbackup", "nightly", patch) }
	inForce(t, plane, noGet("theirs"), pasted("probe", "theirs"), append(create, olga...)...)
	attempts(t, plane, []attempt{
		{"a talosconfig", olga, create, pasted("theirs", "theirs"), noGet("theirs")},
		{"one that may be read", olga, create, pasted("mine", "mine"), ""},
		{"a reclaim without", olga, create, named("none"), ""},
		{"a change of a reclaim by who may not", wim, patched("machinereclaim", "mine", `{"spec":{"force":true}}`), "", noGet("mine")},
		{"a label of it", wim, patched("machinereclaim", "mine", `{"metadata":{"labels":{"a":"b"}}}`), "", ""},
		{"a bundle", ed, create, cluster, noGet("prod")},
		{"a bundle by an admin", ada, create, cluster, ""},
		{"a cluster that has its bundle", ed, patched("taloscluster", "prod", `{"spec":{"installImage":"i"}}`), "", ""},
		{"credentials of a bucket", ed, create, backup("nightly", "ours"), noGet("theirs")},
		{"by an admin", ada, create, backup("nightly", "ours"), ""},
		{"another schedule", ed, change(`{"spec":{"schedule":"0 4 * * *"}}`), "", ""},
		{"another bucket, with the same credentials", ed, change(`{"spec":{"destination":{"s3":{"bucket":"theirs"}}}}`), "", noGet("theirs")},
		{"what opens a snapshot", wanda, create, operation("name: a", "etcdRestore", restore("theirs")), noGet("theirs")},
		{"by an admin, too", ada, create, operation("name: a", "etcdRestore", restore("theirs")), ""},
	})
}
