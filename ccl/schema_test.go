package ccl

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v4"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/config/configtest"
	"github.com/kernbench/kernbench/topology"
)

// TestSchemaIsCurrent checks that ccl.schema.json equals the schema that is derived from
// the types of config.go.
func TestSchemaIsCurrent(t *testing.T) {
	w := schemaWriter{comments(t), queueSchemas(t)}
	root := w.write(reflect.TypeFor[Config](), "")
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "kernbench collectives"
	root.PropertyOrder = append([]string{"extends"}, root.PropertyOrder...)
	root.Properties["extends"] = &jsonschema.Schema{
		Type:        "string",
		Description: "The preset default or a file, relative to this one, whose values hold where this file gives none.",
	}
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	configtest.Golden(t, "ccl.schema.json", string(text)+"\n")
}

// schemaWriter derives the schema from the Go types: keys and limits from the tags,
// descriptions from the comments. Types that the topology also uses have the syntax of the
// topology's schema.
type schemaWriter struct {
	comments map[string]string
	queue    map[reflect.Type]*jsonschema.Schema
}

func (w schemaWriter) write(t reflect.Type, tag reflect.StructTag) *jsonschema.Schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := w.queue[t]; ok {
		return s.CloneSchemas()
	}
	switch t.Kind() {
	case reflect.Struct:
		s := &jsonschema.Schema{
			Type:                 "object",
			Description:          w.comments[t.Name()],
			Properties:           map[string]*jsonschema.Schema{},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		}
		for _, k := range config.Keys(t) {
			p := w.write(k.Type, k.Tag)
			in := t // the struct that declares the key
			for _, i := range k.Index[:len(k.Index)-1] {
				in = in.Field(i).Type
			}
			p.Description = w.comments[in.Name()+"."+k.StructField.Name]
			s.Properties[k.Name] = p
			s.PropertyOrder = append(s.PropertyOrder, k.Name)
		}
		return s
	case reflect.Map:
		return &jsonschema.Schema{
			Type:                 "object",
			PropertyNames:        &jsonschema.Schema{Pattern: config.NamePattern},
			AdditionalProperties: w.write(t.Elem(), ""),
		}
	case reflect.Int:
		l := config.LimitOf(tag)
		return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(float64(l.Min)), Maximum: jsonschema.Ptr(float64(l.Max))}
	}
	return &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1)}
}

// queueSchemas returns the schemas of the types that describe queues. It reads them from
// the topology's schema.
func queueSchemas(t *testing.T) map[reflect.Type]*jsonschema.Schema {
	var root jsonschema.Schema
	if err := json.Unmarshal(topology.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	keys := root.Properties["pe"].Properties["ipcq"].Properties
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[topology.Bytes]():        keys["slot_size"],
		reflect.TypeFor[topology.BufferKind]():   keys["buffer_kind"],
		reflect.TypeFor[topology.Backpressure](): keys["backpressure"],
	}
}

// comments returns the comments of config.go as sentences. The key of a type's comment is
// the type's name, and the key of a field's comment is "Type.Field".
func comments(t *testing.T) map[string]string {
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	note := func(name string, g *ast.CommentGroup) {
		text := strings.TrimPrefix(strings.Join(strings.Fields(g.Text()), " "), name+" is ")
		if text != "" {
			found[name] = strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		decl, ok := n.(*ast.GenDecl)
		if !ok {
			return true
		}
		typ, ok := decl.Specs[0].(*ast.TypeSpec)
		if !ok {
			return true
		}
		note(typ.Name.Name, decl.Doc)
		if fields, ok := typ.Type.(*ast.StructType); ok {
			for _, f := range fields.Fields.List {
				for _, name := range f.Names {
					note(typ.Name.Name+"."+name.Name, f.Comment)
				}
			}
		}
		return true
	})
	return found
}

// loaderOnly lists parts of the loader's messages for rules that a schema cannot express.
// The schema may accept what the loader refuses only for these rules.
var loaderOnly = []string{
	"algorithm: unknown word", // a program may register algorithms
	"out of range",            // the upper end of a size
	"not a whole number of",   // fractions of a byte
	"more than a queue",       // chunks
	"no preset", "can extend presets only",
}

// TestSchemaAgreesWithLoader checks that the schema and the loader accept and refuse the
// same files. It changes a valid file in every place, and gives each changed file to both.
func TestSchemaAgreesWithLoader(t *testing.T) {
	drift := configtest.Drift{
		Schema: configtest.Resolve(t, Schema()), LoaderOnly: loaderOnly,
		Parse: func(text []byte) error { _, err := Parse("mutated.yaml", text); return err },
	}
	const full = `
extends: default
defaults: {algorithm: ring, buffer_kind: tcm, backpressure: poll, n_slots: 4, slot_size: 4 KiB, credit_bytes: 16 B, chunk_bytes: 4 KiB, root_cube: 10}
algorithms:
  mine: {algorithm: tree, buffer_kind: hbm, backpressure: sleep, n_slots: 2, slot_size: 1 MiB, credit_bytes: 1 B, chunk_bytes: 2 MiB, root_cube: 0, n_elem: 0, world_size: 3}
  yours: {}
`
	const named = "defaults: {algorithm: mine, world_size: 12}\nalgorithms: {mine: {buffer_kind: hbm}}\n"
	cases, accepted := 0, 0
	for _, src := range []string{full, named, string(defaultFile), string(Default().YAML())} {
		var tree map[string]any
		if err := yaml.Load([]byte(src), &tree); err != nil {
			t.Fatal(err)
		}
		if !drift.Agree(t, "unchanged", tree) {
			t.Errorf("refused:\n%s", src)
		}
		mutate("", tree, func(what string) {
			cases++
			if drift.Agree(t, what, tree) {
				accepted++
			}
		})
	}
	if cases < 1000 || accepted < 100 {
		t.Errorf("%d cases of which %d are accepted: the mutations have become too few", cases, accepted)
	}
}

// strange lists the values that replace every value in turn. strangeKeys lists the keys
// that are added to every mapping in turn.
var (
	strange = []any{
		0, 1, -1, 3, 4.5, 65537, 1 << 20, 1 << 45, "", "word", "ring", "tcm", "HBM", "poll", "default", true, nil,
		[]any{}, []any{1}, map[string]any{}, map[string]any{"a": 1}, map[string]any{"a": map[string]any{}},
		"1 B", "1.5 KiB", "1.0001 B", "2 MB", "0 B", "1 PiB", "1 TiB", "1KiB", "12", " 1 B", "1 ns",
	}
	strangeKeys = []string{"unknown", "a_b-c_1", "1", "Upper", "two words", "a__b", "a_", "-", "", "a.b"}
)

// mutate changes a tree of YAML values in every place: it deletes keys, adds keys and
// replaces values. After each change it calls `try` with a description, and then undoes the
// change.
func mutate(path string, tree map[string]any, try func(what string)) {
	for _, key := range strangeKeys {
		for _, v := range []any{1, map[string]any{}} {
			tree[key] = v
			try(fmt.Sprintf("%s.%q = %v", path, key, v))
		}
		delete(tree, key)
	}
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		value, below := tree[key], path+"."+key
		delete(tree, key)
		try(below + " deleted")
		for _, v := range strange {
			tree[key] = v
			try(fmt.Sprintf("%s = %#v", below, v))
		}
		tree[key] = value
		if inner, ok := value.(map[string]any); ok {
			mutate(below, inner, try)
		}
	}
}
