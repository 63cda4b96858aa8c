package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// A creation of each kind that passes: what the benchmarks send.
var accepted = map[string]string{
	"TalosAccessRequest": `"clusterRef":{"name":"prod"},"role":"os:reader","reason":"a slow disk","duration":"8h","csr":"` + csr + `"`,
	"TalosCluster":       `"endpoint":"https://10.5.1.10:6443","talosVersion":"v1.13.5","kubernetesVersion":"v1.35.4","secretsBundleRef":{"name":"edge"},"discovery":{"addresses":["10.5.1.31"]}`,
	"TalosConfigPatch":   `"clusterRef":{"name":"prod"},"target":{"role":"worker","selector":{"matchLabels":{"rack":"r7"}}},"patch":"machine:\n  sysctls:\n    vm.max_map_count: \"262144\"\n"`,
	"TalosEtcdBackup":    `"clusterRef":{"name":"prod"},"schedule":"15 3 * * *","timeZone":"Europe/Berlin","retention":{"count":14,"maxAge":"720h"},"destination":{"s3":{"endpoint":"https://s3.example.com","bucket":"b","credentialsSecretRef":{"name":"creds"}}},"encryption":{"recipients":["` + recipient + `"]}`,
	"TalosMachine":       `"clusterRef":{"name":"prod"},"approval":"Approved","role":"worker","identity":{"uuid":"4c4c4544-0042-3510-8052-b4c04f463139"},"endpoint":"10.5.0.19","hostname":"worker-9","install":{"disk":"/dev/sda"},"maintenanceFingerprint":"x"`,
	"TalosOperation":     `"clusterRef":{"name":"prod"},"kind":"reset","node":{"name":"worker-7","machine":"` + worker + `","confirm":"worker-7"}`,
	"TalosStorage":       `"clusterRef":{"name":"prod"},"target":{"role":"worker"},"volumes":[{"name":"data","diskSelector":{"match":"disk.transport == \"nvme\" && !system_disk"},"minSize":"100GiB","maxSize":"80%"}]`,
}

const (
	worker    = "4c4c4544-0042-3510-8052-b4c04f463137"
	recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
	csr       = `-----BEGIN CERTIFICATE REQUEST-----\n` +
		`MIGPMEMCAQAwEDEOMAwGA1UEAwwFYWxpY2UwKjAFBgMrZXADIQBv94ROUROzCiJ5\n` +
		`mqC06b64C8wSoJlF//LYeMkKXVfAXaAAMAUGAytlcANBAISmAIP9EUTw5EQ+F3+q\n` +
		`U6HhbFi3GEVKQ33zFJYQ3q8T67TKK6cDWA2L60dAAeMKQMbbYwBpf6IWaliRHvO5\n` +
		`nwA=\n-----END CERTIFICATE REQUEST-----\n`
)

var everyVerb = map[string]bool{"ann get secrets": true, "ann approve talosmachines": true, "ann wipe talosmachines": true}

func created(kind, spec string) string {
	return `{"apiVersion":"ichor.maesh.dev/v1alpha1","kind":"` + kind + `","metadata":{"name":"a","namespace":"ichor-system"},"spec":{` + spec + `}}`
}

func hookOf(a *asks, kind string, mutates bool) *admission.Webhook {
	resource := strings.ReplaceAll(strings.ToLower(kind)+"s", "patchs", "patches")
	judge := a.judges()[resource]

	if mutates {
		return hook(judge.mutate)
	}

	return hook(judge.validate)
}

func stored[S, T any](t *testing.T, kind, spec string) object[S, T] {
	t.Helper()

	var one object[S, T]
	if err := json.Unmarshal([]byte(strings.Replace(created(kind, spec), `"name":"a"`, `"name":"b"`, 1)), &one); err != nil {
		t.Fatal(err)
	}

	return one
}

func TestCreationsOfEveryKind(t *testing.T) {
	type test struct {
		kind, replaced, by string
		may                map[string]bool
		world              world
		code               int32
		want, warning      string
	}

	tests := map[string]test{
		"a private key":          {kind: "TalosAccessRequest", replaced: "CERTIFICATE REQUEST", by: "PRIVATE KEY", code: 422, want: "holds a private key"},
		"a broken signature":     {kind: "TalosAccessRequest", replaced: "ISmAI", by: "ISmAJ", code: 422, want: "is not signed with the key"},
		"for too long":           {kind: "TalosAccessRequest", replaced: "8h", by: "800h", code: 422, want: "spec.duration: Invalid"},
		"approves itself":        {kind: "TalosAccessRequest", replaced: `"role"`, by: `"approval":"Approved","role"`, code: 422, want: "begins as Pending"},
		"everything":             {kind: "TalosAccessRequest", replaced: "os:reader", by: "os:admin", code: 200, warning: "cannot be taken back"},
		"no reason":              {kind: "TalosAccessRequest", replaced: "a slow disk", by: " ", code: 422, want: "spec.reason: Required"},
		"of no cluster":          {kind: "TalosAccessRequest", replaced: "prod", by: "none", code: 422, want: `spec.clusterRef.name: Not found: "none"`},
		"another's bundle":       {kind: "TalosCluster", may: map[string]bool{}, code: 403, want: `needs verb "get" on secrets "edge"`},
		"no bundle":              {kind: "TalosCluster", replaced: `"edge"`, by: `"none"`, code: 422, want: "no Secret with a bundle"},
		"the same cluster ID":    {kind: "TalosCluster", world: world{bundles: map[string]string{"edge": "1", "prod-bundle": "1"}}, code: 422, want: `TalosCluster "prod" has the same secrets`},
		"a Talos to come":        {kind: "TalosCluster", replaced: "v1.13.5", by: "v1.15.0", code: 422, want: "spec.talosVersion: Invalid"},
		"a Kubernetes too new":   {kind: "TalosCluster", replaced: "v1.35.4", by: "v1.37.0", code: 422, want: "runs Kubernetes v1.31 to v1.36"},
		"another's contract":     {kind: "TalosCluster", replaced: `"kubernetesV`, by: `"versionContract":"v1.14","kubernetesV`, code: 422, want: "spec.versionContract: Invalid"},
		"a local address":        {kind: "TalosCluster", replaced: "10.5.1.31", by: "127.0.0.1", code: 422, want: "--allow-local-addresses"},
		"a patch of the CA":      {kind: "TalosConfigPatch", replaced: "sysctls:", by: `token: abc\n  sysctls:`, code: 422, want: "what makes it trust its cluster"},
		"a patch of nothing":     {kind: "TalosConfigPatch", replaced: "machine:", by: "nothing:", code: 422, want: "spec.patch: Forbidden"},
		"a label that is none":   {kind: "TalosConfigPatch", replaced: "r7", by: "-r7", code: 422, want: "spec.target.selector.matchLabels: Invalid"},
		"a time that never is":   {kind: "TalosEtcdBackup", replaced: "15 3 * * *", by: "15 3 30 2 *", code: 422, want: "spec.schedule: Invalid"},
		"all the time":           {kind: "TalosEtcdBackup", replaced: "15 3 * * *", by: "* * * * *", code: 200, warning: "1m0s apart"},
		"no time zone":           {kind: "TalosEtcdBackup", replaced: "Europe/Berlin", by: "Europe/Atlantis", code: 422, want: "spec.timeZone: Invalid"},
		"nothing kept":           {kind: "TalosEtcdBackup", replaced: "14", by: "0", code: 422, want: "spec.retention.count: Invalid"},
		"not kept long":          {kind: "TalosEtcdBackup", replaced: "720h", by: "1m", code: 422, want: "spec.retention.maxAge: Invalid"},
		"a mistyped key":         {kind: "TalosEtcdBackup", replaced: "mcac8p", by: "mcac8q", code: 422, want: "no public key of age"},
		"in the clear":           {kind: "TalosEtcdBackup", replaced: `,"encryption":{"recipients":["` + recipient + `"]}`, by: "", code: 200, warning: "spec.encryption is absent"},
		"in the clear on a wire": {kind: "TalosEtcdBackup", replaced: `https://s3.example.com","bucket":"b","credentialsSecretRef":{"name":"creds"}}},"encryption":{"recipients":["` + recipient + `"]}`, by: `http://s3.example.com","bucket":"b","credentialsSecretRef":{"name":"creds"}}}`, code: 422, want: "without https"},
		"another's credentials":  {kind: "TalosEtcdBackup", may: map[string]bool{}, code: 403, want: `needs verb "get" on secrets "creds"`},
		"no credentials":         {kind: "TalosEtcdBackup", replaced: "creds", by: "none", code: 422, want: "Not found"},
		"who may not approve":    {kind: "TalosMachine", may: map[string]bool{}, code: 403, want: `needs verb "approve"`},
		"no disk":                {kind: "TalosMachine", replaced: `"install":{"disk":"/dev/sda"},`, by: "", code: 422, want: "spec.install: Required"},
		"a UUID twice":           {kind: "TalosMachine", replaced: "4c4c4544-0042-3510-8052-b4c04f463139", by: "44454c4c-4200-1035-8052-b4c04f463137", code: 422, want: "spec.identity.uuid: Duplicate"},
		"a hostname twice":       {kind: "TalosMachine", replaced: "worker-9", by: "worker-7", code: 422, want: "spec.hostname: Duplicate"},
		"an address twice":       {kind: "TalosMachine", replaced: "10.5.0.19", by: "10.5.0.17", code: 422, want: "spec.endpoint: Duplicate"},
		"being reclaimed":        {kind: "TalosMachine", replaced: "10.5.0.19", by: "10.5.0.7", code: 422, want: `MachineReclaim "b" acts on`},
		"being reset": {kind: "TalosMachine", world: world{running: []TalosOperation{stored[OperationSpec, OperationStatus](t, "TalosOperation",
			strings.Replace(accepted["TalosOperation"], worker, "a", 1))}}, code: 422, want: `TalosOperation "b" acts on`},
		"who may not wipe":   {kind: "TalosOperation", may: map[string]bool{}, code: 403, want: `needs verb "wipe"`},
		"nothing typed":      {kind: "TalosOperation", replaced: `,"confirm":"worker-7"`, by: "", code: 422, want: "spec.node.confirm: Invalid"},
		"no such machine":    {kind: "TalosOperation", replaced: `"name":"worker-7"`, by: `"name":"worker-8"`, code: 422, want: "spec.node"},
		"an upgrade":         {kind: "TalosOperation", replaced: "reset", by: "talosUpgrade", code: 422, want: "spec.kind: Unsupported value"},
		"force alone":        {kind: "TalosOperation", replaced: `"confirm"`, by: `"force":true,"confirm"`, code: 422, want: "spec.node.confirmClusterName: Invalid"},
		"one after another":  {kind: "TalosOperation", world: world{running: []TalosOperation{stored[OperationSpec, OperationStatus](t, "TalosOperation", accepted["TalosOperation"])}}, code: 200, warning: `operation "b" (reset)`},
		"an open bracket":    {kind: "TalosStorage", replaced: "disk.transport", by: "(disk.transport", code: 422, want: "spec.volumes[0].diskSelector.match: Invalid"},
		"crossed sizes":      {kind: "TalosStorage", replaced: "80%", by: "10GiB", code: 422, want: "spec.volumes[0].minSize: Invalid"},
		"on the system disk": {kind: "TalosStorage", replaced: " && !system_disk", by: "", code: 200, warning: "on the system disk"},
		"a volume twice":     {kind: "TalosStorage", world: world{volumes: []TalosStorage{stored[StorageSpec, struct{}](t, "TalosStorage", accepted["TalosStorage"])}}, code: 422, want: "spec.volumes[0].name: Duplicate"},
		"perhaps twice":      {kind: "TalosStorage", replaced: `{"role":"worker"}`, by: `{"selector":{"matchLabels":{"a":"b"}}}`, world: world{volumes: []TalosStorage{stored[StorageSpec, struct{}](t, "TalosStorage", accepted["TalosStorage"])}}, code: 200, warning: "no machine may be selected by both"},
		"no volume twice":    {kind: "TalosStorage", replaced: `{"role":"worker"}`, by: `{"role":"controlplane"}`, world: world{volumes: []TalosStorage{stored[StorageSpec, struct{}](t, "TalosStorage", accepted["TalosStorage"])}}, code: 200},
	}
	for kind := range accepted {
		tests["good "+kind] = test{kind: kind, code: 200}
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			known := test.world
			known.may, known.others = everyVerb, []*MachineReclaim{{}}
			known.others[0].Name, known.others[0].Spec.Address = "b", "10.5.0.7"

			if test.may != nil {
				known.may = test.may
			}

			if known.bundles == nil {
				known.bundles = map[string]string{"edge": "1", "prod-bundle": "2"}
			}

			spec := strings.ReplaceAll(accepted[test.kind], test.replaced, test.by)
			if test.replaced == "" {
				spec = accepted[test.kind]
			} else if spec == accepted[test.kind] {
				t.Fatalf("nothing to replace: %s", test.replaced)
			}

			got := review(t, hookOf(newAsks(&known), test.kind, false), "", created(test.kind, spec))
			if got.Allowed != (test.code == 200) || got.Result.Code != test.code || !strings.Contains(got.Result.Message, test.want) {
				t.Errorf("allowed %t, %d %s", got.Allowed, got.Result.Code, got.Result.Message)
			}

			if said := strings.Join(got.Warnings, "; "); !strings.Contains(said, test.warning) || (said != "") != (test.warning != "") {
				t.Errorf("warned %q, want %q", said, test.warning)
			}

			if (got.AuditAnnotations["decision"] == "allowed") != got.Allowed {
				t.Errorf("audit annotations %v", got.AuditAnnotations)
			}
		})
	}
}

func TestCreationsAreStampedAndFilledIn(t *testing.T) {
	stamped := `{"op":"add","path":"/metadata/annotations","value":{"ichor.maesh.dev/request-id":"u1","ichor.maesh.dev/requested-by":"ann"}}`

	for kind, filled := range map[string]string{
		"TalosCluster":     `,{"op":"add","path":"/spec/versionContract","value":"v1.13"}`,
		"TalosMachine":     `,{"op":"replace","path":"/spec/identity/uuid","value":"4c4c4544-0042-3510-8052-b4c04f463139"}`,
		"TalosOperation":   `,{"op":"add","path":"/spec/node/machine","value":"` + worker + `"}`,
		"TalosConfigPatch": "",
	} {
		spec := strings.NewReplacer(`"machine":"`+worker+`",`, "", "-8052-b4c04f463139", "-8052-B4C04F463139").Replace(accepted[kind])

		got := review(t, hookOf(newAsks(&world{}), kind, true), "", created(kind, spec))
		if want := "[" + stamped + filled + "]"; !got.Allowed || string(got.Patch) != want {
			t.Errorf("%s: patch %s, want %s", kind, got.Patch, want)
		}
	}
}

func TestOfOtherKindsOnlyCreationsAreJudged(t *testing.T) {
	spec := created("TalosStorage", accepted["TalosStorage"])

	got := review(t, hookOf(newAsks(&world{}), "TalosStorage", false), spec, spec)
	if got.Allowed || !strings.Contains(got.Result.Message, "creations only") {
		t.Errorf("allowed %t, %s", got.Allowed, got.Result.Message)
	}
}

func TestBundlesAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"{": "not what talosctl gen secrets writes", "cluster: {id: x}": "is no certificate with its key",
	} {
		if _, err := parseBundle([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
