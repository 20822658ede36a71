package comm

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Reasons for failures. The errors of this package wrap them.
var (
	ErrClosed    = errors.New("it has been closed")
	ErrLost      = errors.New("it is gone")                 // a peer's process has ended
	ErrTimeout   = errors.New("the deadline has passed")    // Options.Timeout or SetTimeout
	ErrMismatch  = errors.New("ranks do not agree")         // on a size, a dtype, a version
	ErrNotMember = errors.New("not a member of the domain") // this rank or the rank of RankOf
	ErrRange     = errors.New("out of range")               // outside the window, or no such rank or signal
	ErrNoMemory  = errors.New("no memory for it")
	ErrPeer      = errors.New("another rank has failed")
	ErrDeadlock  = errors.New("a deadlock, every rank waits")
)

// Error is a failure of an operation. After an Error that concerns other ranks, every later
// operation of the rank fails with the same Error, and the operations of other ranks fail
// too.
type Error struct {
	Rank   int    // rank in the world that failed
	Peer   int    // rank in the world that it waited for or disagrees with; -1 if there is none
	Op     string // operation: "barrier", "put"
	Phase  string // phase of the operation or collective, such as "entry"; "" if it has none
	Signal int    // signal that it changed or waited for; -1 if there is none
	Err    error
}

// Error formats the error, for example as "rank 1: barrier, rank 2: it is gone: its process
// has ended".
func (e *Error) Error() string {
	return fmt.Sprintf("rank %d: %v: %v", e.Rank, place{op: e.Op, phase: e.Phase, peer: e.Peer, signal: e.Signal}, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// place is the operation that a rank is doing, with its phase, peer and signal. Errors name
// it.
type place struct {
	op, phase    string
	peer, signal int    // peer as rank in the world; -1 if there is none
	barrier      uint64 // number of the barrier that the rank waits in, from 1; 0 for none
}

// String formats the place, for example as "barrier, rank 2".
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

// newPlace returns a place with neither a peer nor a signal.
func newPlace(op, phase string) place { return place{op: op, phase: phase, peer: -1, signal: -1} }

// withPeer returns a copy of the place with another peer, which is a rank in the world.
func (p place) withPeer(peer int) place { p.peer = peer; return p }

// errorAt wraps err in an Error that names this rank and the operation p. If err already is
// an Error of this rank, errorAt returns it unchanged.
func (c *Comm) errorAt(p place, err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok && known.Rank == c.world.rank {
		return known // has a place already
	}
	return &Error{Rank: c.world.rank, Peer: p.peer, Op: p.op, Phase: p.phase, Signal: p.signal, Err: err}
}

// fail poisons the communicator with err and returns the Error that poisoned it. If the
// communicator was poisoned before, fail changes nothing and returns the earlier Error. All
// later operations of this rank fail with the returned Error. The operations of other ranks
// fail with an error that quotes it.
func (c *Comm) fail(p place, err error) error {
	e := c.errorAt(p, err)
	if c.world.poison.CompareAndSwap(nil, e) {
		c.world.poisonPeers(e)
	}
	return c.world.poison.Load()
}

// finishWrite ends operation p, which writes to the memory of its peer. err is the error of
// the write. If err is nil, finishWrite wakes the peer. Otherwise it poisons the
// communicator with err and returns the Error that poisoned it.
func (c *Comm) finishWrite(p place, err error) error {
	if err != nil {
		return c.fail(p, err)
	}
	c.world.link.Wake(p.peer)
	return nil
}

// checkUsable returns an error if the communicator is closed or poisoned, if another rank
// has failed, or if the context that was passed to Open has ended. p is the operation that
// the error names.
func (c *Comm) checkUsable(p place) error {
	if e := c.world.poison.Load(); e != nil {
		return e
	}
	if c.closed {
		return c.errorAt(p, ErrClosed)
	}
	if failed := c.world.abortedBy(); failed >= 0 {
		return c.fail(p.withPeer(failed), c.world.readReason(failed))
	}
	if c.world.ctx.Err() != nil { // short waits do not check the context
		return c.fail(p, context.Cause(c.world.ctx))
	}
	return nil
}
