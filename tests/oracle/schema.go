package main

import (
	"context"
	_ "embed"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
)

// table is what Ichor's own patcher has to know of Talos's documents: which fields a struct has, of which type, and
// how two values of it merge. It is facts, not code; the crate ichor-machineconfig carries it as data.
type table struct {
	Source  string                       `json:"source"`
	Kinds   map[string]kindEntry         `json:"kinds"`
	Structs map[string]map[string]string `json:"structs"`
	Lists   map[string]listEntry         `json:"lists"`
	Enums   map[string][]string          `json:"enums"`
}

// kindEntry is one document kind; the legacy document is the kind v1alpha1.
type kindEntry struct {
	Type      string   `json:"type"`
	Named     bool     `json:"named,omitempty"`
	Conflicts []string `json:"conflicts,omitempty"`
}

// listEntry is a list whose items merge by the first of the fields that the patch's item has.
type listEntry struct {
	Of      string   `json:"of"`
	By      []string `json:"by"`
	Replace bool     `json:"replace,omitempty"`
}

// keyed are the lists with a merge of their own. Reflection sees that there is one, not by what it goes.
var keyed = map[string]listEntry{
	"v1alpha1.NetworkDeviceList":         {By: []string{"interface", "deviceSelector"}},
	"v1alpha1.VlanList":                  {By: []string{"vlanId"}},
	"v1alpha1.AdmissionPluginConfigList": {By: []string{"name"}},
	"extensions.ConfigFileList":          {By: []string{"mountPath"}},
	"security.ImageVerificationRules":    {By: []string{"image"}, Replace: true},
}

// leaves are the types which are no struct in YAML although they are one in Go, or which read text in their own way.
var leaves = map[string]string{
	"time.Duration":                   "duration",
	"v1alpha1.Base64Bytes":            "bytes",
	"v1alpha1.Endpoint":               "url",
	"meta.URL":                        "url",
	"v1alpha1.Unstructured":           "object",
	"v1alpha1.Args":                   "args",
	"v1alpha1.DiskSize":               "disksize",
	"v1alpha1.InstallDiskSizeMatcher": "diskmatcher",
	"block.Size":                      "size",
	"block.ByteSize":                  "bytesize",
	"block.PercentageSize":            "percentage",
	"network.PortRange":               "portrange",
	"network.Prefix":                  "prefix",
	"network.Addr":                    "address",
	"network.AddrPort":                "addressport",
	"netip.Prefix":                    "prefix",
	"netip.Addr":                      "address",
	"netip.AddrPort":                  "addressport",
	"nethelpers.HardwareAddr":         "hardwareaddress",
	"cel.Expression":                  "cel",

	// Certificates and keys: their fields have no names that a patch could delete by, and reading one sets them all.
	"x509.PEMEncodedCertificate":       "pem crt",
	"x509.PEMEncodedKey":               "pem key",
	"x509.PEMEncodedCertificateAndKey": "pem crt key",
}

// trimmed are texts that Talos cuts at the start as it reads them.
var trimmed = map[string]string{"v1alpha1.ClusterInlineManifest.contents": "trimmed"}

func schema(_ context.Context, args []string) (any, error) {
	if err := newFlags("schema").parse(args); err != nil {
		return nil, err
	}

	var newer jsonSchema

	if err := json.Unmarshal(newerSchema, &newer); err != nil {
		return nil, err
	}

	d, err := published(newer)
	if err != nil {
		return nil, err
	}

	for _, ref := range newer.OneOf {
		if err := d.kind(ref.name(), newer); err != nil {
			return nil, err
		}
	}

	// Talos writes this kind otherwise than the schema names it.
	d.Kinds["UnattendedInstallConfig"] = d.Kinds["UnattendedInstall"]
	delete(d.Kinds, "UnattendedInstall")

	return d.table, nil
}

// published is the table of the types that are published: the newer schema gives it only the names of kinds.
func published(newer jsonSchema) (*dumper, error) {
	d := &dumper{table{
		Source:  "Talos machinery v1.13.5, by reflection, and the structure of Talos 1.14's documents",
		Kinds:   map[string]kindEntry{},
		Structs: map[string]map[string]string{},
		Lists:   map[string]listEntry{},
		Enums:   map[string][]string{},
	}}

	// One kind that the newer schema does not name.
	kinds := []string{"ImageVerificationConfig"}

	for _, ref := range newer.OneOf {
		kinds = append(kinds, newer.Defs[ref.name()].Properties["kind"].Enum...)
	}

	for _, kind := range kinds {
		if _, err := newDocument(kind); err != nil {
			continue
		}

		if err := d.known(kind); err != nil {
			return nil, err
		}
	}

	name, err := d.goType(reflect.TypeFor[v1alpha1.Config]())
	d.Kinds[v1alpha1.Version] = kindEntry{Type: name}

	return d, err
}

type dumper struct{ table }

// known adds a kind that Talos's own types have.
func (d *dumper) known(kind string) error {
	document, err := newDocument(kind)
	if err != nil {
		return err
	}

	name, err := d.goType(reflect.TypeOf(document).Elem())
	if err != nil {
		return err
	}

	_, named := document.(config.NamedDocument)
	entry := kindEntry{Type: name, Named: named}

	if conflicting, ok := document.(config.ConflictingDocument); ok {
		entry.Conflicts = conflicting.ConflictsWithKinds()
	}

	d.Kinds[kind] = entry

	return nil
}

// newDocument makes an empty document of a kind: Talos's registry is internal, its loader is not.
func newDocument(kind string) (config.Document, error) {
	provider, err := configloader.NewFromBytes([]byte("apiVersion: v1alpha1\nkind: " + kind + "\n"))
	if err != nil {
		return nil, err
	}

	return provider.Documents()[0], nil
}

// goType writes a type in the table's notation and adds the structs it leads to.
func (d *dumper) goType(t reflect.Type) (string, error) {
	name := t.String()

	if leaf, ok := leaves[name]; ok {
		return leaf, nil
	}

	if _, merges := reflect.PointerTo(t).MethodByName("Merge"); merges {
		return d.goList(t)
	}

	if names := enumNames(t); names != nil {
		d.Enums[name] = names

		return name, nil
	}

	switch t.Kind() {
	case reflect.Pointer:
		return d.wrap("*", t.Elem())
	case reflect.Slice:
		if readsText(t) && t != reflect.TypeFor[v1alpha1.ClusterInlineManifests]() {
			return "", fmt.Errorf("%s reads YAML in its own way, which the table has no word for", name)
		}

		return d.wrap("[]", t.Elem())
	case reflect.Map:
		return d.wrap("map[]", t.Elem())
	case reflect.Struct:
		return d.goStruct(t)
	case reflect.Interface:
		return "any", nil
	case reflect.String, reflect.Bool,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		if readsText(t) {
			return "", fmt.Errorf("%s reads text in its own way, which the table has no word for", name)
		}

		return t.Kind().String(), nil
	default:
		return "", fmt.Errorf("%s: kind %s has no notation", name, t.Kind())
	}
}

func (d *dumper) wrap(prefix string, t reflect.Type) (string, error) {
	inner, err := d.goType(t)

	return prefix + inner, err
}

func (d *dumper) goList(t reflect.Type) (string, error) {
	entry, ok := keyed[t.String()]
	if !ok {
		return "", fmt.Errorf("%s merges in its own way, which the table does not know", t)
	}

	of, err := d.goType(t.Elem())
	if err != nil {
		return "", err
	}

	entry.Of = of
	d.Lists[t.String()] = entry

	return t.String(), nil
}

func (d *dumper) goStruct(t reflect.Type) (string, error) {
	name := t.String()

	if d.Structs[name] != nil {
		return name, nil
	}

	if readsText(t) {
		return "", fmt.Errorf("%s reads YAML in its own way, which the table has no word for", name)
	}

	fields := map[string]string{}
	d.Structs[name] = fields

	for i := range t.NumField() {
		field := t.Field(i)
		tag, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")

		if tag == "-" || !field.IsExported() {
			continue
		}

		if strings.Contains(options, "inline") {
			inner, err := d.goType(field.Type)
			if err != nil {
				return "", err
			}

			maps.Copy(fields, d.Structs[inner])

			continue
		}

		if tag == "" {
			tag = strings.ToLower(field.Name)
		}

		notation, err := d.goType(field.Type)
		if err != nil {
			return "", fmt.Errorf("%s.%s: %w", name, tag, err)
		}

		if field.Tag.Get("merge") == "replace" {
			notation += " replace"
		}

		if special, ok := trimmed[name+"."+tag]; ok {
			notation = special
		}

		fields[tag] = notation
	}

	return name, nil
}

func readsText(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	_, yaml := pointer.MethodByName("UnmarshalYAML")

	return yaml || pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// enumNames are the names of an enumeration, that of its zero value first; it is empty where that has none.
func enumNames(t reflect.Type) []string {
	if t == reflect.TypeFor[time.Duration]() || !readsText(t) || !slices.Contains([]reflect.Kind{
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
	}, t.Kind()) {
		return nil
	}

	var names []string

	for i := range int64(1 << 16) {
		value := reflect.New(t)

		if value.Elem().CanInt() {
			if value.Elem().OverflowInt(i) {
				break
			}

			value.Elem().SetInt(i)
		} else {
			if value.Elem().OverflowUint(uint64(i)) {
				break
			}

			value.Elem().SetUint(uint64(i))
		}

		text, ok := value.Elem().Interface().(fmt.Stringer)
		if !ok {
			return nil
		}

		again := reflect.New(t)

		if again.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text.String())) == nil &&
			again.Elem().Equal(value.Elem()) {
			names = append(names, text.String())
		} else if i == 0 {
			names = append(names, "")
		}
	}

	// Some read nothing as their zero value; the table says so by a last name that is empty.
	if names[0] != "" && reflect.New(t).Interface().(encoding.TextUnmarshaler).UnmarshalText(nil) == nil {
		names = append(names, "")
	}

	return names
}
