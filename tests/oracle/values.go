package main

import (
	"maps"
	"slices"
	"strings"
)

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
