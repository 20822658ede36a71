package comm

import (
	"unsafe"

	"github.com/kernbench/kernbench/tl"
)

// This file has operations that implementations of collectives need: signals and waits
// whose errors name a collective and a peer, and lookups of windows by buffer and by ID.

// Note is data that a rank sends together with a signal. The note is in the same cache line
// as the signal.
type Note [7]uint64

// Raise sets the given signal of rank peer to v. Unless n is nil, it also sets the note of
// the signal to *n. The peer waits for the signal with [Window.Await] and reads the note
// with [Window.Note]. Errors name op and phase. The next Raise overwrites signal and note,
// so the caller must make sure that the peer has read them.
func (w *Window) Raise(op, phase string, peer, signal int, v int64, n *Note) error {
	p := place{op: op, phase: phase, peer: -1, signal: signal}
	err := w.checkSignal(&p, peer)
	if err != nil {
		return err
	}
	if n != nil {
		err = w.seg.Put(peer, w.signalOffset(signal)+8, bytesOf(n))
	}
	if err == nil {
		err = w.seg.Store(peer, w.signalOffset(signal), uint64(v))
	}
	return w.comm.finishWrite(p, err)
}

// Note returns the note that the last Raise of the given signal sent to this rank. This
// rank must have waited for the signal before.
func (w *Window) Note(signal int) (n Note) {
	copy(bytesOf(&n), w.local[w.signalOffset(signal)+8:])
	return n
}

// Await waits until the given signal of this rank is at least v. peer is the rank that
// raises the signal. Errors name op, phase and peer.
func (w *Window) Await(op, phase string, peer, signal int, v int64) error {
	return w.wait(place{op: op, phase: phase, peer: w.comm.ranks[peer], signal: signal}, tl.GE, v)
}

// Fail poisons the communicator with err and returns the poisoning error. A collective
// calls Fail if its ranks disagree, or if the collective cannot continue. From then on all
// operations of all ranks fail. The error names op, phase and peer.
func (c *Comm) Fail(op, phase string, peer int, err error) error {
	return c.fail(newPlace(op, phase).withPeer(c.ranks[peer]), err)
}

// Find returns the window that holds buffer b of this rank, and the offset of b in this
// rank's part of the window. It returns nil if b is empty or if no window of the
// communicator holds b.
func (c *Comm) Find(b []byte) (w *Window, off int64) {
	if len(b) == 0 {
		return nil, 0
	}
	start := uintptr(unsafe.Pointer(&b[0]))
	for _, w := range c.windows {
		local := w.Local()
		if len(local) == 0 {
			continue
		}
		from := uintptr(unsafe.Pointer(&local[0]))
		if start >= from && start+uintptr(len(b)) <= from+uintptr(len(local)) {
			return w, int64(start - from)
		}
	}
	return nil, 0
}

// ID returns a number that identifies the window in its communicator. All ranks have the
// same number for a window.
func (w *Window) ID() int { return w.id }

// Window returns the window whose ID is id. It returns nil if the communicator has no such
// window or the window is closed.
func (c *Comm) Window(id int) *Window {
	for _, w := range c.windows {
		if w.id == id {
			return w
		}
	}
	return nil
}

// Barrier waits until all ranks of the communicator have called it. It is a dissemination
// barrier: in step k, rank r sets flag k of rank r+2ᵏ and waits until its own flag k is set
// by rank r-2ᵏ. To set a flag, a rank writes the number of barriers that it has entered.
// Therefore flags are never reset, and a rank that is already in the next barrier does no
// harm.
func (c *Comm) Barrier() error {
	p := newPlace("barrier", "")
	if err := c.checkUsable(p); err != nil {
		return err
	}
	return c.barrier(p)
}

// barrier runs a barrier as part of the operation p, which errors name.
func (c *Comm) barrier(p place) error {
	c.generation++
	p.barrier = c.generation
	for k := range barrierSteps(c.size) {
		to := (c.rank + 1<<k) % c.size
		from := (c.rank - 1<<k + c.size) % c.size
		flag := int64(flagsAt + cacheLine*k)
		if err := c.finishWrite(p.withPeer(c.ranks[to]), c.ctrl.Store(to, flag, c.generation)); err != nil {
			return err
		}
		if err := c.await(word(c.ctrl.local, flag), tl.GE, int64(c.generation), p.withPeer(c.ranks[from])); err != nil {
			return err
		}
	}
	return nil
}
