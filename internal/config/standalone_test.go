package config

import (
	"strings"
	"testing"
)

// TestStandalone checks that messages about files read with ParseStandalone do not suggest
// extends.
func TestStandalone(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{"", "m.yaml:1:1: the file is empty: write keys and values"},
		{"[1]\n", "m.yaml:1:1: the file holds a list: write keys and values\n"},
		{"{}\n", "m.yaml:1:1: name: missing: add a text\n"},
		{"name: n\nextends: default\n", "m.yaml:2:1: extends: unknown key; known here: name\n"},
	} {
		var got struct {
			Name string `yaml:"name"`
		}
		d, err := ParseStandalone("m.yaml", []byte(tt.src))
		if err == nil {
			err = d.Decode(&got, nil)
		}
		if err == nil || !strings.HasPrefix(err.Error()+"\n", tt.want) {
			t.Errorf("%q: got %v, want it to begin with %s", tt.src, err, tt.want)
		}
	}
}

// TestErrorIn checks the column that ErrorIn gives to errors about a part of a value.
func TestErrorIn(t *testing.T) {
	for _, tt := range []struct {
		src    string
		before int
		column int
	}{
		{"sum: a + b", 0, 6},
		{"sum: a + b", 4, 10},
		{`sum: "a + b"`, 4, 11},
		{"sum: 'a + b'", 4, 11},
		{`é: 1` + "\nsum: a + b", 4, 10},
		{`sum: "é + b"`, 5, 11},
		{`sum: "a\x20+ b"`, 4, 6}, // the escape makes the source differ from the text
		{"sum: a + b", 99, 11},
	} {
		d, err := ParseStandalone("m.yaml", []byte(tt.src))
		if err != nil {
			t.Fatal(err)
		}
		text := d.root.field("sum").value.text
		if got := d.ErrorIn("sum", text, tt.before, "wrong"); got.Column != tt.column || got.Msg != "wrong" || got.Path != "sum" {
			t.Errorf("%q, %d: got column %d of %s, %q, want column %d", tt.src, tt.before, got.Column, got.Path, got.Msg, tt.column)
		}
	}
}
