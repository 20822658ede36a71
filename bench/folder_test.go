package bench

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kernbench/kernbench/torch"
)

// writer is a bench that writes a file.
var writer = Bench{Name: "writer", Folder: "own/results", Run: func(b *B) error {
	file := filepath.Join(b.Options.Folder, "a.txt")
	b.Artifact(file)
	if err := os.MkdirAll(b.Options.Folder, 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, []byte("a"), 0o666)
}}

// TestFolder checks that a bench writes its files to Options.Folder, or to its own Folder
// if the option is empty.
func TestFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		folder string
		want   string
	}{
		{"", "own/results/a.txt"},
		{"elsewhere", "elsewhere/a.txt"},
	} {
		r, err := writer.Execute(t.Context(), Options{Folder: tt.folder})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Artifacts) != 1 || r.Artifacts[0] != tt.want {
			t.Errorf("--out %q: files %v, want %s", tt.folder, r.Artifacts, tt.want)
		}
		if _, err := os.Stat(tt.want); err != nil {
			t.Error(err)
		}
	}
}

// TestFolderRefused checks that --out and --resume are errors for a bench without a folder.
// An op log and a trace are errors for a bench with a folder, because it runs many
// machines.
func TestFolderRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		bench Bench
		o     Options
		want  string
	}{
		{sample, Options{Folder: "x"}, "--out: bench sample writes no files"},
		{sample, Options{Resume: true}, "--resume: bench sample keeps no results to resume"},
		{writer, Options{Log: "x"}, "--log: bench writer runs many machines, and this works with one: choose a bench of one machine, or kernbench coll"},
		{writer, Options{Options: torch.Options{Trace: "x"}}, "--trace: bench writer runs many machines, and this works with one: choose a bench of one machine, or kernbench coll"},
	} {
		_, err := tt.bench.Execute(t.Context(), tt.o)
		var param *ParamError
		if !errors.As(err, &param) || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	if left, _ := filepath.Glob("*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestTraceOfAFailure checks that a run that fails leaves no trace file, and that a run
// that succeeds writes one.
func TestTraceOfAFailure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.json")
	fails := errors.New("no luck")
	b := Bench{Name: "b", Run: func(*B) error { return fails }}
	if _, err := b.Execute(t.Context(), Options{Options: torch.Options{Trace: file}}); !errors.Is(err, fails) {
		t.Errorf("got %v, want %v", err, fails)
	}
	if left, _ := filepath.Glob(filepath.Dir(file) + "/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	r, err := sample.Execute(t.Context(), Options{Options: torch.Options{Trace: file}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil || r.Artifacts[len(r.Artifacts)-1] != file {
		t.Errorf("files %v, %v, want %s", r.Artifacts, err, file)
	}
}
