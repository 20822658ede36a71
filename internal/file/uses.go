package file

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
)

// Uses is the list of files that a command reads and writes. A command declares all of its
// files before it runs anything, and calls Check once.
type Uses struct {
	read    []input
	written []target
}

// Config is a configuration that was read from files.
type Config interface {
	Files() []string // the files that the configuration was read from
	YAML() []byte    // the complete configuration, as a file that can be read
}

// input is a file that a command reads.
type input struct {
	what, path string // "topology", "t.yaml"
	config     Config // nil for other kinds of files
}

// target is a file that a command writes, or a folder in which it writes files.
type target struct {
	what, path string   // "--trace", "t.json"
	names      []string // for a folder: patterns (see filepath.Match) of the files that are written; nil for a file
	updated    bool     // the command reads the file and keeps its content
}

// Reads declares files that the command reads. `what` is the purpose of the files in
// errors, such as "topology".
func (u *Uses) Reads(what string, paths ...string) *Uses {
	for _, path := range paths {
		u.read = append(u.read, input{what: what, path: path})
	}
	return u
}

// ReadsConfig declares the files that configuration c was read from, except files that have
// been declared already. `what` has the same meaning as in Reads.
func (u *Uses) ReadsConfig(what string, c Config) *Uses {
	for _, path := range c.Files() {
		if !slices.ContainsFunc(u.read, func(in input) bool { return in.path == path }) {
			u.read = append(u.read, input{what, path, c})
		}
	}
	return u
}

// Writes declares a file that the command writes. `what` is the flag that names the file.
// An empty path is ignored.
func (u *Uses) Writes(what, path string) *Uses {
	if path != "" {
		u.written = append(u.written, target{what: what, path: path})
	}
	return u
}

// Updates declares a file that the command reads and may then replace, because the new
// content includes the old content. `what` is the flag or argument that names the file.
func (u *Uses) Updates(what, path string) *Uses {
	u.written = append(u.written, target{what: what, path: path, updated: true})
	return u
}

// WritesIn declares that the command writes files in a folder. `what` is the flag that
// names the folder. `names` has patterns for the names of the files. An empty folder is
// ignored.
func (u *Uses) WritesIn(what, folder string, names ...string) *Uses {
	if folder != "" {
		u.written = append(u.written, target{what: what, path: folder, names: names})
	}
	return u
}

// Check returns an error if the command would overwrite a file that it reads, or would
// write one file twice. If standard output goes to a regular file, that file counts as
// written. The command may overwrite a file that it updates, or whose content stays the
// same.
func (u *Uses) Check() error {
	isStdout := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular() && IsStdout(info)
	}
	for _, in := range u.read {
		if isStdout(in.path) {
			return refuse("standard output goes to %s, which is read (%s): send it to another file", in.path, in.what)
		}
	}
	for i, out := range u.written {
		for _, in := range u.read {
			if out.writes(in.path) && !out.updated && !out.restores(in) {
				return refuse("%s %s would overwrite %s, which is read (%s): choose another name", out.what, out.path, in.path, in.what)
			}
		}
		for _, other := range u.written[:i] {
			if out.writes(other.path) || other.writes(out.path) {
				return refuse("%s %s and %s %s are one file: give each a file of its own", other.what, other.path, out.what, out.path)
			}
		}
		if isStdout(out.path) && !strings.HasPrefix(out.path, "/dev/") {
			return refuse("%s %s and standard output are one file: give each a file of its own", out.what, out.path)
		}
	}
	return nil
}

// writes reports whether `path` leads to the file that the command writes, or to one of the
// files that it writes in a folder.
func (o *target) writes(path string) bool {
	if o.names == nil {
		return sameFile(o.path, path)
	}
	rel, err := filepath.Rel(resolve(o.path), resolve(path))
	return err == nil && slices.ContainsFunc(o.names, func(name string) bool {
		if match, err := filepath.Match(name, rel); err == nil && match {
			return true
		}
		existing, err := fs.Glob(os.DirFS(o.path), name)
		return err == nil && slices.ContainsFunc(existing, func(old string) bool { return sameFile(filepath.Join(o.path, old), path) })
	})
}

// restores reports whether writing the target leaves the file of input `in` unchanged. This
// is so if the target is a folder, the input is a file of a configuration, and the file
// already has the text that the command writes: the complete configuration.
func (o *target) restores(in input) bool {
	info, err := os.Stat(in.path)
	if o.names == nil || in.config == nil || err != nil || !info.Mode().IsRegular() {
		return false
	}
	want := in.config.YAML()
	text, err := Read(context.Background(), in.path, int64(len(want))) // a longer file differs
	return err == nil && bytes.Equal(text, want)
}

// sameFile reports whether the paths a and b lead to the same regular file, or to the same
// place where no file exists yet.
func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	switch {
	case errA == nil && errB == nil:
		return infoA.Mode().IsRegular() && os.SameFile(infoA, infoB)
	case errors.Is(errA, fs.ErrNotExist) && errors.Is(errB, fs.ErrNotExist):
		return resolve(a) == resolve(b)
	}
	return false
}

// resolve returns the absolute path that `path` leads to after following symbolic links.
// The file and its folder need not exist.
func resolve(path string) string {
	const maxLinks = 40 // the number that Linux follows
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

// CheckNew returns an error if a file with the given name cannot be created, because its
// folder is missing or because the name is that of a folder. A command calls CheckNew
// before it runs anything. `what` is the flag that names the file. An empty name is
// allowed.
func CheckNew(what, name string) error {
	if name == "" {
		return nil
	}
	dir := filepath.Dir(name)
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s %s: there is no folder %s: create it first", what, name, dir)
	case err != nil:
		return fmt.Errorf("%s %s: %w", what, name, err)
	case !info.IsDir():
		return fmt.Errorf("%s %s: %s is no folder: name another", what, name, dir)
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return fmt.Errorf("%s %s: it is a folder: name a file in it", what, name)
	}
	return nil
}
