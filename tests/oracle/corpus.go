package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"go.yaml.in/yaml/v4"
)

// patchCase is one patch of the corpus and what Talos's own patcher says to it.
type patchCase struct {
	Name  string `json:"name"`
	Base  string `json:"base"`
	Patch string `json:"patch"`
	outcome
}

func corpus(_ context.Context, args []string) (any, error) {
	set := newFlags("corpus")
	seed := set.Uint64("seed", 1, "the same seed gives the same patches")
	rounds := set.Int("rounds", 2, "how often each field of each kind is tried")

	if err := set.parse(args); err != nil {
		return nil, err
	}

	var newer jsonSchema

	if err := json.Unmarshal(newerSchema, &newer); err != nil {
		return nil, err
	}

	known, err := published(newer)
	if err != nil {
		return nil, err
	}

	g := generator{table: known.table, Rand: rand.New(rand.NewPCG(*seed, 0))}

	for range *rounds {
		g.fields()
		g.mixtures()
		g.operations()
	}

	g.written()

	// A base that Talos itself does not read says nothing about patches.
	g.cases = slices.DeleteFunc(g.cases, func(c patchCase) bool { return readConfig(c.Base).Error != "" })

	for i := range g.cases {
		g.cases[i].outcome = applyPatch(g.cases[i].Base, g.cases[i].Patch)
	}

	return g.cases, nil
}

// generator makes patches up from the types that the table knows.
type generator struct {
	table
	*rand.Rand
	cases []patchCase
}

func (g *generator) add(name string, base, patch any) {
	g.cases = append(g.cases, patchCase{Name: name, Base: text(base), Patch: text(patch)})
}

// text writes one document, or several as a list of them; text is as it should be already.
func text(document any) string {
	if written, ok := document.(string); ok {
		return written
	}

	if documents, ok := document.([]map[string]any); ok {
		parts := make([]string, 0, len(documents))

		for _, one := range documents {
			parts = append(parts, text(one))
		}

		return strings.Join(parts, "---\n")
	}

	encoded, err := yaml.Marshal(document)
	if err != nil {
		panic(err) // maps, lists and scalars only
	}

	return string(encoded)
}

// madeDocument makes a document of a kind with these fields.
func madeDocument(kind string, fields map[string]any) map[string]any {
	made := map[string]any{"apiVersion": "v1alpha1", "kind": kind}

	if kind == v1alpha1.Version {
		made = map[string]any{"version": "v1alpha1", "machine": map[string]any{"type": "worker"}}
	}

	maps.Copy(made, fields)

	return made
}

// fields tries every field of every kind: set where it is not, set where it is, deleted, and of the wrong type.
func (g *generator) fields() {
	for _, kind := range slices.Sorted(maps.Keys(g.Kinds)) {
		identity := map[string]any{}

		if g.Kinds[kind].Named {
			identity["name"] = "one"
		}

		g.walk(g.Kinds[kind].Type, nil, func(path []string, notation string) {
			if slices.Contains([]string{"apiVersion", "kind", "version", "name"}, path[0]) {
				return
			}

			name := kind + " " + strings.Join(path, ".")
			nested := func(value any) map[string]any {
				fields := nest(path, value)
				maps.Copy(fields, identity)

				return madeDocument(kind, fields)
			}
			bare := madeDocument(kind, identity)
			one, other := nested(g.value(notation, 2)), nested(g.value(notation, 2))

			g.add("set "+name, bare, one)
			g.add("set again "+name, one, other)
			g.add("set to nothing "+name, one, nested(g.nothing(notation)))
			g.add("wrong type "+name, bare, nested(g.wrong()))
			g.add("delete "+name, one, nested(map[string]any{"$patch": "delete"}))
			g.add("delete absent "+name, bare, nested(map[string]any{"$patch": "delete"}))
			g.add("beside "+name, one, nested2(kind, identity, path[0]))
			g.deleteItem(name, one, path, nested)
		})
	}
}

// nested2 is a patch of the same document that does not name the field: what Talos resets shows.
func nested2(kind string, identity map[string]any, first string) map[string]any {
	fields := maps.Clone(identity)

	if kind == v1alpha1.Version {
		if first == "machine" {
			fields["machine"] = map[string]any{"token": "t"}
		}
	} else {
		fields[first] = map[string]any{}
	}

	return madeDocument(kind, fields)
}

// deleteItem deletes an item of a list by its first fields.
func (g *generator) deleteItem(name string, base map[string]any, path []string, nested func(any) map[string]any) {
	list, _ := dig(base, path).([]any)
	if len(list) == 0 {
		return
	}

	item, ok := list[0].(map[string]any)
	if !ok {
		g.add("delete a plain item "+name, base, nested([]any{map[string]any{"$patch": "delete"}}))

		return
	}

	for _, key := range slices.Sorted(maps.Keys(item)) {
		g.add("delete by "+key+" "+name, base, nested([]any{map[string]any{key: item[key], "$patch": "delete"}}))
	}

	g.add("delete another item "+name, base, nested([]any{map[string]any{"name": "nobody", "$patch": "delete"}}))
}

func dig(value any, path []string) any {
	for _, key := range path {
		fields, _ := value.(map[string]any)
		value = fields[key]
	}

	return value
}

func nest(path []string, value any) map[string]any {
	for i := len(path) - 1; i > 0; i-- {
		value = map[string]any{path[i]: value}
	}

	return map[string]any{path[0]: value}
}

// walk visits the fields below a struct, through pointers and structs but not into lists and maps.
func (g *generator) walk(name string, above []string, visit func([]string, string)) {
	fields := g.Structs[name]

	for _, key := range slices.Sorted(maps.Keys(fields)) {
		path := append(slices.Clone(above), key)
		notation := strings.TrimSuffix(fields[key], " replace")

		visit(path, notation)

		if inner := strings.TrimPrefix(notation, "*"); g.Structs[inner] != nil {
			g.walk(inner, path, visit)
		}
	}
}

// mixtures are patches of several documents, with fields taken at random.
func (g *generator) mixtures() {
	kinds := slices.Sorted(maps.Keys(g.Kinds))

	for i := range 200 {
		var base, patch []map[string]any

		seen := map[string]bool{}

		for range 1 + g.IntN(4) {
			kind := kinds[g.IntN(len(kinds))]
			name := []string{"one", "two"}[g.IntN(2)]

			if seen[kind+name] || seen[kind] {
				continue
			}

			identity := map[string]any{}

			if g.Kinds[kind].Named {
				identity["name"] = name
				seen[kind+name] = true
			} else {
				seen[kind] = true
			}

			build := func() map[string]any {
				fields, _ := g.value(g.Kinds[kind].Type, 4).(map[string]any)
				delete(fields, "version")
				maps.Copy(fields, identity)
				fields = madeDocument(kind, fields)

				if kind != v1alpha1.Version {
					fields["kind"], fields["apiVersion"] = kind, "v1alpha1"
				}

				return fields
			}

			if g.IntN(3) > 0 {
				base = append(base, build())
			}

			switch g.IntN(6) {
			case 0:
				patch = append(patch, madeDocument(kind, map[string]any{"name": name, "$patch": "delete"}))
			case 1: // this document stays
			default:
				patch = append(patch, build())
			}
		}

		if len(patch) == 0 {
			continue
		}

		if len(base) == 0 {
			base = append(base, madeDocument(v1alpha1.Version, nil))
		}

		g.add(fmt.Sprintf("mixture %d", i), base, patch)
	}
}

// operations are JSON patches of one document.
func (g *generator) operations() {
	base := madeDocument(v1alpha1.Version, map[string]any{
		"machine": map[string]any{
			"type":     "worker",
			"certSANs": []any{"a", "b", "c"},
			"sysctls":  map[string]any{"x": "1", "y/z~": "2"},
			"kubelet":  map[string]any{"image": "i", "extraConfig": map[string]any{"maxPods": 5}},
			"network":  map[string]any{"interfaces": []any{map[string]any{"interface": "eth0", "dhcp": true}}},
		},
		"cluster": map[string]any{"network": map[string]any{"podSubnets": []any{"10.0.0.0/8"}}},
	})

	paths := []string{
		"/machine", "/machine/type", "/machine/certSANs", "/machine/certSANs/0", "/machine/certSANs/2", "/machine/certSANs/3",
		"/machine/certSANs/-", "/machine/certSANs/9", "/machine/certSANs/x", "/machine/sysctls/x", "/machine/sysctls/y~1z~0",
		"/machine/sysctls/new", "/machine/absent", "/machine/absent/deep", "/machine/kubelet/image", "/nowhere/at/all",
		"/machine/network/interfaces/-", "/cluster/network/podSubnets/-", "/cluster/clusterName", "/debug",
	}
	values := []any{"text", "a", true, 5, nil, []any{"x"}, map[string]any{}, map[string]any{"image": "i"}}

	for i := range 150 {
		var list []any

		for range 1 + g.IntN(2) {
			operation := map[string]any{
				"op":   []string{"add", "add", "remove", "replace", "move", "copy", "test", "other"}[g.IntN(8)],
				"path": paths[g.IntN(len(paths))],
			}

			switch operation["op"] {
			case "move", "copy":
				operation["from"] = paths[g.IntN(len(paths))]
			case "remove":
			default:
				operation["value"] = values[g.IntN(len(values))]
			}

			list = append(list, operation)
		}

		patch := text(list)

		if i%2 == 0 {
			encoded, err := json.Marshal(list)
			if err != nil {
				panic(err)
			}

			patch = string(encoded)
		}

		g.add(fmt.Sprintf("operations %d", i), base, patch)
	}
}

// value makes up a value of a type, no deeper than given.
func (g *generator) value(notation string, depth int) any {
	if inner, ok := strings.CutPrefix(notation, "*"); ok {
		return g.value(inner, depth)
	}

	if inner, ok := strings.CutPrefix(notation, "map[]"); ok {
		return g.mapOf(func() any { return g.value(inner, depth-1) })
	}

	if inner, ok := strings.CutPrefix(notation, "[]"); ok {
		return g.listOf(inner, depth)
	}

	if list, ok := g.Lists[notation]; ok {
		return g.listOf(list.Of, depth)
	}

	if names, ok := g.Enums[notation]; ok {
		return names[g.IntN(len(names))]
	}

	if fields, ok := g.Structs[notation]; ok {
		made := map[string]any{}

		for _, key := range slices.Sorted(maps.Keys(fields)) {
			if key != "kind" && key != "apiVersion" && (depth > 0 && g.IntN(3) == 0 || slices.Contains([]string{"name", "interface", "mountPath", "image", "vlanId"}, key)) {
				made[key] = g.value(strings.TrimSuffix(fields[key], " replace"), depth-1)
			}
		}

		return made
	}

	if fields, ok := strings.CutPrefix(notation, "pem "); ok {
		made := map[string]any{}

		for _, key := range strings.Fields(fields) {
			if g.IntN(3) > 0 {
				made[key] = g.value("bytes", 0)
			}
		}

		return made
	}

	choices, ok := samples[notation]
	if !ok {
		if strings.HasPrefix(notation, "int") || strings.HasPrefix(notation, "uint") {
			choices = []any{0, 1, 7, 100}
		} else {
			panic("no sample of " + notation)
		}
	}

	return choices[g.IntN(len(choices))]
}

func (g *generator) listOf(of string, depth int) any {
	list := []any{}

	for range g.IntN(3) + min(depth, 1) {
		list = append(list, g.value(of, depth-1))
	}

	return list
}

func (g *generator) mapOf(value func() any) any {
	made := map[string]any{}

	for _, key := range []string{"a", "b", "c.d/e"} {
		if g.IntN(2) == 0 {
			made[key] = value()
		}
	}

	return made
}

// samples are values of the types that are written as one scalar or as a map of anything.
var samples = map[string][]any{
	"string":      {"a", "b", "", "yes", "1.10", "0644", " x ", "multi\nline\n", "~", "ä"},
	"trimmed":     {"\n\nx\n", "y", ""},
	"bool":        {true, false},
	"float64":     {0, 1, 2.5},
	"any":         {"a", 1, true, []any{1}, map[string]any{"a": "b"}},
	"duration":    {"1h", "0s", "1m30s", "1.5s", "300ms", "-2h45m", 0},
	"bytes":       {"YQ==", "Yg==", ""},
	"url":         {"https://a:6443", "https://b.example/path?x=y", "tcp://10.0.0.1:514", "https://c/", ""},
	"args":        {map[string]any{"x": "1"}, map[string]any{"x": "2", "y": ""}, map[string]any{}},
	"disksize":    {"10GB", "1.5 GiB", 1000, "2000", "123456"},
	"diskmatcher": {">= 10GB", "<1TB", "4GB", "== 100"},
	"size":        {"10GiB", "50%", "1.5GB", "", "-2GB"},
	"bytesize":    {"10GiB", "", "100MB"},
	"percentage":  {"50%"},
	"portrange":   {80, "1000-2000", "443-443"},
	"prefix":      {"10.0.0.0/8", "192.168.1.5/24", "fd00::/64", "2001:DB8::/32"},
	"address":     {"10.0.0.1", "fd00::1", "fe80::1%eth0", ""},
	"addressport": {"10.0.0.1:51820", "[fd00::1]:80"},
	"hardwareaddress": {
		"52:54:00:00:00:01", "525400000002", "AA:bb:cc:00:11:22",
	},
	"cel": {"true", "disk.size > 10u * GiB", ""},
	"object": {
		map[string]any{"a": "x"},
		map[string]any{"a": "y", "b": 1, "c": []any{1, "z"}, "d": map[string]any{"e": true}},
		map[string]any{"a": 5},
		map[string]any{"b": 0, "c": []any{}, "d": map[string]any{"e": false, "f": 1.5}},
		map[string]any{},
	},
}

// nothing is something that says little: null, or what is empty in the type.
func (g *generator) nothing(notation string) any {
	notation = strings.TrimPrefix(notation, "*")

	switch {
	case g.IntN(3) == 0:
		return nil
	case strings.HasPrefix(notation, "[]"), g.Lists[notation].Of != "":
		return []any{}
	case strings.HasPrefix(notation, "map"), g.Structs[notation] != nil, notation == "object", notation == "args":
		return map[string]any{}
	case notation == "bool":
		return false
	case strings.Contains(notation, "int"):
		return 0
	default:
		return ""
	}
}

// wrong is a value that few types take.
func (g *generator) wrong() any {
	return []any{
		[]any{map[string]any{"nonsense": 1}}, map[string]any{"nonsense": "x"}, "nonsense", 5, -1, 1.5, true, "1h", []any{[]any{}},
		[]any{"x"}, 70000,
	}[g.IntN(11)]
}

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
