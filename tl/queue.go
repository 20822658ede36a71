package tl

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/oplog"
)

// Send puts a tile, or the present contents of a ref's memory, into the queue of a port.
// It returns at once if the peer has free slots, and waits otherwise.
func (t *PE) Send(port Port, x Tile) {
	err := t.checkOwned(&x)
	if err == nil && port <= AnyPort {
		err = errPort
	}
	if err == nil {
		err = t.m.Send(port, x.v)
	}
	if err != nil {
		panic(t.failPort("Send", port, &x.v, err))
	}
}

// Recv waits for the next message of a port and returns it as a tile. The message must
// have as many bytes as the tile. With AnyPort, Recv takes the message of any port that
// has one, serving the ports in turn.
func (t *PE) Recv(port Port, s Shape, dtype DType) Tile {
	t.v = Value{DType: dtype}
	t.setExtents(&t.v.Shape, "Recv", s, dtype)
	err := errPort
	if port >= AnyPort {
		_, _, err = t.m.Recv(port, &t.v, nil, true)
	}
	if err != nil {
		panic(t.failPort("Recv", port, &t.v, err))
	}
	return Tile{v: t.v, pe: t}
}

// RecvAny waits until any port has a message, and returns the message as a tile and its
// port. It serves the ports in turn. The message must have as many bytes as the tile.
func (t *PE) RecvAny(s Shape, dtype DType) (Tile, Port) {
	r := t.post("RecvAny", AnyPort, t.extents("RecvAny", s, dtype), dtype, nil, true)
	return r.tile, r.port
}

// RecvInto waits for the next message of a port and moves it directly to memory.
func (t *PE) RecvInto(port Port, p Ptr, s Shape, dtype DType) {
	t.into = Block{}
	t.block(&t.into, "RecvInto", &p, t.extents("RecvInto", s, dtype), dtype, nil)
	t.post("RecvInto", port, t.into.Shape, dtype, &t.into, true)
}

// RecvAsync starts a receive of the next message of a port and returns at once.
// [Receive.Wait] waits for the message. Every receive must be waited for.
func (t *PE) RecvAsync(port Port, s Shape, dtype DType) Receive {
	e := t.extents("RecvAsync", s, dtype)
	if port == AnyPort {
		panic(t.fail("RecvAsync", portText(port, Value{Shape: e, DType: dtype}),
			errors.New("which port it is shows when a message is there: use RecvAny")))
	}
	return t.post("RecvAsync", port, e, dtype, nil, false)
}

// Receive is a receive in progress, started by [PE.RecvAsync].
type Receive struct {
	tile   Tile
	port   Port
	handle Handle
}

// Wait waits for the message and returns it as a tile. Further calls return the same tile.
func (r Receive) Wait() Tile {
	if r.tile.pe == nil {
		panic(misuse("Wait", "", errors.New("a zero Receive waits for nothing: they come from RecvAsync")))
	}
	t := r.tile.pe
	if err := t.wait(r.handle); err != nil {
		panic(t.fail("Wait", portText(r.port, r.tile.v), err))
	}
	return r.tile
}

// post posts a receive of the next message of a port to the machine. If `into` is nil, the
// message becomes a tile; otherwise it goes to the memory `into`. If `wait` is set, post
// waits for the message.
func (t *PE) post(op string, port Port, s oplog.Shape, d DType, into *Block, wait bool) Receive {
	t.v = Value{Shape: s, DType: d}
	err := errPort
	var r Receive
	if port >= AnyPort {
		r.handle, r.port, err = t.m.Recv(port, &t.v, into, wait)
	}
	if err != nil {
		panic(t.fail(op, portText(port, t.v), err))
	}
	r.tile = Tile{v: t.v, pe: t}
	return r
}

// failPort returns an Error of operation op, which moves v through a port.
//
//go:noinline
func (t *PE) failPort(op string, p Port, v *Value, err error) *Error {
	return t.fail(op, portText(p, *v), err)
}

func portText(p Port, v Value) string { return p.String() + ", " + v.String() }

// Connection connects a port of A with a port of B in both directions. A and B are the
// numbers of PEs, or of members of a group.
type Connection struct {
	A     int
	APort Port
	B     int
	BPort Port
}

// Port identifies a queue out and a queue in of a PE. The neighbour table of the launch
// says which ports are connected.
type Port int16

// The named ports. Others are Child(i) and plain numbers from Numbered(0).
const (
	AnyPort Port = iota - 1 // in Recv: any port that has a message, in turn
	North
	South
	East
	West
	GlobalNorth // this port and the next three are between devices
	GlobalSouth
	GlobalEast
	GlobalWest
	Parent
	firstChild
)

const (
	maxChildren  = 64
	firstNumber  = firstChild + maxChildren
	numberedName = "port"
)

// Child returns the port to child i of a tree, counted from 0.
func Child(i int) Port {
	if i < 0 || i >= maxChildren {
		panic(misuse("Child", strconv.Itoa(i), fmt.Errorf("children count from 0 to %d", maxChildren-1)))
	}
	return firstChild + Port(i)
}

// Numbered returns port i of the ports that have no name, counted from 0.
func Numbered(i int) Port {
	if i < 0 || i > math.MaxInt16-int(firstNumber) {
		panic(misuse("Numbered", strconv.Itoa(i), fmt.Errorf("ports count from 0 to %d", math.MaxInt16-int(firstNumber))))
	}
	return firstNumber + Port(i)
}

var portNames = [...]string{
	"north", "south", "east", "west",
	"global_north", "global_south", "global_east", "global_west", "parent",
}

// String returns the name of the port: "east", "child2", "port7".
func (p Port) String() string {
	switch {
	case p < AnyPort:
		return fmt.Sprintf("Port(%d)", int(p))
	case p == AnyPort:
		return "any"
	case p < firstChild:
		return portNames[p]
	case p < firstNumber:
		return fmt.Sprintf("child%d", p-firstChild)
	}
	return fmt.Sprintf("%s%d", numberedName, p-firstNumber)
}

// Barrier waits until all ranks of the launch, or all given ranks, have called Barrier on
// this signal as often as this rank has. What these ranks did before the call is visible
// to all of them after it. A kernel may call Barrier on one signal any number of times,
// with the same ranks every time. The signal counts arrivals and has no other use.
func (t *PE) Barrier(signal int, ranks ...int) {
	b := t.m.Barrier(signal)
	if err := b.enter(t.place.Rank, t.place.Ranks, ranks); err != nil {
		panic(t.fail("Barrier", signalText(signal), err))
	}
	for _, peer := range b.ranks {
		if peer != t.place.Rank {
			t.Notify(peer, signal, Add, 1)
		}
	}
	t.WaitSignal(signal, GE, b.arrivals)
	b.waiting = false
}

// Barrier is the state of the barrier on one signal of a rank. A machine keeps it until
// the signal is reset.
//
// One counter is enough for all calls. A rank notifies its peers of its next call only
// after all ranks have begun the present call. A signal changes only after everything
// that the notifying rank did before is visible to all ranks. So when the counter reaches
// the expected value, all ranks have arrived, in whatever order the notifications came.
type Barrier struct {
	ranks    []int // the ranks that call the barrier, each once
	arrivals int   // the number of arrivals of other ranks that all calls so far wait for
	waiting  bool  // whether a call is in progress
}

// enter begins a call of the barrier at the given rank, one of n ranks. It adds the
// arrivals of the other ranks in this call to b.arrivals. It returns an error if a call is
// in progress, or if the ranks are invalid or differ from the ranks of earlier calls.
func (b *Barrier) enter(rank, n int, ranks []int) error {
	if b.waiting {
		return errors.New("another task of this rank waits at the barrier on this signal: order the two tasks, or give each a signal of its own")
	}
	if known := b.ranks != nil && (ranks == nil && len(b.ranks) == n || slices.Equal(ranks, b.ranks)); !known {
		list, err := members(rank, n, ranks)
		if err != nil {
			return err
		}
		if b.ranks != nil && !slices.Equal(sorted(list), sorted(b.ranks)) {
			return fmt.Errorf("a barrier of ranks %v on a signal whose barriers are of ranks %v: use another signal for other ranks", list, b.ranks)
		}
		b.ranks = list
	}
	b.arrivals += len(b.ranks) - 1
	b.waiting = true
	return nil
}

// members returns the ranks of a barrier: a copy of `ranks`, or all n ranks if `ranks` is
// nil. It returns an error if `ranks` contains a rank twice, contains a rank that does not
// exist, or lacks the calling rank.
func members(rank, n int, ranks []int) ([]int, error) {
	list := slices.Clone(ranks)
	if ranks == nil {
		list = lists.Count(0, n)
	}
	if !slices.Contains(list, rank) {
		return nil, fmt.Errorf("rank %d calls a barrier of ranks %v: only those that are in the list may call it", rank, list)
	}
	order := sorted(list)
	if order[0] < 0 || order[len(order)-1] >= n {
		return nil, fmt.Errorf("a barrier of ranks %v: this launch has ranks 0 to %d", list, n-1)
	}
	if len(slices.Compact(order)) < len(list) {
		return nil, fmt.Errorf("a barrier of ranks %v: name each rank once", list)
	}
	return list, nil
}

func sorted(ranks []int) []int { return slices.Sorted(slices.Values(ranks)) }
