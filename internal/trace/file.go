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
	temp *os.File
	zip  *gzip.Writer
}

// Create begins a trace in a file. One whose name ends in .gz is compressed.
func Create(path string) (*File, error) {
	temp, err := os.Create(fmt.Sprintf("%s.tmp%d", path, os.Getpid()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no folder %s to write %s in: create it first", filepath.Dir(path), filepath.Base(path))
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	f := &File{path: path, temp: temp}
	var w io.Writer = temp
	if strings.HasSuffix(path, ".gz") {
		f.zip = gzip.NewWriter(temp)
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
	if err = errors.Join(err, f.temp.Close()); err == nil {
		err = os.Rename(f.temp.Name(), f.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", f.path, err), f.remove())
	}
	return nil
}

// Discard gives the trace up: its run has failed.
func (f *File) Discard() error { return errors.Join(f.temp.Close(), f.remove()) }

func (f *File) remove() error { return os.Remove(f.temp.Name()) }
