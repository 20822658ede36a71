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

// world is the state of one rank. All communicators of the rank refer to the same world.
type world struct {
	ctx            context.Context
	link           Link
	rank, size     int
	timeout        time.Duration
	oversubscribed bool
	ctrl           *control
	poison         atomic.Pointer[Error]
	condition      wordCondition
	snapshot       []rankState // by rank, taken when all ranks were asleep; nil if some rank was awake
}

// abortedBy returns the rank in the world that failed first, according to the reports that
// this rank has received. It returns -1 if no rank has failed.
func (w *world) abortedBy() int { return int(atomic.LoadUint64(word(w.ctrl.local, 0))) - 1 }

// poisonPeers reports the failure e to all other ranks, so that their operations fail too.
// It ignores errors, because the other ranks may have ended.
func (w *world) poisonPeers(e *Error) {
	firstFailed := w.rank
	if failed := w.abortedBy(); failed >= 0 {
		firstFailed = failed // pass on the rank that failed first
	}
	copy(w.ctrl.local[cacheLine:cacheLine+textBytes-1], e.Error())
	for peer := range others(w.rank, w.size) {
		if _, err := w.ctrl.CompareAndSwap(peer, 0, 0, uint64(firstFailed)+1); err == nil {
			w.link.Wake(peer)
		}
	}
}

// readReason returns an ErrPeer with the reason that a failed rank has written to its
// control memory.
func (w *world) readReason(rank int) error {
	reason, err := w.readText(rank, cacheLine, textBytes)
	if err != nil {
		return fmt.Errorf("%w, and its reason cannot be read: %w", ErrPeer, err)
	}
	return fmt.Errorf("%w: %s", ErrPeer, reason)
}

// readText reads a text from the control memory of a rank. The text begins at offset `at`,
// ends with a 0 byte, and is shorter than `most` bytes.
func (w *world) readText(rank int, at int64, most int) (string, error) {
	b := make([]byte, most)
	err := w.ctrl.Get(rank, at, b)
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b), err
}

// Domain creates a communicator of the given ranks of this communicator. ranks[i] has rank
// i in the domain. All members, and only they, call Domain with the same list. A domain has
// its own windows and barriers. Domains may have members in common and may be used at the
// same time. Ranks that are in several domains must create the domains in a common order,
// such as the order of the domains' first ranks.
func (c *Comm) Domain(ranks ...int) (*Comm, error) {
	p := newPlace("domain", "")
	if err := c.checkUsable(p); err != nil {
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
	m := message{kind: newDomain, values: [3]uint64{uint64(len(ranks)), hash.Sum64()}}
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

// RankOf converts a rank in the world to the rank in this communicator. It returns an error
// if the rank is not a member.
func (c *Comm) RankOf(world int) (int, error) {
	if i := slices.Index(c.ranks, world); i >= 0 {
		return i, nil
	}
	return 0, c.errorAt(newPlace("rank", "").withPeer(world), fmt.Errorf("%w %v", ErrNotMember, c.ranks))
}
