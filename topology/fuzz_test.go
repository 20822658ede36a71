package topology

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzParse checks that the loader never panics, and that a loaded spec can be written and
// read back.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"presets/*.yaml", "testdata/bad/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src, "cube.hbm.channels=16")
		}
	}
	f.Add([]byte("extends: default"), "overrides=[{link: a->b, absent: true}]")
	f.Fuzz(func(t *testing.T, src []byte, set string) {
		s, err := Parse("fuzz.yaml", src, set)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error that says nothing")
			}
			return
		}
		again, err := Parse("again.yaml", s.YAML())
		if err != nil {
			t.Fatalf("written out, it does not load: %v\n%s", err, s.YAML())
		}
		if string(s.YAML()) != string(again.YAML()) || s.Hash() != again.Hash() {
			t.Fatalf("written out:\n%s\nread back and written again:\n%s", s.YAML(), again.YAML())
		}
	})
}
