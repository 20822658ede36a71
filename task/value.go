package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/kernbench/kernbench/tl"
)

// recording is the progress of an orchestration. The orchestration runs on a goroutine of its
// own, in turns with whatever runs the tasks: until it asks for a value, and again when it is
// given the value.
type recording struct {
	pauses   []pause
	read     []Ref // tasks whose values have been read, without those that come before others of them
	noValues error // why values cannot be read; nil if they can
	built    bool  // the orchestration has ended
	paused   atomic.Bool
	moved    chan step
	values   chan float64
}

// pause is where an orchestration asks for a value.
type pause struct {
	task     Ref
	x        *Tensor
	elem     int64 // of x
	line     string
	recorded []extent // by program
}

// extent is how much of a program is recorded.
type extent struct {
	tasks int
	out   [2]int // as in Program
}

// step reports that an orchestration has paused or ended.
type step struct {
	ended bool
	err   error
}

// start makes the channels. An orchestration that has been abandoned can still report its
// end.
// Value waits for the end of a task and returns an element, as a float64, of a tensor that
// the task reads or writes: what is submitted next may depend on it. The task must be the last
// one so far that writes the element.
//
// Tensors and domains are made before the first Value. Where no values are computed
// (--data=off) it is an error.
func (b *Builder) Value(id ID, x *Tensor, index ...int) float64 {
	b.goesOn("Value")
	if b.noValues != nil {
		panic(misuse("Value", "%w", b.noValues))
	}
	if id < 0 || int(id) >= len(b.tasks) {
		panic(misuse("Value", "of task %d, and there are %d tasks so far, counted from 0", id, len(b.tasks)))
	}
	at := b.tasks[id]
	p := b.of("Value", int(at.Rank))
	t := &p.Tasks[at.Task]
	if x == nil || x.number >= len(p.Tensors) || p.Tensors[x.number] != x {
		panic(misuse("Value", "of %s: the tensor is none of rank %d, where the task runs", t.title(), p.Rank))
	}
	if len(index) != len(x.Shape) {
		panic(misuse("Value", "of %s: %d indices for %v: write one for each of its %d axes", t.title(), len(index), x, len(x.Shape)))
	}
	one := make([]int, len(index))
	for axis, i := range index {
		if one[axis] = 1; i < 0 || i >= x.Shape[axis] {
			panic(misuse("Value", "of %s: index %v is outside of %v", t.title(), index, x))
		}
	}
	element := x.Box(index, one)
	if !t.touches(element, Reads|Writes) {
		panic(misuse("Value", "of %s: %v is in no region of the task: ask for an element that it reads or writes", t.title(), element))
	}
	for _, ref := range b.tasks[id+1:] {
		if later := b.task(ref); later.touches(element, Writes) {
			fix := "ask for its value instead"
			if ref.Rank != at.Rank {
				fix = fmt.Sprintf("submit a task of rank %d behind it that reads the element, and ask for the value of that task", p.Rank)
			}
			panic(misuse("Value", "of %s: %s, submitted at %s, writes %v later: %s", t.title(), later.title(), later.Line, element, fix))
		}
	}
	return b.pause(pause{task: at, x: x, elem: element.offset(), line: caller()}, t)
}

// touches reports whether the task has access to an element, of its own rank or of another
// rank whose regions it names.
func (t *Task) touches(element Region, access Access) bool {
	for i := range t.Args {
		if r, has := t.Args[i].touched(); r.Tensor == element.Tensor && has&access != 0 && r.covers(&element.box) {
			return true
		}
	}
	return false
}

// offset returns the place of the region's first element in its tensor.
func (r *Region) offset() (n int64) {
	strides := r.Tensor.strides()
	for axis := range r.Tensor.Shape {
		n += int64(r.from[axis]) * strides[axis]
	}
	return n
}

// pause stops the orchestration until it is given a value of a task.
func (b *Builder) pause(at pause, of *Task) float64 {
	for _, p := range b.programs {
		at.recorded = append(at.recorded, extent{len(p.Tasks), [2]int{len(p.out[0]), len(p.out[1])}})
	}
	b.pauses = append(b.pauses, at)
	b.moved <- step{}
	select {
	case v, ok := <-b.values:
		if !ok {
			panic(misuse("Value", "%w", errDiscarded))
		}
		// Those that had been read when the task was submitted come before it.
		b.read = slices.DeleteFunc(slices.Clone(b.read), func(r Ref) bool { return slices.Contains(of.read, r) })
		if !slices.Contains(b.read, at.task) {
			b.read = append(b.read, at.task)
		}
		return v
	case <-b.done.Done():
		panic(misuse("Value", "%w", context.Cause(b.done)))
	}
}

var errDiscarded = errors.New("the program ended before the orchestration")

// build runs an orchestration to its first pause, or to its end.
func (b *Builder) build(orchestrate func(b *Builder)) error {
	if orchestrate == nil {
		return fmt.Errorf("the orchestration%s is nil", b.whose())
	}
	go func() {
		end := step{ended: true, err: errors.New("it ended its goroutine: return instead")}
		defer func() { b.moved <- end }() // also of runtime.Goexit, which returns from nothing
		end.err = called(func() { orchestrate(b) })
	}()
	return b.advance()
}

// whose returns which orchestration it is, for errors.
func (b *Builder) whose() string {
	if b.single {
		return ""
	}
	return fmt.Sprintf(" of rank %d", b.Rank())
}

// advance waits until the orchestration pauses or ends.
func (b *Builder) advance() error {
	select {
	case s := <-b.moved:
		b.built = s.ended
		b.paused.Store(!s.ended)
		if s.err != nil {
			return fmt.Errorf("the orchestration%s: %w", b.whose(), s.err)
		}
		return nil
	case <-b.done.Done():
		return b.givenUp()
	}
}

// givenUp returns the error of an orchestration whose context ended first.
func (b *Builder) givenUp() error {
	return fmt.Errorf("the orchestration%s has not ended: %w", b.whose(), context.Cause(b.done))
}

// resume gives the orchestration the value that it waits for, and lets it go on to the
// next pause or to its end. An orchestration whose context has ended does not wait any more.
func (b *Builder) resume(v float64) error {
	b.paused.Store(false)
	select {
	case b.values <- v:
		return b.advance()
	case <-b.done.Done():
		return b.givenUp()
	}
}

// discard ends an orchestration that waits for a value. One that computes without end
// cannot be stopped.
func (b *Builder) discard() {
	if b.paused.CompareAndSwap(true, false) {
		close(b.values)
		<-b.moved
		b.built = true
	}
}

// Discard ends the orchestration of a program that is not run, if it waits for a value.
func (p *Program) Discard() {
	if p.by != nil {
		p.by.discard()
	}
}

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
