package file

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// readFolder returns the contents of the files in the current folder, by name.
func readFolder(t *testing.T) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}

func wantFolder(t *testing.T, want map[string]string) {
	t.Helper()
	got := readFolder(t)
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s has %q, want %q", name, got[name], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the folder has %v, want %v", got, want)
	}
}

// forEachKind calls `test` twice: for temporary files that have no name, and for named
// temporary files, which systems other than Linux use. The argument `create` of `test`
// starts a Writer with a temporary file of that kind.
func forEachKind(t *testing.T, test func(t *testing.T, create func(string) *Writer)) {
	create := func(t *testing.T, name string) *Writer {
		w, err := Create(name)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	t.Run("unnamed", func(t *testing.T) {
		t.Chdir(t.TempDir())
		test(t, func(name string) *Writer { return create(t, name) })
	})
	t.Run("named", func(t *testing.T) {
		t.Chdir(t.TempDir())
		test(t, func(name string) *Writer {
			w := create(t, name)
			if w.temp != "" {
				return w
			}
			w.f.Close()
			w.temp = filepath.Join(filepath.Dir(w.path), tempName())
			f, err := os.OpenFile(w.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
			if err != nil {
				t.Fatal(err)
			}
			w.f = f
			return w
		})
	})
}

func write(t *testing.T, w *Writer, text string) {
	t.Helper()
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestReplace checks that Commit replaces a file and that Discard keeps the old file.
// Neither leaves a temporary file.
func TestReplace(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(string) *Writer) {
		put(t, "x.tmp", "a user's file")
		for _, text := range []string{"first", "second"} {
			w := create("x")
			write(t, w, text)
			if err := w.Commit(); err != nil {
				t.Fatal(err)
			}
			wantFolder(t, map[string]string{"x": text, "x.tmp": "a user's file"})
		}
		w := create("x")
		write(t, w, "third")
		if err := w.Discard(); err != nil {
			t.Fatal(err)
		}
		wantFolder(t, map[string]string{"x": "second", "x.tmp": "a user's file"})
	})
}

// TestChangedMeanwhile checks that Commit does not overwrite a file that another process
// has created or changed since Create, and that the new data is kept under another name.
func TestChangedMeanwhile(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before bool
		change func(t *testing.T)
	}{
		{"appeared", false, func(t *testing.T) { put(t, "x.csv", "other") }},
		{"replaced", true, func(t *testing.T) {
			put(t, "y", "other")
			if err := os.Rename("y", "x.csv"); err != nil {
				t.Fatal(err)
			}
		}},
		{"written to", true, func(t *testing.T) {
			put(t, "x.csv", "other")
			if err := os.Chtimes("x.csv", time.Time{}, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			forEachKind(t, func(t *testing.T, create func(string) *Writer) {
				if tt.before {
					put(t, "x.csv", "older")
				}
				w := create("x.csv")
				write(t, w, "ours")
				tt.change(t)
				var changed *ChangedError
				if err := w.Commit(); !errors.As(err, &changed) {
					t.Fatalf("got %v, want a ChangedError", err)
				}
				if filepath.Ext(changed.Kept) != ".csv" {
					t.Errorf("kept as %s, which does not end in .csv", changed.Kept)
				}
				wantFolder(t, map[string]string{"x.csv": "other", changed.Kept: "ours"})
			})
		})
	}
}

// TestRemovedMeanwhile checks that Commit creates the file again if another process has
// removed the old file since Create.
func TestRemovedMeanwhile(t *testing.T) {
	forEachKind(t, func(t *testing.T, create func(string) *Writer) {
		put(t, "x", "older")
		w := create("x")
		write(t, w, "ours")
		if err := os.Remove("x"); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		wantFolder(t, map[string]string{"x": "ours"})
	})
}

// TestLinks checks that writing to a symbolic link replaces the target of the link, and
// that a link to a missing file is refused.
func TestLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "target", "older")
	if err := errors.Join(os.Symlink("target", "link"), os.Symlink("nowhere", "dangling")); err != nil {
		t.Fatal(err)
	}
	if err := Write("link", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile("target"); err != nil || string(text) != "new" {
		t.Errorf("target has %q, %v", text, err)
	}
	if target, err := os.Readlink("link"); err != nil || target != "target" {
		t.Errorf("link leads to %q, %v", target, err)
	}
	want := "write dangling: it is a link to a file that does not exist: remove the link or create the file"
	if err := Write("dangling", nil); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestRefused checks the errors for names under which no file can be written.
func TestRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "x", "")
	for _, tt := range []struct{ name, want string }{
		{"none/y", "no folder none to write y in: create it first"},
		{".", "write .: it is a folder: name a file in it"},
		{"x/y", "write x/y: lstat x/y: not a directory"},
		{"/proc/y", "write /proc/y: no file can be created in /proc: choose another folder"},
		{"/dev/full", "write /dev/full: no space left on device"},
	} {
		if err := Write(tt.name, []byte("text")); err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
	wantFolder(t, map[string]string{"x": ""})
}
