package procpe

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/tl"
)

// Put writes a tile into the part of a window that a peer holds: what lies in one piece
// by one put, from the tile.
func (c *core) Put(peer int, v tl.Value, to tl.Block) error {
	c.delay()
	tile, err := c.tiles.use(&v)
	if err != nil {
		return err
	}
	w, member, x, err := c.atPeer(peer, &to)
	if err != nil {
		return err
	}
	return x.each(func(at, in, n int64) error { return w.Put(member, at, tile[in:in+n]) })
}

// Get reads a tile from the part of a window that a peer holds.
func (c *core) Get(peer int, v *tl.Value, from tl.Block) error {
	c.delay()
	w, member, x, err := c.atPeer(peer, &from)
	if err != nil {
		return err
	}
	tile, err := c.tiles.add(v)
	if err != nil {
		return err
	}
	c.fill(&from, tile)
	return x.each(func(at, in, n int64) error { return w.Get(member, at, tile[in:in+n]) })
}

// atPeer is the window that a block is in, the peer's rank in it, and the block in the
// peer's part.
func (c *core) atPeer(peer int, b *tl.Block) (w *comm.Window, member int, x box, err error) {
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
	x.at += r.offset
	return r.window, member, x, nil
}

// Notify changes a signal of a peer.
func (c *core) Notify(peer, signal int, op tl.SignalOp, value int64) error {
	c.delay()
	if err := c.isSignal(signal); err != nil {
		return err
	}
	return c.signals.Notify(peer, signal, op, value)
}

// WaitSignal waits until a signal of this rank compares true.
func (c *core) WaitSignal(signal int, cmp tl.Cmp, value int64) error {
	_, err := c.waitAny(append(c.conditions[:0], comm.Condition{Signal: signal, Cmp: cmp, Value: value}))
	return err
}

// TestSignal reports whether it does now. If it does not, other workers go on first: a
// kernel that asks in a loop may wait for what they do.
func (c *core) TestSignal(signal int, cmp tl.Cmp, value int64) (bool, error) {
	if err := c.isSignal(signal); err != nil {
		return false, err
	}
	holds, err := c.signals.TestSignal(signal, cmp, value)
	if holds || err != nil || c.pause == nil {
		return holds, err
	}
	return false, c.pause()
}

// Barrier returns the state of the barrier on a signal, which all workers of the rank share.
func (c *core) Barrier(signal int) *tl.Barrier {
	b := c.barriers[signal]
	if b == nil {
		b = &tl.Barrier{}
		c.barriers[signal] = b
	}
	return b
}

// NoSignal is the error of a signal that a kernel does not have.
func NoSignal(n, signals int) error {
	has := "none"
	if signals > 0 {
		has = fmt.Sprintf("0 to %d", signals-1)
	}
	return fmt.Errorf("no signal %d: this kernel has %s; a scenario says how many with signals: %d", n, has, max(n, 0)+1)
}

func (c *core) isSignal(n int) error {
	if n < 0 || n >= c.bank {
		return NoSignal(n, c.bank)
	}
	return nil
}

// waitAny waits until one of some conditions, which are the core's to keep, is so.
func (c *core) waitAny(conditions []comm.Condition, locals ...local) (int, error) {
	c.conditions = conditions
	c.delay()
	for _, s := range conditions {
		if err := c.isSignal(s.Signal); err != nil {
			return 0, err
		}
	}
	return c.await(conditions, locals...)
}

func (c *core) delay() {
	if c.options.Delay != nil {
		c.options.Delay()
	}
}

// tiles is the tiles of a kernel. A kernel does not say when it has done with one, so
// they go as they do from TCM: when there are too many bytes of them, those that were
// not used for longest. A slot and its turn name a tile.
type tiles struct {
	limit, used int64
	slots       []slot // the first is no tile: before it in the ring is the newest, behind it the oldest
	unused      []int32
	spare       []byte // of the last tile that went
}

type slot struct {
	bytes        []byte
	turn         uint32
	pinned       bool
	older, newer int32
}

// overhead is what a tile costs beside its bytes.
const overhead = 64

func cost(bytes int) int64 { return int64(bytes) + overhead }

// add is the bytes of a new tile, with anything in them. Tiles in the slots to keep stay.
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

// use is the bytes of a tile, which becomes the newest.
func (t *tiles) use(v *tl.Value) ([]byte, error) {
	s := &t.slots[v.Slot]
	if s.turn != v.Turn {
		return nil, fmt.Errorf("the tile is no longer there: it was freed, or %d bytes of others came after its last use; Pin it, or Free others", t.limit)
	}
	t.unlink(v.Slot)
	t.link(v.Slot)
	return s.bytes, nil
}

// drop ends a tile.
func (t *tiles) drop(i int32) {
	s := &t.slots[i]
	t.used -= cost(len(s.bytes))
	t.spare, s.bytes, s.pinned = s.bytes, nil, false
	s.turn++
	t.unlink(i)
	t.unused = append(t.unused, i)
}

// clear ends all tiles.
func (t *tiles) clear() {
	for len(t.slots) > 0 && t.slots[0].newer != 0 {
		t.drop(t.slots[0].newer)
	}
	t.spare = nil
}

func (t *tiles) link(i int32) {
	newest := t.slots[0].older
	t.slots[i].older, t.slots[i].newer = newest, 0
	t.slots[newest].newer, t.slots[0].older = i, i
}

func (t *tiles) unlink(i int32) {
	s := &t.slots[i]
	t.slots[s.older].newer, t.slots[s.newer].older = s.newer, s.older
}
