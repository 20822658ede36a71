// Package config reads configuration files strictly. It reports all mistakes at once, each
// with file, line, column, the text of the line and what to write instead.
//
// A file is parsed into a [Doc], a tree of values with their positions. Documents are
// layered before they are decoded. A file may start with "extends: NAME": its mappings are
// merged over those of NAME key by key, and its lists and single values replace those of
// NAME. --set arguments are then merged over the result. Finally [Doc.Decode] fills a Go
// struct. So an error in a value refers to the file or argument that contains the value,
// and a key is missing only if no layer has it.
//
// The struct is the grammar. The yaml tag of a field names its key. A key is required
// unless the tag has omitempty. Further tags are:
//
//	range:"1..64" or oneof:"1 2 4"  the numbers that an integer field accepts
//	want:"a link such as a->b"      what messages tell the user to write
//	aka:"atol"                      another name of the key, for which messages suggest the key
//
// A map is a mapping whose keys are names that the user chooses. Types with their own
// syntax, such as quantities with units, are passed as [Scalars].
//
// Only the parts of YAML that a configuration needs are accepted. The others are refused,
// each with its own message: anchors and aliases (they can expand exponentially, and give a
// value two positions), merge keys (extends is the only way to inherit), tags, keys that
// are not text, null, several documents, files larger than 1 MiB, and nesting deeper than
// 64 levels.
//
// The package is independent of any particular configuration. It is the only package that
// imports the YAML library. It imports internal/file, internal/lists and
// internal/printable.
package config
