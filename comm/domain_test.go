package comm_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

const domainCount = 256

// domainSum checks sums in domain d. In each round, the member with rank r in the world
// accumulates i + 100r + round into element i at all members. After each round, domainSum
// checks this rank's elements. me is the rank of the caller in the world.
func domainSum(d *comm.Comm, me, rounds int) error {
	w, err := d.AllocWindow(8*domainCount, 0)
	if err != nil {
		return err
	}
	mine, want := make([]int64, domainCount), make([]int64, domainCount)
	for round := range rounds {
		for i := range domainCount {
			mine[i] = int64(i + 100*me + round)
			for _, r := range d.Ranks() {
				want[i] += int64(i + 100*r + round)
			}
		}
		for peer := range d.Size() {
			if err := w.Accumulate(peer, 0, numeric.I64, elements(numeric.I64, mine...)); err != nil {
				return err
			}
		}
		if err := d.Barrier(); err != nil {
			return err
		}
		if got, want := w.Local(), elements(numeric.I64, want...); !bytes.Equal(got, want) {
			return fmt.Errorf("domain %v, round %d:\n got %v\nwant %v", d.Ranks(), round, got, want)
		}
		if err := d.Barrier(); err != nil {
			return err
		}
	}
	return nil
}

// makeDomains creates a domain for each list of ranks that contains this rank, and returns
// the domains in the order of the lists.
func makeDomains(c *comm.Comm, lists ...[]int) (list []*comm.Comm, err error) {
	for _, ranks := range lists {
		if !slices.Contains(ranks, c.Rank()) {
			continue
		}
		d, err := c.Domain(ranks...)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// TestDomains runs domainSum in domains that have members in common.
func TestDomains(t *testing.T) {
	tests := []struct {
		name   string
		nranks int
		lists  [][]int
	}{
		{"rank map", 3, [][]int{{0, 2}, {1, 2}}},
		{"chain", 3, [][]int{{0, 1}, {1, 2}}},
		{"twice", 2, [][]int{{0, 1}, {0, 1}}},
		{"alone", 2, [][]int{{0}, {1}, {0, 1}}},
		{"rows and columns", 4, [][]int{{0, 1}, {2, 3}, {0, 2}, {1, 3}}},
		{"all, backwards", 5, [][]int{{4, 3, 2, 1, 0}, {0, 1, 2, 3, 4}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			runOnBackends(t, test.nranks, func(c *comm.Comm) error {
				list, err := makeDomains(c, test.lists...)
				if err != nil {
					return err
				}
				for _, d := range list {
					if err := domainSum(d, c.Rank(), 3); err != nil {
						return err
					}
				}
				return c.Barrier()
			})
		})
	}
}

// TestDomainsAtOnce checks the data that ranks exchange in the domains {0, 1} and {1, 2} at
// the same time. Rank 1 alternates between both domains.
func TestDomainsAtOnce(t *testing.T) {
	runOnBackends(t, 3, func(c *comm.Comm) error {
		list, err := makeDomains(c, []int{0, 1}, []int{1, 2})
		if err != nil {
			return err
		}
		var windows []*comm.Window
		for _, d := range list {
			w, err := d.AllocWindow(8, 1)
			if err != nil {
				return err
			}
			windows = append(windows, w)
		}
		for round := range int64(300) {
			for _, w := range windows {
				peer := 1 - w.Comm().Rank()
				if err := runInOrder(
					func() error { return w.Put(peer, 0, []byte{byte(c.Rank()), byte(round)}) },
					func() error { return w.Notify(peer, 0, tl.Add, 1) },
				); err != nil {
					return err
				}
			}
			for _, w := range slices.Backward(windows) {
				peer := w.Comm().Ranks()[1-w.Comm().Rank()]
				if err := w.WaitSignal(0, tl.EQ, round+1); err != nil {
					return err
				}
				if got, want := [2]byte(w.Local()), [2]byte{byte(peer), byte(round)}; got != want {
					return fmt.Errorf("domain %v, round %d: got %v, want %v", w.Comm().Ranks(), round, got, want)
				}
			}
			for _, w := range windows {
				if err := w.Comm().Barrier(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// TestDomainRanks checks which numbers ranks have in a domain, and in a domain of that
// domain. It also checks the errors for ranks that are not members.
func TestDomainRanks(t *testing.T) {
	runOnBackends(t, 5, func(c *comm.Comm) error {
		outer, err := makeDomains(c, []int{4, 2, 0})
		if err != nil || len(outer) == 0 {
			return err
		}
		d := outer[0]
		for rank, world := range []int{4, 2, 0} {
			if got, err := d.RankOf(world); got != rank || err != nil {
				return fmt.Errorf("rank of %d: got %d, %v, want %d", world, got, err, rank)
			}
			if world == c.Rank() && d.Rank() != rank {
				return fmt.Errorf("rank in the domain: got %d, want %d", d.Rank(), rank)
			}
		}
		_, err = d.RankOf(3)
		if e := commtest.Says(err, fmt.Sprintf("rank %d: rank, rank 3: not a member of the domain [4 2 0]", c.Rank())); e != nil {
			return e
		}
		if !errors.Is(err, comm.ErrNotMember) {
			return fmt.Errorf("got %v, want ErrNotMember", err)
		}
		_, err = c.Domain(1, 3)
		if e := commtest.Says(err, fmt.Sprintf("rank %d: domain: not a member of the domain [1 3]: only members make it", c.Rank())); e != nil {
			return e
		}
		if !errors.Is(err, comm.ErrNotMember) {
			return fmt.Errorf("got %v, want ErrNotMember", err)
		}
		inner, err := makeDomains(d, []int{2, 0}) // ranks in d; in the world they are 0 and 4
		if err != nil {
			return err
		}
		for _, in := range inner {
			if got, want := fmt.Sprint(in.Rank(), in.Size(), in.Ranks()), fmt.Sprint(c.Rank()/4, 2, []int{0, 4}); got != want {
				return fmt.Errorf("rank, size and ranks: got %s, want %s", got, want)
			}
			if err := domainSum(in, c.Rank(), 3); err != nil {
				return err
			}
		}
		if err := domainSum(d, c.Rank(), 3); err != nil {
			return err
		}
		return d.Close()
	})
}

// TestDomainClosed closes a domain that has a window and an inner domain. It checks that
// all operations of the domain and its window, and a barrier of the inner domain, return
// errors. The world must remain usable.
func TestDomainClosed(t *testing.T) {
	runOnBackends(t, 3, func(c *comm.Comm) error {
		list, err := makeDomains(c, []int{2, 0})
		if err != nil {
			return err
		}
		for _, d := range list {
			inner, err := d.Domain(0, 1)
			if err != nil {
				return err
			}
			w, err := d.AllocWindow(8, 1)
			if err != nil {
				return err
			}
			if err := errors.Join(d.Close(), d.Close()); err != nil {
				return err
			}
			for op, call := range operations(d, w) {
				err := call()
				if e := commtest.Says(err, fmt.Sprintf("rank %d: %s: it has been closed", c.Rank(), op)); e != nil {
					return e
				}
				if !errors.Is(err, comm.ErrClosed) {
					return fmt.Errorf("%s: got %v, want ErrClosed", op, err)
				}
			}
			if e := commtest.Says(inner.Barrier(), fmt.Sprintf("rank %d: barrier: it has been closed", c.Rank())); e != nil {
				return e
			}
		}
		return runInOrder(c.Barrier, c.Err)
	})
}

// operations returns one function for each operation of communicator c and of its window w.
// The function calls the operation. The key is the name of the operation in errors.
func operations(c *comm.Comm, w *comm.Window) map[string]func() error {
	return map[string]func() error{
		"put":              func() error { return w.Put(0, 0, nil) },
		"get":              func() error { return w.Get(0, 0, nil) },
		"accumulate":       func() error { return w.Accumulate(0, 0, numeric.I8, nil) },
		"notify, signal 0": func() error { return w.Notify(0, 0, tl.Set, 1) },
		"wait, signal 0":   func() error { return w.WaitSignal(0, tl.GE, 0) },
		"test, signal 0": func() error {
			_, err := w.TestSignal(0, tl.GE, 0)
			return err
		},
		"barrier": c.Barrier,
		"window, alloc": func() error {
			_, err := c.AllocWindow(8, 1)
			return err
		},
		"domain": func() error {
			_, err := c.Domain(0)
			return err
		},
		"abort": func() error { return c.Abort(errors.New("boom")) },
	}
}

// TestDomainsAreFreed checks that the Go heap does not grow while a thousand domains with
// windows are created and closed. Tests of package shm check that shared memory is
// released.
func TestDomainsAreFreed(t *testing.T) {
	const each = 64 << 10
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	runOnBackends(t, 3, func(c *comm.Comm) error {
		if c.Rank() == 2 {
			return nil
		}
		var before int64
		for i := range 1100 {
			if i == 100 && c.Rank() == 0 {
				before = heap()
			}
			d, err := c.Domain(0, 1)
			if err != nil {
				return err
			}
			if _, err := d.AllocWindow(each, 1); err != nil {
				return err
			}
			if err := d.Close(); err != nil {
				return err
			}
		}
		if c.Rank() == 1 {
			return nil
		}
		if grown := heap() - before; grown > 20*each {
			return fmt.Errorf("a thousand domains left %d bytes, want less than %d", grown, 20*each)
		}
		return nil
	})
}
