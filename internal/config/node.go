package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Doc is a configuration as written, possibly in layers: every value knows the
// file or the --set argument it came from.
type Doc struct {
	root    *node
	sources []*source // in the order errors are reported
	errs    Errors    // found while building the tree, for Decode to report
	extends *node     // the value of the extends key, if any
	aliased bool      // an anchor or alias was reported: once is enough
	alone   bool      // files of its kind extend no others
}

// source is a text that values are written in: a file or a --set argument.
type source struct {
	name  string
	lines []string
	set   bool
	file  bool // read from a file, not from a preset or from memory
}

// pos is a place in a source; line and column count from 1.
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

// node is a value and where it was written.
type node struct {
	kind   kind
	text   string  // of a scalar
	tag    string  // of a scalar: what YAML takes the text for, such as "!!int"
	fields []field // of a mapping, in the order of the file
	items  []*node // of a list
	at     pos

	refused bool // already reported, and of no use
}

// field is a key of a mapping with its value.
type field struct {
	key   string
	at    pos
	value *node
}

// field is the field of a key, or nil.
func (n *node) field(key string) *field {
	for i := range n.fields {
		if n.fields[i].key == key {
			return &n.fields[i]
		}
	}
	return nil
}

// describe says what a value is, for messages that wanted something else.
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

// Name returns where the configuration came from: the name its text was parsed under
// and, in order, the --set arguments laid over it. It is "" for a nil document, that of a
// configuration made in Go.
func (d *Doc) Name() string {
	if d == nil {
		return ""
	}
	name := d.sources[0].name
	for _, s := range d.sources {
		if arg := strings.Join(s.lines, "\n"); s.set {
			if strings.ContainsAny(arg, "\n\r\t") { // a name is one line
				arg = strconv.Quote(arg)
			}
			name += ", --set " + arg
		}
	}
	return name
}

// Files lists the files that the configuration was read from: the one asked for, and
// those that it extends. Presets are none, and a nil document has none.
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

// Errorf returns an error in the value at a path such as "overrides[2].link", placed
// where that value was written, or else the innermost value around it. In a nil document,
// that of a configuration made in Go, it has no place.
func (d *Doc) Errorf(path, format string, args ...any) *Error {
	if d == nil {
		return &Error{Path: path, Msg: fmt.Sprintf(format, args...)}
	}
	return d.errorAt(d.find(path), path, format, args...)
}

// ErrorIn is Errorf about a part of a text value, which begins after the first before
// bytes of it. Where the text is not written as it reads, as with escapes or
// on several lines, the place is that of the value.
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

// Latest is the one of the paths whose value was written in the topmost layer,
// and so most likely the one that was just changed: by --set, else in the file,
// else in what it extends. Among equals it is the first.
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

// find is the place of the value at a path, or of the innermost value around it.
// The place of a mapping or list is its key, which is what a reader looks for.
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

// place is where errors about a field's value go: a single value itself, the
// key of anything larger.
func (f *field) place() pos {
	if f.value.kind == scalar && f.value.tag != "!!null" {
		return f.value.at
	}
	return f.at
}

func (d *Doc) errorAt(at pos, path, format string, args ...any) *Error {
	e := at.error(format, args...)
	e.Path = path
	e.rank = d.rank(e)
	return e
}

// rank puts the errors of the sources of a document in order.
func (d *Doc) rank(e *Error) int { return slices.Index(d.sources, e.src) }

func (d *Doc) fail(at pos, path, format string, args ...any) {
	if len(d.errs) < MaxErrors {
		d.errs = append(d.errs, d.errorAt(at, path, format, args...))
	}
}

// failKept reports a mistake that leaves the value at the path of use.
func (d *Doc) failKept(at pos, path, format string, args ...any) {
	if len(d.errs) < MaxErrors {
		d.fail(at, path, format, args...)
		d.errs[len(d.errs)-1].Kept = true
	}
}

// error is a mistake at a place, with the line shown.
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

// quote shows a text in a message, cut if it is long.
func quote(text string) string {
	const long = 60
	if r := []rune(text); len(r) > long {
		text = string(r[:long]) + "…"
	}
	return strconv.Quote(text)
}
