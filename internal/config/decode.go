package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
)

// Decode fills the struct that dst points to from the document. If the document has
// mistakes, the error is the [Errors] of the whole document, in the order of its text.
// Fields without mistakes are filled even then.
func (d *Doc) Decode(dst any, scalars Scalars) error {
	found := *d // a copy with its own errors, so that the document can be decoded again
	found.errs = slices.Clone(d.errs)
	decoder{&found, scalars}.value(reflect.ValueOf(dst).Elem(), &field{at: d.root.at, value: d.root}, "", "")
	for _, e := range found.errs { // layers may have been added since the errors were found
		e.rank = d.rank(e)
	}
	return found.errs.Err()
}

// decoder fills Go values from a document.
type decoder struct {
	*Doc
	scalars Scalars
}

// value fills v from the value of field f, which is at path. `tag` is the struct tag of v.
// Mistakes in the value are added to the errors of the document.
func (d decoder) value(v reflect.Value, f *field, path string, tag reflect.StructTag) {
	n := f.value
	if n.refused {
		return
	}
	if n.kind == scalar && n.tag == "!!null" {
		instead := ", or delete the key"
		if f.at.src.set {
			instead = ""
		}
		d.fail(f.at, path, "no value: give %s%s", d.want(v.Type(), tag), instead)
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if d.refuse(v, n, path, tag) {
		return
	}
	if s, ok := d.scalars[v.Type()]; ok {
		parsed, err := s.Parse(n.text)
		if err != nil {
			d.fail(n.at, path, "%v", err)
			return
		}
		v.Set(reflect.ValueOf(parsed))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.fields(v, f, path)
	case reflect.Slice:
		for i, item := range n.items {
			v.Grow(1)
			v.SetLen(i + 1)
			d.value(v.Index(i), &field{at: item.at, value: item}, index(path, i), tag)
		}
	case reflect.Map:
		d.entries(v, n, path, tag)
	case reflect.Int:
		i, err := wholeNumber(n, LimitOf(tag))
		if err != nil {
			d.fail(n.at, path, "%v", err)
		}
		v.SetInt(i)
	case reflect.Bool:
		v.SetBool(strings.EqualFold(n.text, "true"))
	case reflect.String:
		v.SetString(n.text)
	default:
		panic(fmt.Sprintf("config: %s: no way to decode a %s", path, v.Type()))
	}
}

// nodeForms has the kind of node in which a Go value is written and, for a scalar, its tag.
// The zero value is a scalar with any tag.
var nodeForms = map[reflect.Kind]struct {
	kind kind
	tag  string
}{
	reflect.Struct: {mapping, ""}, reflect.Map: {mapping, ""}, reflect.Slice: {list, ""},
	reflect.Bool: {scalar, "!!bool"}, reflect.String: {scalar, "!!str"},
}

// refuse adds an error if node n is not written in the form that v needs, such as a list.
// It reports whether it added an error.
func (d decoder) refuse(v reflect.Value, n *node, path string, tag reflect.StructTag) bool {
	form := nodeForms[v.Kind()]
	if _, special := d.scalars[v.Type()]; special {
		form = nodeForms[reflect.Invalid]
	}
	if n.kind == form.kind && (form.tag == "" || form.tag == n.tag) {
		return false
	}
	d.fail(n.at, path, "expected %s, got %s", d.want(v.Type(), tag), n.describe())
	return true
}

// fields fills the struct v from the mapping that is the value of f.
func (d decoder) fields(v reflect.Value, f *field, path string) {
	known := Keys(v.Type())
	for i := range f.value.fields {
		g := &f.value.fields[i]
		k := slices.IndexFunc(known, func(k Key) bool { return k.Name == g.key })
		if k < 0 {
			names := keyNames(known)
			d.failKept(g.at, join(path, g.key), "unknown key; known here: %s%s", strings.Join(names, ", "), didYouMeanKey(g.key, known))
			continue
		}
		d.value(v.FieldByIndex(known[k].Index), g, join(path, g.key), known[k].Tag)
	}
	hint := ""
	if path == "" && d.extends == nil && !d.standalone {
		hint = "; or start the file with \"extends: default\""
	}
	for _, k := range known {
		if k.Required && f.value.field(k.Name) == nil {
			d.fail(f.at, join(path, k.Name), "missing: add %s%s", d.want(k.Type, k.Tag), hint)
			hint = "" // show the hint only once
		}
	}
}

// didYouMeanKey returns the suggestion of DidYouMean for an unknown key. It also finds a
// key by its other name in the aka tag.
func didYouMeanKey(word string, known []Key) string {
	for _, k := range known {
		if aka := k.Tag.Get("aka"); aka == strings.ToLower(word) && aka != "" {
			word = k.Name
		}
	}
	return DidYouMean(word, keyNames(known))
}

// NamePattern is a regular expression for the names in a mapping of named values. Names
// contain no dot or bracket, so that a path can refer to them.
const NamePattern = `^[a-z][a-z0-9]*([_-][a-z0-9]+)*$`

var namePattern = regexp.MustCompile(NamePattern)

// entries fills the map v from the mapping n, whose keys are names that the user chooses.
// An entry with an invalid name is checked for other mistakes and left out.
func (d decoder) entries(v reflect.Value, n *node, path string, tag reflect.StructTag) {
	for i := range n.fields {
		f := &n.fields[i]
		named := namePattern.MatchString(f.key)
		if !named {
			d.failKept(f.at, join(path, f.key), "%s is not a name: write lower-case words joined by _ or -, such as my_name_2", quote(f.key))
		}
		entry := reflect.New(v.Type().Elem()).Elem()
		d.value(entry, f, join(path, f.key), tag)
		if !named {
			continue
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(f.key), entry)
	}
}

// want describes how a value of type t is written, for messages. `tag` is the tag of its
// struct field.
func (d decoder) want(t reflect.Type, tag reflect.StructTag) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := d.scalars[t]; ok {
		return s.Want
	}
	if want := tag.Get("want"); want != "" {
		return want
	}
	switch t.Kind() {
	case reflect.Struct:
		return "a mapping with the keys " + strings.Join(keyNames(Keys(t)), ", ")
	case reflect.Slice:
		return "a list"
	case reflect.Map:
		return "a mapping of names, each with " + d.want(t.Elem(), "")
	case reflect.Int:
		return LimitOf(tag).String()
	case reflect.Bool:
		return "true or false"
	}
	return "a text"
}

// Key is a key of a mapping that a struct field declares.
type Key struct {
	reflect.StructField
	Name     string
	Required bool
}

// Keys lists the keys of the mapping that a struct type describes, in the order of its
// fields.
func Keys(t reflect.Type) []Key {
	var keys []Key
	for _, f := range reflect.VisibleFields(t) {
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name != "" {
			keys = append(keys, Key{f, name, option != "omitempty"})
		}
	}
	return keys
}

func keyNames(keys []Key) []string {
	return lists.Map(keys, func(k Key) string { return k.Name })
}

// join returns the path of the key `key` in the mapping at `path`.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// index returns the path of item i of the list at path.
func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
