package task

import (
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// Tensor is the part of a tensor that one rank holds, row-major without gaps. Tasks read
// and write regions of it.
type Tensor struct {
	Name   string
	DType  tl.DType
	Shape  tl.Shape
	Window bool // other ranks have parts too, which Put and Get access
	Source any  // identifies the memory, such as a *torch.Tensor

	number int     // index in Program.Tensors
	rank   int     // of the program
	domain *Domain // the domain of the tensor; nil if it belongs to none
}

func (x *Tensor) String() string { return fmt.Sprintf("%s %v %v", x.Name, x.Shape, x.DType) }

// bytes returns the size in bytes of the rank's part of the tensor.
func (x *Tensor) bytes() int64 {
	n := int64(x.DType.Size())
	for _, d := range x.Shape {
		n *= int64(d)
	}
	return n
}

// maxBytes is the largest size of a rank's part of a tensor of a domain. It keeps sums and
// products of sizes from overflowing.
const maxBytes = 1 << 46

// tooLarge reports whether the rank's part of the tensor has more than maxBytes bytes.
func (x *Tensor) tooLarge() bool {
	left := maxBytes / int64(x.DType.Size()) // elements that are allowed per index of the axes so far
	for _, d := range x.Shape {
		if d == 0 {
			return false
		}
		left /= int64(d)
	}
	return left == 0
}

// strides returns, for each axis, the distance in elements between neighbouring elements
// along that axis.
func (x *Tensor) strides() (s [oplog.MaxRank]int64) {
	n := int64(1)
	for axis := len(x.Shape) - 1; axis >= 0; axis-- {
		s[axis] = n
		n *= int64(x.Shape[axis])
	}
	return s
}

// Region is a box of a tensor that a task reads or writes.
type Region struct {
	Tensor *Tensor
	box
}

// box is a range of indices along each of four axes. Axes that the tensor does not have are
// 0 to 1.
type box struct{ from, to [oplog.MaxRank]int32 }

// Area is a part of a tensor: a Region, or a *Tensor for the whole tensor.
type Area interface{ region() Region }

func (r Region) region() Region  { return r }
func (x *Tensor) region() Region { return x.Box(make([]int, len(x.Shape)), x.Shape) }

// Box returns a box of the tensor as a region. Along axis i the box begins at index
// start[i] and has extent[i] elements. Along later axes, for which start and extent have no
// entries, the box is complete: x.Box([]int{row}, []int{n}) is n rows.
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

// Rows returns the n rows of the tensor that begin with row number `first`: a box that is
// complete along all axes but the first.
func (x *Tensor) Rows(first, n int) Region { return x.Box([]int{first}, []int{n}) }

// Overlaps reports whether two regions have an element in common.
func (r Region) Overlaps(s Region) bool { return r.Tensor == s.Tensor && r.overlaps(&s.box) }

// String returns the region in the form x[0:4, 8:16].
func (r Region) String() string {
	axes := lists.Make(len(r.Tensor.Shape), func(i int) string { return fmt.Sprintf("%d:%d", r.from[i], r.to[i]) })
	return r.Tensor.Name + "[" + strings.Join(axes, ", ") + "]"
}

// pointer returns a pointer to the first element of the region. `at` is the location of the
// region's tensor.
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

// covers reports whether box a contains all elements of box b.
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

// ScopeError reports a scope that can never end: its tasks keep their slots until the scope
// ends, and there are more of them than slots in the ring.
type ScopeError struct {
	Rank  int
	Scope Scope
	Tasks int    // tasks of the scope that its ring must store
	Slots int    // slots of the ring
	At    ID     // the first task without a slot
	Line  string // file and line that submits task At
}

func (e *ScopeError) Error() string {
	return fmt.Sprintf("rank %d: deadlock of %s: scope %q at %s has %d tasks, which keep their slots until it ends, and its ring has %d: task %d, submitted at %s, can never be; make the scope smaller, or raise tasks.%s.slots",
		e.Rank, TensorMapAndRingBuffer, e.Scope.Name, e.Scope.Line, e.Tasks, e.Slots, e.At, e.Line, TensorMapAndRingBuffer)
}

// TooMany reports a graph that is larger than the storage of host_build_graph.
type TooMany struct{ Rank, Tasks, Limit int }

func (e *TooMany) Error() string {
	return fmt.Sprintf("rank %d has %d tasks, and %s keeps at most %d: take another runtime, or raise tasks.%[3]s.tasks",
		e.Rank, e.Tasks, HostBuildGraph, e.Limit)
}

// Refused reports a mistake for which a program was not run. It is not a failure of a run.
type Refused struct{ Err error }

func (e *Refused) Error() string { return e.Err.Error() }

// Unwrap returns e.Err, the error that describes the mistake.
func (e *Refused) Unwrap() error { return e.Err }

// Check returns an error if real ranks with the options o would refuse to run the program.
func (p *Program) Check(o Options) error {
	if err := o.settle(); err != nil {
		return err
	}
	if err := newLimits(o.Runtime, o.Config, o.cores()).extend(p); err != nil {
		return &Refused{err}
	}
	return nil
}

// limits checks that a program fits into the storage and the compute cores of a rank. The
// program may grow between checks.
type limits struct {
	runtime Runtime
	config  *Config
	cores   int
	ports   int         // largest number of ports of a PE; 0 for no limit
	checked int         // number of tasks checked so far
	rings   []queue[ID] // as in schedule, if every task ended at once
}

// newLimits returns the checker for programs of a rank that has the given number of compute
// cores and the storage of runtime r.
func newLimits(r Runtime, c *Config, cores int) *limits {
	return &limits{runtime: r, config: c, cores: cores, rings: make([]queue[ID], c.TensorMap.Rings)}
}

// extend checks the tasks that were added to program p since the last call. It returns an
// error if the program no longer fits into the storage or the compute cores, or if a task
// needs more ports than a PE has.
func (f *limits) extend(p *Program) error {
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
		return f.checkScopes(p, ID(from))
	}
	return nil
}

// checkScopes checks that the tasks of p from task `from` on can be stored. It stores them
// in the rings as if every task ended immediately. A task that then finds its ring full can
// never be stored.
func (f *limits) checkScopes(p *Program, from ID) error {
	c := &f.config.TensorMap
	for next := from; int(next) < len(p.Tasks); next++ {
		r := &f.rings[p.ringIndex(next, c.Rings)]
		for r.len() > 0 && !p.scopeOpen(r.at(0), next) {
			r.pop()
		}
		if r.len() >= c.Slots {
			return p.scopeError(r.at(0), next, c)
		}
		r.push(next)
	}
	return nil
}

// scopeError returns the error for task `next`, whose ring is full. `oldest` is the oldest
// task in the ring. The scope of that oldest task is too large, because all later tasks in
// the ring belong to the same scope.
func (p *Program) scopeError(oldest, next ID, c *TensorMap) error {
	scope := p.Scopes[p.Tasks[oldest].Scope]
	e := &ScopeError{Rank: p.Rank, Scope: scope, Slots: c.Slots, At: p.Tasks[next].ID, Line: p.Tasks[next].Line}
	for id := oldest; id < min(scope.End, ID(len(p.Tasks))); id++ {
		if p.ringIndex(id, c.Rings) == p.ringIndex(oldest, c.Rings) {
			e.Tasks++
		}
	}
	return e
}

// ringIndex returns the index of the task ring that stores task id. `rings` is the number
// of task rings.
func (p *Program) ringIndex(id ID, rings int) int { return min(int(p.Tasks[id].Depth), rings-1) }

// scopeOpen reports whether the scope of task id is still open when task `next` is
// submitted.
func (p *Program) scopeOpen(id, next ID) bool {
	scope := p.Tasks[id].Scope
	return scope >= 0 && p.Scopes[scope].End > next
}
