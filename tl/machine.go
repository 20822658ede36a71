package tl

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
)

// Machine runs the operations of one PE: the simulated CPU in internal/cpu, or
// a process in internal/procpe. A PE checks what a kernel asks for; a machine
// gives it time and keeps it for the data phase. Errors come without the kernel,
// PE, operation and line, which PE adds.
//
// What a *Value, a *Compute, a *Block or a []Case points to is the PE's, and changes
// after the call; a *Composite is the machine's to keep. The pointers in blocks and
// values have a stride for each axis of the shape beside them.
type Machine interface {
	// Place is where the kernel runs.
	Place() Place
	// Now is the time on the PE's own clock.
	Now() simtime.Time
	// Scratch allocates scratch memory, zeroed, until the kernel ends.
	Scratch(bytes int64) (addr int64, err error)
	// Load brings a box of memory into a new tile, v. The pointer is virtual.
	Load(v *Value, from Block) error
	// Store writes a tile to memory.
	Store(v Value, to Block) error
	// Compute makes a new tile, v, out of others.
	Compute(v *Value, c *Compute) error
	// Composite starts a command that streams tiles from memory to memory.
	Composite(c *Composite) (Handle, error)
	// Wait waits for the end of a composite or of a receive.
	Wait(h Handle) error
	// Send puts a tile into a queue, waiting for room.
	Send(port Port, v Value) error
	// Recv takes the next message of a queue into a new tile v, or to memory if
	// into is not nil. It waits for it, or leaves that to Wait and the Handle.
	// AnyPort takes the port whose turn it is, waiting for one with a message, and
	// says which.
	Recv(port Port, v *Value, into *Block, wait bool) (Handle, Port, error)
	// Select waits until one of the cases, of which there is one at least, is so, and
	// is the index of the first that is.
	Select(cases []Case) (int, error)
	// Put writes a tile into the part of a window that a peer holds.
	Put(peer int, v Value, to Block) error
	// Get reads a tile from the part of a window that a peer holds.
	Get(peer int, v *Value, from Block) error
	// Notify changes a signal of a peer, after everything put before.
	Notify(peer, signal int, op SignalOp, value int64) error
	// WaitSignal waits until a signal of this PE compares true.
	WaitSignal(signal int, cmp Cmp, value int64) error
	// TestSignal reports whether it does now.
	TestSignal(signal int, cmp Cmp, value int64) (bool, error)
	// Barrier is the state of the barrier on a signal of this rank. It is zero when the
	// signals are.
	Barrier(signal int) *Barrier
	// Bytes computes the value of a tile.
	Bytes(v Value) ([]byte, error)
	// Pin keeps a tile in TCM until it is freed.
	Pin(v Value) error
	// Free ends the use of a tile.
	Free(v Value) error
	// Print shows a line of text to the user.
	Print(text string)
}

// Place is where a kernel runs: its own coordinates, those of the machine, and
// its rank among the PEs of the launch.
type Place struct {
	PE, Cube, SIP    int
	PEs, Cubes, SIPs int // per cube, per SIP, in the system
	Rank, Ranks      int
	Name             string // "sip0.cube5.pe3"
}

// Value is a tile, or memory that stands for one, as a machine knows it. A machine
// sets ID, Slot and Turn of tiles that it makes; the rest is given.
type Value struct {
	ID    oplog.ID // its producer in the op log, if there is one
	Slot  int32    // where it lies in TCM
	Turn  uint32   // tells it from later tiles in the same place
	Shape oplog.Shape
	DType numeric.DType
	InMem bool // a Ref: Block{*Ptr, Shape}
	Ptr   *Ptr // of a Ref; elsewhere nil, tiles being copied often
}

// Bytes is the size of the tile.
func (v *Value) Bytes() int64 { return int64(v.Shape.Elems()) * int64(v.DType.Size()) }

// Block returns the memory of a Ref.
func (v *Value) Block() Block {
	return Block{Ptr: *v.Ptr, Shape: v.Shape, Valid: v.Shape, DType: v.DType}
}

// Block is a box of elements in memory, as long as Shape along each axis, of which
// the first Valid along each axis exist. Reading the others gives Fill; writing
// them does nothing.
type Block struct {
	Ptr   Ptr
	Shape oplog.Shape
	Valid oplog.Shape // equals Shape without a mask
	DType numeric.DType
	Fill  float64
}

// Compute describes a command for the GEMM or the MATH engine.
type Compute struct {
	Kind oplog.Kind // Full to Broadcast
	Math numeric.Op // of Math and Reduce
	Axis int
	Fill float64 // of Full
	Args [3]Arg
	N    int // arguments in use
}

// Arg is a tile, memory or a number.
type Arg struct {
	Value    Value
	Scalar   float64
	IsScalar bool
	AtPeer   bool // of memory: in the part of a window that rank Peer holds, at the place that Ptr is in this PE's own
	Peer     int
}

// Composite describes a composite command: a matrix product, an elementwise
// operation of large operands or a reduction over peers, and what is done to its
// result on the way.
type Composite struct {
	Kind     oplog.Kind // Gemm, Stream or ReducePeers
	Math     numeric.Op // of Stream and ReducePeers
	Args     []Arg      // two for Gemm: tiles (pinned) or memory (streamed); of ReducePeers memory at peers
	Epilogue []Step
	Out      Block
}

// Step is an operation of an epilogue, on what came before it and Args.
type Step struct {
	Math numeric.Op
	Args []Arg

	operands []any // what Do was given, until Composite makes Args of it
}

// Handle is something to wait for. The zero Handle is nothing.
type Handle struct{ N uint64 }

// SignalOp is how Notify changes a signal.
type SignalOp uint8

// The ways to change a signal.
const (
	Set SignalOp = iota
	Add
)

// Cmp is how WaitSignal and Test compare a signal with a value.
type Cmp uint8

// The comparisons.
const (
	EQ Cmp = iota
	NE
	GT
	GE
	LT
	LE
)

// String returns the comparison as kernels write it.
func (c Cmp) String() string {
	return printable.Name("Cmp", c, []string{"EQ", "NE", "GT", "GE", "LT", "LE"})
}

// Holds reports whether a compares with b so.
func (c Cmp) Holds(a, b int64) bool {
	switch c {
	case EQ:
		return a == b
	case NE:
		return a != b
	case GT:
		return a > b
	case GE:
		return a >= b
	case LT:
		return a < b
	}
	return a <= b
}

// PE is the processing element that a kernel runs on, with every operation a
// kernel has. A kernel gets its own as first argument:
//
//	func scale(t *tl.PE, x tl.Ptr, n int)
type PE struct {
	m      Machine
	kernel string
	place  Place

	// What goes to the machine by pointer stays here, or every call would allocate.
	v     Value
	c     Compute
	into  Block
	cases []Case
}

// NewPE makes the PE on which a kernel, known to errors by name, runs. Machines
// call it; a kernel is given its PE.
func NewPE(m Machine, kernel string) *PE {
	return &PE{m: m, kernel: kernel, place: m.Place()}
}

// Through is the PE with operations that go through what wrap makes of its machine, for
// those who look at them on their way.
func (t *PE) Through(wrap func(Machine) Machine) *PE { return NewPE(wrap(t.m), t.kernel) }

// ProgramID is where the kernel runs along an axis: 0 is the PE in its cube, 1 the
// cube in its SIP, 2 the SIP.
func (t *PE) ProgramID(axis int) int {
	return t.along("ProgramID", axis, [3]int{t.place.PE, t.place.Cube, t.place.SIP})
}

// NumPrograms is how many there are along an axis: PEs in a cube, cubes in a SIP,
// SIPs.
func (t *PE) NumPrograms(axis int) int {
	return t.along("NumPrograms", axis, [3]int{t.place.PEs, t.place.Cubes, t.place.SIPs})
}

func (t *PE) along(op string, axis int, ids [3]int) int {
	if axis < 0 || axis > 2 {
		panic(t.fail(op, "", fmt.Errorf("no axis %d: 0 is the PE, 1 the cube, 2 the SIP", axis)))
	}
	return ids[axis]
}

// Rank is the index of this PE among those of the launch.
func (t *PE) Rank() int { return t.place.Rank }

// NumRanks is how many PEs the launch runs on.
func (t *PE) NumRanks() int { return t.place.Ranks }
