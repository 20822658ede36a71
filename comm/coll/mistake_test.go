package coll_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/coll"
	"github.com/kernbench/kernbench/comm/commtest"
)

// TestMistakes checks the errors of collectives with invalid arguments, and that the group
// remains usable after each error.
func TestMistakes(t *testing.T) {
	x, wide := make([]int32, 4), make([]int32, 8)
	tests := []struct {
		call func(g *coll.Group) error
		want string
	}{
		{func(g *coll.Group) error { return coll.AllReduce(g, wide, x, coll.Sum) }, "all_reduce: out of range: dst has 8 elements, src 4: they need as many"},
		{func(g *coll.Group) error { return coll.AllGather(g, wide[:7], x) }, "all_gather: out of range: dst has 7 elements, src 4: dst needs 8, a part for each rank"},
		{func(g *coll.Group) error { return coll.ReduceScatter(g, x, wide[:5], coll.Sum) }, "reduce_scatter: out of range: dst has 4 elements, src 5: src needs 8, a part for each rank"},
		{func(g *coll.Group) error { return coll.AllToAll(g, wide, x) }, "all_to_all: out of range: dst has 8 elements, src 4: both need equal parts for 2 ranks"},
		{func(g *coll.Group) error { return coll.AllToAll(g, x[:3], wide[:3]) }, "all_to_all: out of range: dst has 3 elements, src 3: both need equal parts for 2 ranks"},
		{func(g *coll.Group) error { return coll.Reduce(g, wide, x, coll.Sum, g.Comm().Rank()) }, "reduce: out of range: dst has 8 elements, src 4: they need as many"},
		{func(g *coll.Group) error { return coll.Gather(g, x, x, g.Comm().Rank()) }, "gather: out of range: dst has 4 elements, src 4: dst needs 8, a part for each rank"},
		{func(g *coll.Group) error { return coll.Scatter(g, x, nil, g.Comm().Rank()) }, "scatter: out of range: dst has 4 elements, src 0: src needs 8, a part for each rank"},
		{func(g *coll.Group) error { return coll.Broadcast(g, x, 2) }, "broadcast: out of range: no root 2: ranks are 0 to 1"},
		{func(g *coll.Group) error { return coll.Gather(g, wide, x, -1) }, "gather: out of range: no root -1: ranks are 0 to 1"},
		{func(g *coll.Group) error { return coll.AllReduce(g, x, x, 5) }, "all_reduce: out of range: no operation 5"},
		{func(g *coll.Group) error { return g.Do(8, 3, coll.Sum, 0, nil, nil) }, "Kind(8): out of range: no collective 8"},
		{func(g *coll.Group) error { return g.Do(coll.KindAllReduce, 99, coll.Sum, 0, nil, nil) }, "all_reduce: out of range: no dtype 99"},
		{func(g *coll.Group) error {
			return g.Do(coll.KindAllReduce, 3, coll.Sum, 0, make([]byte, 7), make([]byte, 4))
		}, "all_reduce: out of range: dst has 7 bytes, src 4: elements of f32 have 4"},
		{func(g *coll.Group) error { return coll.AllReduce(g, wide[1:5], wide[:4], coll.Sum) }, "all_reduce: dst and src overlap in part: give the same slice for both, or slices that do not overlap"},
		{func(g *coll.Group) error { return coll.AllToAll(g, wide, wide) }, "all_to_all: dst and src overlap: all_to_all is not done in place, give a dst of its own"},
		{func(g *coll.Group) error { return coll.AllToAll(g, wide[:4], wide[2:6]) }, "all_to_all: dst and src overlap: all_to_all is not done in place, give a dst of its own"},
		{func(g *coll.Group) error { return coll.AllGather(g, wide, wide[4-4*g.Comm().Rank():][:4]) }, "all_gather: dst and src overlap: src may only be this rank's own part of dst, " + own},
		{func(g *coll.Group) error { return coll.ReduceScatter(g, wide[1:5], wide, coll.Sum) }, "reduce_scatter: dst and src overlap: dst may only be this rank's own part of src, " + own},
		{func(g *coll.Group) error { return coll.Scatter(g, wide[1:5], wide, g.Comm().Rank()) }, "scatter: dst and src overlap: dst may only be this rank's own part of src, " + own},
		{func(g *coll.Group) error { return coll.Gather(g, wide, wide[1:5], g.Comm().Rank()) }, "gather: dst and src overlap: src may only be this rank's own part of dst, " + own},
	}
	commtest.Succeed(t, runGroup("inproc", 2, coll.Options{}, func(g *coll.Group) error {
		for _, test := range tests {
			if err := commtest.Says(test.call(g), fmt.Sprintf("rank %d: %s", g.Comm().Rank(), strings.ReplaceAll(test.want, own, ranges[g.Comm().Rank()]))); err != nil {
				return err
			}
		}
		// The group remains usable. A buffer that is not used may overlap.
		data := []int32{1, 10, 100, 1000}
		dst := data[2:]
		if g.Comm().Rank() == 1 {
			dst = data[1:] // overlaps with src, and is not used
		}
		if err := coll.Reduce(g, dst, data[:2], coll.Sum, 0); err != nil {
			return err
		}
		if want := []int32{20, 1000}[g.Comm().Rank()]; data[3] != want {
			return fmt.Errorf("rank %d: got %d, want %d", g.Comm().Rank(), data[3], want)
		}
		return nil
	}))
}

// own is a placeholder in expected errors. At rank r it stands for ranges[r], which names
// the elements of the rank's own part.
const own = "OWN"

var ranges = []string{"elements 0 to 3, or outside of it", "elements 4 to 7, or outside of it"}

// TestClosed checks the error of a collective after its group was closed. It also checks
// the errors when a buffer is in a window that a peer has closed.
func TestClosed(t *testing.T) {
	for _, n := range []int{1, 2} {
		commtest.Succeed(t, runGroup("inproc", n, coll.Options{}, func(g *coll.Group) error {
			rank, x := g.Comm().Rank(), make([]int32, 4)
			if err := errors.Join(g.Barrier(), g.Close()); err != nil {
				return err
			}
			return commtest.Says(coll.AllReduce(g, x, x, coll.Sum), fmt.Sprintf("rank %d: all_reduce, entry, signal %d, rank %d: it has been closed", rank, rank, rank))
		}))
	}
	const closed = "rank 1: all_gather, entry, rank 0: the window of that rank's buffer: it has been closed here"
	errs := runGroup("inproc", 2, coll.Options{}, func(g *coll.Group) error {
		w, err := g.Comm().AllocWindow(64, 0)
		if err != nil {
			return err
		}
		x, err := coll.Slice[int32](w, 0, 4)
		if g.Comm().Rank() == 1 {
			x = make([]int32, 4)
			err = w.Close()
		}
		if err != nil {
			return err
		}
		return coll.AllGather(g, make([]int32, 8), x)
	})
	for rank, err := range errs { // rank 0 may get the error in different waits
		if err == nil || !strings.HasSuffix(err.Error(), closed) {
			t.Errorf("rank %d:\n got %v\nwant %s", rank, err, closed)
		}
	}
}

// TestSlice checks the elements that Slice returns, and its errors for invalid offsets and
// lengths and for a closed window.
func TestSlice(t *testing.T) {
	commtest.Succeed(t, runGroup("inproc", 1, coll.Options{}, func(g *coll.Group) error {
		w, err := g.Comm().AllocWindow(64, 3)
		if err != nil {
			return err
		}
		w.Local()[16] = 5
		for _, test := range []struct {
			off  int64
			n    int
			want string
		}{
			{0, 8, ""}, {16, 6, ""}, {64, 0, ""},
			{0, 9, "out of range: 9 elements of 8 bytes at offset 0 of a window of 64 bytes"},
			{72, 0, "out of range: 0 elements of 8 bytes at offset 72 of a window of 64 bytes"},
			{4, 1, "out of range: 1 elements of 8 bytes at offset 4 of a window of 64 bytes"},
			{-8, 1, "out of range: 1 elements of 8 bytes at offset -8 of a window of 64 bytes"},
			{8, -1, "out of range: -1 elements of 8 bytes at offset 8 of a window of 64 bytes"},
			{8, 1 << 61, "out of range: 2305843009213693952 elements of 8 bytes at offset 8 of a window of 64 bytes"},
		} {
			x, err := coll.Slice[int64](w, test.off, test.n)
			if test.want != "" {
				if err := commtest.Says(err, test.want); err != nil {
					return err
				}
				continue
			}
			if err != nil || len(x) != test.n || test.off == 16 && x[0] != 5 {
				return fmt.Errorf("%d elements at %d: got %v, %v", test.n, test.off, x, err)
			}
		}
		if err := w.Close(); err != nil {
			return err
		}
		_, err = coll.Slice[int64](w, 0, 9)
		if !errors.Is(err, comm.ErrClosed) {
			return fmt.Errorf("of a closed window: got %v, want ErrClosed", err)
		}
		return commtest.Says(err, "rank 0: slice: it has been closed")
	}))
}

// TestNew checks the errors of New for invalid options and a nil communicator.
func TestNew(t *testing.T) {
	_, err := coll.New(nil, coll.Options{})
	if err := commtest.Says(err, "no communicator: give one that comm.Open or Domain returned"); err != nil {
		t.Error(err)
	}
	for want, o := range map[string]coll.Options{
		"slots of 127 bytes: 2 ranks need at least 128":                               {SlotBytes: 127},
		"no algorithm 3: between real ranks there are auto, direct_one_phase, direct": {Algorithm: 3},
	} {
		for rank, err := range runGroup("inproc", 2, o, func(*coll.Group) error { return nil }) {
			if err := commtest.Says(err, want); err != nil {
				t.Errorf("rank %d: %v", rank, err)
			}
		}
	}
}
