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

// Experiment is a bench that measures many points, each on machines of its own. Points run
// in parallel. Their results are kept in points.jsonl in the folder of the bench, so that a
// later run can continue from them.
//
// The tagged fields of P are the settings of a point. R is the result of a point: a row
// type, or a slice of a row type if a point can have several rows or none. The columns of
// the table are the columns of P, followed by the columns of the row type.
type Experiment[P, R any] interface {
	// Points returns the points, in the order of the table.
	Points() []P
	// Cost returns the run time of a point relative to other points. It is used to estimate
	// the time left.
	Cost(p P) float64
	// Measure runs a point. Several goroutines call it at the same time.
	Measure(e *E, p P) (R, error)
	// Report checks the results of all points and writes files. The table already has all
	// rows.
	Report(e *E, points []P, found []R) error
}

// NewExperiment returns an experiment for [Bench.Experiment]. Each run first calls begin,
// which reads the parameters.
func NewExperiment[P, R any, X Experiment[P, R]](begin func(e *E) (X, error)) Experimenter {
	return typedExperiment[P, R]{func(e *E) (Experiment[P, R], error) { return begin(e) }}
}

// Experimenter is an Experiment of any types P and R, as [Bench.Experiment] holds it.
type Experimenter interface {
	columns() []table.Column
	run(e *E) error
}

// typedExperiment implements Experimenter for the types P and R.
type typedExperiment[P, R any] struct {
	begin func(e *E) (Experiment[P, R], error)
}

// E is a run of an [Experiment]: the system and the configuration of collectives that it is
// given, its parameters and its result.
type E struct {
	report
	Topology *topology.Graph
	CCL      *ccl.Config

	ctx context.Context
}

// Machine returns a new machine for a point, with the system g. The point must close the
// machine. The machine computes values on one thread, because points run in parallel.
func (e *E) Machine(g *topology.Graph) (*torch.Context, error) {
	o := e.Options.Options
	o.Topology, o.CCL, o.Threads = g, e.CCL, 1
	return torch.New(e.ctx, o)
}

// Table returns the rows of all points.
func (e *E) Table() *table.Table { return e.result.Rows }

// experiment runs the bench's experiment. It creates no machine itself: each point creates
// its own.
func (b Bench) experiment(ctx context.Context, o Options) (*Result, error) {
	if o.Topology == nil {
		o.Topology = torch.Must(topology.Compile(torch.Must(topology.Preset("default")))) // the preset is embedded in the program
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

// columns returns the columns of the settings, followed by the columns of the rows.
func (x typedExperiment[P, R]) columns() []table.Column {
	var p P
	return append(table.ColumnsOf(p), table.ColumnsOf(zeroRow[R]())...)
}

// zeroRow returns a zero value of R, or of the element type if R is a slice of rows.
func zeroRow[R any]() any {
	t := reflect.TypeFor[R]()
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return reflect.Zero(t).Interface()
}

// run measures the points, builds their table and calls Report.
func (x typedExperiment[P, R]) run(e *E) error {
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
	o.Schema = table.Schema{"settings": table.ColumnsOf(p), "row": table.ColumnsOf(zeroRow[R]())}
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

// pointsFile is the name of the file with the results of an experiment's points.
const pointsFile = "points.jsonl"

// prepare creates the folder and returns the options for running the points. The options
// include a function that removes the tables and the page of an earlier run, because they
// do not describe the new points. The function is called when the points file has been
// accepted, before the first point runs.
func (e *E) prepare() (o experiment.Options, err error) {
	folder := e.Options.Folder
	program, err := version.Program()
	if err != nil {
		return o, fmt.Errorf("find out which program this is: %w", err)
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return o, &ParamError{"out", err}
	}
	if err := e.checkFolder(); err != nil {
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

// identity returns a text that contains everything on which rows depend, except the
// settings of their point and the version of the program.
func (e *E) identity() string {
	o := e.Options
	return fmt.Sprintf("%s, topology %s, ccl %s, values %v, races %v, flit %v", e.bench.Name,
		e.Topology.Spec().Hash(), e.CCL.Hash(), !o.NoData, o.Race, o.Flit)
}

// checkFolder returns an error if the folder contains points that another bench has
// measured.
func (e *E) checkFolder() error {
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

// Write writes a file to the folder of the bench and adds it to the result.
func (e *E) Write(name string, data []byte) error {
	path := filepath.Join(e.Options.Folder, name)
	if err := file.Write(path, data); err != nil {
		return err
	}
	e.Artifact(path)
	return nil
}

// WriteTable writes a table as a CSV file to the folder of the bench.
func (e *E) WriteTable(name string, t *table.Table) error {
	var b bytes.Buffer
	if err := t.WriteCSV(&b); err != nil {
		return err
	}
	return e.Write(name, b.Bytes())
}
