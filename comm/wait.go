package comm

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kernbench/kernbench/tl"
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
func (c *Comm) await(w *uint64, cmp tl.Cmp, v int64, p place) error {
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
	cmp  tl.Cmp
	v    int64

	holds func() bool
}

func (l *look) at(w *uint64, cmp tl.Cmp, v int64) func() bool {
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
		if asleep { // it goes on
			w.seen = nil
			w.bump(waitsAt)
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
			w.bump(looksAt)
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

// If every rank sleeps in a wait, nobody will ever change anything: that is a deadlock,
// which whoever finds it reports. A rank is known to sleep on if its count of waits is
// odd and stays the same. If all have been seen to sleep, and each has since looked at
// its memory twice in vain, then the second time it did so after nobody could change
// it any more. Ranks that have closed the communicator change nothing either.

// sight is what was seen of a rank.
type sight struct{ waits, looks uint64 }

func (w *world) bump(at int64) { atomic.AddUint64(word(w.ctrl.local, at), 1) }

// sleeps says that this rank sleeps from now on, and what for.
func (w *world) sleeps(p place) {
	doing := p.String()
	if p.signal >= 0 {
		doing += fmt.Sprintf(" %v %d", w.look.cmp, w.look.v)
	}
	text := w.ctrl.local[doingAt : doingAt+doingBytes]
	clear(text)
	copy(text[:doingBytes-1], doing)
	w.bump(waitsAt)
}

// standstill is an error if all ranks sleep for good. This rank does.
func (w *world) standstill() error {
	now := make([]sight, w.size)
	for rank := range now {
		var err error
		if now[rank].waits, err = w.sleeping(rank); err != nil || now[rank].waits == 0 {
			w.seen = nil
			return err
		}
	}
	stands := w.seen != nil
	for rank := range now {
		looks, err := load(w.ctrl, rank, looksAt)
		if err != nil {
			return err
		}
		now[rank].looks = looks
		stands = stands && (now[rank].waits == gone || looks >= w.seen[rank].looks+2)
	}
	for rank := range now { // and has slept while its looks were read
		waits, err := w.sleeping(rank)
		if err != nil {
			return err
		}
		if waits != now[rank].waits || w.seen != nil && waits != w.seen[rank].waits {
			w.seen = nil
			return nil
		}
	}
	if w.seen == nil {
		w.seen = now
	}
	if !stands {
		return nil
	}
	return w.deadlock(now)
}

// gone stands for the waits of a rank that has closed the communicator.
const gone = math.MaxUint64

// sleeping is the waits of a rank that sleeps, 0 if it does something.
func (w *world) sleeping(rank int) (uint64, error) {
	if _, closed := w.ctrl.closedBy(rank, w.size); closed && rank != w.rank {
		return gone, nil
	}
	waits, err := load(w.ctrl, rank, waitsAt)
	if waits%2 == 0 {
		return 0, err
	}
	return waits, err
}

// deadlock tells what everybody waits for.
func (w *world) deadlock(ranks []sight) error {
	const most = 8
	var list []string
	for rank, s := range ranks {
		doing := "has closed"
		if s.waits != gone {
			var err error
			if doing, err = w.text(rank, doingAt, doingBytes); err != nil {
				return err
			}
		}
		if list = append(list, fmt.Sprintf("rank %d: %s", rank, doing)); len(list) == most && len(ranks) > most {
			list = append(list, fmt.Sprintf("and %d more", len(ranks)-most))
			break
		}
	}
	return fmt.Errorf("%w: %s", ErrDeadlock, strings.Join(list, "; "))
}
