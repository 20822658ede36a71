package comm

import (
	"unsafe"

	"github.com/kernbench/kernbench/tl"
)

// What is in this file is for those who write collectives: waits that know whom they
// wait for, and buffers that others can find.

// Note is what a rank says with a signal: it travels on the signal's line of the cache.
type Note [7]uint64

// Raise sets a signal of a rank, together with a note unless n is nil, in a phase of an
// operation, which errors name: [Window.Await] waits for it. Both are there until the next
// call, so that ranks must agree on when that may be.
func (w *Window) Raise(op, phase string, peer, signal int, v int64, n *Note) error {
	p := place{op: op, phase: phase, peer: -1, signal: signal}
	err := w.checkSignal(&p, peer)
	if err != nil {
		return err
	}
	if n != nil {
		err = w.seg.Put(peer, w.at(signal)+8, bytesOf(n))
	}
	if err == nil {
		err = w.seg.Store(peer, w.at(signal), uint64(v))
	}
	return w.comm.sent(p, err)
}

// Note returns the note of the last Raise of a signal of this rank, which has waited for it.
func (w *Window) Note(signal int) (n Note) {
	copy(bytesOf(&n), w.local[w.at(signal)+8:])
	return n
}

// Await waits, as WaitSignal does, for a signal that a peer raises to at least v in a phase
// of an operation. Errors name peer, phase and operation.
func (w *Window) Await(op, phase string, peer, signal int, v int64) error {
	return w.wait(place{op: op, phase: phase, peer: w.comm.ranks[peer], signal: signal}, tl.GE, v)
}

// Fail poisons the communicator because ranks do not agree, or a collective cannot go
// on: the operations of all ranks fail from now on.
func (c *Comm) Fail(op, phase string, peer int, err error) error {
	return c.fail(at(op, phase).with(c.ranks[peer]), err)
}

// Find is the window of the communicator that holds a buffer of this rank, and where:
// nil if none does.
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

// ID tells the windows of a communicator apart: it is the same at all ranks.
func (w *Window) ID() int { return w.id }

// Window is the one with an ID, nil if there is none or it is closed.
func (c *Comm) Window(id int) *Window {
	for _, w := range c.windows {
		if w.id == id {
			return w
		}
	}
	return nil
}

// Barrier waits until all ranks of the communicator have called it. Ranks pass word
// on in rounds, each twice as far; a flag holds how many barriers its writer has
// entered, so that nothing needs resetting and a rank that is already in the next
// barrier does no harm.
func (c *Comm) Barrier() error {
	p := at("barrier", "")
	if err := c.usable(p); err != nil {
		return err
	}
	return c.barrier(p)
}

func (c *Comm) barrier(p place) error {
	c.generation++
	p.barrier = c.generation
	for k := range rounds(c.size) {
		to := (c.rank + 1<<k) % c.size
		from := (c.rank - 1<<k + c.size) % c.size
		flag := int64(flagsAt + line*k)
		if err := c.sent(p.with(c.ranks[to]), c.ctrl.Store(to, flag, c.generation)); err != nil {
			return err
		}
		if err := c.await(word(c.ctrl.local, flag), tl.GE, int64(c.generation), p.with(c.ranks[from])); err != nil {
			return err
		}
	}
	return nil
}
