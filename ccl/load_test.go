package ccl

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/config/configtest"
)

// TestLoadFindsWhatWasAskedFor checks which file or preset Load reads for each name.
func TestLoadFindsWhatWasAskedFor(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check := func(name, wantSource string, wantNames int, sets ...string) {
		t.Helper()
		c, err := Load(t.Context(), name, sets...)
		if err != nil {
			t.Fatal(err)
		}
		if c.Source() != wantSource || len(c.Names()) != wantNames {
			t.Errorf("Load(%q) is %s with %d names, want %s with %d", name, c.Source(), len(c.Names()), wantSource, wantNames)
		}
	}
	check("", "preset default", 17)
	check("default", "preset default", 17)
	check("", "preset default, --set algorithms.mine.world_size=3", 18, "algorithms.mine.world_size=3")
	write("ccl.yaml", "extends: default\nalgorithms: {mine: {}, ring_all_reduce_8: {n_elem: 1}}\n")
	check("", "ccl.yaml", 18)
	check("default", "preset default", 17)
	write("alone.yaml", "algorithms: {mine: {}}\n")
	check("alone.yaml", "alone.yaml", 1)
	write("on_it.yaml", "extends: ./alone.yaml\nalgorithms: {yours: {}}\n")
	check("on_it.yaml", "on_it.yaml", 2)
	if _, err := Load(t.Context(), "none"); err == nil || err.Error() != `no file none and no preset "none"; presets: default` {
		t.Errorf("Load of nothing: got %v", err)
	}
}

// TestLayers checks that a file that extends the default configuration can change single
// values of the default's entries.
func TestLayers(t *testing.T) {
	c, err := Parse("mine.yaml", []byte("extends: default\nalgorithms: {tree_all_reduce_7: {n_elem: 9}}\n"),
		"algorithms.tree_all_reduce_7.buffer_kind=hbm", "defaults.n_slots=2")
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{Algorithm: "tree", BufferKind: "hbm", NSlots: 2, NElem: 9, WorldSize: 7}
	if got, err := c.Named("tree_all_reduce_7"); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

var placed = regexp.MustCompile(`^[^:]+\.yaml:[1-9][0-9]*:[1-9][0-9]*: `)

// TestBad loads every broken file of testdata, and compares the complete text of the error
// with a golden file.
func TestBad(t *testing.T) {
	files, err := filepath.Glob("testdata/config*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata has %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse(filepath.Base(file), src)
			var errs config.Errors
			if !errors.As(err, &errs) {
				t.Fatalf("got %v, want config.Errors", err)
			}
			for _, e := range errs {
				if !placed.MatchString(e.Error()) {
					t.Errorf("not placed as file:line:column: %v", e)
				}
			}
			// The golden files do not contain the list of algorithms, so that they need not
			// change with it.
			text := strings.ReplaceAll(err.Error(), strings.Join(Names(), ", "), "ALGORITHMS")
			configtest.Golden(t, strings.TrimSuffix(file, ".yaml")+".want", text+"\n")
		})
	}
}

// TestBadSet checks the errors for wrong --set arguments.
func TestBadSet(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"defaults.chunk_bytes=1 MiB", ""}, // the size of the queue is not known
		{"defaults.algorithm=5", `--set: defaults.algorithm: unknown word "5": write one of ` + strings.Join(append(Names(), Auto), ", ") + ", or the name of an entry of algorithms"},
		{"defaults.slot=1 KiB", "--set: defaults.slot: unknown key; known here: algorithm, buffer_kind, backpressure, n_slots, slot_size, credit_bytes, chunk_bytes, root_cube, world_size; did you mean slot_size?"},
		{"algorithms.X={}", `--set: algorithms.X: "X" is not a name: write lower-case words joined by _ or -, such as my_name_2`},
		{"algorithms=[]", "--set: algorithms: expected a mapping of names, each with a mapping with the keys algorithm, buffer_kind, backpressure, n_slots, slot_size, credit_bytes, chunk_bytes, root_cube, n_elem, world_size, got a list"},
		{"defaults={n_slots: 4, slot_size: 1 KiB, chunk_bytes: 4096 B}", ""},
		{"algorithms.ring_all_reduce_8={n_slots: 1, slot_size: 1 KiB, chunk_bytes: 1025 B}",
			"--set: algorithms.ring_all_reduce_8.chunk_bytes: a chunk of 1025B is more than a queue of algorithms.ring_all_reduce_8 holds, 1 × 1KiB, so that ranks could wait for each other forever: use chunk_bytes of at most 1KiB, or more or larger slots"},
	} {
		_, err := Parse("c.yaml", []byte("extends: default\n"), c.set)
		got := ""
		if err != nil {
			got, _, _ = strings.Cut(err.Error(), "\n")
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.set, got, c.want)
		}
	}
}

// FuzzParse checks that the loader never panics, and that every configuration that loads
// can be written and read back.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/config*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, File) {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src, "defaults.buffer_kind=hbm")
	}
	f.Add([]byte("extends: default"), "algorithms.a-1={n_elem: 0}")
	f.Fuzz(func(t *testing.T, src []byte, set string) {
		c, err := Parse("fuzz.yaml", src, set)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error that says nothing")
			}
			return
		}
		again, err := Parse("again.yaml", c.YAML())
		if err != nil {
			t.Fatalf("written out, it does not load: %v\n%s", err, c.YAML())
		}
		if c.Hash() != again.Hash() || string(c.YAML()) != string(again.YAML()) {
			t.Fatalf("written out:\n%s\nread back and written again:\n%s", c.YAML(), again.YAML())
		}
	})
}
