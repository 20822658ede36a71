package config

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/limit"
)

const (
	maxSize  = 1 << 20 // bytes of a file
	maxDepth = 64      // nested mappings and lists
	maxKeys  = 1000    // keys of one mapping; a configuration has about a dozen
)

// Parse parses the text of a file. Mistakes that make the text unreadable are returned as
// [Errors]. Decode reports all other mistakes.
func Parse(file string, src []byte) (*Doc, error) { return parse(file, src, false) }

// ParseStandalone parses the text of a kind of file that cannot extend other files. In such
// a file, extends is a key without special meaning. Mistakes are reported as by Parse.
func ParseStandalone(file string, src []byte) (*Doc, error) { return parse(file, src, true) }

// tooLarge returns the error for a file of more than maxSize bytes.
func tooLarge(s *source) *Error {
	return (pos{s, 1, 1}).error("the file has more than %d bytes: a configuration has a few thousand", maxSize)
}

func parse(file string, src []byte, standalone bool) (*Doc, error) {
	s := &source{name: file}
	least, start := "keys and values", "" // parts of messages
	if !standalone {
		least, start = "at least \"extends: default\"", ", starting with \"extends: default\""
	}
	if len(src) > maxSize {
		return nil, Errors{tooLarge(s)}
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	s.lines = strings.Split(string(src), "\n")
	if e := s.checkText(); e != nil {
		return nil, Errors{e}
	}
	d := &Doc{sources: []*source{s}, standalone: standalone}
	root, err := s.parse(src)
	switch {
	case err != nil:
		return nil, Errors{err}
	case root == nil || root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return nil, Errors{(pos{s, 1, 1}).error("the file is empty: write %s", least)}
	}
	d.root = d.node(root, pos{s, 0, 0}, "")
	if d.root.kind != mapping {
		return nil, Errors{d.root.at.error("the file holds %s: write keys and values%s", d.root.kind, start)}
	}
	if f := d.root.field("extends"); f != nil && !standalone {
		d.extends = f.value
		d.root.fields = slices.DeleteFunc(d.root.fields, func(f field) bool { return f.key == "extends" })
	}
	return d, nil
}

// checkText returns an error if the source contains bytes that are not text. It runs before
// the YAML library.
func (s *source) checkText() *Error {
	for l, line := range s.lines {
		column := 0
		for i, r := range line {
			column++
			at := pos{s, l + 1, column}
			switch {
			case r == 0:
				return at.error("a NUL byte: this is a binary file, not a configuration")
			case r == utf8.RuneError && !strings.HasPrefix(line[i:], "\ufffd"):
				return at.error("byte 0x%02x is not UTF-8: save the file as UTF-8 text", line[i])
			case r < ' ' && r != '\t' && r != '\r' || r >= 0x7f && r < 0xa0:
				return at.error("control character %U: delete it", r)
			}
		}
	}
	return nil
}

// parse returns the root of the only YAML document in src, or nil if src has no document.
func (s *source) parse(src []byte) (*yaml.Node, *Error) {
	loader, err := yaml.NewLoader(bytes.NewReader(src),
		yaml.WithPlugin(limit.New(limit.DepthValue(maxDepth))), yaml.WithUniqueKeys(false))
	if err != nil {
		return nil, s.syntaxError(err)
	}
	var doc, second yaml.Node
	if err := loader.Load(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, s.syntaxError(err)
	}
	if err := loader.Load(&second); err == nil {
		return nil, (pos{s, second.Line, second.Column}).error("a second document: a configuration is one, delete what follows ---")
	} else if !errors.Is(err, io.EOF) {
		return nil, s.syntaxError(err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// syntaxError adds a position to an error of the YAML library. It replaces messages about
// the library's internals by messages that say what to correct.
func (s *source) syntaxError(err error) *Error {
	le, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return (pos{s, 1, 1}).error("not YAML: %v", err)
	}
	at := pos{s, max(le.Mark.Line, 1), max(le.Mark.Column, 1)}
	if at.line >= len(s.lines) { // at the end of the text: show its last line that is not blank
		at.line = len(s.lines)
		for at.line > 1 && strings.TrimSpace(s.lines[at.line-1]) == "" {
			at.line--
			at.column = utf8.RuneCountInString(strings.TrimRight(s.lines[at.line-1], " \r")) + 1
		}
	}
	text := []rune(s.lines[at.line-1])
	has := func(context, message string) bool {
		return strings.Contains(le.ContextMsg, context) && strings.Contains(le.Message, message)
	}
	switch {
	case has("", "exceeded max depth"):
		return at.error("nested more than %d deep: a configuration needs no more than a few levels", maxDepth)
	case has("quoted scalar", "end of stream"):
		open := pos{s, max(le.ContextMark.Line, 1), max(le.ContextMark.Column, 1)}
		return open.error("this quote is not closed: add the second one")
	case has("quoted scalar", "escape"):
		return at.error("no such escape: write \\\\ for a backslash, or use single quotes")
	case has("", "cannot start any token") && at.column <= len(text) && text[at.column-1] == '\t':
		return at.error("a tab: indent with spaces")
	case has("", "cannot start any token"):
		return at.error("a value cannot start with this character: put it in quotes")
	case has("", "mapping values are not allowed"):
		return at.error("no key can stand here: check the indentation and the line before, or quote a value that holds a colon")
	case has("flow", ""):
		return at.error("a [ or { is not closed, or a comma is missing")
	case has("block mapping", ""), has("simple key", ""):
		return at.error("not a key with a value: write \"key: value\", indented like its neighbours")
	case has("", "unknown anchor"):
		return at.error("%s", noAlias)
	}
	return at.error("not YAML: %s", strings.TrimPrefix(le.ContextMsg+": "+le.Message, ": "))
}

const noAlias = "anchors and aliases are not supported: write the value out"

// node converts the YAML node y, at path, and adds errors for features that a configuration
// may not use. Positions in y are relative to base, the position where the YAML text starts
// in its source.
func (d *Doc) node(y *yaml.Node, base pos, path string) *node {
	at := base.plus(y)
	n := &node{at: at, text: y.Value, tag: y.ShortTag()}
	switch {
	case y.Kind == yaml.AliasNode || y.Anchor != "":
		n.refused = y.Kind == yaml.AliasNode
		d.refuseAlias(at, path, n.refused)
	case y.Style&yaml.TaggedStyle != 0:
		d.failKept(at, path, "tag %s: tags are not supported, delete it", y.Tag)
	}
	switch y.Kind {
	case yaml.MappingNode:
		n.kind = mapping
		if len(y.Content) > 2*maxKeys {
			n.refused = true
			d.fail(at, path, "a mapping of more than %d keys", maxKeys)
			break
		}
		for i := 0; i+1 < len(y.Content); i += 2 {
			d.addField(n, y.Content[i], y.Content[i+1], base, path)
		}
	case yaml.SequenceNode:
		n.kind = list
		for i, item := range y.Content {
			n.items = append(n.items, d.node(item, base, index(path, i)))
		}
	}
	return n
}

// refuseAlias adds an error for the first anchor or alias of a document, and ignores later
// ones: a malicious document may have very many. `lost` means that the value at path cannot
// be used.
func (d *Doc) refuseAlias(at pos, path string, lost bool) {
	switch {
	case d.aliased:
	case lost:
		d.fail(at, path, noAlias)
	default:
		d.failKept(at, path, noAlias)
	}
	d.aliased = true
}

// addField adds a key and its value to the mapping n, or an error if the key cannot be
// used.
func (d *Doc) addField(n *node, key, value *yaml.Node, base pos, path string) {
	at := base.plus(key)
	first := n.field(key.Value)
	switch {
	case key.Kind != yaml.ScalarNode:
		d.failKept(at, path, "a key is a word, not a mapping, a list or an alias")
	case key.Tag == "!!merge":
		d.failKept(at, path, "merge keys are not supported: inherit a whole file with \"extends\"")
	case key.ShortTag() != "!!str":
		d.failKept(at, path, "the key %s is not a word", quote(key.Value))
	case key.Anchor != "":
		d.refuseAlias(at, path, false)
	case first != nil && first.value.kind == mapping && value.Kind == yaml.MappingNode: // merge the two, to find the mistakes in both
		d.failKept(at, join(path, key.Value), "given twice: first on line %d, column %d; put all of it there", first.at.line, first.at.column)
		first.value = overlay(first.value, d.node(value, base, join(path, key.Value)))
	case first != nil:
		d.fail(at, join(path, key.Value), "given twice: first on line %d, column %d; delete one", first.at.line, first.at.column)
	default:
		n.fields = append(n.fields, field{key.Value, at, d.node(value, base, join(path, key.Value))})
	}
}

// plus returns the position of YAML node y in its source. p is the position where the YAML
// text starts in the source.
func (p pos) plus(y *yaml.Node) pos {
	column := y.Column
	if y.Line == 1 {
		column += p.column
	}
	return pos{p.src, p.line + y.Line, column}
}
