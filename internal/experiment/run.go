package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/table"
)

// Options choose which points run and where their rows are kept.
type Options struct {
	File     string       // file of results, with a line of JSON for each point; "" keeps none
	Identity string       // identifies everything that rows depend on, except the point; a File with another identity is refused
	About    string       // text for figures about what all points share: "all_reduce over 6 ranks"
	Schema   table.Schema // columns of settings and rows, for the first line of File; a File with another schema is refused
	Resume   bool         // keep the points that File has
	Replace  bool         // discard the points that File has; without Resume or Replace, such a File is refused
	Program  string       // identifies the build of the program
	Strict   bool         // refuse a File with points of another Program
	Warn     func(text string)
	Begin    func() error // called when File is accepted, before the first point runs; may be nil
	Shard    Shard
	Workers  int  // points that run at the same time; 0: one for each core
	Stop     bool // stop at the first point that fails, in the order of points
	// Cost returns the cost of a point relative to other points, for estimates of the time
	// left. If it is nil, all points have the same cost.
	Cost func(index int) float64
	// Memory returns about how many bytes a point needs. Points run at the same time only
	// if together they fit into the free memory and into maxMemory. A point that runs by
	// itself may need more. Memory may be nil.
	Memory func(index int) int64
	// Progress is called at the start and whenever a point has ended. done of the total
	// points of the shard have a row. left is the estimated time until the last point ends,
	// negative if unknown. Progress may be nil.
	Progress func(done, total int, left time.Duration)
}

// maxMemory is the largest number of bytes of points that run at the same time.
const maxMemory = 4 << 30

// Run runs all points of the shard and returns their rows, in the order of points. Unless
// the function `each` is nil, Run calls it with every row in that order, as soon as all
// earlier points have ended. This includes rows from the file. Run calls `each` and the
// functions in the options from its own goroutine.
//
// A point that fails or panics does not stop the other points. At the end, [*Failed] names
// all failed points; their rows are zero. If Stop is set, no point begins after a failure,
// and running points that come after the failed point are cancelled. The error is then the
// [*PointError] of the first point that fails, and the result is the rows before it, for
// any number of workers. When ctx ends, the file keeps the points that have ended, and the
// error is the cause.
func Run[R any](ctx context.Context, o Options, points []Point, run func(ctx context.Context, index int, p Point) (R, error), each func(index int, row R)) ([]R, error) {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	s := &state[R]{Options: o, points: points, run: run, each: each}
	err := s.runAll(ctx)
	var failed *Failed
	var first *PointError
	if err != nil && !errors.As(err, &failed) && !errors.As(err, &first) {
		return nil, err
	}
	rows := make([]R, len(s.indices))
	for i, index := range s.indices {
		if failed == nil && first != nil && index == first.Index {
			return rows[:i], err
		}
		rows[i] = s.rows[index]
	}
	return rows, err
}

// state is a run of points.
type state[R any] struct {
	Options
	points  []Point
	indices []int // indices of the shard's points
	run     func(context.Context, int, Point) (R, error)
	each    func(int, R)

	rows      map[int]R
	failed    map[int]error
	delivered int   // number of indices before the first point that has not ended
	todo      []int // indices of points that have not started, in order
	running   map[int]*running
	outcomes  chan outcome[R]
	free      int64 // bytes of memory for points that run at the same time
	pace      pace

	out     *output                 // nil without a file
	saved   map[int]json.RawMessage // rows in the file, by index
	fileErr error                   // error of the file, which ends the sweep
	last    int                     // index of the last record in the file; len(points) if records are out of order
}

// running is a point that runs.
type running struct {
	ctx     context.Context
	cancel  context.CancelFunc
	started time.Time
	bytes   int64
}

// outcome is the result of a point that has ended.
type outcome[R any] struct {
	index int
	row   R
	raw   json.RawMessage // the row as JSON; nil without a file
	err   error
}

// runAll opens the file, runs the points that have no row and returns the error of Run.
func (s *state[R]) runAll(ctx context.Context) (err error) {
	if err := s.Shard.check(); err != nil {
		return err
	}
	if len(s.points) > MaxPoints {
		return fmt.Errorf("%d points, and a sweep has at most %d: make lists or ranges shorter", len(s.points), MaxPoints)
	}
	s.indices, s.rows, s.failed = s.Shard.Indices(len(s.points)), map[int]R{}, map[int]error{}
	if s.File != "" {
		if err := s.openFile(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.out.close()) }()
	}
	s.pace.costs = make([]float64, len(s.points))
	for _, i := range s.indices {
		if _, ok := s.rows[i]; ok {
			continue
		}
		s.todo = append(s.todo, i)
		if s.pace.costs[i] = 1; s.Cost != nil {
			s.pace.costs[i] = max(0, s.Cost(i))
		}
	}
	if s.Begin != nil {
		if err := s.Begin(); err != nil {
			return err
		}
	}
	s.deliver()
	s.runPoints(ctx)
	if s.fileErr == nil {
		s.fileErr = s.checkName()
	}
	if s.fileErr != nil {
		return s.fileErr
	}
	return s.verdict(ctx)
}

// verdict returns the error of the sweep, or nil, after the last point has ended. If all
// points have ended, it also sorts the file, unless Stop is set and a point failed.
func (s *state[R]) verdict(ctx context.Context) error {
	f := &Failed{Total: len(s.indices)}
	for _, index := range s.indices {
		err, failed := s.failed[index]
		if _, ok := s.rows[index]; !ok && !failed {
			return context.Cause(ctx)
		}
		if failed {
			f.Points = append(f.Points, &PointError{Index: index, Point: s.points[index], Err: err})
			if s.Stop {
				return f.Points[0]
			}
		}
	}
	if err := s.sortFile(); err != nil || len(f.Points) == 0 {
		return err
	}
	return f
}

// runPoints runs the points in todo, as many at a time as workers and memory allow.
func (s *state[R]) runPoints(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if s.Workers < 1 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	s.free = maxMemory
	if m := host.Available(); s.Memory != nil && m.Total > 0 {
		s.free = int64(min(m.Free, maxMemory))
	}
	s.running, s.outcomes = map[int]*running{}, make(chan outcome[R])
	for {
		for ctx.Err() == nil && s.mayStart() {
			s.start(ctx)
		}
		if s.Progress != nil {
			s.Progress(len(s.rows), len(s.indices), s.pace.left(s.running, s.todo))
		}
		if len(s.running) == 0 {
			return
		}
		s.finish(<-s.outcomes)
		if s.fileErr != nil {
			stop()
		}
	}
}

// mayStart reports whether the next point in todo may start. A worker and enough memory
// must be free; while no point runs, memory does not matter. If Stop is set, no point may
// start after a failure.
func (s *state[R]) mayStart() bool {
	if len(s.todo) == 0 || len(s.running) >= s.Workers || s.Stop && len(s.failed) > 0 {
		return false
	}
	return len(s.running) == 0 || s.Memory == nil || s.Memory(s.todo[0]) <= s.free
}

// start starts the next point in todo in a goroutine.
func (s *state[R]) start(ctx context.Context) {
	index := s.todo[0]
	s.todo = s.todo[1:]
	r := &running{started: time.Now()}
	r.ctx, r.cancel = context.WithCancel(ctx)
	if s.Memory != nil {
		r.bytes = s.Memory(index)
	}
	s.free -= r.bytes
	s.running[index] = r
	go func() {
		o := outcome[R]{index: index}
		o.row, o.raw, o.err = s.attempt(r.ctx, index)
		s.outcomes <- o
	}()
}

// attempt runs a point and returns its row, and the row as JSON if there is a file. It
// returns a panic as an error.
func (s *state[R]) attempt(ctx context.Context, index int) (row R, raw json.RawMessage, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panicError(value)
		}
	}()
	if row, err = s.run(ctx, index, s.points[index]); err == nil && s.File != "" {
		raw, err = table.Marshal(row)
	}
	return row, raw, err
}

// panicError returns the value of a panic as an error. An error that was passed to panic on
// purpose is returned unchanged. A runtime error, such as an index out of range, is
// described with its place.
func panicError(value any) error {
	err, ok := value.(error)
	if ok && !errors.As(err, new(runtime.Error)) {
		return err
	}
	return errors.New(sim.DescribePanic(value, string(debug.Stack())))
}

// finish records the outcome of a point. It ignores the error of a cancelled point. If Stop
// is set, a failure also cancels the running points that come after the failed point.
func (s *state[R]) finish(o outcome[R]) {
	r := s.running[o.index]
	delete(s.running, o.index)
	s.free += r.bytes
	stopped := r.ctx.Err() != nil
	r.cancel()
	switch {
	case s.fileErr != nil || o.err != nil && stopped:
		return
	case o.err != nil:
		s.failed[o.index] = o.err
		for behind, r := range s.running {
			if s.Stop && behind > o.index {
				r.cancel()
			}
		}
	default:
		s.rows[o.index] = o.row
		s.pace.cost += s.pace.costs[o.index]
		s.pace.took += time.Since(r.started)
		if s.out != nil {
			s.fileErr = s.save(o.index, o.raw)
		}
	}
	if s.fileErr == nil {
		s.deliver()
	}
}

// deliver calls the function `each` for rows in the order of points. It stops at the first
// point that has not ended. If Stop is set, it also stops at the first failed point.
func (s *state[R]) deliver() {
	for ; s.delivered < len(s.indices); s.delivered++ {
		index := s.indices[s.delivered]
		row, ok := s.rows[index]
		_, failed := s.failed[index]
		switch {
		case ok && s.each != nil:
			s.each(index, row)
		case !ok && (!failed || s.Stop):
			return
		}
	}
}
