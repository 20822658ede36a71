package coll

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/numeric"
)

// Options change how a group works. The zero value is what most want.
type Options struct {
	Algorithm Algorithm // of all_reduce and reduce; Auto picks by size
	SlotBytes int       // of private buffers at a time; 0 is a share of 2 MiB
}

// Group does collectives between the ranks of a communicator. One goroutine of a rank
// uses it. Every rank makes its groups, and calls collectives of a group, in the same
// order.
type Group struct {
	comm    *comm.Comm
	window  *comm.Window // slots and signals
	rank, n int
	options Options
	slot    int    // bytes
	calls   int64  // collectives so far
	steps   int64  // that they took, the same at all ranks
	used    [2]use // of the slots of staged data, by parity of the step
	call    call   // in progress

	acc, sum []byte        // blocks of sums
	many     []byte        // the number of ranks, for averages,
	manyOf   numeric.DType // in this dtype
	room     [2][]byte     // for data that cannot be addressed
	sources  []source
	blocks   []source
	copied   int64

	said  comm.Note // of the call in progress, or the last
	unmet bool      // its ranks need not all have met

	onWait func(phase string) (skip bool) // for tests
}

// Copied is how many bytes this rank has copied to slots because buffers were private.
func (g *Group) Copied() int64 { return g.copied }

// use is who may still read a slot.
type use struct {
	step  int64
	peers []int // that acknowledge it
}

// block is how many bytes are summed at a time: they stay in the nearest cache.
const block = 16 << 10

// New makes a group of the ranks of a communicator, all of which call it with the same
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
	g.call.at, g.call.into = make([]place, g.n), make([]place, g.n)
	return g, nil
}

// slots is how many a group has: two for data and two for results, by parity of the step.
const slots = 4

// defaultSlot returns the bytes of a slot between some ranks.
func defaultSlot(ranks int) int { return max(64<<10, (2<<20)/ranks) }

// GroupBytes returns how much memory a group of default options takes at each rank.
func GroupBytes(ranks int) uint64 {
	return uint64(comm.WindowBytes(int64(slots*defaultSlot(ranks)), signalKinds*ranks) + 2*block)
}

// Close frees what the group has at this rank.
func (g *Group) Close() error { return g.window.Close() }

// Comm is the communicator whose ranks the group has.
func (g *Group) Comm() *comm.Comm { return g.comm }

// Signals, one of each kind for each peer.
const (
	entered     = iota // calls, with notes; even ones
	enteredOdd         // odd ones
	staged             // steps whose data can be read
	reduced            // steps whose results can be
	done               // steps whose data has been read
	signalKinds        // how many
)

func (g *Group) signal(kind, peer int) int { return kind*g.n + peer }

// stagedAt and resultAt are where slots lie in the window.
func (g *Group) stagedAt(step int64) int { return int(step&1) * g.slot }

func (g *Group) resultAt(step int64) int { return (2 + int(step&1)) * g.slot }

// begin enters a collective: everybody has entered the one before, so that nobody
// needs the notes of the one before that. Who did not meet in it looks at the notes
// now, so that a disagreement never outlives the next call.
func (g *Group) begin(c *call) error {
	if err := g.settle(c.kind.String()); err != nil {
		return err
	}
	g.calls++
	g.said = g.note(c)
	return nil
}

// settle waits until everybody has entered the last collective, and it was the same.
func (g *Group) settle(op string) error {
	return g.others(func(peer int) error {
		s := g.entry(peer, g.calls)
		if err := g.await(op, "call before", peer, s, g.calls); err != nil || !g.unmet {
			return err
		}
		theirs := g.window.Note(s)
		return g.agree(peer, &theirs)
	})
}

func (g *Group) entry(peer int, call int64) int { return g.signal(entered+int(call&1), peer) }

// enter tells everybody of the call. What this rank has staged by now can be read.
func (g *Group) enter(c *call) error {
	return g.others(func(peer int) error {
		return g.window.Raise(c.kind.String(), "entry", peer, g.entry(g.rank, g.calls), g.calls, &g.said)
	})
}

// meet waits for a peer to enter the call, which must be the same. Nobody waits for
// anything else of a peer before.
func (g *Group) meet(c *call, peer int) error {
	s := g.entry(peer, g.calls)
	if err := g.await(c.kind.String(), "entry", peer, s, g.calls); err != nil {
		return err
	}
	theirs := g.window.Note(s)
	if err := g.agree(peer, &theirs); err != nil {
		return err
	}
	return g.locate(c, peer, &theirs)
}

// others calls f with every other rank, beginning after this one.
func (g *Group) others(f func(peer int) error) error {
	for i := 1; i < g.n; i++ {
		if err := f((g.rank + i) % g.n); err != nil {
			return err
		}
	}
	return nil
}

// tell raises a signal of a peer to a step.
func (g *Group) tell(c *call, phase string, kind, peer int, step int64) error {
	return g.window.Raise(c.kind.String(), phase, peer, g.signal(kind, g.rank), step, nil)
}

// wait waits for a signal of a peer.
func (g *Group) wait(c *call, phase string, kind, peer int, step int64) error {
	return g.await(c.kind.String(), phase, peer, g.signal(kind, peer), step)
}

func (g *Group) await(op, phase string, peer, signal int, v int64) error {
	if g.onWait != nil && g.onWait(phase) {
		return nil
	}
	return g.window.Await(op, phase, peer, signal, v)
}

// reuse waits until nobody reads the slot of a step any longer.
func (g *Group) reuse(c *call, step int64) error {
	u := &g.used[step&1]
	for _, peer := range u.peers {
		if err := g.wait(c, "slot in use", done, peer, u.step); err != nil {
			return err
		}
	}
	u.peers = u.peers[:0]
	return nil
}
