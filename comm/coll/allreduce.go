package coll

import "github.com/kernbench/kernbench/numeric"

// reduceAll runs an all_reduce or a reduce; in a reduce only the root takes the result. If
// the data is small, every rank that takes the result combines all of it. If the data is
// large, each rank combines one part, and the other ranks copy the result of that part. If
// all buffers are resident, nothing is staged: each rank combines its part of all sources
// and writes the result to all destinations.
func (g *Group) reduceAll(c *call) error {
	c.onePhase = g.n == 1 || c.algorithm == DirectOnePhase || c.algorithm == Auto && Pick(g.n, c.bytes()) == DirectOnePhase
	chunk := g.slot
	steps := int64(max(1, (c.bytes()+chunk-1)/chunk))
	base := g.steps
	g.steps += steps
	if err := g.begin(c); err != nil {
		return err
	}
	ownResident := g.resident(c, g.rank)
	if !ownResident { // all ranks will use slots, so peers can begin as soon as this rank enters
		if err := g.stageChunk(c, base+1, 0); err != nil {
			return err
		}
	}
	if err := g.announceEntry(c); err != nil {
		return err
	}
	if err := g.forEachPeer(func(peer int) error { return g.awaitEntry(c, peer) }); err != nil {
		return err
	}
	if g.allResident(c) {
		return g.reduceInWindows(c, base+1)
	}
	if ownResident {
		if err := g.stageChunk(c, base+1, 0); err != nil {
			return err
		}
		if err := g.raiseAll(c, "data", staged, base+1); err != nil {
			return err
		}
	}
	for s := range steps {
		if err := g.awaitStaged(c, base, s); err != nil {
			return err
		}
		from := int(s) * chunk
		n := min(chunk, c.bytes()-from)
		// A rank announces step s+1 only after it has read the slots of step s. So their
		// owners can reuse them in step s+2.
		if c.onePhase && g.wantsResult(c) {
			if err := g.combine(c, g.allSources(c, g.stagedAt(base+s+1), from, false), n, false, c.dst[from:from+n]); err != nil {
				return err
			}
		}
		if s+1 < steps {
			if err := g.stageChunk(c, base+s+2, int(s+1)*chunk); err != nil {
				return err
			}
			if err := g.raiseAll(c, "data", staged, base+s+2); err != nil {
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

// Pick returns the algorithm that Auto uses for an all_reduce or a reduce of private
// buffers of the given size. For buffers of at most 64 KiB divided by the number of ranks,
// Pick returns DirectOnePhase, which exchanges signals once. For larger buffers it returns
// Direct, which exchanges signals twice.
func Pick(ranks, bytes int) Algorithm {
	if bytes <= (64<<10)/ranks {
		return DirectOnePhase
	}
	return Direct
}

// resident reports whether src and dst of a rank are in windows. In a reduce only the root
// has a dst.
func (g *Group) resident(c *call, rank int) bool {
	return c.srcPlaces[rank].window != 0 && (c.dstPlaces[rank].window != 0 || c.kind == KindReduce && rank != c.root)
}

// allResident reports whether the buffers of all ranks are in windows and are not empty.
func (g *Group) allResident(c *call) bool {
	for rank := range g.n {
		if !g.resident(c, rank) {
			return false
		}
	}
	return c.count > 0
}

// raiseAll sets this rank's signal of the given kind to the value `step`, at all other
// ranks.
func (g *Group) raiseAll(c *call, phase string, kind int, step int64) error {
	return g.forEachPeer(func(peer int) error { return g.raise(c, phase, kind, peer, step) })
}

// stageChunk stages, for the given step, the chunk of this rank's src that begins at byte
// `from`. It leaves out the data that no other rank reads. With the algorithm Direct, this
// is the part that this rank combines itself. With DirectOnePhase, it is the whole chunk if
// only this rank takes the result.
func (g *Group) stageChunk(c *call, step int64, from int) error {
	if err := g.awaitFreeSlot(c, step); err != nil {
		return err
	}
	n := min(g.slot, c.bytes()-from)
	at := g.stagedAt(step)
	lo, hi := n, n
	switch {
	case !c.onePhase:
		lo, hi = part(n, g.rank, g.n)
	case c.kind == KindReduce && g.wantsResult(c):
		lo = 0
	}
	g.stage(at, c.src[from:from+lo])
	g.stage(at+hi, c.src[from+hi:from+n])
	return nil
}

// part returns the offsets at which the part of a rank begins and ends when n bytes are
// divided among all ranks. Parts begin at cache lines.
func part(n, rank, ranks int) (lo, hi int) {
	cut := func(i int) int { return min(n, (n/ranks*i+n%ranks*i/ranks+63)/64*64) }
	if rank == ranks-1 {
		return cut(rank), n
	}
	return cut(rank), cut(rank + 1)
}

// awaitStaged waits until all ranks have staged their data for step s of the call, counted
// from 0. base is the number of the last step before the call. Ranks with private buffers
// have staged the data of step 0 when they enter the call.
func (g *Group) awaitStaged(c *call, base, s int64) error {
	return g.forEachPeer(func(peer int) error {
		if s == 0 && !g.resident(c, peer) {
			return nil
		}
		return g.wait(c, "data", staged, peer, base+s+1)
	})
}

// wantsResult reports whether this rank takes the result of the all_reduce or reduce c. In
// a reduce only the root does.
func (g *Group) wantsResult(c *call) bool { return c.kind == KindAllReduce || g.rank == c.root }

// combineParts combines this rank's part of a chunk and offers the result to the other
// ranks. Then it copies the results of the parts that other ranks combine. The chunk has n
// bytes and begins at byte `from`.
func (g *Group) combineParts(c *call, step int64, from, n int) error {
	lo, hi := part(n, g.rank, g.n)
	result := g.window.Local()[g.resultAt(step)+lo : g.resultAt(step)+hi]
	sources := g.allSources(c, g.stagedAt(step)+lo, from+lo, false)
	copyLater := c.bytes() >= streamFrom
	g.copied += int64(len(result))
	var err error
	if copyLater || !g.wantsResult(c) {
		err = g.combine(c, sources, hi-lo, false, result)
	} else {
		err = g.combine(c, sources, hi-lo, false, c.dst[from+lo:from+hi], result)
	}
	if err != nil {
		return err
	}
	if err := g.raiseAll(c, "result", reduced, step); err != nil {
		return err
	}
	// This copy follows the signal, so that peers do not wait for the copy. Stores that
	// bypass the caches are faster here.
	if copyLater && g.wantsResult(c) {
		numeric.CopyStreaming(c.dst[from+lo:from+hi], result)
	}
	return g.forEachPeer(func(peer int) error {
		if err := g.wait(c, "result", reduced, peer, step); err != nil || !g.wantsResult(c) {
			return err
		}
		lo, hi := part(n, peer, g.n)
		return g.fetch(c, c.dst[from+lo:from+hi], source{window: g.window, off: g.resultAt(step) + lo}, peer)
	})
}

// reduceInWindows runs a call whose buffers are all in windows. It combines this rank's
// part of all sources, and writes the result to every rank, or in a reduce only to the
// root. Then it waits until the other ranks have done the same.
func (g *Group) reduceInWindows(c *call, step int64) error {
	lo, hi := part(c.bytes(), g.rank, g.n)
	if err := g.combineAndWrite(c, g.allSources(c, 0, lo, true), lo, hi-lo); err != nil {
		return err
	}
	if err := g.raiseAll(c, "others write", done, step); err != nil {
		return err
	}
	return g.forEachPeer(func(peer int) error { return g.wait(c, "others write", done, peer, step) })
}

// combineAndWrite combines n bytes of all sources and writes the result to offset lo of the
// dst of every rank that takes the result.
func (g *Group) combineAndWrite(c *call, sources []source, lo, n int) error {
	// In place, the data just read is in the caches, and stores that bypass the caches are
	// slower.
	stream := c.bytes() >= streamFrom && !sameStart(c.dst, c.src)
	if g.n == 2 && c.op != Avg && g.window.Peer(1-g.rank) != nil {
		if c.kind == KindReduce {
			return g.combine(c, sources, n, stream, g.destination(c, c.root)[lo:lo+n])
		}
		return g.combine(c, sources, n, stream, c.dst[lo:lo+n], g.destination(c, 1-g.rank)[lo:lo+n])
	}
	g.blockSources = append(g.blockSources[:0], sources...)
	for off := 0; off < n; off += block {
		m := min(block, n-off)
		for i, s := range sources {
			g.blockSources[i] = s.skip(off)
		}
		sum := g.sum[:m]
		if err := g.combine(c, g.blockSources, m, false, sum); err != nil {
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

// destination returns the dst of a rank. This rank must be able to address it.
func (g *Group) destination(c *call, rank int) []byte {
	if rank == g.rank {
		return c.dst
	}
	at := c.dstPlaces[rank]
	return g.comm.Window(at.window).Peer(rank)[at.off:]
}

// write copies b to offset `off` of the dst of a rank.
func (g *Group) write(c *call, rank, off int, b []byte) error {
	if rank == g.rank {
		copy(c.dst[off:], b)
		return nil
	}
	at := c.dstPlaces[rank]
	return g.comm.Window(at.window).Put(rank, at.off+int64(off), b)
}
