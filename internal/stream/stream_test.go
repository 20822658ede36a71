package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// clock is a scheduler for tests. Its operations take a given time and do nothing else;
// clock records by name when each operation began.
type clock struct {
	*Scheduler
	began map[string]simtime.Time
}

// newClock returns a clock with a new machine of the preset "default".
func newClock(t *testing.T) *clock {
	t.Helper()
	spec, err := topology.Preset("default")
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{
		Context: context.Background(), Machine: machine.New(g, machine.Options{}), Stall: time.Minute,
		Misuse:    func(op, text string) error { return fmt.Errorf("misuse: %s: %s", op, text) },
		Recovered: func(value any) error { return fmt.Errorf("panic: %v", value) },
	})
	t.Cleanup(s.Close)
	return &clock{s, map[string]simtime.Time{}}
}

// setDuration makes op last the given number of nanoseconds, and makes the clock record
// when op begins. It returns op.
func (c *clock) setDuration(op *Operation, ns simtime.Time) *Operation {
	op.Begin = func(done sim.Event) error {
		c.began[op.Name] = c.Now()
		op.Expect()
		c.Machine.Engine.Post(c.Now()+ns*simtime.Nanosecond, done)
		return nil
	}
	return op
}

// enqueue creates an operation that lasts the given number of nanoseconds, puts it into the
// stream of rank r, and returns it.
func (c *clock) enqueue(r *Rank, name string, ns simtime.Time, regions ...*Region) *Operation {
	op := c.setDuration(r.NewOperation(name, regions...), ns)
	r.Enqueue(op)
	return op
}

// join records that rank r calls op and uses the given regions. The call of the last rank
// lets op begin. join returns a handle for op.
func (c *clock) join(r *Rank, op *Operation, regions ...*Region) *Handle {
	op.MissingRanks = slices.DeleteFunc(op.MissingRanks, func(other *Rank) bool { return other == r })
	r.Join(op, regions, AllParts)
	h := r.NewHandle(op)
	if len(op.MissingRanks) == 0 {
		c.Complete(op)
		c.Advance(op)
	}
	return h
}

// checkBegan checks that each operation named in `want` began at the given time in
// nanoseconds.
func (c *clock) checkBegan(t *testing.T, want map[string]simtime.Time) {
	t.Helper()
	for name, ns := range want {
		if got := c.began[name]; got != ns*simtime.Nanosecond {
			t.Errorf("%s began at %v, want %dns", name, got, ns)
		}
	}
}

// region returns a region that covers a whole new storage with the given address ranges.
func region(parts ...Range) *Region {
	return &Region{Storage: NewStorage(func() error { return nil }), Parts: parts, Entire: true}
}

// TestStreams checks when operations of two ranks begin. Both ranks call one asynchronous
// operation. Later operations wait for it only if they use its storage.
func TestStreams(t *testing.T) {
	c := newClock(t)
	x, y := region(Range{0, 8}), region(Range{8, 16})
	both := c.setDuration(NewShared("both", NewCalls(), 0), 7)
	faults, err := c.Spawn(2, func(r *Rank) error {
		if r.Number == 0 { // rank 0 runs first
			both.MissingRanks = slices.Clone(c.Ranks())
		}
		if r.Number == 1 {
			c.enqueue(r, "other", 20)
			c.join(r, both, y)
			c.enqueue(r, "other storage", 1)
			return r.Synchronize()
		}
		c.enqueue(r, "first", 5, x)
		c.enqueue(r, "second", 6)
		h := c.join(r, both, x)
		c.enqueue(r, "independent", 2)
		c.enqueue(r, "same storage", 3, x)
		if err := r.Await(h.Op); err != nil {
			return err
		}
		if now := c.Now(); now != 27*simtime.Nanosecond {
			return fmt.Errorf("awaited until %v", now)
		}
		return nil
	})
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	c.checkBegan(t, map[string]simtime.Time{"first": 0, "second": 5, "other": 0, "both": 20, "independent": 11, "other storage": 20, "same storage": 27})
}

// TestBlame checks which ranks get which error in three cases: a rank returns without
// calling an operation that another rank waits for, two ranks wait for each other, and an
// operation times out.
func TestBlame(t *testing.T) {
	for name, tt := range map[string]struct {
		run  func(c *clock, r *Rank, a, b *Operation) error
		want string
	}{
		"returns": {func(c *clock, r *Rank, a, b *Operation) error {
			if r.Number == 1 {
				return nil
			}
			return r.Await(c.join(r, a).Op)
		}, "[{1 returned without a, for which rank 0 waits}]"},
		"in another order": {func(c *clock, r *Rank, a, b *Operation) error {
			if r.Number == 1 {
				a, b = b, a
			}
			for _, op := range []*Operation{a, b} {
				if err := r.Await(c.join(r, op).Op); err != nil {
					return err
				}
			}
			return nil
		}, "[{0 waits for a, which rank 1 has not called; the ranks wait for each other: call collectives in the same order on all of them} " +
			"{1 waits for b, which rank 0 has not called; the ranks wait for each other: call collectives in the same order on all of them}]"},
		"late": {func(c *clock, r *Rank, a, b *Operation) error {
			if r.Number == 0 {
				h := c.join(r, a)
				c.Limit(a, 30*simtime.Nanosecond, func() error { return errors.New("late") })
				return r.Await(h.Op)
			}
			return r.Sleep("sleep", 50*simtime.Nanosecond)
		}, "[{0 late}]"},
	} {
		c := newClock(t)
		a, b := c.setDuration(NewShared("a", nil, 0), 1), c.setDuration(NewShared("b", nil, 0), 1)
		faults, _ := c.Spawn(2, func(r *Rank) error {
			if r.Number == 0 {
				a.MissingRanks, b.MissingRanks = slices.Clone(c.Ranks()), slices.Clone(c.Ranks())
			}
			return tt.run(c, r, a, b)
		})
		if got := fmt.Sprint(faults); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}

// TestRegions checks which regions of a storage overlap, and which operations a read of a
// region must wait for after several writes.
func TestRegions(t *testing.T) {
	whole := region(Range{0, 8}, Range{8, 16})
	part := func(parts ...Range) *Region { return &Region{Storage: whole.Storage, Parts: parts} }
	left, right, empty := part(Range{0, 4}, Range{8, 12}), part(Range{4, 8}, Range{12, 16}), part(Range{2, 2}, Range{})
	for i, tt := range []struct {
		x, y *Region
		want bool
	}{{whole, left, true}, {left, right, false}, {left, empty, false}, {empty, empty, true}, {left, region(Range{0, 4}), false}} {
		if got := tt.x.Overlaps(tt.y); got != tt.want {
			t.Errorf("%d: %v, want %v", i, got, tt.want)
		}
	}
	a, b, d := NewRead("a"), NewRead("b"), NewRead("d")
	unwaited := &Handle{Op: b}
	left.Wrote(a, nil)
	right.Wrote(b, unwaited)
	for _, tt := range []struct {
		x        *Region
		want     []*Operation
		unwaited *Operation
	}{{left, []*Operation{a}, nil}, {right, []*Operation{b}, b}, {whole, []*Operation{a, b}, b}} {
		if got, waits := tt.x.Writing(); !slices.Equal(got, tt.want) || waits != tt.unwaited {
			t.Errorf("got %v and %v, want %v and %v", got, waits, tt.want, tt.unwaited)
		}
	}
	whole.Wrote(d, nil) // replaces both writes, but b has not been waited for
	if got, waits := left.Writing(); !slices.Equal(got, []*Operation{d}) || waits != b {
		t.Errorf("after a write of all: got %v and %v", got, waits)
	}
	unwaited.Waited = true
	if _, waits := left.Writing(); waits != nil {
		t.Errorf("after b was waited for: %v", waits)
	}
}
