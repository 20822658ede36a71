package comm_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/tl"
)

var soak = flag.Bool("soak", false, "run a million generations of barriers and signals")

// generations returns the number of generations that a test runs. A generation is one
// synchronization of ranks, such as a barrier. With the flag -soak the number is a million.
// Without the flag it is 5000, or 5000/raceDivisor under the race detector.
func generations() int64 {
	if *soak {
		return 1_000_000
	}
	return 5_000 / raceDivisor
}

// progress holds the number of the generation that each rank has entered last. It is not in
// the memory under test: ranks are goroutines here and can share Go memory.
type progress []atomic.Int64

// enterGeneration records that rank enters generation g and calls synchronize, which must
// wait for all peers. Then it checks that no peer is still in an earlier generation, which
// would mean that synchronize returned too early. It also checks that no peer is more than
// one generation ahead.
func (l progress) enterGeneration(rank int, peers []int, g int64, synchronize func() error) error {
	l[rank].Store(g)
	if err := synchronize(); err != nil {
		return err
	}
	for _, peer := range peers {
		at := l[peer].Load()
		if at < g {
			return fmt.Errorf("rank %d left generation %d early: rank %d is in %d", rank, g, peer, at)
		}
		if at > g+1 {
			return fmt.Errorf("rank %d leaves generation %d late: rank %d is in %d", rank, g, peer, at)
		}
	}
	return nil
}

// delayer delays a rank at random: usually not at all, often for up to 2 µs, and rarely for
// so long that the other ranks fall asleep.
type delayer struct{ *rand.Rand }

// newDelayer returns a delayer whose random delays differ from rank to rank.
func newDelayer(rank int) delayer { return delayer{rand.New(rand.NewPCG(1, uint64(rank)))} }

func (d delayer) delay() {
	switch n := d.IntN(10_000); {
	case n == 0:
		time.Sleep(12 * time.Millisecond)
	case n < 100:
		runtime.Gosched()
	case n < 2000:
		for start := time.Now(); time.Since(start) < time.Duration(n)*time.Nanosecond; {
		}
	}
}

// TestBarrierSoak runs many barriers with random delays. It checks that no rank leaves a
// barrier before all ranks have entered it, and that every rank leaves it.
func TestBarrierSoak(t *testing.T) {
	const nranks = 4
	for _, b := range backends {
		t.Run(b, func(t *testing.T) {
			l := make(progress, nranks)
			commtest.Succeed(t, commtest.World(comm.Options{Backend: b, Timeout: commtest.Patience}, nranks, func(c *comm.Comm) error {
				d := newDelayer(c.Rank())
				for g := int64(1); g <= generations(); g++ {
					d.delay()
					if err := l.enterGeneration(c.Rank(), c.Ranks(), g, c.Barrier); err != nil {
						return err
					}
				}
				return nil
			}))
		})
	}
}

// TestSignalSoak checks that pairs of ranks stay in the same generation when they
// synchronize by signals. They use a counter, and two more signals that they set in
// alternate generations.
func TestSignalSoak(t *testing.T) {
	const nranks = 4
	for _, b := range backends {
		t.Run(b, func(t *testing.T) {
			l := make(progress, nranks)
			commtest.Succeed(t, commtest.World(comm.Options{Backend: b, Timeout: commtest.Patience}, nranks, func(c *comm.Comm) error {
				w, err := c.AllocWindow(8, 3)
				if err != nil {
					return err
				}
				d := newDelayer(c.Rank())
				peer := c.Rank() ^ 1
				for g := int64(1); g <= generations(); g++ {
					d.delay()
					err := l.enterGeneration(c.Rank(), []int{peer}, g, func() error {
						return runInOrder(
							func() error { return w.Notify(peer, int(g%2), tl.Set, g) },
							func() error { return w.Notify(peer, 2, tl.Add, 1) },
							func() error { return w.WaitSignal(2, tl.GE, g) },
							func() error { return w.WaitSignal(int(g%2), tl.EQ, g) },
						)
					})
					if err != nil {
						return err
					}
				}
				return nil
			}))
		})
	}
}

// TestSoakCatches checks that enterGeneration detects a broken barrier. The broken barrier
// waits until a signal is at least 1 and never resets the signal, so it works only once.
func TestSoakCatches(t *testing.T) {
	const nranks = 4
	for _, b := range backends {
		t.Run(b, func(t *testing.T) {
			l := make(progress, nranks)
			errs := commtest.World(comm.Options{Backend: b, Timeout: commtest.Patience}, nranks, func(c *comm.Comm) error {
				w, err := c.AllocWindow(0, 1)
				if err != nil {
					return err
				}
				d := newDelayer(c.Rank())
				for g := int64(1); g <= 20_000; g++ {
					d.delay()
					err := l.enterGeneration(c.Rank(), c.Ranks(), g, func() error {
						for peer := range nranks {
							if peer == c.Rank() {
								continue
							}
							if err := w.Notify(peer, 0, tl.Add, 1); err != nil {
								return err
							}
						}
						return w.WaitSignal(0, tl.GE, 1)
					})
					if err != nil {
						return err
					}
				}
				return nil
			})
			for _, err := range errs {
				if err != nil && strings.Contains(err.Error(), "early") {
					return
				}
			}
			t.Errorf("got %v, want a rank that left a generation early", errs)
		})
	}
}
