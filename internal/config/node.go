package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Doc is the text of a configuration as a tree, possibly merged from several layers. Each
// value has a position in the file or the --set argument that contains it.
type Doc struct {
	root       *node
	sources    []*source // in the order in which errors are reported
	errs       Errors    // mistakes found while the tree was built; Decode reports them
	extends    *node     // the value of the extends key; nil if there is none
	aliased    bool      // an anchor or alias has been reported; further ones are not
	standalone bool      // extends is a key without special meaning
}

// source is a text that contains values: a file or a --set argument.
type source struct {
	name  string
	lines []string
	set   bool // a --set argument
	file  bool // read from a file, not from a preset or from memory
}

// pos is a position in a source; line and column count from 1.
type pos struct {
	src          *source
	line, column int
}

type kind uint8

const (
	scalar kind = iota
	mapping
	list
)

func (k kind) String() string { return [...]string{"a single value", "a mapping", "a list"}[k] }

// node is a value and its position.
type node struct {
	kind   kind
	text   string  // of a scalar
	tag    string  // of a scalar: its YAML type, such as "!!int"
	fields []field // of a mapping, in the order of the file
	items  []*node // of a list
	at     pos

	refused bool // a mistake was reported that makes the value unusable
}

// field is a key of a mapping with its value.
type field struct {
	key   string
	at    pos // of the key
	value *node
}

// field returns the field of a mapping with the given key, or nil if there is none.
func (n *node) field(key string) *field {
	for i := range n.fields {
		if n.fields[i].key == key {
			return &n.fields[i]
		}
	}
	return nil
}

// describe describes the value for a message that says what was expected instead.
func (n *node) describe() string {
	switch {
	case n.kind != scalar:
		return n.kind.String()
	case n.tag == "!!null":
		return "nothing"
	case n.tag == "!!str":
		return quote(n.text)
	}
	return n.text
}

// Name returns the origin of the configuration: the file name that was passed to the parser
// and, in order, the --set arguments. It returns "" for a nil document, which stands for a
// configuration built in Go.
func (d *Doc) Name() string {
	if d == nil {
		return ""
	}
	name := d.sources[0].name
	for _, s := range d.sources {
		if arg := strings.Join(s.lines, "\n"); s.set {
			if strings.ContainsAny(arg, "\n\r\t") { // the name must be one line
				arg = strconv.Quote(arg)
			}
			name += ", --set " + arg
		}
	}
	return name
}

// Files lists the files that the configuration was read from: the file that the user named
// and the files that it extends. Presets are not files. A nil document has no files.
func (d *Doc) Files() (names []string) {
	if d == nil {
		return nil
	}
	for _, s := range d.sources {
		if s.file {
			names = append(names, s.name)
		}
	}
	return names
}

// Errorf returns an error about the value at a path such as "overrides[2].link". The error
// has the position of that value or, if there is no such value, of the innermost value
// around it. For a nil document, which stands for a configuration built in Go, the error
// has no position.
func (d *Doc) Errorf(path, format string, args ...any) *Error {
	if d == nil {
		return &Error{Path: path, Msg: fmt.Sprintf(format, args...)}
	}
	return d.errorAt(d.find(path), path, format, args...)
}

// ErrorIn returns an error about a part of `text`, the value at path. The part begins after
// the first `before` bytes of the text. If the source differs from the text, for example
// because of escapes or several lines, the position of the error is that of the whole
// value.
func (d *Doc) ErrorIn(path, text string, before int, format string, args ...any) *Error {
	at := d.find(path)
	if at.line >= 1 && at.line <= len(at.src.lines) {
		line := []rune(at.src.lines[at.line-1])
		line = line[min(max(at.column-1, 0), len(line)):]
		quoted := 0
		if len(line) > 0 && (line[0] == '"' || line[0] == '\'') {
			quoted = 1
		}
		if lead := text[:min(before, len(text))]; strings.HasPrefix(string(line[quoted:]), lead) {
			at.column += quoted + utf8.RuneCountInString(lead)
		}
	}
	return d.errorAt(at, path, format, args...)
}

// Latest returns the path whose value is in the topmost layer, because the user most likely
// changed that value last. From top to bottom, the layers are --set, the file, and the
// files that it extends. If several paths are in the same layer, Latest returns the first.
func (d *Doc) Latest(paths ...string) string {
	best, least := "", 0
	for _, p := range paths {
		src := d.find(p).src
		layer := slices.Index(d.sources, src)
		if src.set {
			layer = -layer
		}
		if best == "" || layer < least {
			best, least = p, layer
		}
	}
	return best
}

// find returns the position of the value at a path, or of the innermost value around it.
// The position of a mapping or list is that of its key.
func (d *Doc) find(path string) pos {
	n, at := d.root, d.root.at
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		var next *node
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.items) {
			next = n.items[i]
			at = next.at
		} else if f := n.field(step); f != nil {
			next = f.value
			at = f.place()
		}
		if next == nil {
			break
		}
		n = next
	}
	return at
}

// place returns the position for errors about the value of f. For a single value, that is
// the position of the value. For a mapping or list, it is the position of the key.
func (f *field) place() pos {
	if f.value.kind == scalar && f.value.tag != "!!null" {
		return f.value.at
	}
	return f.at
}

// errorAt returns an error at a position, about the value at path.
func (d *Doc) errorAt(at pos, path, format string, args ...any) *Error {
	e := at.error(format, args...)
	e.Path = path
	e.rank = d.rank(e)
	return e
}

// rank returns the index of the source of e in the document. Errors are sorted by this
// index first.
func (d *Doc) rank(e *Error) int { return slices.Index(d.sources, e.src) }

// fail adds an error at a position, about the value at path, unless there are MaxErrors
// already.
func (d *Doc) fail(at pos, path, format string, args ...any) {
	if len(d.errs) < MaxErrors {
		d.errs = append(d.errs, d.errorAt(at, path, format, args...))
	}
}

// failKept adds an error as fail does, and marks it as Kept: in spite of the mistake, the
// value at path can be used.
func (d *Doc) failKept(at pos, path, format string, args ...any) {
	if len(d.errs) < MaxErrors {
		d.fail(at, path, format, args...)
		d.errs[len(d.errs)-1].Kept = true
	}
}

// error returns an error at a position, with an excerpt of the line.
func (p pos) error(format string, args ...any) *Error {
	e := &Error{File: p.src.name, Line: p.line, Column: p.column, Msg: fmt.Sprintf(format, args...), src: p.src}
	label := "    " + strconv.Itoa(p.line)
	if p.src.set {
		e.Line, label = 0, "    --set"
	}
	if p.line >= 1 && p.line <= len(p.src.lines) && p.src.lines[p.line-1] != "" {
		e.Excerpt = excerpt(label, p.src.lines[p.line-1], p.column)
	}
	return e
}

// quote returns text in quotes, for a message. It shortens a long text.
func quote(text string) string {
	const long = 60
	if r := []rune(text); len(r) > long {
		text = string(r[:long]) + "…"
	}
	return strconv.Quote(text)
}
