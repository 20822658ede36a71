package topology

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/config/configtest"
)

func TestSchemaIsCurrent(t *testing.T) {
	text, err := json.MarshalIndent(specSchema(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	configtest.Golden(t, "topology.schema.json", string(text)+"\n")
}

// specSchema derives the schema from the Spec type: keys and limits from the
// tags, syntax from the quantities, descriptions from the comments.
func specSchema(t *testing.T) *jsonschema.Schema {
	spec := reflect.TypeFor[Spec]()
	root := schemaWriter{comments(t)}.schemaOf(spec, "")
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "kernbench topology"
	root.PropertyOrder = append([]string{"extends"}, root.PropertyOrder...)
	root.Properties["extends"] = &jsonschema.Schema{
		Type:        "string",
		Description: "A preset (" + strings.Join(Presets(), ", ") + ") or a file, relative to this file. Its values apply where this file has none.",
	}
	root.If = &jsonschema.Schema{Required: []string{"extends"}}
	root.Then = &jsonschema.Schema{}
	root.Else = required(spec)
	return root
}

// required returns a schema that requires the keys of a complete file, at every level.
func required(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	for _, k := range config.Keys(t) {
		if !k.Required {
			continue
		}
		s.Required = append(s.Required, k.Name)
		if _, single := config.Quantities[k.Type]; k.Type.Kind() == reflect.Struct && !single {
			if s.Properties == nil {
				s.Properties = map[string]*jsonschema.Schema{}
			}
			s.Properties[k.Name] = required(k.Type)
			s.PropertyOrder = append(s.PropertyOrder, k.Name)
		}
	}
	return s
}

type schemaWriter struct{ comments map[string]string }

func (w schemaWriter) schemaOf(t reflect.Type, tag reflect.StructTag) *jsonschema.Schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := scalarSchemas[t]; ok {
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
			p := w.schemaOf(k.Type, k.Tag)
			if c := w.comments[t.Name()+"."+k.StructField.Name]; c != "" {
				p.Description = strings.TrimSpace(c + " " + p.Description)
			}
			s.Properties[k.Name] = p
			s.PropertyOrder = append(s.PropertyOrder, k.Name)
		}
		return s
	case reflect.Slice: // items of a list are not inherited, so they must be complete
		item := w.schemaOf(t.Elem(), "")
		item.Required = required(t.Elem()).Required
		return &jsonschema.Schema{Type: "array", Items: item}
	case reflect.Int:
		s := &jsonschema.Schema{Type: "integer"}
		l := config.LimitOf(tag)
		for _, n := range l.OneOf {
			s.Enum = append(s.Enum, n)
		}
		if l.Min != math.MinInt64 && l.OneOf == nil {
			s.Minimum, s.Maximum = jsonschema.Ptr(float64(l.Min)), jsonschema.Ptr(float64(l.Max))
		}
		return s
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	}
	return &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1)}
}

var scalarSchemas = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[Bytes]():        size.schema(),
	reflect.TypeFor[Time]():         duration.schema(),
	reflect.TypeFor[Hz]():           frequency.schema(),
	reflect.TypeFor[Micrometres]():  distance.schema(),
	reflect.TypeFor[TimePerMM]():    wireDelay.schema(),
	reflect.TypeFor[BytesPerSec]():  allowUnlimited(bandwidth.schema()),
	reflect.TypeFor[Site]():         {Type: "string", Pattern: sitePattern.String(), Description: "A router of the NoC: row and column.", Examples: []any{"r3c0"}},
	reflect.TypeFor[Shape]():        words(Shapes),
	reflect.TypeFor[BufferKind]():   words(BufferKinds),
	reflect.TypeFor[Backpressure](): words(Backpressures),
}

// schema returns the JSON Schema of the quantity.
func (q *quantity) schema() *jsonschema.Schema {
	var units []string
	for _, u := range q.units {
		units = append(units, u.name)
	}
	list := strings.Join(units, ", ")
	units = append(units, slices.Sorted(maps.Keys(q.synonyms))...)
	number := `(0|[1-9][0-9]*)(\.[0-9]+)?`
	if q.min > 0 {
		number = `([1-9][0-9]*(\.[0-9]+)?|0\.[0-9]*[1-9][0-9]*)`
	}
	return &jsonschema.Schema{
		Type:        "string",
		Pattern:     "^" + number + " *(" + strings.Join(units, "|") + ")$",
		Description: strings.ToUpper(q.want()[:1]) + q.want()[1:] + " (" + list + ").",
		Examples:    []any{q.example},
	}
}

// allowUnlimited changes the schema of a quantity so that it also accepts the word
// unlimited.
func allowUnlimited(s *jsonschema.Schema) *jsonschema.Schema {
	s.Pattern = "^unlimited$|" + s.Pattern
	s.Description = strings.TrimSuffix(s.Description, ".") + ", or unlimited."
	s.Examples = append(s.Examples, "unlimited")
	return s
}

// words returns a schema that accepts the given words.
func words[T ~string](all []T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range all {
		s.Enum = append(s.Enum, string(w))
	}
	return s
}

// comments returns the comments in spec.go as sentences. The key of a type's comment is the
// type's name, and the key of a field's comment is "Type.Field".
func comments(t *testing.T) map[string]string {
	file, err := parser.ParseFile(token.NewFileSet(), "spec.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	sentence := func(g *ast.CommentGroup, name string) string {
		text := strings.TrimPrefix(strings.Join(strings.Fields(g.Text()), " "), name+" is ")
		if text == "" {
			return ""
		}
		return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
	}
	found := map[string]string{}
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE {
			continue
		}
		typ := gen.Specs[0].(*ast.TypeSpec)
		found[typ.Name.Name] = sentence(gen.Doc, typ.Name.Name)
		if body, ok := typ.Type.(*ast.StructType); ok {
			for _, f := range body.Fields.List {
				for _, name := range f.Names {
					found[typ.Name.Name+"."+name.Name] = sentence(f.Comment, name.Name)
				}
			}
		}
	}
	return found
}
