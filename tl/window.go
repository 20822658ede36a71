package tl

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/oplog"
)

// Put writes a tile into a peer's part of a window, at the offset that p has in this PE's
// own part. The peer is a rank of the launch. The window is a tensor argument of the
// launch. To tell the peer that the data has arrived, call [PE.Notify] after Put.
func (t *PE) Put(peer int, p Ptr, x Tile, opts ...Option) {
	if err := t.checkUsable(&x); err != nil {
		panic(t.fail("Put", peerText(peer, x.v.String()), err))
	}
	var b Block
	t.window(&b, "Put", peer, &p, &x.v, opts)
	if err := t.m.Put(peer, x.v, b); err != nil {
		panic(t.fail("Put", peerText(peer, b.String()), err))
	}
}

// Get reads a tile from a peer's part of a window, at the offset that p has in this PE's
// own part.
func (t *PE) Get(peer int, p Ptr, s Shape, dtype DType, opts ...Option) Tile {
	t.v = Value{Shape: t.extents("Get", s, dtype), DType: dtype}
	var b Block
	t.window(&b, "Get", peer, &p, &t.v, opts)
	if err := t.m.Get(peer, &t.v, b); err != nil {
		panic(t.fail("Get", peerText(peer, b.String()), err))
	}
	return Tile{v: t.v, pe: t}
}

// window sets b to the block of a window that a Put of v writes, or a Get of v reads, at a
// peer. It stops the kernel if the block or the peer is invalid.
func (t *PE) window(b *Block, op string, peer int, p *Ptr, v *Value, opts []Option) {
	err := b.inWindow(p, v.Shape, v.DType, opts)
	if err == nil {
		err = t.checkPeer(peer)
	}
	if err != nil {
		panic(t.fail(op, peerText(peer, b.String()), err))
	}
}

// inWindow fills in b like the method `set`. It returns an error if `set` does, or if p
// does not point into a window.
func (b *Block) inWindow(p *Ptr, s oplog.Shape, d DType, opts []Option) error {
	err := b.set(p, s, d, opts)
	switch {
	case err != nil || p.Window != 0:
		return err
	case p.Shard != nil && p.Shard.Part == nil:
		return errors.New("the pointer is to the whole tensor: Put and Get count from the start of a shard, so leave out Whole")
	}
	return errors.New("the pointer is into no window: only tensor arguments of the launch are windows")
}

// Notify changes a signal of a peer by [Set] or [Add]. The change happens after all earlier
// puts of this PE to the peer have arrived.
func (t *PE) Notify(peer, signal int, op SignalOp, v int) {
	err := t.checkPeer(peer)
	if err == nil && op > Add {
		err = fmt.Errorf("no signal operation %d: use Set or Add", op)
	}
	if err == nil {
		err = t.m.Notify(peer, signal, op, int64(v))
	}
	if err != nil {
		panic(t.fail("Notify", peerText(peer, signalText(signal)), err))
	}
}

// WaitSignal waits until a signal of this PE has a value for which the comparison with v is
// true: t.WaitSignal(0, tl.GE, 2) waits until signal 0 is at least 2.
func (t *PE) WaitSignal(signal int, cmp Cmp, v int) {
	err := cmp.check()
	if err == nil {
		err = t.m.WaitSignal(signal, cmp, int64(v))
	}
	if err != nil {
		panic(t.fail("WaitSignal", signalText(signal), err))
	}
}

// Test compares the current value of a signal of this PE with v, and reports whether the
// comparison cmp holds.
func (t *PE) Test(signal int, cmp Cmp, v int) bool {
	holds, err := false, cmp.check()
	if err == nil {
		holds, err = t.m.TestSignal(signal, cmp, int64(v))
	}
	if err != nil {
		panic(t.fail("Test", signalText(signal), err))
	}
	return holds
}

func (t *PE) checkPeer(peer int) error {
	if peer < 0 || peer >= t.place.Ranks {
		return fmt.Errorf("no rank %d: this launch has ranks 0 to %d", peer, t.place.Ranks-1)
	}
	return nil
}

func (c Cmp) check() error {
	if c > LE {
		return fmt.Errorf("no comparison %d: use EQ, NE, GT, GE, LT or LE", c)
	}
	return nil
}

func peerText(peer int, what string) string { return fmt.Sprintf("rank %d, %s", peer, what) }

func signalText(signal int) string { return fmt.Sprintf("signal %d", signal) }
