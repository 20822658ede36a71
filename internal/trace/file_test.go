package trace

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFile checks, for plain and compressed traces, that a trace appears under its name
// only when it is complete, and that a discarded trace leaves no file.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.json", "a.json.gz"} {
		path := filepath.Join(dir, name)
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		f.Process("pe", 0)
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there before it is complete: %v", name, err)
		}
		if err := f.Close(About{}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if name == "a.json.gz" {
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if data, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		if !json.Valid(data) {
			t.Errorf("%s is not JSON:\n%s", name, data)
		}
	}
	f, err := Create(filepath.Join(dir, "b.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Discard(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "b*")); left != nil {
		t.Errorf("a discarded trace leaves %v", left)
	}
	if _, err := Create(filepath.Join(dir, "none", "c.json")); err == nil || !strings.Contains(err.Error(), "create it first") {
		t.Errorf("no folder: got %v, want what to do", err)
	}
}

// TestFileInPlace checks that Create follows a symbolic link and does not replace a file
// that is not regular, such as a device. It also checks the error for a folder.
func TestFileInPlace(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target.json"), filepath.Join(dir, "link.json")
	if err := os.WriteFile(target, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, os.DevNull} {
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []func(*File) error{(*File).Discard, func(f *File) error { return f.Close(nil) }} {
			f, err := Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := end(f); err != nil {
				t.Fatal(err)
			}
		}
		after, err := os.Lstat(path)
		if err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s was %v and is %v now, %v", path, before.Mode(), after.Mode(), err)
		}
	}
	if data, err := os.ReadFile(target); err != nil || !json.Valid(data) {
		t.Errorf("behind the link there is %q, %v, want a trace", data, err)
	}
	_, err := Create(dir)
	if want := fmt.Sprintf("write %s: it is a folder: name a file in it", dir); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
