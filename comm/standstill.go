package comm

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"
)

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

// looked says that it has looked in vain.
func (w *world) looked() { w.bump(looksAt) }

// wakes says that it goes on.
func (w *world) wakes() {
	w.seen = nil
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
