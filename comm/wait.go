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

// A rank waits in three stages. First it only polls a word, which is fastest. Then it also
// yields its core and checks that its peers are alive. In the end it sleeps between polls.
const (
	firstPolls    = 2000                   // polls before the rank reads the clock
	pollsPerCheck = 64                     // polls between two reads of the clock
	yieldAfter    = 500 * time.Microsecond // polling time after which the rank yields: the peer may have no core
	checkEvery    = 2 * time.Millisecond   // interval of the checks that peers are alive
	sleepAfter    = 10 * time.Millisecond  // polling time after which the rank sleeps
	maxSleep      = 50 * time.Millisecond  // longest sleep without a check of the peers
)

// await waits until the comparison cmp of the word *w with v is true. The word must be in
// this rank's own memory. Errors name the operation p.
func (c *Comm) await(w *uint64, cmp tl.Cmp, v int64, p place) error {
	if cmp.Holds(int64(atomic.LoadUint64(w)), v) {
		return nil
	}
	if !c.world.oversubscribed {
		for range firstPolls {
			pause()
			if cmp.Holds(int64(atomic.LoadUint64(w)), v) {
				return nil
			}
		}
	}
	return c.awaitLong(c.world.condition.set(w, cmp, v), p)
}

// wordCondition is the comparison that a rank waits for. All waits of the rank use the same
// closure, so that waits do not allocate.
type wordCondition struct {
	word *uint64
	cmp  tl.Cmp
	v    int64

	holds func() bool
}

// set makes l the comparison of *w with v and returns a function that reports whether the
// comparison is true.
func (l *wordCondition) set(w *uint64, cmp tl.Cmp, v int64) func() bool {
	l.word, l.cmp, l.v = w, cmp, v
	if l.holds == nil {
		l.holds = func() bool { return l.cmp.Holds(int64(atomic.LoadUint64(l.word)), l.v) }
	}
	return l.holds
}

// awaitLong waits until the function `ready` returns true. At first it polls, then it also
// yields the core, and in the end it sleeps between polls. `ready` must read only this
// rank's own memory. Errors name the operation p.
func (c *Comm) awaitLong(ready func() bool, p place) error {
	w := c.world
	start := time.Now()
	lastCheck := start
	asleep := false
	defer func() {
		if asleep { // the rank continues
			w.snapshot = nil
			w.increment(waitsAt)
		}
	}()
	for {
		for range pollsPerCheck {
			if ready() {
				return nil
			}
			if !w.oversubscribed {
				pause()
			}
		}
		if asleep {
			w.increment(pollsAt)
		}
		if failed := w.abortedBy(); failed >= 0 {
			return c.fail(p.withPeer(failed), w.readReason(failed))
		}
		now := time.Now()
		if now.Sub(lastCheck) >= checkEvery {
			lastCheck = now
			if errPlace, err := c.checkPeers(p, now.Sub(start), asleep); err != nil {
				if ready() {
					return nil // the peer did its part before it ended
				}
				if failed := w.abortedBy(); failed >= 0 {
					return c.fail(p.withPeer(failed), w.readReason(failed)) // the peer reported the reason before it ended
				}
				return c.fail(errPlace, err)
			}
		}
		switch {
		case now.Sub(start) >= sleepAfter:
			if !asleep {
				asleep = true
				w.markAsleep(p)
			}
			w.link.Sleep(func() bool { return ready() || w.abortedBy() >= 0 }, maxSleep)
		case w.oversubscribed || now.Sub(start) >= yieldAfter:
			w.link.Sleep(nil, 0)
		}
	}
}

// checkPeers returns an error if waiting longer is useless, together with the place that
// the error must name. The causes are the end of the context, a timeout, a lost or closed
// peer, and a deadlock. checkPeers does not poison the communicator: the caller first
// checks whether the condition of the wait has become true in the meantime.
func (c *Comm) checkPeers(p place, waited time.Duration, asleep bool) (place, error) {
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
	anyOpen := c.size == 1
	for peer := range others(c.rank, c.size) {
		rank := c.ranks[peer]
		barriers, closed := c.ctrl.closedBy(peer, c.size)
		switch {
		case !closed:
			anyOpen = true
		case rank == p.peer || barriers < p.barrier:
			return p.withPeer(rank), fmt.Errorf("%w by that rank", ErrClosed)
		}
	}
	if !anyOpen {
		return p, fmt.Errorf("%w by all other ranks, or they have ended: there is no rank left to wait for", ErrClosed)
	}
	for peer := range others(w.rank, w.size) {
		lost := w.link.Lost(peer)
		if _, closed := w.ctrl.closedBy(peer, w.size); closed || lost == nil { // a rank closes before it ends
			continue
		}
		return p.withPeer(peer), fmt.Errorf("%w: %w", ErrLost, lost)
	}
	if asleep {
		return p, w.checkDeadlock()
	}
	return p, nil
}

// isOversubscribed reports whether there are more ranks than cores. In that case a waiting
// rank must yield its core between polls. Otherwise the ranks that it waits for might have
// no core to run on.
func isOversubscribed(ranks int) bool { return ranks > min(runtime.NumCPU(), runtime.GOMAXPROCS(0)) }

// If every rank sleeps in a wait, no rank will ever change memory: that is a deadlock. The
// rank that detects it reports it.
//
// A rank increments its word waits when it falls asleep and when it continues. If waits is
// odd and does not change, the rank has slept all the time. Suppose a snapshot shows all
// ranks asleep, and since then each rank has polled its memory twice without success. Then
// the second poll of each rank came after the last possible change, and no condition can
// become true any more. Ranks that have closed the communicator change nothing either.

// rankState is a snapshot of the words waits and polls of a rank.
type rankState struct{ waits, polls uint64 }

// increment adds 1 to the word at offset `at` of this rank's control memory, atomically.
func (w *world) increment(at int64) { atomic.AddUint64(word(w.ctrl.local, at), 1) }

// markAsleep marks this rank as asleep in its control memory. It also stores the text of p
// there, which says what the rank waits for.
func (w *world) markAsleep(p place) {
	doing := p.String()
	if p.signal >= 0 {
		doing += fmt.Sprintf(" %v %d", w.condition.cmp, w.condition.v)
	}
	text := w.ctrl.local[doingAt : doingAt+doingBytes]
	clear(text)
	copy(text[:doingBytes-1], doing)
	w.increment(waitsAt)
}

// checkDeadlock returns an error if all ranks sleep and none can ever continue. It is
// called while this rank is asleep. The first call that finds all ranks asleep stores a
// snapshot of the words `waits` and `polls` of each rank. A later call reports a deadlock
// if no `waits` has changed since the snapshot and each `polls` has grown by at least 2.
// Ranks that have closed the communicator count as asleep.
func (w *world) checkDeadlock() error {
	states := make([]rankState, w.size)
	for rank := range states {
		var err error
		if states[rank].waits, err = w.sleepingWaits(rank); err != nil || states[rank].waits == 0 {
			w.snapshot = nil
			return err
		}
	}
	polledTwice := w.snapshot != nil
	for rank := range states {
		polls, err := load(w.ctrl, rank, pollsAt)
		if err != nil {
			return err
		}
		states[rank].polls = polls
		polledTwice = polledTwice && (states[rank].waits == closedWaits || polls >= w.snapshot[rank].polls+2)
	}
	for rank := range states { // check that no rank continued while its polls were read
		waits, err := w.sleepingWaits(rank)
		if err != nil {
			return err
		}
		if waits != states[rank].waits || w.snapshot != nil && waits != w.snapshot[rank].waits {
			w.snapshot = nil
			return nil
		}
	}
	if w.snapshot == nil {
		w.snapshot = states
	}
	if !polledTwice {
		return nil
	}
	return w.deadlockError(states)
}

// closedWaits replaces the word waits in the rankState of a rank that has closed the
// communicator.
const closedWaits = math.MaxUint64

// sleepingWaits returns the word `waits` of a rank if the rank is asleep. It returns
// closedWaits if the rank has closed the communicator, and 0 if the rank is awake.
func (w *world) sleepingWaits(rank int) (uint64, error) {
	if _, closed := w.ctrl.closedBy(rank, w.size); closed && rank != w.rank {
		return closedWaits, nil
	}
	waits, err := load(w.ctrl, rank, waitsAt)
	if waits%2 == 0 {
		return 0, err
	}
	return waits, err
}

// deadlockError returns an error that lists what each rank waits for. `ranks` holds the
// states of all ranks.
func (w *world) deadlockError(ranks []rankState) error {
	const maxListed = 8
	var lines []string
	for rank, s := range ranks {
		doing := "has closed"
		if s.waits != closedWaits {
			var err error
			if doing, err = w.readText(rank, doingAt, doingBytes); err != nil {
				return err
			}
		}
		if lines = append(lines, fmt.Sprintf("rank %d: %s", rank, doing)); len(lines) == maxListed && len(ranks) > maxListed {
			lines = append(lines, fmt.Sprintf("and %d more", len(ranks)-maxListed))
			break
		}
	}
	return fmt.Errorf("%w: %s", ErrDeadlock, strings.Join(lines, "; "))
}
