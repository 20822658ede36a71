package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Encode writes a struct as YAML that Decode reads back to the same values: the
// keys in the order of the fields, names in alphabetical order, optional keys only
// where they say something.
func Encode(v any, scalars Scalars) []byte {
	src, err := yaml.Dump(encode(reflect.ValueOf(v), scalars), yaml.WithLineWidth(-1))
	if err != nil {
		panic(fmt.Sprintf("config: cannot write %T as YAML: %v", v, err))
	}
	return src
}

func encode(v reflect.Value, scalars Scalars) *yaml.Node {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if s, ok := scalars[v.Type()]; ok {
		return text(s.Format(v.Interface()))
	}
	switch v.Kind() {
	case reflect.Struct:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, k := range Keys(v.Type()) {
			if f := v.FieldByIndex(k.Index); k.Required || !f.IsZero() {
				n.Content = append(n.Content, text(k.Name), encode(f, scalars))
			}
		}
		return n
	case reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode}
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, name := range names {
			n.Content = append(n.Content, text(name.String()), encode(v.MapIndex(name), scalars))
		}
		return n
	case reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			n.Content = append(n.Content, encode(v.Index(i), scalars))
		}
		return n
	case reflect.Int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v.Int(), 10)}
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v.Bool())}
	case reflect.String:
		return text(v.String())
	}
	panic(fmt.Sprintf("config: no way to encode a %s", v.Type()))
}

func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
