// Package hosted gives other packages of this module access to parts of package torch that
// are not in its API: the scheduler of operations, the machine, and the memory of tensors.
// Package torch sets the variables in its init functions. The type any stands for a
// *torch.Context where a parameter is called context, for a *torch.Rank where it is called
// rank, and for a *torch.Tensor where it is called tensor.
package hosted

import (
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/tl"
)

// Scheduler returns the scheduler of a context, including its machine.
var Scheduler func(context any) *stream.Scheduler

// Rank returns the scheduler's object for a rank.
var Rank func(rank any) *stream.Rank

// Tensor has the properties of a tensor that collectives need.
type Tensor struct {
	Region    *stream.Region
	DType     tl.DType
	Shape     tl.Shape
	Axes      tl.Shape    // the shape; {1} for a tensor without axes
	Shards    []Shard     // in the order of their addresses
	Base      memory.VA   // the first address of its range
	Name      string      // the name in errors: "weights (tensor 3) [8] f32"
	Cuts      string      // how the tensor is divided; tensors with equal Cuts have corresponding shards
	Irregular func() bool // reports whether the layout differs from what the placement makes of the shape
	Of        string      // the name of the tensor that it is a view of; "" if it is not a view
	Partial   bool        // whether it, or the tensor that it is a view of, has addends
}

// Shard is the part of a tensor that one PE holds: a box in row-major order.
type Shard struct {
	At            machine.PEID
	VA            memory.VA
	Elems         int
	Bytes         memory.Bytes // size of the elements
	Start, Extent []int        // the box; must not be changed
	Copy, Addend  int          // index of the copy if replicated, and of the addend if partial
}

// TensorOf returns the properties of a tensor for the operation op. It panics with a
// *torch.Error if the tensor is nil or has been freed.
var TensorOf func(tensor any, op string) *Tensor

// Replicate marks the addends of a tensor and its views as copies, after each of them has
// become the sum.
var Replicate func(tensor any)

// Hold reserves memory of this computer for the values of a tensor that the operation op
// writes.
var Hold func(context any, op string, tensor any) error

// UsePEs reserves memory of this computer for the PEs that the operation op runs on.
var UsePEs func(context any, op string, pes []machine.PEID) error

// Scratch allocates memory for elems[i] elements in the HBM of PE pes[i], for the operation
// op. If written is true, it also reserves memory of this computer for the values. It
// returns the memory as a tensor, and a function that frees the memory.
var Scratch func(context any, op, name string, dtype tl.DType, pes []machine.PEID, elems []int, written bool) (x *Tensor, free func() error, err error)

// Runs makes the operation op run a program. members has the rank in the world of each
// target; if it is nil, each target is a rank. prepare is called when the program starts
// and ended when it has ended; both may be nil.
var Runs func(context any, op *stream.Operation, p *machine.Program, members []int, prepare func() error, ended func(*machine.Run))

// RunProgram runs a program of the machine as Launch of a rank runs a kernel: after
// everything that the rank has requested before. The program may read and write tensors, a
// []*torch.Tensor. The returned function waits for the end of the program.
var RunProgram func(rank any, p *machine.Program, tensors any) (wait func() error, err error)

// Read waits for a tensor and copies it to the host for a rank. In a run without values the
// copy takes the same time, and the bytes are nil.
var Read func(rank, tensor any) ([]byte, error)

// SaveTrace ends the recording of a context, if there is one, and gives the file its final
// name.
var SaveTrace func(context any, about trace.About) error

// DropTrace discards the recording of a context, if there is one.
var DropTrace func(context any) error
