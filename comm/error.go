package comm

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Why operations fail; the errors of this package wrap them.
var (
	ErrClosed    = errors.New("it has been closed")
	ErrLost      = errors.New("it is gone")                 // a peer's process has ended
	ErrTimeout   = errors.New("the deadline has passed")    // that the caller set
	ErrMismatch  = errors.New("ranks do not agree")         // on a size, a dtype, a version
	ErrNotMember = errors.New("not a member of the domain") // a rank that is asked for
	ErrRange     = errors.New("out of range")               // of a window, or no such rank or signal
	ErrNoMemory  = errors.New("no memory for it")
	ErrPeer      = errors.New("another rank has failed")
	ErrDeadlock  = errors.New("a deadlock, every rank waits")
)

// Error is a failure of an operation. After one that concerns other ranks every later
// operation of the rank fails with it, and theirs too.
type Error struct {
	Rank   int    // that failed
	Peer   int    // that it waited for, or disagrees with; -1 if there is none
	Op     string // operation: "barrier", "put"
	Phase  string // of a collective, or of the operation: "entry"; "" if it has none
	Signal int    // that it waited for; -1 if there is none
	Err    error
}

// Error is such as "rank 1: barrier, rank 2: it is gone: its process has ended".
func (e *Error) Error() string {
	return fmt.Sprintf("rank %d: %v: %v", e.Rank, place{op: e.Op, phase: e.Phase, peer: e.Peer, signal: e.Signal}, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// place is what a rank is doing, for errors.
type place struct {
	op, phase    string
	peer, signal int    // of the world; -1 for none
	barrier      uint64 // that it waits in, which takes all; 0 for none
}

// String is such as "barrier, rank 2".
func (p place) String() string {
	var b strings.Builder
	b.WriteString(p.op)
	if p.phase != "" {
		fmt.Fprintf(&b, ", %s", p.phase)
	}
	if p.signal >= 0 {
		fmt.Fprintf(&b, ", signal %d", p.signal)
	}

	if p.peer >= 0 {
		fmt.Fprintf(&b, ", rank %d", p.peer)
	}
	return b.String()
}

func at(op, phase string) place { return place{op: op, phase: phase, peer: -1, signal: -1} }

func (p place) with(peer int) place { p.peer = peer; return p }

func (c *Comm) errorAt(p place, err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok && known.Rank == c.world.rank {
		return known // says where already
	}
	return &Error{Rank: c.world.rank, Peer: p.peer, Op: p.op, Phase: p.phase, Signal: p.signal, Err: err}
}

// fail poisons the communicator: this rank's operations fail from now on with the
// same error, and those of others with one that tells of it.
func (c *Comm) fail(p place, err error) error {
	e := c.errorAt(p, err)
	if c.world.poison.CompareAndSwap(nil, e) {
		c.world.tell(e)
	}
	return c.world.poison.Load()
}

// sent wakes the rank whose memory an operation has changed, or fails with the operation.
func (c *Comm) sent(p place, err error) error {
	if err != nil {
		return c.fail(p, err)
	}
	c.world.link.Wake(p.peer)
	return nil
}

// usable is nil unless the communicator was closed or poisoned, or its context ended.
func (c *Comm) usable(p place) error {
	if e := c.world.poison.Load(); e != nil {
		return e
	}
	if c.closed {
		return c.errorAt(p, ErrClosed)
	}
	if by := c.world.aborted(); by >= 0 {
		return c.fail(p.with(by), c.world.told(by))
	}
	if c.world.ctx.Err() != nil { // waits that are short do not ask
		return c.fail(p, context.Cause(c.world.ctx))
	}
	return nil
}
