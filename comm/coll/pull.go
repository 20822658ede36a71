package coll

import "slices"

// pattern is who takes which part of whose data.
type pattern struct {
	fromRoot bool // only the root's; else everybody's
	toRoot   bool // only the root takes; else everybody
	parts    bool // each takes a part of its own; else all take the same
	reduce   bool // what is taken is combined; else it lies side by side, by rank
}

// rooted reports whether not everybody takes from everybody.
func (p pattern) rooted() bool { return p.fromRoot || p.toRoot }

var patterns = map[Kind]pattern{
	KindBroadcast:     {fromRoot: true},
	KindAllGather:     {},
	KindReduceScatter: {parts: true, reduce: true},
	KindAllToAll:      {parts: true},
	KindGather:        {toRoot: true},
	KindScatter:       {fromRoot: true, parts: true},
}

// pull does a collective in which takers read the data of sources, in steps if it does
// not fit into a slot. Sources stage their data in slots by turns, unless it lies in a
// window anyway.
//
// A slot is written again two steps later. That all takers have read it by then a
// source knows: where everybody takes from everybody, from the signals of the step in
// between, which takers send after they have read; else they acknowledge each step.
// Two slots may hold data of collectives before. Of the first, whoever has entered the
// last collective has read it, or this rank knew before it left that one. Of the second
// it takes that everybody has entered this one, takers or not.
func (g *Group) pull(c *call) error {
	p := patterns[c.kind]
	chunk := g.chunk(c, p)
	steps := max(1, (c.bytes()+chunk-1)/chunk)
	base := g.steps
	g.steps += int64(steps)
	if err := g.begin(c); err != nil {
		return err
	}
	g.unmet = p.rooted()
	isSource, isTaker := !p.fromRoot || g.rank == c.root, !p.toRoot || g.rank == c.root
	for i := range steps {
		s := step{number: base + int64(i) + 1, first: i == 0, last: i == steps-1, from: i * chunk, n: min(chunk, c.bytes()-i*chunk)}
		if isSource {
			if err := g.offer(c, p, s, i == 1); err != nil {
				return err
			}
		} else if s.first {
			if err := g.enter(c); err != nil {
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
	if isSource && c.at[g.rank].window != 0 {
		return g.awaitTakers(c, p, base+int64(steps))
	}
	return nil
}

// step is a part of a collective: n bytes, from a byte on, of what each takes.
type step struct {
	number      int64 // of all steps of the group
	first, last bool
	from, n     int
}

// offer lets others read this rank's data of a step.
func (g *Group) offer(c *call, p pattern, s step, second bool) error {
	mine := c.at[g.rank].window != 0
	if !mine {
		if second && p.rooted() { // who is still in the collective before may read this slot
			if err := g.others(func(peer int) error { return g.meet(c, peer) }); err != nil {
				return err
			}
		}
		if err := g.reuse(c, s.number); err != nil {
			return err
		}
		g.stagePart(c, p, s)
		if p.rooted() {
			g.awaitReaders(c, p, s.number)
		}
	}
	if s.first {
		return g.enter(c)
	}
	if p.rooted() && !mine || !p.rooted() && !g.allFound(c) {
		return g.takers(c, p, func(peer int) error { return g.tell(c, "data", staged, peer, s.number) })
	}
	return nil
}

// awaitData waits until all data that this rank takes in a step can be read.
func (g *Group) awaitData(c *call, p pattern, s step) error {
	return g.others(func(peer int) error {
		switch {
		case p.fromRoot && peer != c.root:
			return nil
		case s.first:
			return g.meet(c, peer)
		case p.rooted() && c.at[peer].window == 0 || !p.rooted() && !g.allFound(c):
			return g.wait(c, "data", staged, peer, s.number)
		}
		return nil
	})
}

// allFound reports whether everybody's data lies in windows. Ranks that have met know,
// and need no signals then: nothing is staged.
func (g *Group) allFound(c *call) bool {
	return !slices.ContainsFunc(c.at, func(at place) bool { return at.window == 0 })
}

// chunk is how many bytes each takes from a source in a step. What only the root has
// others can read while it stages the next.
func (g *Group) chunk(c *call, p pattern) int {
	switch {
	case p.parts:
		return g.slot / g.n / 64 * 64
	case p.fromRoot:
		return min(g.slot, max(16<<10, min(c.bytes()/8, 256<<10)/64*64))
	}
	return g.slot
}

// takers calls f with every other rank that takes from this one.
func (g *Group) takers(c *call, p pattern, f func(peer int) error) error {
	return g.others(func(peer int) error {
		if p.toRoot && peer != c.root {
			return nil
		}
		return f(peer)
	})
}

func (g *Group) awaitTakers(c *call, p pattern, step int64) error {
	return g.takers(c, p, func(peer int) error {
		if err := g.meet(c, peer); err != nil {
			return err
		}
		return g.wait(c, "others read", done, peer, step)
	})
}

// awaitReaders notes who is to acknowledge a step.
func (g *Group) awaitReaders(c *call, p pattern, step int64) {
	u := &g.used[step&1]
	u.step = step
	g.takers(c, p, func(peer int) error {
		u.peers = append(u.peers, peer)
		return nil
	})
}

// stagePart stages what others take in a step.
func (g *Group) stagePart(c *call, p pattern, s step) {
	at := g.stagedAt(s.number)
	if !p.parts {
		if p.toRoot && g.rank == c.root {
			return // nobody takes it
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

// take takes this rank's part of a step from all sources.
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

// acknowledge tells those sources that wait for it that their data has been read.
func (g *Group) acknowledge(c *call, p pattern, s step) error {
	return g.others(func(peer int) error {
		resident := c.at[peer].window != 0
		if p.fromRoot && peer != c.root || resident && !s.last || !resident && !p.rooted() {
			return nil
		}
		return g.tell(c, "others read", done, peer, s.number)
	})
}
