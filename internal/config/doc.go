// Package config reads configuration files strictly: every mistake at once,
// each with file, line, column, the line itself and what to write instead.
//
// A file is parsed into a [Doc], a tree of values that know where they were
// written. Documents are layered before they are decoded: a file may start with
// "extends: NAME", whose mappings it overlays key by key (lists and single
// values replace), and --set arguments overlay the result. Only then does
// [Doc.Decode] fill a Go struct, so an error in a value points at the file or
// argument that wrote it, and a key is missing only if no layer has it.
//
// The struct is the grammar. A field's yaml tag names its key, and a key is
// required unless the tag says omitempty. A whole-number field may carry
// range:"1..64" or oneof:"1 2 4", and any field want:"a link such as a->b", what
// messages tell the user to write, and aka:"atol", a name that the key has elsewhere, for
// which messages suggest the key. A map is a mapping whose keys are names that the
// user chooses. Types that are written as one value with a syntax of their own, such
// as quantities with units, are given as [Scalars].
//
// YAML is used as far as a configuration needs it. Refused, each with a message
// of its own: anchors and aliases (they expand into bombs, and give a value two
// places), merge keys (extends is the one way to inherit), tags, keys that are
// not text, null, several documents, nesting beyond 64, and files over 1 MiB.
//
// The package knows no configuration in particular. It is the only one that
// imports the YAML library, and imports nothing of ours but internal/printable.
package config
