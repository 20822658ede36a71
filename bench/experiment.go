package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// Experiment is a run of a bench of many points, each measured on machines of its own. Points
// run in parallel, and what they find is kept in points.jsonl in the folder of the bench,
// with which a later run continues.
//
// The settings of a point are the tagged fields of P. R is what a point finds: a row type,
// or a slice of one for points that have several rows or none. The columns of the result are
// those of P, then those of the row type.
type Experiment[P, R any] interface {
	// Points returns the points, in the order of the table.
	Points() []P
	// Cost returns how long a point takes relative to others, for the time left.
	Cost(p P) float64
	// Measure runs a point. It is called by several goroutines.
	Measure(e *E, p P) (R, error)
	// Report checks what the points found, and writes files. The table has all rows already.
	Report(e *E, points []P, found []R) error
}

// NewExperiment returns an experiment for [Bench.Experiment]. Every run begins with begin,
// which reads the parameters.
func NewExperiment[P, R any, X Experiment[P, R]](begin func(e *E) (X, error)) Experimenter {
	return experimental[P, R]{func(e *E) (Experiment[P, R], error) { return begin(e) }}
}

// Experimenter runs an Experiment of any types.
type Experimenter interface {
	columns() []table.Column
	run(e *E) error
}

type experimental[P, R any] struct {
	begin func(e *E) (Experiment[P, R], error)
}

// E is a run of an [Experiment]: the system and the collectives that it is given, its
// parameters and its result.
type E struct {
	report
	Topology *topology.Graph
	CCL      *ccl.Config

	ctx context.Context
}

// Machine returns a machine of a system for a point, which has to close it. Its values are
// computed on one thread, since points run in parallel.
func (e *E) Machine(g *topology.Graph) (*torch.Context, error) {
	o := e.Options.Options
	o.Topology, o.CCL, o.Threads = g, e.CCL, 1
	return torch.New(e.ctx, o)
}

// Table returns the rows of all points.
func (e *E) Table() *table.Table { return e.result.Rows }

// experiment runs the bench's experiment. It makes no machine but those of points.
func (b Bench) experiment(ctx context.Context, o Options) (*Result, error) {
	if o.Topology == nil {
		o.Topology = torch.Must(topology.Compile(torch.Must(topology.Preset("default")))) // part of the program
	}
	if o.CCL == nil {
		o.CCL = ccl.Default()
	}
	r := b.newResult(o.Topology, o)
	if b.Uses&UsesCollectives != 0 {
		r.Config.CCL = new(topology.OriginOf(o.CCL))
	}
	e := &E{report{o, &b, r}, o.Topology, o.CCL, ctx}
	if err := guard(func() error { return b.Experiment.run(e) }); err != nil {
		return nil, err
	}
	r.OK = r.Checks.OK() && len(r.Races) == 0
	return r, nil
}

// columns returns the columns of settings and rows.
func (x experimental[P, R]) columns() []table.Column {
	var p P
	return append(table.ColumnsOf(p), table.ColumnsOf(rowOf[R]())...)
}

// rowOf returns a zero value of the row type of R.
func rowOf[R any]() any {
	t := reflect.TypeFor[R]()
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return reflect.Zero(t).Interface()
}

// run measures the points, makes their table, and has it reported.
func (x experimental[P, R]) run(e *E) error {
	running, err := x.begin(e)
	if err != nil {
		return err
	}
	points := running.Points()
	settings := make([]experiment.Point, len(points))
	for i, p := range points {
		if settings[i], err = experiment.PointOf(p); err != nil {
			return fmt.Errorf("point %d: %w", i, err)
		}
	}
	o, err := e.prepare()
	if err != nil {
		return err
	}
	var p P
	o.Schema = table.Schema{"settings": table.ColumnsOf(p), "row": table.ColumnsOf(rowOf[R]())}
	o.Cost = func(i int) float64 { return running.Cost(points[i]) }
	found, err := experiment.Run(e.ctx, o, settings, func(_ context.Context, i int, _ experiment.Point) (row R, err error) {
		err = guard(func() (err error) { row, err = running.Measure(e, points[i]); return err })
		return row, err
	}, nil)
	switch {
	case errors.As(err, new(*experiment.FileError)):
		return &ParamError{"out", err}
	case err != nil:
		return err
	}
	e.Artifact(o.File)
	for i, r := range found {
		own := torch.Must(table.Cells(points[i]))
		rows := reflect.ValueOf(r)
		if rows.Kind() != reflect.Slice {
			rows = reflect.ValueOf([]R{r})
		}
		for j := range rows.Len() {
			row, err := table.Cells(rows.Index(j).Interface())
			if err != nil {
				return fmt.Errorf("%v: %w", settings[i], err)
			}
			e.result.Rows.Rows = append(e.result.Rows.Rows, slices.Concat(own, row))
		}
	}
	return running.Report(e, points, found)
}

// pointsFile is the file of every experiment.
const pointsFile = "points.jsonl"

// prepare makes the folder, and returns how the points are run and kept. The tables and the
// page of an earlier run are removed when this one is known to continue: they are not of the
// points that come.
func (e *E) prepare() (o experiment.Options, err error) {
	folder := e.Options.Folder
	program, err := version.Program()
	if err != nil {
		return o, fmt.Errorf("find out which program this is: %w", err)
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return o, &ParamError{"out", err}
	}
	if err := e.ownFolder(); err != nil {
		return o, &ParamError{"out", err}
	}
	remove := func() error {
		for _, name := range e.bench.Files {
			if ext := filepath.Ext(name); ext != ".csv" && ext != ".html" {
				continue
			}
			if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	}
	return experiment.Options{
		File: filepath.Join(folder, pointsFile), Identity: e.identity(), Program: program, Resume: e.Options.Resume, Strict: e.Options.Strict, Replace: true,
		Workers: e.Options.Threads, Progress: e.Options.Progress, Warn: e.Options.Warn, Begin: remove,
	}, nil
}

// identity returns a text of all that rows depend on besides their point and the program.
func (e *E) identity() string {
	o := e.Options
	return fmt.Sprintf("%s, topology %s, ccl %s, values %v, races %v, flit %v", e.bench.Name,
		e.Topology.Spec().Hash(), e.CCL.Hash(), !o.NoData, o.Race, o.Flit)
}

// ownFolder refuses a folder that has the points of another bench.
func (e *E) ownFolder() error {
	r, err := file.Open(e.ctx, filepath.Join(e.Options.Folder, pointsFile), math.MaxInt64)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer r.Close()
	first := make([]byte, 256)
	n, err := io.ReadFull(r, first)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	for _, b := range All() {
		if b.Folder != "" && b.Name != e.bench.Name && bytes.HasPrefix(first[:n], fmt.Appendf(nil, `{"sweep":{"identity":"%s, `, b.Name)) {
			return fmt.Errorf("%s has the results of %s: choose another folder", e.Options.Folder, b.Name)
		}
	}
	return nil
}

// Write writes a file to the folder of the bench.
func (e *E) Write(name string, data []byte) error {
	path := filepath.Join(e.Options.Folder, name)
	if err := file.Write(path, data); err != nil {
		return err
	}
	e.Artifact(path)
	return nil
}

// WriteTable writes a table as CSV.
func (e *E) WriteTable(name string, t *table.Table) error {
	var b bytes.Buffer
	if err := t.WriteCSV(&b); err != nil {
		return err
	}
	return e.Write(name, b.Bytes())
}
