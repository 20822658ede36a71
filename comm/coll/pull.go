package coll

import "slices"

// pattern describes which ranks are sources of data, which ranks take it, and which part
// they take.
type pattern struct {
	fromRoot bool // only the root is a source; otherwise all ranks are
	toRoot   bool // only the root takes data; otherwise all ranks do
	parts    bool // each rank takes a different part; otherwise all take the same data
	reduce   bool // takers combine the data of the sources; otherwise they concatenate it by rank
}

// rooted reports whether the root has a special role: only the root is a source, or only
// the root takes data.
func (p pattern) rooted() bool { return p.fromRoot || p.toRoot }

var patterns = map[Kind]pattern{
	KindBroadcast:     {fromRoot: true},
	KindAllGather:     {},
	KindReduceScatter: {parts: true, reduce: true},
	KindAllToAll:      {parts: true},
	KindGather:        {toRoot: true},
	KindScatter:       {fromRoot: true, parts: true},
}

// pull runs a collective in which some ranks, the takers, read the data of other ranks, the
// sources. A rank can be both. If the data does not fit into a slot, pull takes several
// steps. Sources stage their data alternately in two slots, unless it is in a window
// already.
//
// A slot is written again two steps later. By then the source knows that all takers have
// read the slot. If all ranks take from all ranks, the source knows this from the signals
// of the step in between, which takers send after they have read. Otherwise takers
// acknowledge each step.
//
// When a call starts, both slots may hold data of earlier calls. The slot of the first step
// is free. If it was written in the last call, this rank learned in that call that all
// takers had read the slot. If it was written before the last call, every rank that has
// entered the last call has read the slot. The slot of the second step is free when all
// ranks, takers or not, have entered this call.
func (g *Group) pull(c *call) error {
	p := patterns[c.kind]
	chunk := g.chunk(c, p)
	steps := max(1, (c.bytes()+chunk-1)/chunk)
	base := g.steps
	g.steps += int64(steps)
	if err := g.begin(c); err != nil {
		return err
	}
	g.uncompared = p.rooted()
	isSource, isTaker := !p.fromRoot || g.rank == c.root, !p.toRoot || g.rank == c.root
	for i := range steps {
		s := step{number: base + int64(i) + 1, first: i == 0, last: i == steps-1, from: i * chunk, n: min(chunk, c.bytes()-i*chunk)}
		if isSource {
			if err := g.offer(c, p, s, i == 1); err != nil {
				return err
			}
		} else if s.first {
			if err := g.announceEntry(c); err != nil {
				return err
			}
		}
		if !isTaker {
			continue
		}
		for _, do := range [...]func(*Group, *call, pattern, step) error{(*Group).awaitData, (*Group).take, (*Group).acknowledge} {
			if err := do(g, c, p, s); err != nil {
				return err
			}
		}
	}
	if isSource && c.srcPlaces[g.rank].window != 0 {
		return g.awaitTakers(c, p, base+int64(steps))
	}
	return nil
}

// step is a step of a collective. It moves n bytes, beginning at byte `from`, of the data
// that each rank takes from each source.
type step struct {
	number      int64 // number of the step, counted over all calls of the group
	first, last bool
	from, n     int
}

// offer makes this rank's data of step s readable for the takers. It stages the data,
// unless the data is in a window. Then it announces the data: in the first step with
// announceEntry, and in later steps with a signal to each taker, unless takers need no
// signal. `second` is true if s is the second step of the call.
func (g *Group) offer(c *call, p pattern, s step, second bool) error {
	ownResident := c.srcPlaces[g.rank].window != 0
	if !ownResident {
		if second && p.rooted() { // a rank that is still in the previous call may read this slot
			if err := g.forEachPeer(func(peer int) error { return g.awaitEntry(c, peer) }); err != nil {
				return err
			}
		}
		if err := g.awaitFreeSlot(c, s.number); err != nil {
			return err
		}
		g.stagePart(c, p, s)
		if p.rooted() {
			g.recordReaders(c, p, s.number)
		}
	}
	if s.first {
		return g.announceEntry(c)
	}
	if p.rooted() && !ownResident || !p.rooted() && !g.allSourcesResident(c) {
		return g.forEachTaker(c, p, func(peer int) error { return g.raise(c, "data", staged, peer, s.number) })
	}
	return nil
}

// awaitData waits until all sources have offered the data that this rank takes in step s.
func (g *Group) awaitData(c *call, p pattern, s step) error {
	return g.forEachPeer(func(peer int) error {
		switch {
		case p.fromRoot && peer != c.root:
			return nil
		case s.first:
			return g.awaitEntry(c, peer)
		case p.rooted() && c.srcPlaces[peer].window == 0 || !p.rooted() && !g.allSourcesResident(c):
			return g.wait(c, "data", staged, peer, s.number)
		}
		return nil
	})
}

// allSourcesResident reports whether the src of every rank is in a window. Then nothing is
// staged, and steps need no signals. The answer is valid only after this rank has compared
// notes with all peers.
func (g *Group) allSourcesResident(c *call) bool {
	return !slices.ContainsFunc(c.srcPlaces, func(at place) bool { return at.window == 0 })
}

// chunk returns the largest number of bytes that a rank takes from one source in one step.
// If only the root is a source, chunks are smaller, so that takers read one chunk while the
// root stages the next.
func (g *Group) chunk(c *call, p pattern) int {
	switch {
	case p.parts:
		return g.slot / g.n / 64 * 64
	case p.fromRoot:
		return min(g.slot, max(16<<10, min(c.bytes()/8, 256<<10)/64*64))
	}
	return g.slot
}

// forEachTaker calls f for every other rank that takes data from this rank. It stops when f
// fails and returns the error.
func (g *Group) forEachTaker(c *call, p pattern, f func(peer int) error) error {
	return g.forEachPeer(func(peer int) error {
		if p.toRoot && peer != c.root {
			return nil
		}
		return f(peer)
	})
}

// awaitTakers waits until all takers have read the data that this rank offered in the given
// step.
func (g *Group) awaitTakers(c *call, p pattern, step int64) error {
	return g.forEachTaker(c, p, func(peer int) error {
		if err := g.awaitEntry(c, peer); err != nil {
			return err
		}
		return g.wait(c, "others read", done, peer, step)
	})
}

// recordReaders records that all takers will read the slot of the given step, so that
// awaitFreeSlot waits for them.
func (g *Group) recordReaders(c *call, p pattern, step int64) {
	u := &g.slotUses[step&1]
	u.step = step
	g.forEachTaker(c, p, func(peer int) error {
		u.peers = append(u.peers, peer)
		return nil
	})
}

// stagePart stages the data that other ranks take from this rank in step s.
func (g *Group) stagePart(c *call, p pattern, s step) {
	at := g.stagedAt(s.number)
	if !p.parts {
		if p.toRoot && g.rank == c.root {
			return // no other rank takes it
		}
		g.stage(at, c.src[s.from:s.from+s.n])
		return
	}
	chunk := g.chunk(c, p)
	for peer := range g.n {
		if peer != g.rank {
			g.stage(at+peer*chunk, c.src[peer*c.bytes()+s.from:][:s.n])
		}
	}
}

// take reads the data that this rank needs in step s. It copies the data of each source to
// dst or, in a reduction, combines the data of all sources into dst.
func (g *Group) take(c *call, p pattern, s step) error {
	slotAt, bufferAt := g.stagedAt(s.number), s.from
	if p.parts {
		slotAt += g.rank * g.chunk(c, p)
		bufferAt += g.rank * c.bytes()
	}
	if p.reduce {
		return g.combine(c, g.allSources(c, slotAt, bufferAt, true), s.n, len(c.dst) >= streamFrom, c.dst[s.from:s.from+s.n])
	}
	for i := range g.n {
		peer := (g.rank + i) % g.n
		into := peer*c.bytes() + s.from
		if p.fromRoot {
			if peer != c.root {
				continue
			}
			into = s.from
		}
		if err := g.fetch(c, c.dst[into:into+s.n], g.source(c, peer, slotAt, bufferAt, true), peer); err != nil {
			return err
		}
	}
	return nil
}

// acknowledge signals that this rank has read the data of step s. It signals only to those
// sources that wait for the signal.
func (g *Group) acknowledge(c *call, p pattern, s step) error {
	return g.forEachPeer(func(peer int) error {
		resident := c.srcPlaces[peer].window != 0
		if p.fromRoot && peer != c.root || resident && !s.last || !resident && !p.rooted() {
			return nil
		}
		return g.raise(c, "others read", done, peer, s.number)
	})
}
