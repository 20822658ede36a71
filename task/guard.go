package task

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/internal/procpe"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// guard is the machine that the kernel of a task runs on. To the kernel, its rank is a SIP
// and its member of the group is a PE. The guard stops a kernel that accesses memory
// outside the regions of its task, because no runtime could order such an access. It also
// records whether the task communicates with other ranks.
type guard struct {
	tl.Machine
	place     tl.Place
	task      *Task
	memory    []memory // by number of the tensor in the program
	scratch   []addrRange
	ports     []tl.Port          // the ports of the member
	signals   int                // Options.Signals
	usesPeers bool               // the kernel accesses other ranks, or waits for a signal
	lastPeer  int                // the rank that the kernel accessed last
	peerID    func(rank int) int // returns the number of a rank on the underlying machine
}

// memory is the location of a tensor on the machine.
type memory struct {
	addr   int64
	window int16 // tl.Ptr.Window
}

// addrRange is the address and size of scratch memory.
type addrRange struct{ addr, bytes int64 }

// place returns where the tasks of the program run, as their kernels see it: on a SIP with
// one cube, whose PEs are the members of the group. `name` is the name of the place in
// errors.
func (p *Program) place(name string) tl.Place {
	return tl.Place{SIP: p.Rank, PEs: 1, Cubes: 1, SIPs: p.Ranks, Rank: p.Rank, Ranks: p.Ranks, Name: name}
}

// begin prepares the guard to run one member of task t on machine m.
func (g *guard) begin(m tl.Machine, t *Task, member int) {
	g.Machine = tl.Guarded(m, g.place.Rank, g)
	g.task, g.scratch, g.usesPeers = t, g.scratch[:0], false
	g.place.PE, g.place.PEs = member, t.Members
	g.ports = t.ports(g.ports[:0], member)
}

// call runs the kernel of the task as the member that was passed to the method begin.
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

// Place returns the place of the kernel: the rank is the SIP, and the member is the PE.
func (g *guard) Place() tl.Place { return g.place }

// Access returns an error unless block b is within the regions of the task that allow the
// given use, or within the scratch memory of the task.
func (g *guard) Access(b *tl.Block, use tl.Use) error {
	if use == tl.Reaches {
		if err := g.checkMember(b); err != nil {
			return err
		}
		return g.checkInside(b, 0, "reaches at peers")
	}
	first, end := b.Span()
	for _, s := range g.scratch {
		if first >= s.addr && end <= s.addr+s.bytes {
			return nil
		}
	}
	if use == tl.Writes {
		return g.checkInside(b, Writes, "writes")
	}
	return g.checkInside(b, Reads, "reads")
}

// checkMember returns an error if block b is memory of a domain and the rank that the
// kernel accesses is not a member of the domain.
func (g *guard) checkMember(b *tl.Block) error {
	x := g.tensorOf(b.Span())
	if x == nil || x.domain == nil || x.domain.RankOf(g.lastPeer) >= 0 {
		return nil
	}
	return fmt.Errorf("rank %d has no part of %v: the members of the domain are %v", g.lastPeer, x, x.domain.ranks)
}

// tensorOf returns the tensor of the task that contains all bytes at the addresses from
// `first` to `end`-1, or nil if there is none.
func (g *guard) tensorOf(first, end int64) *Tensor {
	for i := range g.task.Args {
		x := g.task.Args[i].Region.Tensor
		if x != nil && first >= g.memory[x.number].addr && end <= g.memory[x.number].addr+x.bytes() {
			return x
		}
	}
	return nil
}

// Allocated records scratch memory that the kernel has allocated, so that Access allows it.
func (g *guard) Allocated(addr, bytes int64) { g.scratch = append(g.scratch, addrRange{addr, bytes}) }

// Peer returns the number that the given rank has on the underlying machine. It records the
// rank, and whether the kernel uses ranks other than its own. The caller has checked that
// the rank exists.
func (g *guard) Peer(rank int) (int, error) {
	g.usesPeers, g.lastPeer = g.usesPeers || rank != g.place.Rank, rank
	return g.peerID(rank), nil
}

// Signal returns an error unless signal n exists. If `changes` is false, the kernel waits
// for the signal. Waiting counts as communication with the ranks that change the signal.
func (g *guard) Signal(n int, changes bool) error {
	g.usesPeers = g.usesPeers || !changes
	if has := max(0, g.signals); g.signals != 0 && (n < 0 || n >= has) {
		return procpe.NoSignalError(n, has)
	}
	return nil
}

// checkInside returns an error unless block b is within one of the task's regions that have
// the given access. An access of 0 accepts all regions. `what` describes the use of the
// block in the error.
func (g *guard) checkInside(b *tl.Block, access Access, what string) error {
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

// index returns the coordinates of the n-th element of the tensor.
func (x *Tensor) index(n int64) []int64 {
	at := make([]int64, len(x.Shape))
	for axis, stride := range x.strides() {
		if axis < len(at) && stride > 0 {
			at[axis], n = n/stride, n%stride
		}
	}
	return at
}

// holds reports whether all bytes of block b are in the region. The tensor of the region
// begins at address `base`. holds checks the block run by run, where a run is a sequence of
// adjacent elements.
func (r *Region) holds(b *tl.Block, base int64) bool {
	elem, size := int64(b.DType.Size()), int64(r.Tensor.DType.Size())
	if first, end := b.Span(); first < base || end > base+r.Tensor.bytes() {
		return false
	} else if lo, hi, whole := r.contiguous(); whole {
		return first >= base+lo*size && end <= base+hi*size
	}
	rank := int(b.Valid.Rank)
	run := elem
	if rank > 0 && b.Ptr.Stride[rank-1] == 1 { // the last axis is one run
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

// contiguous reports whether the region is contiguous in its tensor. If so, it returns the
// region's elements as the range from `from` to `to`-1.
func (r *Region) contiguous() (from, to int64, ok bool) {
	elems := int64(1)
	from, ok = r.offset(), true
	for axis, n := range r.Tensor.Shape {
		extent := int64(r.to[axis] - r.from[axis])
		ok = ok && (elems == 1 || extent == int64(n)) // all axes after the first one with several elements must be complete
		elems *= extent
	}
	return from, from + elems, ok
}

// contains reports whether all bytes of the tensor from `from` to `to`-1 are in the region.
// `size` is the size of an element in bytes.
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
		n += int64(r.to[len(r.Tensor.Shape)-1]) - last // skip to the end of this row of the region
	}
	return true
}
