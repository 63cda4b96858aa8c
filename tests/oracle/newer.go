package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
)

// newerSchema is the structure of the documents of Talos 1.14, whose own types are not published yet.
//
//go:embed config-v1.14.schema.json
var newerSchema []byte

// newerFields are new forms of old fields; they are taken to merge as the old ones do.
var newerFields = map[string]string{
	"k8s.KubeAuditPolicyConfigV1Alpha1.configuration": "object replace",

	"k8s.KubeNetworkConfigV1Alpha1.podSubnets":     "[]string replace",
	"k8s.KubeNetworkConfigV1Alpha1.serviceSubnets": "[]string replace",
}

// jsonSchema is the little of JSON Schema that the newer structure uses.
type jsonSchema struct {
	Ref        string                `json:"$ref"`
	Defs       map[string]jsonSchema `json:"$defs"`
	OneOf      []jsonSchema          `json:"oneOf"`
	Type       string                `json:"type"`
	Enum       []string              `json:"enum"`
	Items      *jsonSchema           `json:"items"`
	Properties map[string]jsonSchema `json:"properties"`
	Pattern    map[string]jsonSchema `json:"patternProperties"`
	Additional json.RawMessage       `json:"additionalProperties"`
}

func (s jsonSchema) name() string { return strings.TrimPrefix(s.Ref, "#/$defs/") }

// kind adds one kind of the newer schema, or to one that is published the fields that are new.
func (d *dumper) kind(name string, all jsonSchema) error {
	definition := all.Defs[name]
	kinds := definition.Properties["kind"].Enum

	if len(kinds) != 1 { // the legacy document
		return nil
	}

	if _, published := d.Kinds[kinds[0]]; !published {
		_, named := definition.Properties["name"]
		d.Kinds[kinds[0]] = kindEntry{Type: name, Named: named}
	}

	return d.newer(name, all)
}

// newer adds the fields of a struct that are missing, and what they lead to.
func (d *dumper) newer(name string, all jsonSchema) error {
	fields := d.Structs[name]
	if fields == nil {
		fields = map[string]string{}
		d.Structs[name] = fields
	}

	for field, definition := range all.Defs[name].Properties {
		inner := definition
		if definition.Items != nil {
			inner = *definition.Items
		}

		if inner.Ref != "" && strings.Contains(fields[field], inner.name()) {
			if err := d.newer(inner.name(), all); err != nil {
				return err
			}
		}

		d.newerNames(fields[field], inner.Enum)

		if fields[field] != "" {
			continue
		}

		fields[field] = "any" // what it leads to may lead back here

		notation, err := d.newerType(name+"."+field, definition, all)
		if err != nil {
			return err
		}

		fields[field] = notation
	}

	return nil
}

// newerNames adds the names that an enumeration has gained.
func (d *dumper) newerNames(notation string, names []string) {
	known := d.Enums[strings.TrimLeft(notation, "*[]")]
	if known == nil {
		return
	}

	for _, name := range names {
		if !slices.Contains(known, name) {
			known = slices.Insert(known, 1, name)
		}
	}

	d.Enums[strings.TrimLeft(notation, "*[]")] = known
}

// newerType writes a type of JSON Schema in the table's notation. Whether Go has a pointer there is not known: booleans
// are taken for one, so that a patch that does not name them leaves them alone.
func (d *dumper) newerType(path string, s jsonSchema, all jsonSchema) (string, error) {
	if notation, ok := newerFields[path]; ok {
		return notation, nil
	}

	switch {
	case s.Ref != "":
		return "*" + s.name(), d.newer(s.name(), all)
	case s.Type == "boolean":
		return "*bool", nil
	case s.Type == "integer":
		return "int64", nil
	case s.Type == "string" || s.Enum != nil:
		return "string", nil
	case s.Type == "array" && s.Items != nil:
		inner, err := d.newerType(path+"[]", *s.Items, all)

		return "[]" + strings.TrimPrefix(inner, "*"), err
	case s.Type == "object" && s.Properties != nil:
		all.Defs[path] = s

		return "*" + path, d.newer(path, all)
	case s.Type == "object" && s.Pattern != nil:
		inner, err := d.newerType(path+"{}", s.Pattern[".*"], all)

		return "map[]" + inner, err
	case s.Type == "object" && bytes.Contains(s.Additional, []byte("oneOf")):
		return "args", nil
	case s.Type == "object":
		return "object", nil
	default:
		return "any", nil
	}
}
