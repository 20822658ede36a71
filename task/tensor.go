package task

import (
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// Tensor is memory that tasks work on: the part of it that one rank has, row-major
// without gaps.
type Tensor struct {
	Name   string
	DType  tl.DType
	Shape  tl.Shape
	Window bool // other ranks have a part as well, which Put and Get reach
	Source any  // whose memory it is: what it was made of

	number int     // in its program
	rank   int     // of that program
	domain *Domain // whose memory it is, if it is one's
}

func (x *Tensor) String() string { return fmt.Sprintf("%s %v %v", x.Name, x.Shape, x.DType) }

// bytes returns the size of the part.
func (x *Tensor) bytes() int64 {
	n := int64(x.DType.Size())
	for _, d := range x.Shape {
		n *= int64(d)
	}
	return n
}

// maxBytes bounds what a rank has of a tensor of a domain, so that sums and products of sizes
// do not overflow.
const maxBytes = 1 << 46

// tooLarge reports whether the tensor has more bytes than one of a domain may have.
func (x *Tensor) tooLarge() bool {
	left := maxBytes / int64(x.DType.Size()) // elements that one index of the axes so far may have
	for _, d := range x.Shape {
		if d == 0 {
			return false
		}
		left /= int64(d)
	}
	return left == 0
}

// strides returns how many elements lie between neighbours along each axis.
func (x *Tensor) strides() (s [oplog.MaxRank]int64) {
	n := int64(1)
	for axis := len(x.Shape) - 1; axis >= 0; axis-- {
		s[axis] = n
		n *= int64(x.Shape[axis])
	}
	return s
}

// Region is a box of a tensor: what a task reads or writes of it.
type Region struct {
	Tensor *Tensor
	box
}

// box is a box in up to four axes. Those that a tensor does not have are 0 to 1.
type box struct{ from, to [oplog.MaxRank]int32 }

// Area is a part of a tensor: a Region, or a *Tensor, which is all of it.
type Area interface{ region() Region }

func (r Region) region() Region  { return r }
func (x *Tensor) region() Region { return x.Box(make([]int, len(x.Shape)), x.Shape) }

// Box returns the box of the tensor that begins at an index and has so many elements along
// each axis. Where fewer axes are given the others are whole: x.Box([]int{row}, []int{n})
// is rows.
func (x *Tensor) Box(start, extent []int) Region {
	if x == nil {
		panic(misuse("Box", "a nil tensor"))
	}
	if len(start) != len(extent) || len(start) > len(x.Shape) {
		panic(misuse("Box", "%d indices and %d extents for %v: write one of each for some of its %d axes, from the first", len(start), len(extent), x, len(x.Shape)))
	}
	r := Region{Tensor: x}
	for axis := range r.to {
		r.to[axis] = 1
	}
	for axis, n := range x.Shape {
		from := 0
		if axis < len(start) {
			from, n = start[axis], extent[axis]
		}
		if from < 0 || n < 0 || from > x.Shape[axis]-n {
			panic(misuse("Box", "%d elements from %d on are not all in axis %d of %v", n, from, axis, x))
		}
		r.from[axis], r.to[axis] = int32(from), int32(from+n)
	}
	return r
}

// Rows returns n rows of the tensor: a box that is whole but for the first axis.
func (x *Tensor) Rows(first, n int) Region { return x.Box([]int{first}, []int{n}) }

// Overlaps reports whether two regions have an element in common.
func (r Region) Overlaps(s Region) bool { return r.Tensor == s.Tensor && r.overlaps(&s.box) }

// String returns the region as x[0:4, 8:16].
func (r Region) String() string {
	axes := lists.Make(len(r.Tensor.Shape), func(i int) string { return fmt.Sprintf("%d:%d", r.from[i], r.to[i]) })
	return r.Tensor.Name + "[" + strings.Join(axes, ", ") + "]"
}

// pointer points to the region's first element.
func (r Region) pointer(at memory) tl.Ptr {
	p := tl.Ptr{Addr: at.addr, DType: r.Tensor.DType, Rank: int8(len(r.Tensor.Shape)), Window: at.window, Stride: r.Tensor.strides()}
	p.Addr += r.offset() * int64(p.DType.Size())
	for axis := range r.Tensor.Shape {
		p.Extent[axis] = r.to[axis] - r.from[axis]
	}
	return p
}

// overlaps reports whether two boxes have an element in common.
func (a *box) overlaps(b *box) bool {
	for axis := range a.from {
		if max(a.from[axis], b.from[axis]) >= min(a.to[axis], b.to[axis]) {
			return false
		}
	}
	return true
}

// covers reports whether all elements of b are in a.
func (a *box) covers(b *box) bool {
	for axis := range a.from {
		if b.from[axis] < a.from[axis] || b.to[axis] > a.to[axis] {
			return false
		}
	}
	return true
}

// empty reports whether the box has no element.
func (a *box) empty() bool { return !a.overlaps(a) }

// ScopeError is a scope that can never end: its tasks keep their slots until it does, and
// are more than its ring has.
type ScopeError struct {
	Rank  int
	Scope Scope
	Tasks int // of the scope that lie in its ring
	Slots int
	At    ID // the task that there is no slot for
	Line  string
}

func (e *ScopeError) Error() string {
	return fmt.Sprintf("rank %d: deadlock of %s: scope %q at %s has %d tasks, which keep their slots until it ends, and its ring has %d: task %d, submitted at %s, can never be; make the scope smaller, or raise tasks.%s.slots",
		e.Rank, TensorMapAndRingBuffer, e.Scope.Name, e.Scope.Line, e.Tasks, e.Slots, e.At, e.Line, TensorMapAndRingBuffer)
}

// TooMany is a graph that is larger than the storage of host_build_graph.
type TooMany struct{ Rank, Tasks, Limit int }

func (e *TooMany) Error() string {
	return fmt.Sprintf("rank %d has %d tasks, and %s keeps at most %d: take another runtime, or raise tasks.%[3]s.tasks",
		e.Rank, e.Tasks, HostBuildGraph, e.Limit)
}

// Refused is why something was not run: a mistake, not a failure of the run.
type Refused struct{ Err error }

func (e *Refused) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *Refused) Unwrap() error { return e.Err }

// Check returns why a program would be refused on real ranks.
func (p *Program) Check(o Options) error {
	if err := o.settle(); err != nil {
		return err
	}
	if err := newFitting(o.Runtime, o.Config, o.cores()).extend(p); err != nil {
		return &Refused{err}
	}
	return nil
}

// fitting checks that there is room for a program, also while that grows.
type fitting struct {
	runtime Runtime
	config  *Config
	cores   int
	ports   int // of a PE at most; 0 for any number
	checked int // tasks
	rings   []queue[ID]
}

func newFitting(r Runtime, c *Config, cores int) *fitting {
	return &fitting{runtime: r, config: c, cores: cores, rings: make([]queue[ID], c.TensorMap.Rings)}
}

// extend checks the tasks that the program has more than before.
func (f *fitting) extend(p *Program) error {
	from := f.checked
	f.checked = len(p.Tasks)
	if n := len(p.Tasks) - from; f.runtime == HostBuildGraph && n > f.config.Host.Tasks {
		return &TooMany{p.Rank, n, f.config.Host.Tasks}
	}
	for i := from; i < len(p.Tasks); i++ {
		if t := &p.Tasks[i]; t.Members > f.cores {
			return fmt.Errorf("rank %d: task %d (%s) at %s is a group of %d, and the rank has %d compute cores: make it smaller, or give the rank more, by tasks.control.compute_cores or a larger device",
				p.Rank, t.ID, t.Name, t.Line, t.Members, f.cores)
		} else if len(t.Neighbors) > 0 && f.ports > 0 {
			if err := t.checkPorts(f.ports); err != nil {
				return fmt.Errorf("rank %d: task %d (%s) at %s: %w", p.Rank, t.ID, t.Name, t.Line, err)
			}
		}
	}
	if f.runtime == TensorMapAndRingBuffer {
		return f.scopes(p, ID(from))
	}
	return nil
}

// scopes goes through the rings as if tasks ended at once: what is then in the way of a
// task is so for ever.
func (f *fitting) scopes(p *Program, from ID) error {
	c := &f.config.TensorMap
	for next := from; int(next) < len(p.Tasks); next++ {
		r := &f.rings[p.depth(next, c.Rings)]
		for r.len() > 0 && !p.open(r.at(0), next) {
			r.pop()
		}
		if r.len() >= c.Slots {
			return p.tooLarge(r.at(0), next, c)
		}
		r.push(next)
	}
	return nil
}

// tooLarge returns the error of the scope that the oldest task in a full ring is in: all that
// has come since is of that scope.
func (p *Program) tooLarge(oldest, next ID, c *TensorMap) error {
	scope := p.Scopes[p.Tasks[oldest].Scope]
	e := &ScopeError{Rank: p.Rank, Scope: scope, Slots: c.Slots, At: p.Tasks[next].ID, Line: p.Tasks[next].Line}
	for id := oldest; id < min(scope.End, ID(len(p.Tasks))); id++ {
		if p.depth(id, c.Rings) == p.depth(oldest, c.Rings) {
			e.Tasks++
		}
	}
	return e
}

// depth returns the ring that a task lies in, of so many.
func (p *Program) depth(id ID, rings int) int { return min(int(p.Tasks[id].Depth), rings-1) }

// open reports whether the scope of a task has not ended when the next task is to be
// submitted: there are more tasks of it to come.
func (p *Program) open(id, next ID) bool {
	scope := p.Tasks[id].Scope
	return scope >= 0 && p.Scopes[scope].End > next
}
