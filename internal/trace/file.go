package trace

import (
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/sim"
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

// About is what else there is to know of a trace, behind its events.
type About struct {
	Tool     string    `json:"tool"`
	Version  string    `json:"version"`
	Topology string    `json:"topology"` // hash
	Program  string    `json:"bench"`    // or the collective
	Links    []LinkUse `json:"links"`    // that carried anything
}

// LinkUse is what a link did in all of the run.
type LinkUse struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Bytes  int64    `json:"bytes"`
	Busy   sim.Time `json:"busy_ns"`
	Queued sim.Time `json:"queued_ns"` // how long a flit waited in front of it, on average
}
