package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
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
	rounds := set.Int("rounds", 1, "how often each field of each kind is tried")
	bases := set.String("bases", "", "files with whole configurations to patch as well, separated by commas")

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

	for _, file := range splitWords(*bases) {
		base, err := readInput(file)
		if err != nil {
			return nil, err
		}

		g.whole(filepath.Base(file), string(base))
	}

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

			if g.Kinds[kind].Named {
				seen[kind+name] = true
			} else {
				seen[kind] = true
			}

			if g.IntN(3) > 0 {
				base = append(base, g.any(kind, name))
			}

			switch g.IntN(6) {
			case 0:
				patch = append(patch, madeDocument(kind, map[string]any{"name": name, "$patch": "delete"}))
			case 1: // this document stays
			default:
				patch = append(patch, g.any(kind, name))
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

// whole patches a whole configuration: its main document, and others with the names it may have.
func (g *generator) whole(name, base string) {
	kinds := slices.Sorted(maps.Keys(g.Kinds))

	for i := range 60 {
		patch := []map[string]any{g.any(v1alpha1.Version, "one")}

		if i%3 == 0 {
			patch = append(patch, g.any(kinds[g.IntN(len(kinds))], []string{"EPHEMERAL", "eth0"}[g.IntN(2)]))
		}

		g.add(fmt.Sprintf("%s %d", name, i), base, patch)
	}
}

// any makes up a document of a kind.
func (g *generator) any(kind, name string) map[string]any {
	fields, _ := g.value(g.Kinds[kind].Type, 4).(map[string]any)
	delete(fields, "version")

	if g.Kinds[kind].Named {
		fields["name"] = name
	}

	if kind == v1alpha1.Version {
		return fields
	}

	return madeDocument(kind, fields)
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
