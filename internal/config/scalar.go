package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/kernbench/kernbench/internal/printable"
)

// Scalar is the syntax of a type whose values are written as one YAML value.
type Scalar struct {
	Want   string // what to write, for messages: "a size such as 2 MiB"
	Parse  func(text string) (any, error)
	Format func(v any) string
}

// Scalars maps types to their syntax.
type Scalars map[reflect.Type]Scalar

// Quantities has the syntax of the sizes, times, bandwidths and words that configurations
// share. Package topology declares their types and fills Quantities when the program
// starts.
var Quantities = Scalars{}

// Define adds the syntax of type T to s. `want` describes the syntax in messages, `parse`
// reads a value of type T from text, and `format` writes it as text.
func Define[T any](s Scalars, want string, parse func(string) (T, error), format func(T) string) {
	s[reflect.TypeFor[T]()] = Scalar{
		Want:   want,
		Parse:  func(text string) (any, error) { return parse(text) },
		Format: func(v any) string { return format(v.(T)) },
	}
}

// DefineWords adds the syntax of a type whose values are the given words.
func DefineWords[T ~string](s Scalars, words []T) {
	names := printable.Words(words)
	want := "one of " + strings.Join(names, ", ")
	Define(s, want, func(text string) (T, error) {
		if !slices.Contains(names, text) {
			return "", fmt.Errorf("unknown word %s: write %s%s", quote(text), want, DidYouMean(text, names))
		}
		return T(text), nil
	}, func(v T) string { return string(v) })
}

// Limit is the set of integers that a field accepts.
type Limit struct {
	Min, Max int64
	OneOf    []int64 // if not nil, replaces Min and Max
}

// LimitOf returns the limit in a struct tag: range:"1..64" or oneof:"1 2 4". Without
// either, any number is allowed.
func LimitOf(tag reflect.StructTag) Limit {
	l := Limit{Min: math.MinInt64, Max: math.MaxInt64}
	if lo, hi, ok := strings.Cut(tag.Get("range"), ".."); ok {
		l.Min, l.Max = tagNumber(lo, tag), tagNumber(hi, tag)
	}
	for _, n := range strings.Fields(tag.Get("oneof")) {
		l.OneOf = append(l.OneOf, tagNumber(n, tag))
	}
	return l
}

// tagNumber parses a number in a struct tag. It panics on a mistake, because the tag is
// part of the program.
func tagNumber(text string, tag reflect.StructTag) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("config: bad limit in the tag %q", tag))
	}
	return n
}

// String describes the limit: "a whole number from 1 to 64".
func (l Limit) String() string {
	switch {
	case l.OneOf != nil:
		return "one of " + strings.Trim(strings.ReplaceAll(fmt.Sprint(l.OneOf), " ", ", "), "[]")
	case l.Min == math.MinInt64:
		return "a whole number"
	}
	return fmt.Sprintf("a whole number from %d to %d", l.Min, l.Max)
}

// holds reports whether the limit allows n.
func (l Limit) holds(n int64) bool {
	if l.OneOf != nil {
		return slices.Contains(l.OneOf, n)
	}
	return l.Min <= n && n <= l.Max
}

// wholeNumber parses node n as an integer that l allows. It accepts only decimal digits
// without leading zeros, after an optional minus sign. A quoted number is text, and 1e3,
// 0x10 or 1_000 are probably mistakes.
func wholeNumber(n *node, l Limit) (int64, error) {
	digits := strings.TrimPrefix(n.text, "-")
	plain := n.tag != "!!str" && digits != "" && strings.Trim(digits, "0123456789") == "" && (digits[0] != '0' || digits == "0")
	i, err := strconv.ParseInt(n.text, 10, 64)
	if !plain || err != nil || !l.holds(i) {
		return 0, fmt.Errorf("expected %s, got %s", l, n.describe())
	}
	return i, nil
}

// Encode returns a struct as YAML that Decode reads back to the same values. Keys are in
// the order of the fields, names of a map in alphabetical order. Optional keys are omitted
// if their value is zero.
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
	n := &yaml.Node{Kind: yaml.MappingNode}
	switch v.Kind() {
	case reflect.Struct:
		for _, k := range Keys(v.Type()) {
			if f := v.FieldByIndex(k.Index); k.Required || !f.IsZero() {
				n.Content = append(n.Content, text(k.Name), encode(f, scalars))
			}
		}
	case reflect.Map:
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, name := range names {
			n.Content = append(n.Content, text(name.String()), encode(v.MapIndex(name), scalars))
		}
	case reflect.Slice:
		n.Kind = yaml.SequenceNode
		for i := range v.Len() {
			n.Content = append(n.Content, encode(v.Index(i), scalars))
		}
	case reflect.Int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v.Int(), 10)}
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v.Bool())}
	case reflect.String:
		return text(v.String())
	default:
		panic(fmt.Sprintf("config: no way to encode a %s", v.Type()))
	}
	return n
}

// text returns a YAML node for a string.
func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
