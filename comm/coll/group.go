package coll

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/numeric"
)

// Options change how a group works. The zero value suits most programs.
type Options struct {
	Algorithm Algorithm // algorithm of all_reduce and reduce; Auto chooses by size
	SlotBytes int       // size of a slot for staged data; 0 means 2 MiB / ranks, at least 64 KiB
}

// Group runs collectives between the ranks of a communicator. Only one goroutine of a rank
// may use it at a time. All ranks create groups, and call the collectives of a group, in
// the same order.
type Group struct {
	comm     *comm.Comm
	window   *comm.Window // slots and signals
	rank, n  int
	options  Options
	slot     int        // bytes of a slot
	calls    int64      // number of collectives called so far
	steps    int64      // number of steps of these collectives, the same at all ranks
	slotUses [2]slotUse // readers of the two slots of staged data, by parity of the step
	call     call       // the call in progress

	acc, sum     []byte        // blocks of partial results
	divisor      []byte        // the number of ranks as elements, for averages
	divisorType  numeric.DType // dtype of divisor
	scratch      [2][]byte     // copies of data that cannot be addressed
	sources      []source
	blockSources []source
	copied       int64 // bytes copied to slots

	ownNote    comm.Note // note of the call in progress, or of the last call
	uncompared bool      // whether some ranks may not have compared the notes of the last call

	onWait func(phase string) (skip bool) // called before each wait, for tests; may be nil
}

// Copied returns the number of bytes that this rank has copied to slots because its buffers
// were private.
func (g *Group) Copied() int64 { return g.copied }

// slotUse lists the peers that may still read a slot.
type slotUse struct {
	step  int64 // step whose data is in the slot
	peers []int // peers that acknowledge the step
}

// block is the number of bytes that are combined at a time. They stay in the nearest cache.
const block = 16 << 10

// New creates a group of all ranks of communicator c. All ranks call it with the same
// options.
func New(c *comm.Comm, o Options) (*Group, error) {
	if c == nil {
		return nil, errors.New("no communicator: give one that comm.Open or Domain returned")
	}
	g := &Group{comm: c, rank: c.Rank(), n: c.Size(), options: o, slot: cmp.Or(o.SlotBytes, defaultSlot(c.Size()))}
	if g.slot < 64*g.n {
		return nil, fmt.Errorf("slots of %d bytes: %d ranks need at least %d", g.slot, g.n, 64*g.n)
	}
	g.slot = (g.slot + 63) / 64 * 64
	if o.Algorithm > Direct {
		return nil, fmt.Errorf("no algorithm %d: between real ranks there are %s", o.Algorithm, strings.Join(algorithmNames[:], ", "))
	}
	var err error
	g.window, err = c.AllocWindow(int64(slots*g.slot), signalKinds*g.n)
	if err != nil {
		return nil, err
	}
	g.acc, g.sum = make([]byte, block), make([]byte, block)
	g.call.srcPlaces, g.call.dstPlaces = make([]place, g.n), make([]place, g.n)
	return g, nil
}

// slots is the number of slots of a group: two for data and two for results, by parity of
// the step.
const slots = 4

// defaultSlot returns the default size of a slot in bytes.
func defaultSlot(ranks int) int { return max(64<<10, (2<<20)/ranks) }

// GroupBytes returns the memory in bytes that a group with default options needs at each
// rank.
func GroupBytes(ranks int) uint64 {
	return uint64(comm.WindowBytes(int64(slots*defaultSlot(ranks)), signalKinds*ranks) + 2*block)
}

// Close closes the group at this rank, which closes the group's window.
func (g *Group) Close() error { return g.window.Close() }

// Comm returns the communicator of the group.
func (g *Group) Comm() *comm.Comm { return g.comm }

// Kinds of signals. A rank has one signal of each kind for each peer. The peer raises the
// signal.
const (
	entered     = iota // last even call that the peer has entered, with its note
	enteredOdd         // last odd call that the peer has entered, with its note
	staged             // last step whose data can be read
	reduced            // last step whose result can be read
	done               // last step whose data the peer has read, or whose result it has written
	signalKinds        // number of kinds
)

// signal returns the index of the signal of the given kind that a peer raises at this rank.
func (g *Group) signal(kind, peer int) int { return kind*g.n + peer }

// stagedAt returns the offset of a slot in the group's window. The slot holds the data that
// is staged in the given step. Slots alternate between even and odd steps.
func (g *Group) stagedAt(step int64) int { return int(step&1) * g.slot }

// resultAt returns the offset in the group's window of the slot for results of a step.
func (g *Group) resultAt(step int64) int { return (2 + int(step&1)) * g.slot }

// begin starts a call and makes this rank's note of the call. It first waits until all
// ranks have entered the previous call. Then no rank still needs the notes of the call
// before the previous one, and the notes of this call may overwrite them.
func (g *Group) begin(c *call) error {
	if err := g.awaitPreviousCall(c.kind.String()); err != nil {
		return err
	}
	g.calls++
	g.ownNote = g.makeNote(c)
	return nil
}

// awaitPreviousCall waits until all ranks have entered the previous call. If it is possible
// that some rank has not compared the notes of that call, awaitPreviousCall compares them
// now. So a mismatch is found in the next call at the latest. Errors name the collective
// `op`.
func (g *Group) awaitPreviousCall(op string) error {
	return g.forEachPeer(func(peer int) error {
		s := g.entrySignal(peer, g.calls)
		if err := g.await(op, "call before", peer, s, g.calls); err != nil || !g.uncompared {
			return err
		}
		theirs := g.window.Note(s)
		return g.compareNotes(peer, &theirs)
	})
}

// entrySignal returns the signal that a peer raises when it enters the call with the given
// number.
func (g *Group) entrySignal(peer int, call int64) int { return g.signal(entered+int(call&1), peer) }

// announceEntry sends this rank's note of the call to all peers. After that, peers may read
// the data that this rank has staged for the first step.
func (g *Group) announceEntry(c *call) error {
	return g.forEachPeer(func(peer int) error {
		return g.window.Raise(c.kind.String(), "entry", peer, g.entrySignal(g.rank, g.calls), g.calls, &g.ownNote)
	})
}

// awaitEntry waits until a peer has entered the call, compares the peer's note with this
// rank's note, and copies the places of the peer's buffers from the peer's note to c. In
// each call a rank must call awaitEntry for a peer before it waits for other signals of
// that peer.
func (g *Group) awaitEntry(c *call, peer int) error {
	s := g.entrySignal(peer, g.calls)
	if err := g.await(c.kind.String(), "entry", peer, s, g.calls); err != nil {
		return err
	}
	theirs := g.window.Note(s)
	if err := g.compareNotes(peer, &theirs); err != nil {
		return err
	}
	return g.locateBuffers(c, peer, &theirs)
}

// forEachPeer calls f for every other rank, beginning with the next one. It stops when f
// fails and returns the error.
func (g *Group) forEachPeer(f func(peer int) error) error {
	for i := 1; i < g.n; i++ {
		if err := f((g.rank + i) % g.n); err != nil {
			return err
		}
	}
	return nil
}

// raise sets this rank's signal of the given kind at a peer to `step`.
func (g *Group) raise(c *call, phase string, kind, peer int, step int64) error {
	return g.window.Raise(c.kind.String(), phase, peer, g.signal(kind, g.rank), step, nil)
}

// wait waits until a signal of this rank has at least the value step. The signal is the one
// of the given kind that the given peer raises.
func (g *Group) wait(c *call, phase string, kind, peer int, step int64) error {
	return g.await(c.kind.String(), phase, peer, g.signal(kind, peer), step)
}

// await waits until the given signal is at least v. It skips the wait if the function set
// by OnWait returns true. Errors name op, phase and peer.
func (g *Group) await(op, phase string, peer, signal int, v int64) error {
	if g.onWait != nil && g.onWait(phase) {
		return nil
	}
	return g.window.Await(op, phase, peer, signal, v)
}

// awaitFreeSlot waits until no peer still reads the slot that the given step will use for
// staged data.
func (g *Group) awaitFreeSlot(c *call, step int64) error {
	u := &g.slotUses[step&1]
	for _, peer := range u.peers {
		if err := g.wait(c, "slot in use", done, peer, u.step); err != nil {
			return err
		}
	}
	u.peers = u.peers[:0]
	return nil
}
