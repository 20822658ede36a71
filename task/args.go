package task

import "github.com/kernbench/kernbench/tl"

// Args is the arguments of a task, in the order of its kernel's parameters: tensors go
// to parameters of type tl.Ptr, which point to the region's first element, and scalars to
// parameters of their kind.
//
//	task.Args{task.In("x", x.Rows(i, 4)), task.Out("y", y), task.Scalar("n", n)}
type Args []Arg

// Arg is one of them. Its name is for messages and traces.
type Arg struct {
	Name   string
	Region Region // of a tensor; Region.Tensor is nil of a scalar
	Peer   Region // of another rank, if the kernel reaches that one there; Region is then the same of the task's own rank
	Reach  Access // what the kernel does with it there
	Access Access
	Value  any // of a scalar
}

// Access is what a task does with a region of its own rank.
type Access uint8

// Tasks of a rank conflict where their regions overlap and one of them writes. What a
// task does to the parts of peers conflicts with nothing, and is ordered by signals, unless
// an orchestration of all ranks names the rank (Gets, Puts, AtPeers).
const (
	Reads Access = 1 << iota
	Writes
)

// In returns the argument of a region that the kernel reads.
func In(name string, a Area) Arg { return arg(name, a, Reads, 0) }

// Out returns the argument of a region that the kernel writes, or whose bytes it waits for that a peer writes.
func Out(name string, a Area) Arg { return arg(name, a, Writes, 0) }

// InOut returns the argument of a region that the kernel reads and writes.
func InOut(name string, a Area) Arg { return arg(name, a, Reads|Writes, 0) }

// AtPeers returns the argument of a region of which the kernel reaches the parts of other ranks alone, with
// Put and Get. It may do so with any other region as well. In an orchestration of all ranks
// it may be a region of the rank that the kernel reaches, so that conflicts there are found;
// the kernel gets a pointer to the same region of its own rank.
func AtPeers(name string, a Area) Arg { return arg(name, a, 0, Reads|Writes) }

// Gets is like AtPeers for a region that the kernel reads with Get and does not change.
func Gets(name string, a Area) Arg { return arg(name, a, 0, Reads) }

// Puts is like AtPeers for a region that the kernel writes with Put and does not read.
func Puts(name string, a Area) Arg { return arg(name, a, 0, Writes) }

// arg returns the argument of a region, which must be of some tensor: what the kernel does
// with it at its own rank, and at others.
func arg(name string, a Area, access, reach Access) Arg {
	if x, isTensor := a.(*Tensor); a == nil || isTensor && x == nil {
		panic(misuse("Args", "argument %s is a nil tensor", name))
	}
	r := a.region()
	if r.Tensor == nil {
		panic(misuse("Args", "argument %s is a Region of no tensor: regions come from Box and Rows", name))
	}
	return Arg{Name: name, Region: r, Access: access, Reach: reach}
}

// touched returns the region that the task accesses, here or at another rank, and how, as
// far as that is known.
func (a *Arg) touched() (*Region, Access) {
	if a.Peer.Tensor != nil {
		return &a.Peer, a.Reach
	}
	return &a.Region, a.Access
}

// Scalar returns the argument of a value that the kernel is given: a number, or anything its parameter takes.
func Scalar(name string, v any) Arg { return Arg{Name: name, Value: v} }

// tensorArg is an argument of a task for tl.Bind, which has tensors as a type of their
// own.
type tensorArg struct{ *Arg }

// bind checks that a kernel takes the arguments.
func (a Args) bind(name string, kernel any) (*tl.Binding, error) {
	given := make([]any, len(a))
	for i := range a {
		given[i] = a[i].Value
		if a[i].Region.Tensor != nil {
			given[i] = tensorArg{&a[i]}
		}
	}
	b, _, err := tl.Bind[tensorArg](name, kernel, given)
	return b, err
}
