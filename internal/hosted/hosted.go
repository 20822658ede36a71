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

// Scheduler returns the scheduler of a context. Its field Machine is the machine.
var Scheduler func(context any) *stream.Scheduler

// Rank returns the scheduler's object for the given *torch.Rank.
var Rank func(rank any) *stream.Rank

// Tensor holds the properties of a *torch.Tensor that collectives need.
type Tensor struct {
	Region    *stream.Region
	DType     tl.DType
	Shape     tl.Shape
	Axes      tl.Shape    // the shape; {1} for a tensor without axes
	Shards    []Shard     // the shards in the order of their addresses
	Base      memory.VA   // the first address of the tensor
	Name      string      // the name in errors: "weights (tensor 3) [8] f32"
	Cuts      string      // how the tensor is divided; tensors with equal Cuts have corresponding shards
	Irregular func() bool // reports whether a new tensor with the same shape and placement would have other shards
	Of        string      // the name of the tensor that this one is a view of; "" if it is not a view
	Partial   bool        // whether the tensor, or the tensor that it is a view of, is partial
}

// Shard is the part of a tensor that one PE holds: a box in row-major order.
type Shard struct {
	At            machine.PEID
	VA            memory.VA
	Elems         int
	Bytes         memory.Bytes // size of the elements
	Start, Extent []int        // the box; must not be changed
	Copy, Addend  int
}

// TensorOf returns the properties of a tensor. It panics with a *torch.Error that names the
// operation op if the tensor is nil or has been freed.
var TensorOf func(tensor any, op string) *Tensor

// Replicate marks the addends of a partial tensor and of its views as copies. It is called
// after an operation has replaced each addend by the sum of all addends.
var Replicate func(tensor any)

// Hold reserves memory of this computer for the values that an operation writes to the
// tensor. op is the name of the operation, for errors.
var Hold func(context any, op string, tensor any) error

// UsePEs reserves memory of this computer to simulate the given PEs. op is the name of the
// operation that runs on the PEs, for errors.
var UsePEs func(context any, op string, pes []machine.PEID) error

// Scratch allocates memory for elems[i] elements in the HBM of PE pes[i]. If written is
// true, it also reserves memory of this computer for the values. It returns the memory as
// the tensor x, and a function that frees the memory. op is the name of the operation that
// uses the memory, for errors.
var Scratch func(context any, op, name string, dtype tl.DType, pes []machine.PEID, elems []int, written bool) (x *Tensor, free func() error, err error)

// Runs makes the operation op run the program p. members[i] is the rank in the world of
// target PE i of p; nil means that each target is a rank. The function prepare is called
// when the program starts, and the function ended when the program has ended; both may be
// nil.
var Runs func(context any, op *stream.Operation, p *machine.Program, members []int, prepare func() error, ended func(*machine.Run))

// RunProgram enqueues the program p in the stream of a rank, as Launch does with a kernel:
// p runs after everything that the rank has requested before. tensors is a []*torch.Tensor
// that p may read and write. The returned function waits for the end of p.
var RunProgram func(rank any, p *machine.Program, tensors any) (wait func() error, err error)

// Read waits for the operations that write the tensor, copies the tensor to the host for
// the rank, and returns its bytes. In a run without values the copy takes the same time,
// and the bytes are nil.
var Read func(rank, tensor any) ([]byte, error)

// SaveTrace ends the trace of a context, if there is one, and gives the trace file its
// final name. The parameter about describes the program; its content is written to the
// file.
var SaveTrace func(context any, about trace.About) error

// DropTrace discards the trace of a context, if there is one.
var DropTrace func(context any) error
