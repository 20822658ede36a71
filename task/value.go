package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
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
func (c *recording) start() { c.moved, c.values = make(chan step, 1), make(chan float64) }

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
