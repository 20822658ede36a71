package trace

import (
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/kernbench/kernbench/internal/file"
)

// File is a trace on its way to a file, which gets its name when the trace is complete.
type File struct {
	*Recorder
	out *file.Writer
	zip *gzip.Writer // nil for a name that does not end in .gz
}

// Create begins a trace in a file. A name that ends in .gz is that of a compressed file.
func Create(path string) (*File, error) {
	out, err := file.Create(path)
	if err != nil {
		return nil, err
	}
	f := &File{out: out}
	var w io.Writer = out
	if strings.HasSuffix(path, ".gz") {
		f.zip = gzip.NewWriter(out)
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
	if err != nil {
		return errors.Join(err, f.out.Discard())
	}
	return f.out.Commit()
}

// Discard ends the trace of a run that failed, without a file.
func (f *File) Discard() error { return f.out.Discard() }
