package builtin

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/torch"
)

var update = flag.Bool("update", false, "rewrite the figures of docs/use/milestones.md")

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

// checkDocFigures checks that the figures which a milestone has written to the folder `dir`
// equal those in docs/img. The files in docs/img have the same names with `prefix` in
// front. With the flag -update, it first copies the figures to docs/img.
func checkDocFigures(t *testing.T, dir, prefix string, names ...string) {
	t.Helper()
	for _, name := range names {
		drawn, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("../../docs/img", prefix+name)
		if *update {
			if err := os.WriteFile(file, drawn, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if shown, err := os.ReadFile(file); string(shown) != string(drawn) || err != nil {
			t.Errorf("%s is not what the milestone draws (error %v): run go test ./bench/builtin -run Milestone -update", file, err)
		}
	}
}

// checkFiles checks that the files that a milestone has written match the patterns of its
// bench, and that each pattern matches a file.
func checkFiles(t *testing.T, name string, written []string) {
	t.Helper()
	b, _ := bench.Find(name)
	unused := map[string]bool{}
	for _, pattern := range b.Files {
		unused[pattern] = true
	}
	for _, file := range written {
		known := false
		for _, pattern := range b.Files {
			if match, err := filepath.Match(pattern, filepath.Base(file)); match || err != nil {
				known = true
				delete(unused, pattern)
			}
		}
		if !known {
			t.Errorf("%s writes %s, which its Files %q do not name", name, file, b.Files)
		}
	}
	if len(unused) > 0 {
		t.Errorf("%s writes no file of the patterns %v", name, unused)
	}
}

// TestExactTime checks that a time that is written as JSON and read back is the same to the
// last digit, and that text which is not such a time is an error.
func TestExactTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := torch.Time(rapid.Int64Range(0, math.MaxInt64).Draw(t, "fs"))
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got torch.Time
		if err := json.Unmarshal(text, &got); got != want || err != nil {
			t.Fatalf("%s is read as %d fs, error %v, want %d fs", text, got, err, want)
		}
	})
	for _, text := range []string{"1.0000001", "1e3", `"1"`, "99999999999999999999"} {
		var got torch.Time
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s is read as %v ns, want an error", text, got)
		}
	}
}
