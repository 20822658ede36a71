// Package hosted is what packages of this module need of package torch beyond its API: the
// scheduler of its operations, the machine, and the memory of its tensors. Package torch sets
// the variables when the program starts. Behind each context is a *torch.Context, behind each
// rank a *torch.Rank, and behind each tensor a *torch.Tensor.
package hosted

import (
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/tl"
)

// Scheduler returns the scheduler of a context, with its machine.
var Scheduler func(context any) *stream.Scheduler

// Rank returns a rank as the scheduler has it.
var Rank func(rank any) *stream.Rank

// Tensor is what collectives need to know of a tensor.
type Tensor struct {
	Region    *stream.Region
	DType     tl.DType
	Shape     tl.Shape
	Axes      tl.Shape    // the shape, or {1} of a tensor without axes
	Shards    []Shard     // in the order of their addresses
	Base      memory.VA   // of its range of addresses
	Name      string      // as errors have it: "weights (tensor 3) [8] f32"
	Cuts      string      // tensors with the same have corresponding shards
	Irregular func() bool // reports whether it is not laid out as its placement cuts a tensor of its shape
	Of        string      // the name of the tensor that it is a view of; "" if it is none
	Partial   bool        // it, or what it is a view of, has addends
}

// Shard is what one PE holds of a tensor: a box of it, row-major.
type Shard struct {
	At            machine.PEID
	VA            memory.VA
	Elems         int
	Bytes         memory.Bytes // of these elements
	Start, Extent []int        // the box; not to be changed
	Copy, Addend  int
}

// TensorOf returns what collectives need to know of a tensor, for an operation. It panics with
// a *torch.Error if the tensor is nil or has been freed.
var TensorOf func(tensor any, op string) *Tensor

// Replicate makes copies of the addends of a tensor and its views, which have all become their
// sum.
var Replicate func(tensor any)

// Hold reserves memory of this computer for the values of a tensor that an operation writes.
var Hold func(context any, op string, tensor any) error

// UsePEs reserves memory of this computer for PEs that an operation runs on.
var UsePEs func(context any, op string, pes []machine.PEID) error

// Scratch allocates memory for some elements in the HBM of each of some PEs, for an operation,
// and reserves memory of this computer for their values if these are written. It returns the
// memory as a tensor, and the function that frees it.
var Scratch func(context any, op, name string, dtype tl.DType, pes []machine.PEID, elems []int, written bool) (x *Tensor, free func() error, err error)

// Runs makes an operation run a program. The rank of each target in the world is its member;
// without members each target is a rank. prepare is called when the program starts and ended
// when it has ended, if they are wanted.
var Runs func(context any, op *stream.Operation, p *machine.Program, members []int, prepare func() error, ended func(*machine.Run))

// RunProgram runs a program of the machine as a rank's Launch runs a kernel: when everything
// that the rank asked for before has ended. The program uses the tensors, a []*torch.Tensor, and
// may write them. The function that it returns waits for the end.
var RunProgram func(rank any, p *machine.Program, tensors any) (wait func() error, err error)

// Read waits for a tensor and copies it to the host for a rank. A run without values takes the
// time, and the bytes are nil.
var Read func(rank, tensor any) ([]byte, error)

// SaveTrace ends the recording of a context and gives its file its name, if there is one.
var SaveTrace func(context any, about trace.About) error

// DropTrace gives the recording of a context up, if there is one.
var DropTrace func(context any) error
