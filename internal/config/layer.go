package config

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Extend merges the document over base. Mappings are merged key by key. Lists and single
// values of the document replace those of base.
func (d *Doc) Extend(base *Doc) {
	d.root = overlay(base.root, d.root)
	d.sources = append(d.sources, base.sources...)
	d.errs = append(d.errs, base.errs...)
}

// overlay returns the node `top` merged over the node `bottom`. It merges mappings key by
// key; any other value of `top` replaces that of `bottom`. It changes neither node, because
// presets are shared.
func overlay(bottom, top *node) *node {
	if bottom == nil || bottom.kind != mapping || top.kind != mapping {
		return top
	}
	merged := &node{kind: mapping, at: top.at, fields: slices.Clone(bottom.fields)}
	if top.at.src.set { // --set names a mapping only as part of a path
		merged.at = bottom.at
	}
	for _, f := range top.fields {
		old := merged.field(f.key)
		if old == nil {
			merged.fields = append(merged.fields, f)
			continue
		}
		value := overlay(old.value, f.value)
		if value.at != old.value.at {
			old.at = f.at
		}
		old.value = value
	}
	return merged
}

// Set merges the value of a --set argument over the document: "cube.hbm.channels=16". The
// value is YAML, so lists and mappings can be given in flow form. Decode reports mistakes.
func (d *Doc) Set(arg string) {
	s := &source{name: "--set", lines: strings.Split(arg, "\n"), set: true}
	d.sources = append(d.sources, s)
	path, value, ok := strings.Cut(arg, "=")
	start := pos{s, 0, utf8.RuneCountInString(path) + 1} // of the value
	switch err := s.checkText(); {
	case err != nil:
		d.failKept(pos{s, 1, err.Column}, "", "%s", err.Msg)
		return
	case !ok || path == "" || len(arg) > maxSize:
		d.failKept(pos{s, 1, 1}, "", "write --set key=value, such as --set cube.hbm.channels=16")
		return
	}
	text := &source{lines: strings.Split(value, "\n"), set: true}
	y, err := text.parse([]byte(value))
	if err != nil {
		d.fail(pos{s, 1, start.column + err.Column}, path, "%s", err.Msg)
		return
	}
	n := &node{tag: "!!null", at: pos{s, 1, start.column}}
	if y != nil {
		n = d.node(y, start, path)
	}
	d.root = overlay(d.root, wrap(n, path, s))
}

// wrap returns node n inside the mappings of its path: for the path a.b, a mapping with the
// key a whose value is a mapping with the key b whose value is n. s is the source of all
// keys.
func wrap(n *node, path string, s *source) *node {
	for path != "" {
		outer, key := "", path
		if i := strings.LastIndexByte(path, '.'); i >= 0 {
			outer, key = path[:i], path[i+1:]
		}
		at := pos{s, 1, utf8.RuneCountInString(path) - utf8.RuneCountInString(key) + 1}
		n = &node{kind: mapping, at: at, fields: []field{{key, at, n}}}
		path = outer
	}
	return n
}
