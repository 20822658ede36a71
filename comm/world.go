package comm

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync/atomic"
	"time"
)

// world is what a rank has once, however many domains it is in.
type world struct {
	ctx        context.Context
	link       Link
	rank, size int
	timeout    time.Duration
	crowded    bool
	ctrl       *control
	poison     atomic.Pointer[Error]
	look       look
	seen       []sight // of all ranks, when all were last seen to sleep
}

// aborted is the rank that told this one that it failed, -1 if none did.
func (w *world) aborted() int { return int(atomic.LoadUint64(word(w.ctrl.local, 0))) - 1 }

// tell makes the others' operations fail too. It does what it can: they may be gone.
func (w *world) tell(e *Error) {
	culprit := w.rank
	if by := w.aborted(); by >= 0 {
		culprit = by // they hear from the first, or from whoever heard of it
	}
	copy(w.ctrl.local[line:line+textBytes-1], e.Error())
	for peer := range others(w.rank, w.size) {
		if _, err := w.ctrl.CompareAndSwap(peer, 0, 0, uint64(culprit)+1); err == nil {
			w.link.Wake(peer)
		}
	}
}

// told is why another rank says that it failed.
func (w *world) told(by int) error {
	reason, err := w.text(by, line, textBytes)
	if err != nil {
		return fmt.Errorf("%w, and its reason cannot be read: %w", ErrPeer, err)
	}
	return fmt.Errorf("%w: %s", ErrPeer, reason)
}

// text reads a text in the control memory of a rank, which ends with a 0.
func (w *world) text(rank int, at int64, most int) (string, error) {
	b := make([]byte, most)
	err := w.ctrl.Get(rank, at, b)
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b), err
}

// Domain makes a communicator of some ranks of this one, which become its ranks 0, 1,
// ... in the order given. Every member calls it with the same list, nobody else does.
// Domains have their own windows and barriers, may share members and may be used at
// the same time. Where a rank makes several, members make them in an order that lets
// each begin, such as that of their first ranks.
func (c *Comm) Domain(ranks ...int) (*Comm, error) {
	p := at("domain", "")
	if err := c.usable(p); err != nil {
		return nil, err
	}
	for i, r := range ranks {
		if r < 0 || r >= c.size {
			return nil, c.errorAt(p, fmt.Errorf("%w: no rank %d: there are 0 to %d", ErrRange, r, c.size-1))
		}
		if slices.Contains(ranks[:i], r) {
			return nil, c.errorAt(p, fmt.Errorf("%w: rank %d is in the list twice", ErrRange, r))
		}
	}
	me := slices.Index(ranks, c.rank)
	if me < 0 {
		return nil, c.errorAt(p, fmt.Errorf("%w %v: only members make it", ErrNotMember, ranks))
	}
	d := &Comm{world: c.world, rank: me, size: len(ranks)}
	for _, r := range ranks {
		d.ranks = append(d.ranks, c.ranks[r])
	}
	hash := fnv.New64a()
	fmt.Fprint(hash, ranks)
	m := message{what: newDomain, values: [3]uint64{uint64(len(ranks)), hash.Sum64()}}
	handle, err := c.reserve(p, ranks, m, controlBytes(len(ranks)), func(theirs message) error {
		return fmt.Errorf("%w: rank %d makes a domain of the ranks %v, rank %d one of %d others",
			ErrMismatch, c.world.rank, ranks, d.ranks[0], theirs.values[0])
	})
	if err != nil {
		return nil, err
	}
	if err := d.attach(handle); err != nil {
		return nil, c.fail(p, err)
	}
	c.domains = append(slices.DeleteFunc(c.domains, func(o *Comm) bool { return o.closed }), d)
	return d, nil
}

// RankOf is the rank in this communicator of a rank of the world: an error if it is
// no member.
func (c *Comm) RankOf(world int) (int, error) {
	if i := slices.Index(c.ranks, world); i >= 0 {
		return i, nil
	}
	return 0, c.errorAt(at("rank", "").with(world), fmt.Errorf("%w %v", ErrNotMember, c.ranks))
}
