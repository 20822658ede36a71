// Package configtest provides helpers for tests of configurations: comparison with golden
// files, and comparison of a loader with the JSON Schema of the same files.
//
// Only tests import it. It imports no other package of this module.
package configtest

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false, "rewrite the golden files and the schema")

// Golden compares the text `got` with a file, or rewrites the file with -update.
func Golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
	}
}

// Drift is a loader and a schema that must accept and refuse the same files.
type Drift struct {
	Schema *jsonschema.Resolved
	Parse  func(text []byte) error // the loader
	// LoaderOnly lists substrings of the loader's errors for rules that a schema cannot
	// express.
	LoaderOnly []string
}

// Resolve parses and resolves a schema.
func Resolve(t *testing.T, text []byte) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Agree checks that the loader and the schema agree on a file, and reports whether both
// accept it. They may disagree on a file that breaks one of the rules in d.LoaderOnly: only
// the loader refuses such a file.
func (d *Drift) Agree(t *testing.T, what string, tree map[string]any) bool {
	t.Helper()
	text, err := json.Marshal(tree) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	var plain any // the text as a schema validator reads it
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	byLoader, bySchema := d.Parse(text), d.Schema.Validate(plain)
	switch {
	case byLoader == nil && bySchema != nil:
		t.Errorf("%s: the loader accepts it, the schema says %v", what, bySchema)
	case byLoader != nil && bySchema == nil:
		rule := func(r string) bool { return strings.Contains(byLoader.Error(), r) }
		if !slices.ContainsFunc(d.LoaderOnly, rule) {
			t.Errorf("%s: the schema accepts it, the loader says %v", what, byLoader)
		}
	}
	return byLoader == nil && bySchema == nil
}
