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

// Options choose which points run and what is kept of them.
type Options struct {
	File     string       // of results, a line of JSON for each point; "" keeps none
	Identity string       // of all that rows depend on besides the point; a File of another is refused
	About    string       // what all points share, for the figures of File: "all_reduce over 6 ranks"
	Schema   table.Schema // columns of settings and rows, for the first line of File; a File of another is refused
	Resume   bool         // take over the points that File has
	Replace  bool         // begin anew where File has points; without either it is refused
	Program  string       // the build of the program that runs points
	Strict   bool         // refuse to take over points of another Program
	Warn     func(text string)
	Begin    func() error // called when File is accepted, before the first point runs
	Shard    Shard
	Workers  int  // points that run at the same time; 0: one for each core
	Stop     bool // end with the first point that fails, in the order of points
	// Cost, if set, returns the cost of a point relative to the others, for the time left.
	Cost func(index int) float64
	// Memory, if set, returns about how many bytes a point takes. Points run at the same time
	// only if the free memory holds them, at most mostMemory; one point alone may take more.
	Memory func(index int) int64
	// Progress, if set, is called at the beginning and whenever a point has ended. Done of the
	// total points of the shard have a row; left is the estimated time until the last one has,
	// negative if unknown.
	Progress func(done, total int, left time.Duration)
}

// mostMemory bounds the bytes of points that run at the same time.
const mostMemory = 4 << 30

// Run runs all points of the shard and returns their rows, in the order of points. It calls
// each, if set, with every row in that order, as soon as all points before it have ended;
// rows that were taken over from the file are among them. The callbacks of the options and
// each are called from the goroutine of Run.
//
// A point that fails or panics does not stop the others: in the end [*Failed] names all that
// did, whose rows are zero. With Stop no point begins after a failure, and those behind it
// are cancelled: the error is the [*PointError] of the first that fails, and the rows are
// those before it, for any number of workers. When ctx ends, the points that have ended are
// kept, and the error is the cause.
func Run[R any](ctx context.Context, o Options, points []Point, run func(ctx context.Context, index int, p Point) (R, error), each func(index int, row R)) ([]R, error) {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	s := &state[R]{Options: o, points: points, run: run, each: each}
	err := s.all(ctx)
	var failed *Failed
	var first *PointError
	if err != nil && !errors.As(err, &failed) && !errors.As(err, &first) {
		return nil, err
	}
	rows := make([]R, len(s.mine))
	for i, index := range s.mine {
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
	points []Point
	mine   []int // indices of the shard
	run    func(context.Context, int, Point) (R, error)
	each   func(int, R)

	rows     map[int]R
	failed   map[int]error
	given    int   // how many of mine are before the first that has not ended
	todo     []int // indices of points that have not begun, in order
	running  map[int]*running
	outcomes chan outcome[R]
	free     int64 // bytes of memory for points that run at the same time
	pace     pace

	out    *output                 // nil: no file
	kept   map[int]json.RawMessage // rows as the file has them
	broken error                   // of the file
	last   int                     // index of the last record, for as long as they are in order
}

// running is a point that runs.
type running struct {
	ctx    context.Context
	cancel context.CancelFunc
	begun  time.Time
	bytes  int64
}

// outcome is what a point that ran has come to.
type outcome[R any] struct {
	index int
	row   R
	raw   json.RawMessage // for the file, if there is one
	err   error
}

func (s *state[R]) all(ctx context.Context) (err error) {
	if err := s.Shard.check(); err != nil {
		return err
	}
	if len(s.points) > MaxPoints {
		return fmt.Errorf("%d points, and a sweep has at most %d: make lists or ranges shorter", len(s.points), MaxPoints)
	}
	s.mine, s.rows, s.failed = s.Shard.Indices(len(s.points)), map[int]R{}, map[int]error{}
	if s.File != "" {
		if err := s.openFile(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.out.close()) }()
	}
	s.pace.costs = make([]float64, len(s.points))
	for _, i := range s.mine {
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
	s.work(ctx)
	if s.broken == nil {
		s.broken = s.secure()
	}
	if s.broken != nil {
		return s.broken
	}
	return s.verdict(ctx)
}

// verdict returns what became of the points, once none runs any more.
func (s *state[R]) verdict(ctx context.Context) error {
	f := &Failed{Total: len(s.mine)}
	for _, index := range s.mine {
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
	if err := s.arrange(); err != nil || len(f.Points) == 0 {
		return err
	}
	return f
}

// work runs the points that are to do.
func (s *state[R]) work(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if s.Workers < 1 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	s.free = mostMemory
	if m := host.Available(); s.Memory != nil && m.Total > 0 {
		s.free = int64(min(m.Free, mostMemory))
	}
	s.running, s.outcomes = map[int]*running{}, make(chan outcome[R])
	for {
		for ctx.Err() == nil && s.admits() {
			s.start(ctx)
		}
		if s.Progress != nil {
			s.Progress(len(s.rows), len(s.mine), s.pace.left(s.running, s.todo))
		}
		if len(s.running) == 0 {
			return
		}
		s.end(<-s.outcomes)
		if s.broken != nil {
			stop()
		}
	}
}

// admits reports whether the next point may begin.
func (s *state[R]) admits() bool {
	if len(s.todo) == 0 || len(s.running) >= s.Workers || s.Stop && len(s.failed) > 0 {
		return false
	}
	return len(s.running) == 0 || s.Memory == nil || s.Memory(s.todo[0]) <= s.free
}

// start begins the next point.
func (s *state[R]) start(ctx context.Context) {
	index := s.todo[0]
	s.todo = s.todo[1:]
	r := &running{begun: time.Now()}
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

// attempt runs a point and returns a panic as an error.
func (s *state[R]) attempt(ctx context.Context, index int) (row R, raw json.RawMessage, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = recovered(value)
		}
	}()
	if row, err = s.run(ctx, index, s.points[index]); err == nil && s.File != "" {
		raw, err = table.Marshal(row)
	}
	return row, raw, err
}

// recovered returns a panic as an error. An error that was thrown on purpose is that error;
// a slip such as an index out of range says where it was.
func recovered(value any) error {
	err, ok := value.(error)
	if ok && !errors.As(err, new(runtime.Error)) {
		return err
	}
	return errors.New(sim.DescribePanic(value, string(debug.Stack())))
}

// end keeps the outcome of a point. With Stop a failure cancels the points behind it.
func (s *state[R]) end(o outcome[R]) {
	r := s.running[o.index]
	delete(s.running, o.index)
	s.free += r.bytes
	stopped := r.ctx.Err() != nil
	r.cancel()
	switch {
	case s.broken != nil || o.err != nil && stopped:
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
		s.pace.took += time.Since(r.begun)
		if s.out != nil {
			s.broken = s.keep(o.index, o.raw)
		}
	}
	if s.broken == nil {
		s.deliver()
	}
}

// deliver gives the rows to each that have no point before them that has not ended. With
// Stop the first failure is the end.
func (s *state[R]) deliver() {
	for ; s.given < len(s.mine); s.given++ {
		index := s.mine[s.given]
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
