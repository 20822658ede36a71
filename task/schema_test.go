package task

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

// TestSchemaIsCurrent checks that tasks.schema.json equals the schema that is derived from
// the types of config.go.
func TestSchemaIsCurrent(t *testing.T) {
	root, complete := schemaWriter{comments(t), timeSchema(t)}.object(reflect.TypeFor[Config]())
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "kernbench tasks"
	root.PropertyOrder = append([]string{"extends"}, root.PropertyOrder...)
	root.Properties["extends"] = &jsonschema.Schema{
		Type:        "string",
		Description: "The preset default or a file, relative to this one, whose values hold where this file gives none.",
	}
	root.If, root.Then, root.Else = &jsonschema.Schema{Required: []string{"extends"}}, &jsonschema.Schema{}, complete
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	configtest.Golden(t, "tasks.schema.json", string(text)+"\n")
}

// schemaWriter derives the schema from the types: keys and limits from the tags,
// descriptions from the comments, and the syntax of times from the schema of topologies.
type schemaWriter struct {
	comments map[string]string
	time     *jsonschema.Schema
}

// object returns two schemas of the mapping that type t describes: one that allows missing
// keys, and one that requires all keys, for a complete file.
func (w schemaWriter) object(t reflect.Type) (s, complete *jsonschema.Schema) {
	s = &jsonschema.Schema{
		Type: "object", Description: w.comments[t.Name()], Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	complete = &jsonschema.Schema{}
	for _, k := range config.Keys(t) {
		var p *jsonschema.Schema
		switch {
		case k.Type == reflect.TypeFor[topology.Time]():
			p = w.time.CloneSchemas()
		case k.Type.Kind() == reflect.Int:
			l := config.LimitOf(k.Tag)
			p = &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(float64(l.Min)), Maximum: jsonschema.Ptr(float64(l.Max))}
		default:
			var inner *jsonschema.Schema
			p, inner = w.object(k.Type)
			if complete.Properties == nil {
				complete.Properties = map[string]*jsonschema.Schema{}
			}
			complete.Properties[k.Name] = inner
			complete.PropertyOrder = append(complete.PropertyOrder, k.Name)
		}
		p.Description = strings.TrimSpace(w.comments[t.Name()+"."+k.StructField.Name] + " " + p.Description)
		s.Properties[k.Name] = p
		s.PropertyOrder = append(s.PropertyOrder, k.Name)
		complete.Required = append(complete.Required, k.Name)
	}
	return s, complete
}

// timeSchema reads the schema of a time from the schema of topologies, and returns it.
func timeSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var root jsonschema.Schema
	if err := json.Unmarshal(topology.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	return root.Properties["pe"].Properties["cpu"].Properties["overhead"]
}

// comments returns the comments of config.go as sentences. The key of a type's comment is
// the type's name, and the key of a field's comment is "Type.Field".
func comments(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	note := func(key, name string, g *ast.CommentGroup) {
		text := strings.TrimPrefix(strings.Join(strings.Fields(g.Text()), " "), name+" is ")
		if text != "" {
			found[key] = strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
		}
	}
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE {
			continue
		}
		typ := gen.Specs[0].(*ast.TypeSpec)
		note(typ.Name.Name, typ.Name.Name, gen.Doc)
		if body, ok := typ.Type.(*ast.StructType); ok {
			for _, f := range body.Fields.List {
				for _, name := range f.Names {
					note(typ.Name.Name+"."+name.Name, name.Name, f.Comment)
				}
			}
		}
	}
	return found
}

// loaderOnly lists parts of the loader's messages for rules that a schema cannot express.
// The schema may accept what the loader refuses only for these rules.
var loaderOnly = []string{
	"out of range",          // the largest time
	"not a whole number of", // fractions of a femtosecond
	"no preset", "can extend presets only",
}

// TestSchemaAgreesWithLoader checks that the schema and the loader accept and refuse the
// same files, apart from the rules in loaderOnly. It changes valid files in every place,
// one change at a time, and gives each changed file to both.
func TestSchemaAgreesWithLoader(t *testing.T) {
	drift := configtest.Drift{
		Schema: configtest.Resolve(t, Schema()), LoaderOnly: loaderOnly,
		Parse: func(text []byte) error { _, err := Parse("mutated.yaml", text); return err },
	}
	const extending = `
extends: default
control: {register_read: 50 ns, compute_cores: 4}
tensormap_and_ringbuffer: {slots: 8}
`
	cases, accepted := 0, 0
	for _, src := range []string{extending, string(defaultFile), string(Default().YAML())} {
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

// replacements are the values that every value of a file is replaced by in turn.
var replacements = []any{
	0, 1, -1, 4.5, 64, 65, 131072, 131073, 16777216, 16777217, 1 << 45, "", "word", "default", "./file.yaml", true, nil,
	[]any{}, []any{1}, map[string]any{}, map[string]any{"a": 1},
	"0 ns", "1ns", "1  ns", "1.5 us", "1 µs", "1 s", "2 s", "0.1 fs", "-1 ns", "+1 ns", "1 NS", "1 min", "00 ns", "1. ns", ".5 ns",
	"1e3 ns", "12", " 1 ns", "1 ns ", "1 B",
}

// mutate changes a tree of YAML values in every place: it deletes keys, adds keys and
// replaces values. After each change it calls `try` with a description of the change, and
// then undoes the change.
func mutate(path string, tree map[string]any, try func(what string)) {
	tree["unknown"] = 1
	try(path + " with an unknown key")
	delete(tree, "unknown")
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		value, below := tree[key], path+"."+key
		delete(tree, key)
		try(below + " deleted")
		for _, v := range replacements {
			tree[key] = v
			try(fmt.Sprintf("%s = %#v", below, v))
		}
		tree[key] = value
		if inner, ok := value.(map[string]any); ok {
			mutate(below, inner, try)
		}
	}
}
