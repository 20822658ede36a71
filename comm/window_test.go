package comm_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/tl"
)

// TestPutGet puts pieces of random length at random offsets. It checks that Peer and Get
// return the expected bytes for the parts of all ranks.
func TestPutGet(t *testing.T) {
	type piece struct{ off, n int }
	for _, backend := range backends {
		t.Run(backend, rapid.MakeCheck(func(t *rapid.T) {
			nranks := rapid.SampledFrom(sizes).Draw(t, "ranks")
			size := rapid.IntRange(0, 5000).Draw(t, "size")
			signals := rapid.IntRange(0, 3).Draw(t, "signals")
			pieces := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) piece {
				off := rapid.IntRange(0, size).Draw(t, "offset")
				return piece{off, rapid.IntRange(0, size-off).Draw(t, "length")}
			}), 1, 8).Draw(t, "pieces")
			// expected returns the final bytes of the part that rank `from` writes to.
			expected := func(from int) []byte {
				b := make([]byte, size)
				for i, p := range pieces {
					copy(b[p.off:], bytes.Repeat([]byte{byte(1 + from*8 + i)}, p.n))
				}
				return b
			}
			commtest.Succeed(t, commtest.World(comm.Options{Backend: backend, Timeout: commtest.Patience}, nranks, func(c *comm.Comm) error {
				w, err := c.AllocWindow(int64(size), signals)
				if err != nil {
					return err
				}
				for i, p := range pieces {
					if err := w.Put((c.Rank()+1)%nranks, int64(p.off), bytes.Repeat([]byte{byte(1 + c.Rank()*8 + i)}, p.n)); err != nil {
						return err
					}
				}
				if err := c.Barrier(); err != nil {
					return err
				}
				for peer := range nranks {
					want := expected((peer + nranks - 1) % nranks)
					if got := w.Peer(peer); !bytes.Equal(got, want) {
						return fmt.Errorf("rank %d's part by Peer:\n got %v\nwant %v", peer, got, want)
					}
					for _, p := range pieces {
						got := make([]byte, p.n)
						if err := w.Get(peer, int64(p.off), got); err != nil {
							return err
						}
						if !bytes.Equal(got, want[p.off:p.off+p.n]) {
							return fmt.Errorf("rank %d's part by Get of %d bytes at %d:\n got %v\nwant %v", peer, p.n, p.off, got, want[p.off:p.off+p.n])
						}
					}
				}
				return nil
			}))
		}))
	}
}

// TestPutNotifyWait checks that a rank sees, after WaitSignal, what its peer wrote before
// Notify. Each rank sends numbers to the next rank in a ring, by Put into one window and by
// a direct store into a second window.
func TestPutNotifyWait(t *testing.T) {
	runOnSizes(t, func(c *comm.Comm) error {
		n := c.Size()
		w, err := c.AllocWindow(64, 2)
		if err != nil {
			return err
		}
		other, err := c.AllocWindow(3, 0)
		if err != nil {
			return err
		}
		next, previous := (c.Rank()+1)%n, (c.Rank()+n-1)%n
		for round := range 100 {
			other.Peer(next)[2] = byte(round + c.Rank())
			err := runInOrder(
				func() error { return w.Put(next, 8, []byte{byte(c.Rank()), byte(round)}) },
				func() error { return w.Notify(next, 0, tl.Add, 1) },
				func() error { return w.WaitSignal(0, tl.GE, int64(round)+1) },
			)
			if err != nil {
				return err
			}
			got := [3]byte{w.Local()[8], w.Local()[9], other.Local()[2]}
			if want := [3]byte{byte(previous), byte(round), byte(round + previous)}; got != want {
				return fmt.Errorf("round %d: got %v, want %v", round, got, want)
			}
			if err := c.Barrier(); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestWindowsAreApart checks that the bytes and signals of several windows do not overlap.
// It also checks that new windows are zero. The second round allocates the windows again
// after they were freed.
func TestWindowsAreApart(t *testing.T) {
	shapes := []struct {
		bytes   int64
		signals int
	}{{0, 2}, {1, 1}, {64, 0}, {4097, 3}, {4096, 1}}
	runOnSizes(t, func(c *comm.Comm) error {
		mark := func(rank, window int) byte { return byte(1 + rank*len(shapes) + window) }
		for round := range 2 {
			var windows []*comm.Window
			for i, s := range shapes {
				w, err := c.AllocWindow(s.bytes, s.signals)
				if err != nil {
					return err
				}
				if got, want := fmt.Sprint(w.Size(), w.Signals(), len(w.Local()), cap(w.Local()), w.Comm() == c), fmt.Sprint(s.bytes, s.signals, s.bytes, s.bytes, true); got != want {
					return fmt.Errorf("window %d: size, signals, len, cap, comm: got %s, want %s", i, got, want)
				}
				windows = append(windows, w)
			}
			for i, w := range windows {
				if got, want := w.Local(), make([]byte, shapes[i].bytes); !bytes.Equal(got, want) {
					return fmt.Errorf("round %d, window %d is not zero: %v", round, i, got)
				}
				for s := range w.Signals() {
					if zero, err := w.TestSignal(s, tl.EQ, 0); err != nil || !zero {
						return fmt.Errorf("round %d, window %d, signal %d is zero: got %v, %v, want true", round, i, s, zero, err)
					}
				}
			}
			if err := c.Barrier(); err != nil {
				return err
			}
			for i, w := range windows {
				copy(w.Local(), bytes.Repeat([]byte{mark(c.Rank(), i)}, len(w.Local())))
				for s := range w.Signals() {
					if err := w.Notify((c.Rank()+1)%c.Size(), s, tl.Set, int64(100*i+s+1)); err != nil {
						return err
					}
				}
			}
			if err := c.Barrier(); err != nil {
				return err
			}
			for i, w := range windows {
				for peer := range c.Size() {
					if got, want := w.Peer(peer), bytes.Repeat([]byte{mark(peer, i)}, int(w.Size())); !bytes.Equal(got, want) {
						return fmt.Errorf("window %d of rank %d:\n got %v\nwant %v", i, peer, got, want)
					}
				}
				for s := range w.Signals() {
					if err := w.WaitSignal(s, tl.EQ, int64(100*i+s+1)); err != nil {
						return err
					}
				}
			}
			if err := c.Barrier(); err != nil {
				return err
			}
			for i, w := range windows {
				if err := w.Close(); err != nil {
					return err
				}
				if w.Local() != nil || w.Peer(0) != nil {
					return fmt.Errorf("window %d: got bytes after Close, want nil", i)
				}
			}
		}
		return nil
	})
}

// TestPeerBounds checks that Peer returns all bytes of a part for valid ranks, and nil for
// ranks that do not exist.
func TestPeerBounds(t *testing.T) {
	runOnBackends(t, 3, func(c *comm.Comm) error {
		w, err := c.AllocWindow(5, 1)
		if err != nil {
			return err
		}
		for rank, want := range map[int]int{-1: 0, 0: 5, 1: 5, 2: 5, 3: 0} {
			if got := len(w.Peer(rank)); got != want {
				return fmt.Errorf("Peer(%d): got %d bytes, want %d", rank, got, want)
			}
		}
		return nil
	})
}
