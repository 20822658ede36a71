package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/scenario"
)

// files is the list of files that a command reads and writes. A command declares all of its
// files before it runs anything, and calls check once.
type files struct {
	read    []input
	written []target
}

// input is a file that a command reads.
type input struct {
	what, path string        // "topology", "t.yaml"
	config     configuration // nil for other kinds of files
}

// target is a file that a command writes, or some files of a folder.
type target struct {
	what, path string   // "--trace", "t.json"
	names      []string // for a folder: patterns of the names that are written there, as of filepath.Match
	updated    bool     // the command reads the file itself, and keeps what the file has
}

// reads declares files that the command reads.
func (f *files) reads(what string, paths ...string) *files {
	for _, path := range paths {
		f.read = append(f.read, input{what: what, path: path})
	}
	return f
}

// readsScenario declares the file of a scenario, if it is not one of the registered ones.
func (f *files) readsScenario(name string) *files {
	if name != "" && !slices.Contains(scenario.Names(), name) {
		f.reads("scenario", name)
	}
	return f
}

// readsConfigs declares the files that configurations were read from.
func (f *files) readsConfigs(c configs) *files {
	for _, one := range c.read {
		for _, path := range one.config.Files() {
			if !slices.ContainsFunc(f.read, func(in input) bool { return in.path == path }) {
				f.read = append(f.read, input{one.what, path, one.config})
			}
		}
	}
	return f
}

// writes declares a file that the command writes. An empty name is no file.
func (f *files) writes(what, path string) *files {
	if path != "" {
		f.written = append(f.written, target{what: what, path: path})
	}
	return f
}

// updates declares a file that the command reads and replaces on purpose.
func (f *files) updates(what, path string) *files {
	f.written = append(f.written, target{what: what, path: path, updated: true})
	return f
}

// writesIn declares files in a folder, by patterns of their names.
func (f *files) writesIn(what, folder string, names ...string) *files {
	if folder != "" {
		f.written = append(f.written, target{what: what, path: folder, names: names})
	}
	return f
}

// check refuses to overwrite a file that the command reads, and to write one file twice.
// Standard output is one of the files that are written if it goes to a regular file.
func (f *files) check() error {
	stdout, err := os.Stdout.Stat()
	toFile := err == nil && stdout.Mode().IsRegular()
	isStdout := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && toFile && os.SameFile(info, stdout)
	}
	for _, in := range f.read {
		if isStdout(in.path) {
			return badInput(fmt.Errorf("standard output goes to %s, which is read (%s): send it to another file", in.path, in.what))
		}
	}
	for i, out := range f.written {
		for _, in := range f.read {
			if out.hits(in.path) && !out.updated && !out.restores(in) {
				return badInput(fmt.Errorf("%s %s would overwrite %s, which is read (%s): choose another name", out.what, out.path, in.path, in.what))
			}
		}
		for _, other := range f.written[:i] {
			if out.hits(other.path) || other.hits(out.path) {
				return badInput(fmt.Errorf("%s %s and %s %s are one file: give each a file of its own", other.what, other.path, out.what, out.path))
			}
		}
		if isStdout(out.path) && !strings.HasPrefix(out.path, "/dev/") {
			return badInput(fmt.Errorf("%s %s and standard output are one file: give each a file of its own", out.what, out.path))
		}
	}
	return nil
}

// hits reports whether a path is the file that is written, or one of those in the folder.
func (o *target) hits(path string) bool {
	if o.names == nil {
		return sameFile(o.path, path)
	}
	rel, err := filepath.Rel(resolved(o.path), resolved(path))
	return err == nil && slices.ContainsFunc(o.names, func(name string) bool {
		if match, err := filepath.Match(name, rel); err == nil && match {
			return true
		}
		there, err := fs.Glob(os.DirFS(o.path), name)
		return err == nil && slices.ContainsFunc(there, func(old string) bool { return sameFile(filepath.Join(o.path, old), path) })
	})
}

// restores reports whether writing leaves an input as it is: a bench writes the whole
// configuration to its folder, and may have read the configuration from there.
func (o *target) restores(in input) bool {
	info, err := os.Stat(in.path)
	if o.names == nil || in.config == nil || err != nil || !info.Mode().IsRegular() {
		return false
	}
	want := in.config.YAML()
	text, err := file.Read(context.Background(), in.path, int64(len(want))) // a longer one is another
	return err == nil && bytes.Equal(text, want)
}

// sameFile reports whether two paths lead to one regular file, or to one that does not
// exist yet.
func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	switch {
	case errA == nil && errB == nil:
		return infoA.Mode().IsRegular() && os.SameFile(infoA, infoB)
	case errors.Is(errA, fs.ErrNotExist) && errors.Is(errB, fs.ErrNotExist):
		return resolved(a) == resolved(b)
	}
	return false
}

// resolved returns the absolute path that a path leads to, over links. The file and its
// folder need not exist.
func resolved(path string) string {
	const maxLinks = 40 // as many as Linux follows
	for range maxLinks {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(dir, filepath.Base(path))
		}
		link, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path) // the current folder is not known
}
