package trace

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is a trace on its way to a file, whose name it gets when it is complete.
type File struct {
	*Recorder
	path string
	out  *os.File // a temporary one beside it, or what is no regular file itself
	zip  *gzip.Writer
}

// Create begins a trace in a file. One whose name ends in .gz is compressed. A link is
// followed; what is no regular file, such as /dev/null, is written straight.
func Create(path string) (*File, error) {
	f := &File{path: path}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		f.path = target
	}
	name := fmt.Sprintf("%s.tmp%d", f.path, os.Getpid())
	if info, err := os.Stat(f.path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("write %s: it is a folder: name a file in it", path)
	} else if err == nil && !info.Mode().IsRegular() {
		name = f.path
	}
	var err error
	if f.out, err = os.Create(name); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no folder %s to write %s in: create it first", filepath.Dir(path), filepath.Base(path))
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	var w io.Writer = f.out
	if strings.HasSuffix(path, ".gz") {
		f.zip = gzip.NewWriter(f.out)
		w = f.zip
	}
	f.Recorder = New(w)
	return f, nil
}

// Close ends the trace and gives the file its name.
func (f *File) Close(about any) error {
	err := f.Recorder.Close(about)
	if err == nil && f.zip != nil {
		err = f.zip.Close()
	}
	if err = errors.Join(err, f.out.Close()); err == nil && f.temporary() {
		err = os.Rename(f.out.Name(), f.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", f.path, err), f.remove())
	}
	return nil
}

// Discard gives the trace up: its run has failed.
func (f *File) Discard() error { return errors.Join(f.out.Close(), f.remove()) }

func (f *File) temporary() bool { return f.out.Name() != f.path }

func (f *File) remove() error {
	if !f.temporary() {
		return nil
	}
	return os.Remove(f.out.Name())
}
