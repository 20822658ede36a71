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

func generations() int64 {
	if *soak {
		return 1_000_000
	}
	return 5_000 / raced
}

// laps is the generation that each rank has entered. Ranks are goroutines here, so that
// it can be apart from the memory that is tested.
type laps []atomic.Int64

// cross enters a generation, meets some ranks and checks that none of them is behind,
// which means that this rank was released early, or two ahead.
func (l laps) cross(me int, with []int, g int64, meet func() error) error {
	l[me].Store(g)
	if err := meet(); err != nil {
		return err
	}
	for _, peer := range with {
		at := l[peer].Load()
		if at < g {
			return fmt.Errorf("rank %d left generation %d early: rank %d is in %d", me, g, peer, at)
		}
		if at > g+1 {
			return fmt.Errorf("rank %d leaves generation %d late: rank %d is in %d", me, g, peer, at)
		}
	}
	return nil
}

// dawdler delays a rank: mostly not, often a little, and rarely for so long that the
// others fall asleep.
type dawdler struct{ *rand.Rand }

func newDawdler(rank int) dawdler { return dawdler{rand.New(rand.NewPCG(1, uint64(rank)))} }

func (d dawdler) dawdle() {
	switch n := d.IntN(10_000); {
	case n == 0:
		time.Sleep(12 * time.Millisecond)
	case n < 100:
		runtime.Gosched()
	case n < 2000:
		for began := time.Now(); time.Since(began) < time.Duration(n)*time.Nanosecond; {
		}
	}
}

func TestBarrierSoak(t *testing.T) {
	const nranks = 4
	for _, b := range backends {
		t.Run(b, func(t *testing.T) {
			l := make(laps, nranks)
			commtest.Succeed(t, commtest.World(comm.Options{Backend: b, Timeout: commtest.Patience}, nranks, func(c *comm.Comm) error {
				d := newDawdler(c.Rank())
				for g := int64(1); g <= generations(); g++ {
					d.dawdle()
					if err := l.cross(c.Rank(), c.Ranks(), g, c.Barrier); err != nil {
						return err
					}
				}
				return nil
			}))
		})
	}
}

// TestSignalSoak has pairs of ranks meet by signals: a count, and a pair of numbers
// that take turns.
func TestSignalSoak(t *testing.T) {
	const nranks = 4
	for _, b := range backends {
		t.Run(b, func(t *testing.T) {
			l := make(laps, nranks)
			commtest.Succeed(t, commtest.World(comm.Options{Backend: b, Timeout: commtest.Patience}, nranks, func(c *comm.Comm) error {
				w, err := c.AllocWindow(8, 3)
				if err != nil {
					return err
				}
				d := newDawdler(c.Rank())
				peer := c.Rank() ^ 1
				for g := int64(1); g <= generations(); g++ {
					d.dawdle()
					err := l.cross(c.Rank(), []int{peer}, g, func() error {
						return inOrder(
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

// TestSoakCatches soaks a barrier that waits for a count which nobody resets: it holds
// once only, and the check must notice.
func TestSoakCatches(t *testing.T) {
	const nranks = 4
	for _, b := range backends {
		t.Run(b, func(t *testing.T) {
			l := make(laps, nranks)
			errs := commtest.World(comm.Options{Backend: b, Timeout: commtest.Patience}, nranks, func(c *comm.Comm) error {
				w, err := c.AllocWindow(0, 1)
				if err != nil {
					return err
				}
				d := newDawdler(c.Rank())
				for g := int64(1); g <= 20_000; g++ {
					d.dawdle()
					err := l.cross(c.Rank(), c.Ranks(), g, func() error {
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
