package coll

// pattern is who takes which part of whose data.
type pattern struct {
	fromRoot bool // only the root's; else everybody's
	toRoot   bool // only the root takes; else everybody
	parts    bool // each takes a part of its own; else all take the same
	reduce   bool // what is taken is combined; else it lies side by side, by rank
}

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
	rooted := p.fromRoot || p.toRoot
	isSource, isTaker := !p.fromRoot || g.rank == c.root, !p.toRoot || g.rank == c.root
	chunk := g.chunk(c, p)
	steps := int64(max(1, (c.bytes()+chunk-1)/chunk))
	base := g.steps
	g.steps += steps
	if err := g.begin(c); err != nil {
		return err
	}
	g.unmet = rooted
	mine := c.at[g.rank].window != 0
	allResident := false
	for s := range steps {
		from := int(s) * chunk
		n := min(chunk, c.bytes()-from)
		step := base + s + 1
		if isSource && !mine {
			if s == 1 && rooted { // who is still in the collective before may read this slot
				if err := g.others(func(peer int) error { return g.meet(c, peer) }); err != nil {
					return err
				}
			}
			if err := g.reuse(c, step); err != nil {
				return err
			}
			g.stagePart(c, p, step, from, n)
			if rooted {
				g.awaitReaders(c, p, step)
			}
		}
		switch {
		case s == 0:
			if err := g.enter(c); err != nil {
				return err
			}
		case isSource && (rooted && !mine || !rooted && !allResident):
			if err := g.tellTakers(c, p, step); err != nil {
				return err
			}
		}
		if !isTaker {
			continue
		}
		for i := range g.n {
			peer := (g.rank + i) % g.n
			if p.fromRoot && peer != c.root || peer == g.rank {
				continue
			}
			var err error
			switch {
			case s == 0:
				err = g.meet(c, peer)
			case rooted && c.at[peer].window == 0 || !rooted && !allResident:
				err = g.wait(c, "data", staged, peer, step)
			}
			if err != nil {
				return err
			}
		}
		if s == 0 && !rooted {
			allResident = true
			for _, at := range c.at {
				allResident = allResident && at.window != 0
			}
		}
		if err := g.take(c, p, step, from, n); err != nil {
			return err
		}
		if err := g.acknowledge(c, p, step, s == steps-1); err != nil {
			return err
		}
	}
	if isSource && mine {
		return g.awaitTakers(c, p, base+steps)
	}
	return nil
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
	for i := 1; i < g.n; i++ {
		peer := (g.rank + i) % g.n
		if p.toRoot && peer != c.root {
			continue
		}
		if err := f(peer); err != nil {
			return err
		}
	}
	return nil
}

func (g *Group) tellTakers(c *call, p pattern, step int64) error {
	return g.takers(c, p, func(peer int) error { return g.tell(c, "data", staged, peer, step) })
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
	for i := 1; i < g.n; i++ {
		if peer := (g.rank + i) % g.n; !p.toRoot || peer == c.root {
			u.peers = append(u.peers, peer)
		}
	}
}

// stagePart stages what others take in a step.
func (g *Group) stagePart(c *call, p pattern, step int64, from, n int) {
	at := g.stagedAt(step)
	if !p.parts {
		if p.toRoot && g.rank == c.root {
			return // nobody takes it
		}
		g.stage(at, c.src[from:from+n])
		return
	}
	chunk := g.chunk(c, p)
	for peer := range g.n {
		if peer != g.rank {
			g.stage(at+peer*chunk, c.src[peer*c.bytes()+from:][:n])
		}
	}
}

// take takes this rank's part of a step from all sources.
func (g *Group) take(c *call, p pattern, step int64, from, n int) error {
	slotAt, bufferAt := g.stagedAt(step), from
	if p.parts {
		slotAt += g.rank * g.chunk(c, p)
		bufferAt += g.rank * c.bytes()
	}
	if p.reduce {
		g.sources = g.sources[:0]
		for peer := range g.n {
			g.sources = append(g.sources, g.source(c, peer, slotAt, bufferAt, c.at[peer].window != 0))
		}
		return g.combine(c, g.sources, n, len(c.dst) >= streamFrom, c.dst[from:from+n], nil)
	}
	for i := range g.n {
		peer := (g.rank + i) % g.n
		into := peer*c.bytes() + from
		if p.fromRoot {
			if peer != c.root {
				continue
			}
			into = from
		}
		if err := g.fetch(c, c.dst[into:into+n], g.source(c, peer, slotAt, bufferAt, c.at[peer].window != 0), peer); err != nil {
			return err
		}
	}
	return nil
}

// acknowledge tells those sources that wait for it that their data has been read.
func (g *Group) acknowledge(c *call, p pattern, step int64, last bool) error {
	for i := 1; i < g.n; i++ {
		peer := (g.rank + i) % g.n
		if p.fromRoot && peer != c.root {
			continue
		}
		resident := c.at[peer].window != 0
		if resident && last || !resident && (p.fromRoot || p.toRoot) {
			if err := g.tell(c, "others read", done, peer, step); err != nil {
				return err
			}
		}
	}
	return nil
}
