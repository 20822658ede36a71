package tl

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
)

// Machine runs the operations of one PE. Machines are the simulated CPU in internal/cpu
// and a process in internal/procpe. A PE checks an operation; a machine determines when
// it runs and records it for the data phase. The errors of a machine do not name the
// kernel, PE, operation and line; PE adds them.
//
// A *Value, *Compute, *Block or []Case belongs to the PE and changes after the call. The
// machine may keep a *Composite. The pointer in a block or value has a stride for each
// axis of the shape next to it.
type Machine interface {
	// Place returns where the kernel runs.
	Place() Place
	// Now returns the time on the PE's own clock.
	Now() simtime.Time
	// Scratch allocates zeroed scratch memory until the kernel ends.
	Scratch(bytes int64) (addr int64, err error)
	// Load loads a block of memory into a new tile, v. The address is virtual.
	Load(v *Value, from Block) error
	// Store writes a tile to memory.
	Store(v Value, to Block) error
	// Compute computes a new tile, v.
	Compute(v *Value, c *Compute) error
	// Composite starts a command that streams tiles from memory to memory.
	Composite(c *Composite) (Handle, error)
	// Wait waits for the end of a composite or of a receive.
	Wait(h Handle) error
	// Send puts a tile into a queue and waits while the queue is full.
	Send(port Port, v Value) error
	// Recv takes the next message of a queue into a new tile v, or to memory if into is
	// not nil. If wait is true, Recv waits for the message; otherwise the PE calls Wait
	// with the Handle. For AnyPort, Recv waits until a port has a message. It serves the
	// ports in turn and returns the port.
	Recv(port Port, v *Value, into *Block, wait bool) (Handle, Port, error)
	// Select waits until at least one of the cases holds and returns the index of the first
	// case that holds. There is at least one case.
	Select(cases []Case) (int, error)
	// Put writes a tile into the part of a window that a peer holds.
	Put(peer int, v Value, to Block) error
	// Get reads a tile from the part of a window that a peer holds.
	Get(peer int, v *Value, from Block) error
	// Notify changes a signal of a peer. The change happens after all earlier puts to the
	// peer have arrived.
	Notify(peer, signal int, op SignalOp, value int64) error
	// WaitSignal waits until the comparison of a signal of this PE with value holds.
	WaitSignal(signal int, cmp Cmp, value int64) error
	// TestSignal reports whether the comparison of a signal of this PE with value holds
	// now.
	TestSignal(signal int, cmp Cmp, value int64) (bool, error)
	// Barrier returns the state of the barrier on a signal of this rank. The state is
	// zero whenever the signals are reset to zero.
	Barrier(signal int) *Barrier
	// Bytes computes the elements of a tile.
	Bytes(v Value) ([]byte, error)
	// Pin keeps a tile in TCM until Free.
	Pin(v Value) error
	// Free gives up a tile and its space in TCM.
	Free(v Value) error
	// Print prints a line of text for the user.
	Print(text string)
}

// Place is where a kernel runs: the coordinates of its PE, the extents of the machine,
// and its rank among the PEs of the launch.
type Place struct {
	PE, Cube, SIP    int
	PEs, Cubes, SIPs int // per cube, per SIP, in the system
	Rank, Ranks      int
	Name             string // "sip0.cube5.pe3"
}

// Value is the machine's view of a tile, or of a Ref. A machine sets ID, Slot and Turn of
// tiles that it creates. The PE sets the other fields.
type Value struct {
	ID    oplog.ID // the operation that produced it in the op log; 0 if there is none
	Slot  int32    // identifies its place in TCM
	Turn  uint32   // distinguishes it from later tiles in the same slot
	Shape oplog.Shape
	DType numeric.DType
	InMem bool // a Ref: Block{*Ptr, Shape}
	Ptr   *Ptr // of a Ref; nil for tiles. A pointer, because values are copied often
}

// Bytes returns the size of the tile in bytes.
func (v *Value) Bytes() int64 {
	if v.Shape.Rank == 1 {
		return int64(v.Shape.Dim[0]) * int64(v.DType.Size())
	}
	return int64(v.Shape.Elems()) * int64(v.DType.Size())
}

// Block returns the memory of a Ref.
func (v *Value) Block() Block {
	return Block{Ptr: *v.Ptr, Shape: v.Shape, Valid: v.Shape, DType: v.DType}
}

// Block is a box of elements in memory with the extents Shape. Along each axis, the first
// Valid elements exist. Other elements read as Fill, and writes skip them.
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
	Math numeric.Op // for the kinds Math and Reduce
	Axis int        // for the kind Reduce
	Fill float64    // for the kind Full
	Args [3]Arg
	N    int // arguments in use
}

// Arg is an operand: a tile, memory or a number.
type Arg struct {
	Value    Value
	Scalar   float64
	IsScalar bool

	// AtPeer says that the memory is in the part of a window that rank Peer holds, at the
	// offset that Ptr has in this PE's own part.
	AtPeer bool
	Peer   int
}

// Composite describes a composite command: a matrix product, an elementwise operation on
// large operands or a reduction over peers, and an epilogue.
type Composite struct {
	Kind     oplog.Kind // Gemm, Stream or ReducePeers
	Math     numeric.Op // for Stream and ReducePeers
	Args     []Arg      // two for Gemm: tiles (pinned) or memory (streamed); for ReducePeers memory at peers
	Epilogue []Step
	Out      Block
}

// Step is an operation of an epilogue. Its operands are the result so far and Args.
type Step struct {
	Math numeric.Op
	Args []Arg

	operands []any // the arguments of Do, which Composite converts to Args
}

// Handle identifies a command or a receive to wait for. The zero Handle identifies
// nothing.
type Handle struct{ N uint64 }

// SignalOp is the way in which Notify changes a signal.
type SignalOp uint8

// The ways to change a signal.
const (
	Set SignalOp = iota
	Add
)

// Cmp is a comparison of a signal with a value, for WaitSignal and Test.
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

// Holds reports whether the comparison is true with a on its left and b on its right, such
// as a >= b for GE.
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

// PE is the processing element that a kernel runs on. Its methods are the operations of
// the tile language. A kernel gets its PE as the first argument:
//
//	func scale(t *tl.PE, x tl.Ptr, n int)
type PE struct {
	m Machine

	// Arguments that the machine gets by pointer. As locals they would be allocated on
	// every call.
	v     Value
	c     Compute
	into  Block
	cases []Case

	kernel string
	place  Place
}

// NewPE creates the PE that a kernel runs on. kernel is the name of the kernel in errors.
// Machines call NewPE and pass the PE to the kernel.
//
//go:noinline
func NewPE(m Machine, kernel string) *PE {
	return &PE{m: m, kernel: kernel, place: m.Place()}
}

// Through returns a PE for the same kernel on another machine. The function `wrap` receives
// the machine of this PE, and returns the other machine. The other machine can observe or
// change each operation before it passes the operation to the machine of this PE.
func (t *PE) Through(wrap func(Machine) Machine) *PE { return NewPE(wrap(t.m), t.kernel) }

// ProgramID returns a coordinate of this PE. Axis 0 gives the index of the PE in its cube,
// axis 1 the index of the cube in its SIP, and axis 2 the index of the SIP.
func (t *PE) ProgramID(axis int) int {
	return t.coordinate("ProgramID", axis, [3]int{t.place.PE, t.place.Cube, t.place.SIP})
}

// NumPrograms returns an extent of the machine. Axis 0 gives the number of PEs in a cube,
// axis 1 the number of cubes in a SIP, and axis 2 the number of SIPs.
func (t *PE) NumPrograms(axis int) int {
	return t.coordinate("NumPrograms", axis, [3]int{t.place.PEs, t.place.Cubes, t.place.SIPs})
}

// coordinate returns ids[axis]. It stops the kernel if there is no such axis.
func (t *PE) coordinate(op string, axis int, ids [3]int) int {
	if axis < 0 || axis > 2 {
		panic(t.fail(op, "", fmt.Errorf("no axis %d: 0 is the PE, 1 the cube, 2 the SIP", axis)))
	}
	return ids[axis]
}

// Rank returns the index of this PE among the PEs of the launch.
func (t *PE) Rank() int { return t.place.Rank }

// NumRanks returns the number of PEs that the launch runs on.
func (t *PE) NumRanks() int { return t.place.Ranks }
