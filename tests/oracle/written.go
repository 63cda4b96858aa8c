package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
)

// written are cases that were thought of, not made up.
func (g *generator) written() {
	worker := madeDocument(v1alpha1.Version, nil)
	link := "apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\n"

	patches := map[string]string{
		"empty":                    "",
		"only a comment":           "# nothing\n",
		"only null":                "---\n~\n",
		"an empty map":             "{}\n",
		"an empty list":            "[]\n",
		"only a version":           "version: v1alpha1\n",
		"version and nonsense":     "version: v1alpha1\nfoo: 1\n",
		"a version without a kind": "apiVersion: v1alpha1\nfoo: 1\n",
		"a kind without a version": "kind: HostnameConfig\nhostname: a\n",
		"another version":          "apiVersion: v2\nkind: HostnameConfig\n",
		"a list of nothing":        "- 1\n",
		"a scalar":                 "hello\n",
		"a key twice":              "machine:\n  token: a\n  token: b\n",
		"aliases":                  "machine:\n  sysctls: &x {a: b}\n  sysfs: *x\n",
		"merge key":                "machine:\n  sysctls: &x {a: b, c: d}\n  sysfs: {<<: *x, a: e}\n",
		"unquoted text":            "machine:\n  sysctls: {a: 1, b: 1.10, c: yes, d: 0644, e: 2020-01-01, f: ~, g: 1_000}\n",
		"words for booleans":       "debug: yes\npersist: off\n",
		"quoted boolean":           "debug: \"true\"\n",
		"quoted word":              "debug: \"yes\"\n",
		"quoted number":            "cluster: {controlPlane: {localAPIServerPort: \"6443\"}}\n",
		"octal":                    "machine: {files: [{path: /var/x, permissions: 0644, op: create, content: x}]}\n",
		"octal of YAML 1.2":        "machine: {files: [{path: /var/x, permissions: 0o644, op: create, content: x}]}\n",
		"hexadecimal":              "cluster: {controlPlane: {localAPIServerPort: 0x10}}\n",
		"whole float":              "cluster: {controlPlane: {localAPIServerPort: 5.0}}\n",
		"float":                    "cluster: {controlPlane: {localAPIServerPort: 5.5}}\n",
		"arguments as lists":       "cluster: {apiServer: {extraArgs: {a: [x, y]}}}\n",
		"arguments as maps":        "cluster: {apiServer: {extraArgs: {a: {x: y}}}}\n",
		"null in a list":           "machine: {certSANs: [~, a]}\n",
		"null in a map":            "machine: {sysctls: {a: ~}}\n",
		"empty document first":     "---\n---\nmachine: {token: a}\n",
		"comment before":           "# why\nmachine: {token: a}\n",
		"delete the main document": "$patch: delete\n",
		"delete main by version":   "version: v1alpha1\n$patch: delete\n",
		"delete without a version": "kind: LinkConfig\nname: eth0\n$patch: delete\n",
		"delete in an item":        "machine: {network: {interfaces: [{interface: eth0, routes: {$patch: delete}}]}}\n",
		"delete without a key":     "machine: {network: {interfaces: [{$patch: delete}]}}\n",
		"delete and set":           "machine: {kubelet: {$patch: delete}, certSANs: [a]}\n",
		"set and delete below":     "machine: {sysctls: {a: {$patch: delete}, b: x}}\n",
		"delete below nothing":     "machine: {network: {hostname: {$patch: delete}}}\n",
		"another $patch":           "machine: {kubelet: {$patch: replace}}\n",
		"delete unknown field":     "machine: {kubelett: {$patch: delete}}\n",
		"delete a named one":       link + "$patch: delete\n",
		"delete by another name":   "apiVersion: v1alpha1\nkind: LinkConfig\nname: eth1\n$patch: delete\n",
		"delete without a name":    "apiVersion: v1alpha1\nkind: LinkConfig\n$patch: delete\n",
		"delete an unknown kind":   "apiVersion: v1alpha1\nkind: NoSuchConfig\n$patch: delete\n",
		"delete and write anew":    link + "$patch: delete\n---\n" + link + "mtu: 9000\n",
		"conflict":                 "apiVersion: v1alpha1\nkind: DummyLinkConfig\nname: eth0\n",
		"only with others":         link + "mtu: 1400\nup: true\n",
		"JSON":                     `{"machine": {"token": "a"}}`,
		"the same document twice":  "machine: {token: a}\n---\nmachine: {token: b}\n",
		"JSON in tabs":             "{\n\t\"machine\": {\n\t\t\"token\": \"a\"\n\t}\n}\n",
		"certificate only":         "machine: {ca: {crt: YQ==}}\n",
		"certificate no base64":    "machine: {ca: {crt: '***'}}\n",
		"extra whitespace":         "\n\n  \nmachine:   \n   token:    a   \n\n",
		"Windows line ends":        "machine:\r\n  token: a\r\n",
		"byte order mark":          "\ufeffmachine:\n  token: a\n",
		"tag":                      "machine: {token: !!str 5}\n",
		"document end":             "machine: {token: a}\n...\n",
		"directive":                "%YAML 1.2\n---\nmachine: {token: a}\n",
		"long key":                 "machine: {sysctls: {" + strings.Repeat("k", 900) + ": v}}\n",
		"deep":                     "machine: {kubelet: {extraConfig: " + strings.Repeat("{a: ", 60) + "1" + strings.Repeat("}", 60) + "}}\n",
	}

	for _, name := range slices.Sorted(maps.Keys(patches)) {
		patch := patches[name]

		g.add("written: "+name, []map[string]any{worker, {"apiVersion": "v1alpha1", "kind": "LinkConfig", "name": "eth0"}}, patch)
		g.add("written, on one document: "+name, madeDocument(v1alpha1.Version, map[string]any{"machine": map[string]any{
			"type": "worker", "ca": map[string]any{"crt": "Yg==", "key": "Yw=="}, "sysctls": map[string]any{"a": "b"},
			"kubelet": map[string]any{"image": "i"},
			"network": map[string]any{"interfaces": []any{map[string]any{"interface": "eth0"}}},
		}}), patch)
	}
}
