package comm_test

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/tl"
)

// TestNotify checks the values of signals after Notify with Set and with Add. All ranks add
// at the same time, and some numbers are negative.
func TestNotify(t *testing.T) {
	runOnSizes(t, func(c *comm.Comm) error {
		w, err := c.AllocWindow(0, 2)
		if err != nil {
			return err
		}
		n := int64(c.Size())
		for peer := range c.Size() {
			for range 50 {
				if err := w.Notify(peer, 1, tl.Add, int64(c.Rank())-1); err != nil {
					return err
				}
			}
		}
		return runInOrder(
			func() error { return w.Notify((c.Rank()+1)%c.Size(), 0, tl.Set, -7) },
			func() error { return w.WaitSignal(0, tl.EQ, -7) },
			c.Barrier,
			func() error { return w.WaitSignal(1, tl.EQ, 50*(n*(n-1)/2-n)) },
			func() error { return w.WaitSignal(0, tl.EQ, -7) },
		)
	})
}

var compareFuncs = map[tl.Cmp]func(a, b int64) bool{
	tl.EQ: func(a, b int64) bool { return a == b },
	tl.NE: func(a, b int64) bool { return a != b },
	tl.GT: func(a, b int64) bool { return a > b },
	tl.GE: func(a, b int64) bool { return a >= b },
	tl.LT: func(a, b int64) bool { return a < b },
	tl.LE: func(a, b int64) bool { return a <= b },
}

// TestCompare checks the result of the method w.TestSignal with every comparison, for
// small, negative and extreme numbers. w.WaitSignal must return at once if the comparison
// is true.
func TestCompare(t *testing.T) {
	numbers := []int64{-1 << 63, -2, -1, 0, 1, 2, 1<<63 - 1}
	runOnBackends(t, 1, func(c *comm.Comm) error {
		w, err := c.AllocWindow(0, 1)
		if err != nil {
			return err
		}
		for _, a := range numbers {
			if err := w.Notify(0, 0, tl.Set, a); err != nil {
				return err
			}
			for _, b := range numbers {
				for cmp, f := range compareFuncs {
					want := f(a, b)
					if got, err := w.TestSignal(0, cmp, b); err != nil || got != want {
						return fmt.Errorf("%d %v %d: got %v, %v, want %v", a, cmp, b, got, err, want)
					}
					if !want {
						continue
					}
					if err := w.WaitSignal(0, cmp, b); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// TestWaitThrough checks that WaitSignal, with each comparison, does not return while
// another rank changes the signal to values for which the comparison is false. It must
// return when the comparison becomes true.
func TestWaitThrough(t *testing.T) {
	tests := []struct {
		cmp  tl.Cmp
		v    int64
		sets []int64 // only the last value compares true
	}{
		{tl.EQ, 5, []int64{4, 6, 5}},
		{tl.NE, 0, []int64{0, 0, 1}},
		{tl.GT, 5, []int64{4, 5, 6}},
		{tl.GE, 5, []int64{-5, 4, 5}},
		{tl.LT, 0, []int64{1, 0, -1}},
		{tl.LE, -1, []int64{1, 0, -1}},
	}
	runOnBackends(t, 2, func(c *comm.Comm) error {
		for _, test := range tests {
			w, err := c.AllocWindow(0, 1)
			if err != nil {
				return err
			}
			last := test.sets[len(test.sets)-1]
			if c.Rank() == 0 {
				for _, v := range test.sets {
					if err := w.Notify(1, 0, tl.Set, v); err != nil {
						return err
					}
				}
				continue
			}
			if err := w.WaitSignal(0, test.cmp, test.v); err != nil {
				return err
			}
			if equal, err := w.TestSignal(0, tl.EQ, last); err != nil || !equal {
				return fmt.Errorf("%v %d: the signal is %d after the wait: got %v, %v, want true", test.cmp, test.v, last, equal, err)
			}
		}
		return c.Barrier()
	})
}

// TestRaise checks that the notes which two ranks send to each other with Raise arrive
// unchanged.
func TestRaise(t *testing.T) {
	runOnBackends(t, 2, func(c *comm.Comm) error {
		w, err := c.AllocWindow(8, 2)
		if err != nil {
			return err
		}
		peer := 1 - c.Rank()
		for round := range int64(50) {
			say := comm.Note{uint64(round), uint64(c.Rank()), 2, 3, 4, 5, 1 << 63}
			want := comm.Note{uint64(round), uint64(peer), 2, 3, 4, 5, 1 << 63}
			err := runInOrder(
				func() error { return w.Raise("notify", "", peer, 1, round+1, &say) },
				func() error { return w.Await("test", "post", peer, 1, round+1) },
			)
			if err != nil {
				return err
			}
			if got := w.Note(1); got != want {
				return fmt.Errorf("round %d: got %v, want %v", round, got, want)
			}
			if err := c.Barrier(); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestBank checks that, after Bank(first), the methods Notify, WaitSignal and TestSignal
// number the signals from first. It also checks the errors for signals and banks outside
// the window.
func TestBank(t *testing.T) {
	runOnBackends(t, 2, func(c *comm.Comm) error {
		w, err := c.AllocWindow(0, 4)
		if err != nil {
			return err
		}
		for turn := range 4 {
			if err := w.Bank(turn % 2 * 2); err != nil {
				return err
			}
			if err := w.Notify(1-c.Rank(), 1, tl.Add, 1); err != nil {
				return err
			}
			if err := w.WaitSignal(1, tl.EQ, int64(turn/2)+1); err != nil {
				return err
			}
		}
		if err := w.Bank(3); err != nil {
			return err
		}
		if equal, err := w.TestSignal(0, tl.EQ, 2); err != nil || !equal {
			return fmt.Errorf("signal 3 as 0: is 2: %v, %v", equal, err)
		}
		if err := commtest.Says(w.Notify(0, 1, tl.Set, 1), fmt.Sprintf("rank %d: notify, signal 1, rank 0: out of range: the window has 1 signals, from 0", c.Rank())); err != nil {
			return err
		}
		return commtest.Says(w.Bank(5), fmt.Sprintf("rank %d: bank, signal 5: out of range: the window has 4 signals", c.Rank()))
	})
}

// TestWaitAnyOfWindows checks that WaitAny with conditions on signals of two windows
// returns the index of the condition that is true. It also checks that a signal outside its
// window is an error.
func TestWaitAnyOfWindows(t *testing.T) {
	runOnBackends(t, 2, func(c *comm.Comm) error {
		a, err := c.AllocWindow(0, 1)
		if err != nil {
			return err
		}
		b, err := c.AllocWindow(8, 3)
		if err != nil {
			return err
		}
		for round := range int64(20) {
			w, signal := a, 0
			if round%2 == 1 {
				w, signal = b, 2
			}
			if c.Rank() == 0 {
				if err := w.Notify(1, signal, tl.Add, 1); err != nil {
					return err
				}
			} else {
				got, err := a.WaitAny([]comm.Condition{{Signal: 0, Cmp: tl.GT, Value: (round + 1) / 2}, {Window: b, Signal: 2, Cmp: tl.GT, Value: round / 2}})
				if want := int(round % 2); err != nil || got != want {
					return fmt.Errorf("round %d: condition %d, %v, want %d", round, got, err, want)
				}
			}
			if err := c.Barrier(); err != nil {
				return err
			}
		}
		if _, err := a.WaitAny([]comm.Condition{{Window: b, Signal: 3}}); err == nil {
			return fmt.Errorf("no error for signal 3 of a window that has 3")
		}
		return nil
	})
}
