package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/kernbench/kernbench/tl"
)

// recording is the progress of an orchestration, which runs on its own goroutine. The
// orchestration and the code that runs its tasks take turns: the orchestration runs until
// it asks for a value, and again when it receives the value.
type recording struct {
	pauses     []pause
	valueTasks []Ref        // tasks whose values have been read, without tasks that come before another one of the list
	noValues   error        // why values cannot be read; nil if they can
	built      bool         // the orchestration has ended
	paused     atomic.Bool  // the orchestration waits for a value
	steps      chan step    // the orchestration has paused or ended
	values     chan float64 // the value that the orchestration waits for; closed to discard it
}

// pause is a point at which an orchestration asks for a value.
type pause struct {
	task     Ref // the task whose value is read
	x        *Tensor
	elem     int64    // index of the element in x
	line     string   // file and line of the call of Value
	recorded []extent // by program: what was recorded before the pause
}

// extent is how much of a program is recorded.
type extent struct {
	tasks int
	out   [2]int // lengths of Program.out
}

// step is the report that an orchestration has paused or ended.
type step struct {
	ended bool
	err   error
}

// Value waits until task id has ended, and returns one element of x as a float64. The task
// must read or write this element. Tasks that are submitted later may depend on the value.
// No task that was submitted after task id may write the element.
//
// All tensors and domains must be created before the first call of Value. In a run that
// computes no values (--data=off), a call of Value is an error.
func (b *Builder) Value(id ID, x *Tensor, index ...int) float64 {
	b.checkBuilding("Value")
	if b.noValues != nil {
		panic(misuse("Value", "%w", b.noValues))
	}
	if id < 0 || int(id) >= len(b.tasks) {
		panic(misuse("Value", "of task %d, and there are %d tasks so far, counted from 0", id, len(b.tasks)))
	}
	at := b.tasks[id]
	p := b.programOf("Value", int(at.Rank))
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

// touches reports whether an argument of the task has one of the given kinds of access to
// an element. If an argument declares a region of another rank, that region counts.
// Otherwise the argument's region of the task's own rank counts.
func (t *Task) touches(element Region, access Access) bool {
	for i := range t.Args {
		if r, has := t.Args[i].regionAccess(); r.Tensor == element.Tensor && has&access != 0 && r.covers(&element.box) {
			return true
		}
	}
	return false
}

// offset returns the index of the region's first element, counted over all elements of its
// tensor.
func (r *Region) offset() (n int64) {
	strides := r.Tensor.strides()
	for axis := range r.Tensor.Shape {
		n += int64(r.from[axis]) * strides[axis]
	}
	return n
}

// pause stops the orchestration until it receives the value that it asks for at the pause
// `at`, and returns the value. The task `source` computes this value.
func (b *Builder) pause(at pause, source *Task) float64 {
	for _, p := range b.programs {
		at.recorded = append(at.recorded, extent{len(p.Tasks), [2]int{len(p.out[0]), len(p.out[1])}})
	}
	b.pauses = append(b.pauses, at)
	b.steps <- step{}
	select {
	case v, ok := <-b.values:
		if !ok {
			panic(misuse("Value", "%w", errDiscarded))
		}
		// The tasks whose values were read before the submission of source come before
		// source.
		b.valueTasks = slices.DeleteFunc(slices.Clone(b.valueTasks), func(r Ref) bool { return slices.Contains(source.valueTasks, r) })
		if !slices.Contains(b.valueTasks, at.task) {
			b.valueTasks = append(b.valueTasks, at.task)
		}
		return v
	case <-b.ctx.Done():
		panic(misuse("Value", "%w", context.Cause(b.ctx)))
	}
}

var errDiscarded = errors.New("the program ended before the orchestration")

// build starts an orchestration. It returns when the orchestration first waits for a value,
// or when the orchestration ends.
func (b *Builder) build(orchestrate func(b *Builder)) error {
	if orchestrate == nil {
		return fmt.Errorf("the orchestration%s is nil", b.rankSuffix())
	}
	go func() {
		end := step{ended: true, err: errors.New("it ended its goroutine: return instead")}
		defer func() { b.steps <- end }() // also after runtime.Goexit
		end.err = catchPanic(func() { orchestrate(b) })
	}()
	return b.advance()
}

// rankSuffix returns " of rank N" for errors about an orchestration of one rank, and "" for
// an orchestration of all ranks.
func (b *Builder) rankSuffix() string {
	if b.single {
		return ""
	}
	return fmt.Sprintf(" of rank %d", b.Rank())
}

// advance returns when the orchestration waits for a value, or when it ends.
func (b *Builder) advance() error {
	select {
	case s := <-b.steps:
		b.built = s.ended
		b.paused.Store(!s.ended)
		if s.err != nil {
			return fmt.Errorf("the orchestration%s: %w", b.rankSuffix(), s.err)
		}
		return nil
	case <-b.ctx.Done():
		return b.abandonedError()
	}
}

// abandonedError returns the error for an orchestration whose context has ended.
func (b *Builder) abandonedError() error {
	return fmt.Errorf("the orchestration%s has not ended: %w", b.rankSuffix(), context.Cause(b.ctx))
}

// resume sends value v to the orchestration, which waits for it, and returns when the
// orchestration waits for the next value or ends. It returns an error if the context of the
// orchestration has ended.
func (b *Builder) resume(v float64) error {
	b.paused.Store(false)
	select {
	case b.values <- v:
		return b.advance()
	case <-b.ctx.Done():
		return b.abandonedError()
	}
}

// discard ends an orchestration that waits for a value. An orchestration that computes
// without end cannot be stopped.
func (b *Builder) discard() {
	if b.paused.CompareAndSwap(true, false) {
		close(b.values)
		<-b.steps
		b.built = true
	}
}

// Discard ends the orchestration of a program that will not run, if the orchestration waits
// for a value.
func (p *Program) Discard() {
	if p.builder != nil {
		p.builder.discard()
	}
}

// Args is the arguments of a task, in the order of the kernel's parameters. A region
// becomes a parameter of type tl.Ptr that points to its first element, and a scalar a
// parameter of its kind.
//
//	task.Args{task.In("x", x.Rows(i, 4)), task.Out("y", y), task.Scalar("n", n)}
type Args []Arg

// Arg is an argument of a task. Its name appears in messages and traces.
type Arg struct {
	Name   string
	Region Region // region of the task's own rank; Region.Tensor is nil for a scalar
	Peer   Region // region of another rank that the kernel accesses there, if declared; Region is then the same region of the task's own rank
	Reach  Access // how the kernel accesses the region at other ranks
	Access Access // how the kernel accesses the region at its own rank
	Value  any    // value of a scalar
}

// Access is how a kernel accesses a region: it reads, writes or both.
type Access uint8

// Tasks of a rank conflict if their regions overlap and one of them writes. Accesses to the
// parts of other ranks conflict with nothing and must be ordered by signals, unless an
// orchestration of all ranks declares the region of the other rank (Gets, Puts, AtPeers).
const (
	Reads Access = 1 << iota
	Writes
)

// In returns an argument for a region that the kernel reads.
func In(name string, a Area) Arg { return newArg(name, a, Reads, 0) }

// Out returns an argument for a region that the kernel writes, or that a peer writes while
// the kernel waits for the data.
func Out(name string, a Area) Arg { return newArg(name, a, Writes, 0) }

// InOut returns an argument for a region that the kernel reads and writes.
func InOut(name string, a Area) Arg { return newArg(name, a, Reads|Writes, 0) }

// AtPeers returns an argument for a region that the kernel accesses only at other ranks,
// with Put and Get. (The kernel may also access the regions of its other arguments at other
// ranks.) In an orchestration of all ranks, the area `a` may be a region of another rank,
// so that conflicts at that rank are found. The kernel then receives a pointer to the same
// region of its own rank.
func AtPeers(name string, a Area) Arg { return newArg(name, a, 0, Reads|Writes) }

// Gets returns an argument for a region that the kernel accesses only at other ranks, and
// only with Get. As in AtPeers, the area `a` may be a region of another rank.
func Gets(name string, a Area) Arg { return newArg(name, a, 0, Reads) }

// Puts returns an argument for a region that the kernel accesses only at other ranks, and
// only with Put. As in AtPeers, the area `a` may be a region of another rank.
func Puts(name string, a Area) Arg { return newArg(name, a, 0, Writes) }

// newArg returns an argument for area a, which must have a tensor. `access` says how the
// kernel accesses the region at its own rank, and `reach` how it accesses the region at
// other ranks.
func newArg(name string, a Area, access, reach Access) Arg {
	if x, isTensor := a.(*Tensor); a == nil || isTensor && x == nil {
		panic(misuse("Args", "argument %s is a nil tensor", name))
	}
	r := a.region()
	if r.Tensor == nil {
		panic(misuse("Args", "argument %s is a Region of no tensor: regions come from Box and Rows", name))
	}
	return Arg{Name: name, Region: r, Access: access, Reach: reach}
}

// regionAccess returns the region of the argument that may conflict with regions of other
// tasks, and how the task accesses this region. If the argument declares a region of
// another rank (Peer), the result is that region. Otherwise it is the region of the task's
// own rank.
func (a *Arg) regionAccess() (*Region, Access) {
	if a.Peer.Tensor != nil {
		return &a.Peer, a.Reach
	}
	return &a.Region, a.Access
}

// Scalar returns an argument with a value for a parameter that is not a pointer, such as a
// number.
func Scalar(name string, v any) Arg { return Arg{Name: name, Value: v} }

// tensorArg wraps an argument with a region. tl.Bind identifies such arguments by this
// type.
type tensorArg struct{ *Arg }

// bind checks that the kernel accepts the arguments, and binds them to the kernel's
// parameters. `name` is the task's name in errors.
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
