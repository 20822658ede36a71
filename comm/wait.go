package comm

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// How a rank waits: it looks at a word again and again for a while, which is fastest,
// then goes on looking less often, lets others have the core and asks whether its peers
// are still there, and in the end sleeps.
const (
	hotLooks   = 2000                   // before the clock is asked
	looks      = 64                     // between other things
	yieldAfter = 500 * time.Microsecond // of looking: the peer may have no core
	askEvery   = 2 * time.Millisecond   // whether peers are there
	sleepAfter = 10 * time.Millisecond  // of looking
	longest    = 50 * time.Millisecond  // sleep, before peers are asked about
)

// await waits until a word of this rank's own memory compares true with v.
func (c *Comm) await(w *uint64, cmp Cmp, v int64, p place) error {
	if cmp.Holds(int64(atomic.LoadUint64(w)), v) {
		return nil
	}
	if !c.world.crowded {
		for range hotLooks {
			pause()
			if cmp.Holds(int64(atomic.LoadUint64(w)), v) {
				return nil
			}
		}
	}
	return c.awaitLong(c.world.look.at(w, cmp, v), p)
}

// look is what a rank waits for: one function serves all its waits, so that they
// allocate nothing.
type look struct {
	word *uint64
	cmp  Cmp
	v    int64

	holds func() bool
}

func (l *look) at(w *uint64, cmp Cmp, v int64) func() bool {
	l.word, l.cmp, l.v = w, cmp, v
	if l.holds == nil {
		l.holds = func() bool { return l.cmp.Holds(int64(atomic.LoadUint64(l.word)), l.v) }
	}
	return l.holds
}

// awaitLong waits until ready says so, which looks at this rank's own memory.
func (c *Comm) awaitLong(ready func() bool, p place) error {
	w := c.world
	began := time.Now()
	asked := began
	asleep := false
	defer func() {
		if asleep {
			w.wakes()
		}
	}()
	for {
		for range looks {
			if ready() {
				return nil
			}
			if !w.crowded {
				pause()
			}
		}
		if asleep {
			w.looked()
		}
		if by := w.aborted(); by >= 0 {
			return c.fail(p.with(by), w.told(by))
		}
		now := time.Now()
		if now.Sub(asked) >= askEvery {
			asked = now
			if where, err := c.hopeless(p, now.Sub(began), asleep); err != nil {
				if ready() {
					return nil // the peer did its part before it went
				}
				if by := w.aborted(); by >= 0 {
					return c.fail(p.with(by), w.told(by)) // it told why before it went
				}
				return c.fail(where, err)
			}
		}
		switch {
		case now.Sub(began) >= sleepAfter:
			if !asleep {
				asleep = true
				w.sleeps(p)
			}
			w.link.Sleep(func() bool { return ready() || w.aborted() >= 0 }, longest)
		case w.crowded || now.Sub(began) >= yieldAfter:
			w.link.Sleep(nil, 0)
		}
	}
}

// hopeless is an error, and where, if there is no use in waiting any longer. It is for
// the caller to fail: the wait may have ended since.
func (c *Comm) hopeless(p place, waited time.Duration, asleep bool) (place, error) {
	w := c.world
	if err := context.Cause(w.ctx); err != nil {
		return p, err
	}
	if w.timeout > 0 && waited >= w.timeout {
		return p, fmt.Errorf("%w: nothing in %v", ErrTimeout, w.timeout)
	}
	if err := w.link.Lost(w.rank); err != nil {
		return p, err
	}
	there := c.size == 1
	for peer := range others(c.rank, c.size) {
		rank := c.ranks[peer]
		barriers, closed := c.ctrl.closedBy(peer, c.size)
		switch {
		case !closed:
			there = true
		case rank == p.peer || barriers < p.barrier:
			return p.with(rank), fmt.Errorf("%w by that rank", ErrClosed)
		}
	}
	if !there {
		return p, fmt.Errorf("%w by all other ranks, or they have ended: there is nobody to wait for", ErrClosed)
	}
	for peer := range others(w.rank, w.size) {
		lost := w.link.Lost(peer)
		if _, closed := w.ctrl.closedBy(peer, w.size); closed || lost == nil { // a rank closes before it goes
			continue
		}
		return p.with(peer), fmt.Errorf("%w: %w", ErrLost, lost)
	}
	if asleep {
		return p, w.standstill()
	}
	return p, nil
}

// crowded says whether ranks outnumber cores: then one that looks again and again is
// in the way of those that it waits for.
func crowded(ranks int) bool { return ranks > min(runtime.NumCPU(), runtime.GOMAXPROCS(0)) }
