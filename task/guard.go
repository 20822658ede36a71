package task

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/internal/procpe"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// guard is a compute core as a task sees it: a machine whose place is the rank, and the
// member of the group. It keeps kernels to the regions that their task has said it
// touches: what it reads or writes beside them, no runtime could order. It also notes
// whether the task has to do with other ranks.
type guard struct {
	tl.Machine
	place   tl.Place
	task    *Task
	memory  []memory // of each tensor of the program
	scratch []stretch
	ports   []tl.Port // that join the member with others
	signals int       // as in Options
	peers   bool
	peer    int                // that the kernel reached for last
	home    func(rank int) int // how the machine below calls the peer that is a rank
}

// memory is where a tensor lies, for the machine.
type memory struct {
	addr   int64
	window int16 // as a tl.Ptr has it
}

// stretch is some scratch memory.
type stretch struct{ addr, bytes int64 }

// place returns where the tasks of the program run, as their kernels see it: a SIP of one cube.
func (p *Program) place(name string) tl.Place {
	return tl.Place{SIP: p.Rank, PEs: 1, Cubes: 1, SIPs: p.Ranks, Rank: p.Rank, Ranks: p.Ranks, Name: name}
}

// begin makes the guard that of a member of a task, on a machine.
func (g *guard) begin(m tl.Machine, t *Task, member int) {
	g.Machine = tl.Guarded(m, g.place.Rank, g)
	g.task, g.scratch, g.peers = t, g.scratch[:0], false
	g.place.PE, g.place.PEs = member, t.Members
	g.ports = t.ports(g.ports[:0], member)
}

// call runs the kernel of the task.
func (g *guard) call() {
	t := g.task
	ptrs := make([]tl.Ptr, 0, len(t.Args))
	for i := range t.Args {
		if r := &t.Args[i].Region; r.Tensor != nil {
			ptrs = append(ptrs, r.pointer(g.memory[r.Tensor.number]))
		}
	}
	t.bound.Call(tl.NewPE(g, t.title()), ptrs...)
}

// Place returns the rank, and the member of the group as its PE.
func (g *guard) Place() tl.Place { return g.place }

// Access keeps an access to memory within the regions of the task, or within scratch.
func (g *guard) Access(b *tl.Block, use tl.Use) error {
	if use == tl.Reaches {
		if err := g.member(b); err != nil {
			return err
		}
		return g.inside(b, 0, "reaches at peers")
	}
	first, end := b.Span()
	for _, s := range g.scratch {
		if first >= s.addr && end <= s.addr+s.bytes {
			return nil
		}
	}
	if use == tl.Writes {
		return g.inside(b, Writes, "writes")
	}
	return g.inside(b, Reads, "reads")
}

// member checks that the rank which a kernel reaches for has a part of the block, if that
// is memory of a domain.
func (g *guard) member(b *tl.Block) error {
	x := g.tensorOf(b.Span())
	if x == nil || x.domain == nil || x.domain.RankOf(g.peer) >= 0 {
		return nil
	}
	return fmt.Errorf("rank %d has no part of %v: the members of the domain are %v", g.peer, x, x.domain.ranks)
}

// tensorOf returns the tensor of the task that has all bytes from one to before another, nil
// if none has.
func (g *guard) tensorOf(first, end int64) *Tensor {
	for i := range g.task.Args {
		x := g.task.Args[i].Region.Tensor
		if x != nil && first >= g.memory[x.number].addr && end <= g.memory[x.number].addr+x.bytes() {
			return x
		}
	}
	return nil
}

// Allocated adds scratch memory.
func (g *guard) Allocated(addr, bytes int64) { g.scratch = append(g.scratch, stretch{addr, bytes}) }

// Peer returns what the machine below calls a rank. There is one: the PE has looked.
func (g *guard) Peer(rank int) (int, error) {
	g.peers, g.peer = g.peers || rank != g.place.Rank, rank
	return g.home(rank), nil
}

// Signal checks that there is such a signal. Who waits for one has to do with those who
// change it.
func (g *guard) Signal(n int, changes bool) error {
	g.peers = g.peers || !changes
	if has := max(0, g.signals); g.signals != 0 && (n < 0 || n >= has) {
		return procpe.NoSignal(n, has)
	}
	return nil
}

// inside checks that a block lies within one of the task's regions that have an access, any if
// that is 0.
func (g *guard) inside(b *tl.Block, access Access, what string) error {
	if b.Valid.Elems() == 0 {
		return nil
	}
	var there []string
	for i := range g.task.Args {
		a := &g.task.Args[i]
		if a.Region.Tensor == nil || a.Access&access != access {
			continue
		}
		if a.Region.holds(b, g.memory[a.Region.Tensor.number].addr) {
			return nil
		}
		there = append(there, a.Name+" "+a.Region.String())
	}
	regions := cmp.Or(strings.Join(there, ", "), "none")
	first, _ := b.Span()
	if x := g.tensorOf(first, first+1); x != nil {
		return fmt.Errorf("a block %v that begins at element %v of %s is in no region that the task %s: %s; give the task the region it needs",
			b.Valid.Dim[:b.Valid.Rank], x.index((first-g.memory[x.number].addr)/int64(x.DType.Size())), x.Name, what, regions)
	}
	return fmt.Errorf("memory that is of none of the task's tensors: give the task a region of what it needs; it %s %s", what, regions)
}

// index returns the coordinates of an element of the tensor.
func (x *Tensor) index(n int64) []int64 {
	at := make([]int64, len(x.Shape))
	for axis, stride := range x.strides() {
		if axis < len(at) && stride > 0 {
			at[axis], n = n/stride, n%stride
		}
	}
	return at
}

// holds reports whether all bytes of a block lie in the region, in a tensor that begins
// at an address. The block is walked by runs of neighbouring elements.
func (r *Region) holds(b *tl.Block, base int64) bool {
	elem, size := int64(b.DType.Size()), int64(r.Tensor.DType.Size())
	if first, end := b.Span(); first < base || end > base+r.Tensor.bytes() {
		return false
	} else if lo, hi, whole := r.run(); whole {
		return first >= base+lo*size && end <= base+hi*size
	}
	rank := int(b.Valid.Rank)
	run := elem
	if rank > 0 && b.Ptr.Stride[rank-1] == 1 { // the last axis in one piece
		rank--
		run *= int64(b.Valid.Dim[rank])
	}
	var index [oplog.MaxRank]int32
	at := b.Ptr.Addr - base
	for {
		if !r.contains(at, at+run, size) {
			return false
		}
		axis := rank - 1
		for ; axis >= 0; axis-- {
			at += b.Ptr.Stride[axis] * elem
			if index[axis]++; index[axis] < b.Valid.Dim[axis] {
				break
			}
			at -= int64(b.Valid.Dim[axis]) * b.Ptr.Stride[axis] * elem
			index[axis] = 0
		}
		if axis < 0 {
			return true
		}
	}
}

// run returns the region as a run of elements of its tensor, if it is one.
func (r *Region) run() (from, to int64, ok bool) {
	elems := int64(1)
	from, ok = r.offset(), true
	for axis, n := range r.Tensor.Shape {
		extent := int64(r.to[axis] - r.from[axis])
		ok = ok && (elems == 1 || extent == int64(n)) // all axes behind the first that has several are whole
		elems *= extent
	}
	return from, from + elems, ok
}

// contains reports whether bytes of the tensor that lie side by side are all in the
// region.
func (r *Region) contains(from, to, size int64) bool {
	strides := r.Tensor.strides()
	for n := from / size; n*size < to; {
		rest := n
		var last int64
		for axis := range r.Tensor.Shape {
			last = rest / strides[axis]
			rest %= strides[axis]
			if last < int64(r.from[axis]) || last >= int64(r.to[axis]) {
				return false
			}
		}
		if len(r.Tensor.Shape) == 0 {
			return true
		}
		n += int64(r.to[len(r.Tensor.Shape)-1]) - last // to where this row of the region ends
	}
	return true
}
