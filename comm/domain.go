package comm

import (
	"fmt"
	"hash/fnv"
	"slices"
)

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
	m := message{what: newDomain, values: [3]uint64{uint64(len(ranks)), hash(ranks)}}
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

func hash(ranks []int) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, ranks)
	return h.Sum64()
}

// RankOf is the rank in this communicator of a rank of the world: an error if it is
// no member.
func (c *Comm) RankOf(world int) (int, error) {
	if i := slices.Index(c.ranks, world); i >= 0 {
		return i, nil
	}
	return 0, c.errorAt(at("rank", "").with(world), fmt.Errorf("%w %v", ErrNotMember, c.ranks))
}
