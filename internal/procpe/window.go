package procpe

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/tl"
)

// Put writes tile v to the block `to` in a peer's part of a window. It calls
// [comm.Window.Put] once for each contiguous run of the block.
func (c *core) Put(peer int, v tl.Value, to tl.Block) error {
	c.delay()
	tile, err := c.tiles.use(&v)
	if err != nil {
		return err
	}
	w, member, x, err := c.locateAtPeer(peer, &to)
	if err != nil {
		return err
	}
	return x.each(func(at, in, n int64) error { return w.Put(member, at, tile[in:in+n]) })
}

// Get reads the block `from` in a peer's part of a window into the new tile v.
func (c *core) Get(peer int, v *tl.Value, from tl.Block) error {
	c.delay()
	w, member, x, err := c.locateAtPeer(peer, &from)
	if err != nil {
		return err
	}
	tile, err := c.tiles.add(v)
	if err != nil {
		return err
	}
	c.fillMasked(&from, tile)
	return x.each(func(at, in, n int64) error { return w.Get(member, at, tile[in:in+n]) })
}

// locateAtPeer finds block b at a peer. It returns the window w of the block, the rank of
// the peer in the communicator of that window, and the runs of the block in the peer's
// part. It returns an error if the block is not in a window, or if the peer has no part of
// the window.
func (c *core) locateAtPeer(peer int, b *tl.Block) (w *comm.Window, member int, x blockRuns, err error) {
	r, x, err := c.locate(b)
	if err != nil {
		return nil, 0, x, err
	}
	if r.window == nil {
		return nil, 0, x, fmt.Errorf("%s is memory of this rank's own: Put and Get are for tensors in a window", r.name)
	}
	member = slices.Index(r.members, c.world[peer])
	if member < 0 {
		return nil, 0, x, fmt.Errorf("rank %d of the world has no part of %s, whose window is shared by %v: use a window that the peer is a member of", c.world[peer], r.name, r.members)
	}
	x.start += r.offset
	return r.window, member, x, nil
}

// Notify changes a signal of a peer: depending on `op`, it sets the signal to `value` or
// adds `value` to it.
func (c *core) Notify(peer, signal int, op tl.SignalOp, value int64) error {
	c.delay()
	if err := c.checkSignal(signal); err != nil {
		return err
	}
	return c.signals.Notify(peer, signal, op, value)
}

// WaitSignal waits until the comparison `cmp` of a signal of this rank with `value` is
// true.
func (c *core) WaitSignal(signal int, cmp tl.Cmp, value int64) error {
	_, err := c.waitAny(append(c.conditions[:0], comm.Condition{Signal: signal, Cmp: cmp, Value: value}))
	return err
}

// TestSignal reports whether the comparison `cmp` of a signal of this rank with `value` is
// true now. If the comparison is false, other workers run before TestSignal returns,
// because a kernel that polls in a loop may depend on them.
func (c *core) TestSignal(signal int, cmp tl.Cmp, value int64) (bool, error) {
	if err := c.checkSignal(signal); err != nil {
		return false, err
	}
	holds, err := c.signals.TestSignal(signal, cmp, value)
	if holds || err != nil || c.pause == nil {
		return holds, err
	}
	return false, c.pause()
}

// Barrier returns the state of the barrier that uses the given signal. All workers of the
// rank share this state.
func (c *core) Barrier(signal int) *tl.Barrier {
	b := c.barriers[signal]
	if b == nil {
		b = &tl.Barrier{}
		c.barriers[signal] = b
	}
	return b
}

// NoSignalError returns the error of a kernel that uses signal n, which does not exist.
// `signals` is the number of signals that the kernel has.
func NoSignalError(n, signals int) error {
	has := "none"
	if signals > 0 {
		has = fmt.Sprintf("0 to %d", signals-1)
	}
	return fmt.Errorf("no signal %d: this kernel has %s; a scenario says how many with signals: %d", n, has, max(n, 0)+1)
}

// checkSignal returns an error if the kernel has no signal n.
func (c *core) checkSignal(n int) error {
	if n < 0 || n >= c.bank {
		return NoSignalError(n, c.bank)
	}
	return nil
}

// waitAny waits until one of `conditions` or `locals` is true and returns its index. The
// indices of `locals` follow those of `conditions`. waitAny keeps the slice `conditions`
// for reuse.
func (c *core) waitAny(conditions []comm.Condition, locals ...localWait) (int, error) {
	c.conditions = conditions
	c.delay()
	for _, s := range conditions {
		if err := c.checkSignal(s.Signal); err != nil {
			return 0, err
		}
	}
	return c.await(conditions, locals...)
}

// delay calls Options.Delay, if it is set.
func (c *core) delay() {
	if c.options.Delay != nil {
		c.options.Delay()
	}
}

// tiles holds the tiles of a kernel. A kernel need not free tiles. As in TCM, the least
// recently used tiles are evicted when all tiles take more than limit bytes. A tile is
// identified by its slot and the slot's turn.
type tiles struct {
	limit, used int64  // bytes, including the overhead of each tile
	slots       []slot // slot 0 is the head of a ring: its older is the newest tile, its newer the oldest
	unused      []int32
	spare       []byte // memory of the tile that was dropped last, for reuse
}

type slot struct {
	bytes        []byte
	turn         uint32 // incremented when a tile takes or leaves the slot
	pinned       bool
	older, newer int32 // neighbours in the order of last use
}

// overhead is the memory in bytes that a tile takes in addition to its data.
const overhead = 64

// cost returns the memory that a tile with the given number of bytes takes, including its
// overhead.
func cost(bytes int) int64 { return int64(bytes) + overhead }

// add creates a tile for v: it sets the slot and the turn of v and returns the bytes of the
// tile, which are not initialized. If needed, it evicts other tiles, except pinned tiles
// and tiles whose slots are in the list `keep`. It returns an error if the new tile still
// does not fit.
func (t *tiles) add(v *tl.Value, keep ...int32) ([]byte, error) {
	if len(t.slots) == 0 {
		t.slots = append(t.slots, slot{})
	}
	n := int(v.Bytes())
	for old := t.slots[0].newer; t.used+cost(n) > t.limit; {
		if old == 0 {
			return nil, fmt.Errorf("no room for a tile of %d bytes: %d of %d are tiles that are pinned or that it is made of; Free some, or use smaller ones", n, t.used, t.limit)
		}
		next := t.slots[old].newer
		if !t.slots[old].pinned && !slices.Contains(keep, old) {
			t.drop(old)
		}
		old = next
	}
	if len(t.unused) == 0 {
		t.unused = append(t.unused, int32(len(t.slots)))
		t.slots = append(t.slots, slot{})
	}
	i := t.unused[len(t.unused)-1]
	t.unused = t.unused[:len(t.unused)-1]
	s := &t.slots[i]
	s.turn++
	if c := cap(t.spare); n <= c && c <= 2*n {
		s.bytes, t.spare = t.spare[:n], nil
	} else {
		s.bytes = make([]byte, n)
	}
	t.used += cost(n)
	t.link(i)
	v.Slot, v.Turn = i, s.turn
	return s.bytes, nil
}

// use returns the bytes of the tile of v and marks the tile as the most recently used. It
// returns an error if the tile was evicted or freed.
func (t *tiles) use(v *tl.Value) ([]byte, error) {
	s := &t.slots[v.Slot]
	if s.turn != v.Turn {
		return nil, fmt.Errorf("the tile is no longer there: it was freed, or %d bytes of others came after its last use; Pin it, or Free others", t.limit)
	}
	t.unlink(v.Slot)
	t.link(v.Slot)
	return s.bytes, nil
}

// drop removes the tile in slot i.
func (t *tiles) drop(i int32) {
	s := &t.slots[i]
	t.used -= cost(len(s.bytes))
	t.spare, s.bytes, s.pinned = s.bytes, nil, false
	s.turn++
	t.unlink(i)
	t.unused = append(t.unused, i)
}

// clear removes all tiles of the kernel.
func (t *tiles) clear() {
	for len(t.slots) > 0 && t.slots[0].newer != 0 {
		t.drop(t.slots[0].newer)
	}
	t.spare = nil
}

// link adds slot i to the ring of slots as the most recently used one.
func (t *tiles) link(i int32) {
	newest := t.slots[0].older
	t.slots[i].older, t.slots[i].newer = newest, 0
	t.slots[newest].newer, t.slots[0].older = i, i
}

// unlink removes slot i from the ring of slots.
func (t *tiles) unlink(i int32) {
	s := &t.slots[i]
	t.slots[s.older].newer, t.slots[s.newer].older = s.newer, s.older
}
