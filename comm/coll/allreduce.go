package coll

import "github.com/kernbench/kernbench/numeric"

// reduceAll does all_reduce and reduce, whose result only the root takes. Small data is
// combined by everybody who wants it; of large data each rank combines a part, and
// the others take it from there. Where all buffers lie in windows nothing is staged:
// each rank combines its part of everybody's buffers and writes it to all of them.
func (g *Group) reduceAll(c *call) error {
	c.onePhase = g.n == 1 || c.algorithm == DirectOnePhase || c.algorithm == Auto && Pick(g.n, c.bytes()) == DirectOnePhase
	chunk := g.slot
	steps := int64(max(1, (c.bytes()+chunk-1)/chunk))
	base := g.steps
	g.steps += steps
	if err := g.begin(c); err != nil {
		return err
	}
	mine := g.resident(c, g.rank)
	if !mine { // then nobody works on windows, and others can begin at once
		if err := g.stageAll(c, base+1, 0); err != nil {
			return err
		}
	}
	if err := g.enter(c); err != nil {
		return err
	}
	if err := g.others(func(peer int) error { return g.meet(c, peer) }); err != nil {
		return err
	}
	if g.allResident(c) {
		return g.onWindows(c, base+1)
	}
	if mine {
		if err := g.stageAll(c, base+1, 0); err != nil {
			return err
		}
		if err := g.tellAll(c, "data", staged, base+1); err != nil {
			return err
		}
	}
	for s := range steps {
		if err := g.awaitStaged(c, base, s); err != nil {
			return err
		}
		from := int(s) * chunk
		n := min(chunk, c.bytes()-from)
		if c.onePhase && g.wants(c) { // everybody reads the slots: who stages the next has read the last
			if err := g.combine(c, g.allSources(c, g.stagedAt(base+s+1), from, false), n, false, c.dst[from:from+n]); err != nil {
				return err
			}
		}
		if s+1 < steps {
			if err := g.stageAll(c, base+s+2, int(s+1)*chunk); err != nil {
				return err
			}
			if err := g.tellAll(c, "data", staged, base+s+2); err != nil {
				return err
			}
		}
		if !c.onePhase {
			if err := g.combineParts(c, base+s+1, from, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// Pick is what Auto stands for in an all_reduce or a reduce of private buffers: up to a
// size everybody who wants the result combines all of it, which takes one exchange of
// signals instead of two.
func Pick(ranks, bytes int) Algorithm {
	if bytes <= (64<<10)/ranks {
		return DirectOnePhase
	}
	return Direct
}

// resident reports whether a rank's buffers are where others can reach them. Of a
// reduce only the root has a destination.
func (g *Group) resident(c *call, rank int) bool {
	return c.at[rank].window != 0 && (c.into[rank].window != 0 || c.kind == KindReduce && rank != c.root)
}

func (g *Group) allResident(c *call) bool {
	for rank := range g.n {
		if !g.resident(c, rank) {
			return false
		}
	}
	return c.count > 0
}

func (g *Group) tellAll(c *call, phase string, kind int, step int64) error {
	return g.others(func(peer int) error { return g.tell(c, phase, kind, peer, step) })
}

// stageAll stages a chunk, but what this rank alone combines: its part if there are
// parts, and all of it if nobody else wants the result.
func (g *Group) stageAll(c *call, step int64, from int) error {
	if err := g.reuse(c, step); err != nil {
		return err
	}
	n := min(g.slot, c.bytes()-from)
	at := g.stagedAt(step)
	lo, hi := n, n
	switch {
	case !c.onePhase:
		lo, hi = part(n, g.rank, g.n)
	case c.kind == KindReduce && g.wants(c):
		lo = 0
	}
	g.stage(at, c.src[from:from+lo])
	g.stage(at+hi, c.src[from+hi:from+n])
	return nil
}

// part is where the part of a rank of n bytes begins and ends, at lines of the cache.
func part(n, rank, ranks int) (lo, hi int) {
	cut := func(i int) int { return min(n, (n/ranks*i+n%ranks*i/ranks+63)/64*64) }
	if rank == ranks-1 {
		return cut(rank), n
	}
	return cut(rank), cut(rank + 1)
}

// awaitStaged waits until everybody has staged a step. Private data was staged when
// its rank entered.
func (g *Group) awaitStaged(c *call, base, s int64) error {
	return g.others(func(peer int) error {
		if s == 0 && !g.resident(c, peer) {
			return nil
		}
		return g.wait(c, "data", staged, peer, base+s+1)
	})
}

// wants reports whether this rank takes the result.
func (g *Group) wants(c *call) bool { return c.kind == KindAllReduce || g.rank == c.root }

// combineParts combines this rank's part of a chunk for all, and takes the others.
func (g *Group) combineParts(c *call, step int64, from, n int) error {
	lo, hi := part(n, g.rank, g.n)
	result := g.window.Local()[g.resultAt(step)+lo : g.resultAt(step)+hi]
	sources := g.allSources(c, g.stagedAt(step)+lo, from+lo, false)
	late := c.bytes() >= streamFrom
	g.copied += int64(len(result))
	var err error
	if late || !g.wants(c) {
		err = g.combine(c, sources, hi-lo, false, result)
	} else {
		err = g.combine(c, sources, hi-lo, false, c.dst[from+lo:from+hi], result)
	}
	if err != nil {
		return err
	}
	if err := g.tellAll(c, "result", reduced, step); err != nil {
		return err
	}
	if late && g.wants(c) { // others have the result by now, and stores past the caches are faster
		numeric.CopyStreaming(c.dst[from+lo:from+hi], result)
	}
	return g.others(func(peer int) error {
		if err := g.wait(c, "result", reduced, peer, step); err != nil || !g.wants(c) {
			return err
		}
		lo, hi := part(n, peer, g.n)
		return g.fetch(c, c.dst[from+lo:from+hi], source{window: g.window, off: g.resultAt(step) + lo}, peer)
	})
}

// onWindows combines this rank's part of everybody's buffers, and writes it to those
// that want it.
func (g *Group) onWindows(c *call, step int64) error {
	lo, hi := part(c.bytes(), g.rank, g.n)
	if err := g.combineTo(c, g.allSources(c, 0, lo, true), lo, hi-lo); err != nil {
		return err
	}
	if err := g.tellAll(c, "others write", done, step); err != nil {
		return err
	}
	return g.others(func(peer int) error { return g.wait(c, "others write", done, peer, step) })
}

// combineTo combines sources and writes n bytes at lo of all destinations.
func (g *Group) combineTo(c *call, sources []source, lo, n int) error {
	// What has just been read is in the caches, and stores that go past them would lose.
	stream := c.bytes() >= streamFrom && !same(c.dst, c.src)
	if g.n == 2 && c.op != Avg && g.window.Peer(1-g.rank) != nil {
		if c.kind == KindReduce {
			return g.combine(c, sources, n, stream, g.destination(c, c.root)[lo:lo+n])
		}
		return g.combine(c, sources, n, stream, c.dst[lo:lo+n], g.destination(c, 1-g.rank)[lo:lo+n])
	}
	g.blocks = append(g.blocks[:0], sources...)
	for off := 0; off < n; off += block {
		m := min(block, n-off)
		for i, s := range sources {
			g.blocks[i] = s.from(off)
		}
		sum := g.sum[:m]
		if err := g.combine(c, g.blocks, m, false, sum); err != nil {
			return err
		}
		for i := range g.n {
			peer := (g.rank + i) % g.n
			if c.kind == KindReduce && peer != c.root {
				continue
			}
			if err := g.write(c, peer, lo+off, sum); err != nil {
				return err
			}
		}
	}
	return nil
}

// destination is the buffer of a rank, which can be addressed.
func (g *Group) destination(c *call, rank int) []byte {
	if rank == g.rank {
		return c.dst
	}
	at := c.into[rank]
	return g.comm.Window(at.window).Peer(rank)[at.off:]
}

// write writes to a rank's destination.
func (g *Group) write(c *call, rank, off int, b []byte) error {
	if rank == g.rank {
		copy(c.dst[off:], b)
		return nil
	}
	at := c.into[rank]
	return g.comm.Window(at.window).Put(rank, at.off+int64(off), b)
}
