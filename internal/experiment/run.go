package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/sim"
)

// Options choose which points are run and what is kept of them.
type Options struct {
	File     string // of results, a line of JSON for each point; "" keeps none
	Identity string // of all that rows depend on beside the point; a File of another is refused
	Resume   bool   // take over the points that File has
	Replace  bool   // begin anew where File has points; without either it is refused
	Program  string // the build of the program that runs points
	Strict   bool   // refuse to take over points of another Program
	Warn     func(text string)
	Begin    func() error // called when File is accepted, before the first point runs
	Shard    Shard
	Workers  int // points run side by side; 0: one for each core
	// Progress, if there is one, is told how many points of the shard there are and have a
	// row, at the beginning and whenever one has been kept. Calls do not overlap.
	Progress func(done, total int)
}

// Run is the rows of all points of the shard, in the order of points. A point that
// fails or panics does not stop the others: in the end [*Failed] tells of all that did,
// whose rows are zero. When ctx ends the points that have ended are kept, and the
// error is the cause.
func Run[Row any](ctx context.Context, o Options, points []Point, run func(context.Context, Point) (Row, error)) ([]Row, error) {
	s := &state{Options: o, points: points}
	s.check = func(raw json.RawMessage) error { return json.Unmarshal(raw, new(Row)) }
	s.run = func(ctx context.Context, p Point) (json.RawMessage, error) {
		row, err := run(ctx, p)
		if err != nil {
			return nil, err
		}
		return marshal(row)
	}
	err := s.all(ctx)
	var failed *Failed
	if err != nil && !errors.As(err, &failed) {
		return nil, err
	}
	rows := make([]Row, len(s.mine))
	for i, index := range s.mine {
		if raw := s.rows[index]; raw != nil {
			if err := json.Unmarshal(raw, &rows[i]); err != nil {
				return nil, fmt.Errorf("row of point %d: %w", index, err) // was checked
			}
		}
	}
	return rows, err
}

// state is a sweep at work, whatever its rows are.
type state struct {
	Options
	points []Point
	mine   []int // indices of the shard
	run    func(context.Context, Point) (json.RawMessage, error)
	check  func(json.RawMessage) error

	mu     sync.Mutex // of all below
	out    *output    // nil: no file
	rows   map[int]json.RawMessage
	todo   []int // indices that nobody has begun, in order
	failed []*PointError
	broken error // of the file
	last   int   // index of the last record, for as long as they are in order
}

func (s *state) all(ctx context.Context) (err error) {
	if err := s.Shard.check(); err != nil {
		return err
	}
	s.mine, s.rows, s.last = s.Shard.Indices(len(s.points)), map[int]json.RawMessage{}, -1
	if len(s.points) > MaxPoints {
		return fmt.Errorf("%d points, and a sweep has at most %d: make lists or ranges shorter", len(s.points), MaxPoints)
	}
	h := header{Identity: s.Identity, Points: len(s.points), Grid: digest(s.points), Shard: s.Shard.String()}
	if s.Program != "" {
		h.Programs = []string{s.Program}
	}
	if s.File != "" {
		var c *contents
		if s.out, c, err = open(ctx, s.Options, h); err != nil {
			return err
		}
		defer func() {
			if closed := s.out.close(); closed != nil {
				err = errors.Join(err, closed)
			}
		}()
		if err := s.takeOver(c); err != nil {
			return &FileError{err}
		}
	}
	for _, i := range s.mine {
		if s.rows[i] == nil {
			s.todo = append(s.todo, i)
		}
	}
	if s.Begin != nil {
		if err := s.Begin(); err != nil {
			return err
		}
	}
	s.tell()
	s.work(ctx)
	if s.broken == nil {
		s.broken = s.secure()
	}
	switch {
	case s.broken != nil:
		return s.broken
	case len(s.rows)+len(s.failed) < len(s.mine):
		return context.Cause(ctx)
	}
	if err := s.arrange(); err != nil || len(s.failed) == 0 {
		return err
	}
	slices.SortFunc(s.failed, func(a, b *PointError) int { return a.Index - b.Index })
	return &Failed{s.failed, len(s.mine)}
}

// arrange puts the records of the file in the order of the points, if they are not.
func (s *state) arrange() error {
	if s.out == nil || s.last < len(s.points) {
		return nil
	}
	if err := file.Write(s.out.name, s.text()); err != nil {
		return fmt.Errorf("put %s in order: %w", s.out.name, err)
	}
	return nil
}

// text returns the file with all rows, in the order of the points.
func (s *state) text() []byte {
	var records []record
	for _, index := range s.mine {
		if row := s.rows[index]; row != nil {
			records = append(records, newRecord(index, s.points[index], row))
		}
	}
	return lines(s.out.header, records)
}

// secure checks that the file still has its name. A file that was removed is written
// again. If another file has its name the rows are kept under a new one, and the sweep
// cannot go on.
func (s *state) secure() error {
	if s.out == nil {
		return nil
	}
	replaced, removed, err := s.out.replaced()
	switch {
	case err != nil:
		return fmt.Errorf("write results: %w", err)
	case replaced:
		e := &ReplacedError{Name: s.out.name, Kept: file.Beside(s.out.name), Points: len(s.rows)}
		if err := file.Write(e.Kept, s.text()); err != nil {
			return err
		}
		return e
	case !removed:
		return nil
	}
	if err := file.Write(s.out.name, s.text()); err != nil {
		return err
	}
	s.warn("%s was removed, and has been written again with %d points", s.out.name, len(s.rows))
	f, name, err := openLocked(s.out.name)
	if err != nil {
		return err
	}
	old := s.out
	if s.out, err = newOutput(f, name, old.header); err != nil {
		s.out = old
		return err
	}
	s.last = slices.Max(append(slices.Collect(maps.Keys(s.rows)), -1))
	return old.close()
}

// takeOver makes the records of the file rows of the sweep.
func (s *state) takeOver(c *contents) error {
	for i, r := range c.records {
		err := s.check(r.Row)
		if err == nil && !r.equal(newRecord(r.Point, s.points[r.Point], r.Row)) {
			err = fmt.Errorf("point %d is %v", r.Point, s.points[r.Point])
		}
		if err != nil {
			return fmt.Errorf("%s:%d: damaged: %w: delete the line to have its point run again", s.out.name, i+2, err)
		}
		s.rows[r.Point] = r.Row
		s.follow(r.Point)
	}
	return nil
}

// follow notes that a record is the next of the file.
func (s *state) follow(index int) {
	if index < s.last {
		index = len(s.points) // for good
	}
	s.last = max(s.last, index)
}

// work runs the points that are to do.
func (s *state) work(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	workers := s.Workers
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	var all sync.WaitGroup
	for range min(workers, len(s.todo)) {
		all.Go(func() {
			for {
				index, ok := s.next(ctx)
				if !ok {
					return
				}
				row, err := s.attempt(ctx, s.points[index])
				if !s.ended(ctx, index, row, err) {
					stop()
				}
			}
		})
	}
	all.Wait()
}

// next is a point to run.
func (s *state) next(ctx context.Context) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.todo) == 0 || ctx.Err() != nil {
		return 0, false
	}
	index := s.todo[0]
	s.todo = s.todo[1:]
	return index, true
}

// attempt runs a point, with a panic as an error.
func (s *state) attempt(ctx context.Context, p Point) (row json.RawMessage, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = recovered(value)
		}
	}()
	if row, err = s.run(ctx, p); err == nil {
		err = s.check(row)
	}
	return row, err
}

// recovered is a panic as an error. An error that was thrown on purpose is that error;
// a slip such as an index out of range says where it was.
func recovered(value any) error {
	err, ok := value.(error)
	var slip runtime.Error
	if ok && !errors.As(err, &slip) {
		return err
	}
	return errors.New(sim.Panicked(value, string(debug.Stack())))
}

// ended keeps what came of a point, and reports whether others can be kept too.
func (s *state) ended(ctx context.Context, index int, row json.RawMessage, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.broken != nil:
		return false
	case err != nil && ctx.Err() != nil: // it was stopped
		return true
	case err != nil:
		s.failed = append(s.failed, &PointError{Index: index, Point: s.points[index], Err: err})
		return true
	}
	s.rows[index] = row
	if s.out != nil {
		if s.broken = s.keep(index, row); s.broken != nil {
			return false
		}
	}
	s.tell()
	return true
}

// keep adds a row to the file.
func (s *state) keep(index int, row json.RawMessage) error {
	if err := s.out.append(newRecord(index, s.points[index], row)); err != nil {
		return err
	}
	s.follow(index)
	return s.secure()
}

func (s *state) tell() {
	if s.Progress != nil {
		s.Progress(len(s.rows), len(s.mine))
	}
}
