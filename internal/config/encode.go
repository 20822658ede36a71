package config

import (
	"fmt"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// Encode writes a struct as YAML that Decode reads back to the same values: the
// keys in the order of the fields, optional keys only where they say something.
func Encode(v any, scalars Scalars) []byte {
	text, err := yaml.Dump(encode(reflect.ValueOf(v), scalars), yaml.WithLineWidth(-1))
	if err != nil {
		panic(fmt.Sprintf("config: cannot write %T as YAML: %v", v, err))
	}
	return text
}

func encode(v reflect.Value, scalars Scalars) *yaml.Node {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if s, ok := scalars[v.Type()]; ok {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s.Format(v.Interface())}
	}
	switch v.Kind() {
	case reflect.Struct:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, k := range Keys(v.Type()) {
			if f := v.FieldByIndex(k.Index); k.Required || !f.IsZero() {
				key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: k.Name}
				n.Content = append(n.Content, key, encode(f, scalars))
			}
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
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v.String()}
	}
	panic(fmt.Sprintf("config: no way to encode a %s", v.Type()))
}
