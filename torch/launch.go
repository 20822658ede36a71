package torch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// Option changes a launch. Options stand among the arguments of Launch and do not
// go to the kernel.
type Option func(*launchOptions)

type launchOptions struct {
	pes    []int
	links  []Connection
	queues topology.IPCQ // where they differ from the topology
	using  []*Tensor
}

// PEs names the PEs that a kernel runs on, by rank. Without it they are those that
// hold its tensors.
func PEs(pes ...int) Option { return func(o *launchOptions) { o.pes = pes } }

// Using names tensors that the kernel knows from elsewhere than its arguments, such as
// from Pieces: like those it may read and write them.
func Using(tensors ...*Tensor) Option {
	return func(o *launchOptions) { o.using = append(o.using, tensors...) }
}

// Neighbors is the table of the queues between the PEs of a launch.
func Neighbors(table []Connection) Option {
	return func(o *launchOptions) { o.links = append(o.links, table...) }
}

// Buffers chooses the memory of the queues' slots, tcm, sram or hbm, instead of
// that of the topology, which "" stands for.
func Buffers(kind topology.BufferKind) Option {
	refuse(kind != "" && !slices.Contains(topology.BufferKinds, kind), "Buffers", "no memory %q: use one of %v", kind, topology.BufferKinds)
	return func(o *launchOptions) { o.queues.BufferKind = kind }
}

// Connection joins a port of PE A with a port of PE B, both ways.
type Connection = tl.Connection

// Ring joins the east port of each PE with the west port of the next, and that of
// the last with the first.
func Ring(pes ...int) []Connection {
	var table []Connection
	for i, pe := range pes {
		table = append(table, Connection{A: pe, APort: tl.East, B: pes[(i+1)%len(pes)], BPort: tl.West})
	}
	return table
}

// Line is Ring without the connection from the last to the first.
func Line(pes ...int) []Connection {
	table := Ring(pes...)
	return table[:max(0, len(table)-1)]
}

// AllPairs joins each PE with every other. The numbered ports of a PE lead to the others in
// the order of the list: tl.Numbered(i) to the i-th PE. The PEs are at most one more than a
// PE has ports, 9 by default.
func AllPairs(pes ...int) []Connection {
	var table []Connection
	for i, a := range pes {
		for j := i + 1; j < len(pes); j++ {
			table = append(table, Connection{A: a, APort: tl.Numbered(j), B: pes[j], BPort: tl.Numbered(i)})
		}
	}
	return table
}

// Launched is a kernel that has been launched. What it says of times waits for the
// end; it is zero if the kernel failed, which Wait reports.
type Launched struct {
	Name  string
	rank  *Rank
	op    *stream.Operation
	ranks int // number of them
	run   *machine.Run
}

// Wait waits for the end of the kernel on all its PEs.
func (l *Launched) Wait() error {
	if err := l.rank.acting().s.Begin("Wait"); err != nil {
		return err
	}
	return l.rank.acting().s.Await(l.op)
}

// Start returns the one instant at which all PEs began.
func (l *Launched) Start() Time { return l.time(func() Time { return l.run.Start }) }

// Crit returns the critical path: the longest of Exec.
func (l *Launched) Crit() Time { return l.time(func() Time { return l.run.Critical() }) }

// Spread returns how far apart the PEs could have started.
func (l *Launched) Spread() Time { return l.time(func() Time { return l.run.Spread() }) }

func (l *Launched) time(of func() Time) Time {
	if l.Wait() != nil {
		return 0
	}
	return of()
}

// Exec returns the time from Start to the end of the kernel, by rank.
func (l *Launched) Exec() []Time {
	if l.Wait() != nil {
		return make([]Time, l.ranks)
	}
	return rankTimes(l.run, nil).Exec
}

// Launch runs a kernel, a function of a *tl.PE and arguments, on the PEs that hold
// its tensors, when everything that this rank asked for before has ended; it does not
// wait for that. A *Tensor goes to a tl.Ptr parameter: to the part that the PE holds,
// or to the start of the tensor if it holds none. The pointer has up to four axes: of a
// tensor with more, the leading ones are merged into the first. Numbers go to parameters
// of their kind.
func (r *Rank) Launch(name string, kernel any, args ...any) (*Launched, error) {
	var o launchOptions
	for i, a := range args {
		x, ok := a.(*Tensor)
		refuse(ok && x == nil, "Launch", "argument %d of %s is a nil tensor", i+1, name)
	}
	args = slices.DeleteFunc(slices.Clone(args), func(a any) bool {
		opt, ok := a.(Option)
		if ok {
			opt(&o)
		}
		return ok
	})
	if len(o.pes) == 0 {
		o.pes = holders(args)
	}
	refuse(len(o.pes) == 0, "Launch", "%s has no tensor to say where it runs: add torch.PEs", name)
	bound, tensors, err := tl.Bind[*Tensor](name, kernel, args)
	refuse(err != nil, "Launch", "%w", err)
	if err := r.s.Begin("Launch"); err != nil {
		return nil, err
	}
	p := &machine.Program{Name: name, Queues: o.queues}
	l, err := r.launched("Launch", p, o.pes)
	if err != nil {
		return nil, err
	}
	table := fmt.Sprintf("the neighbour table of %s names ", name)
	for _, link := range o.links {
		a, b := r.peID("Launch", table, link.A), r.peID("Launch", table, link.B)
		p.Links = append(p.Links, machine.Connection{A: a, APort: link.APort, B: b, BPort: link.BPort})
	}
	shards, wholes := make([][]*shard, len(tensors)), make([]*tl.Ptr, len(tensors))
	for w, x := range tensors {
		x.usable("Launch")
		x.addressable(name)
		shards[w], wholes[w] = x.on(p.Targets), x.whole()
		p.Windows = append(p.Windows, x.parts(shards[w]))
	}
	p.Body = func(t *tl.PE) {
		ptrs := make([]tl.Ptr, len(tensors))
		for w, x := range tensors {
			ptrs[w] = x.pointer(shards[w][t.Rank()], wholes[w])
			ptrs[w].Window = int16(w + 1)
		}
		bound.Call(t, ptrs...)
	}
	for _, x := range o.using {
		x.usable("Launch")
	}
	written := slices.Concat(tensors, o.using)
	if err := r.hold("Launch", onceWritten, written...); err != nil {
		return nil, err
	}
	l.enqueue(p, written)
	return l, nil
}

// launched returns a launch of a program on some PEs that is yet to be asked for.
func (r *Rank) launched(op string, p *machine.Program, pes []int) (*Launched, error) {
	p.Targets = r.peIDs(op, p.Name+" runs on ", pes, "")
	return &Launched{Name: p.Name, rank: r, ranks: len(pes)}, r.usePEs(op, p.Targets)
}

// enqueue asks for a launch.
func (l *Launched) enqueue(p *machine.Program, tensors []*Tensor) {
	l.op = l.rank.program(p, tensors, func(run *machine.Run) { l.run = run })
	l.rank.s.Enqueue(l.op)
}

// holders returns the PEs that hold any of the tensors, in the order in which the tensors
// name them: rank i holds part i of the first.
func holders(args []any) (pes []int) {
	known := map[int]bool{}
	for _, a := range args {
		if x, ok := a.(*Tensor); ok {
			for _, s := range x.shards {
				if pe := int(s.at); !known[pe] {
					known[pe] = true
					pes = append(pes, pe)
				}
			}
		}
	}
	return pes
}

// on returns the shard of each of the PEs, nil for those that hold none.
func (x *Tensor) on(pes []machine.PEID) []*shard {
	held := make(map[machine.PEID]*shard, len(x.shards))
	for i := range x.shards {
		held[x.shards[i].at] = &x.shards[i]
	}
	return lists.Map(pes, func(pe machine.PEID) *shard { return held[pe] })
}

// parts returns the memory of some shards that Put and Get reach: nothing for those that are
// nil. Of a tensor with gaps it is nothing unless these are at the same places in all shards.
func (x *Tensor) parts(shards []*shard) []memory.Part {
	reach := x.IsContiguous() || x.sameGaps()
	parts := make([]memory.Part, len(shards))
	for i, s := range shards {
		parts[i].VA = x.base
		if s != nil {
			parts[i].VA = s.va
		}
		if s != nil && reach {
			parts[i].Bytes = memory.Bytes(s.end(x.dtype) - s.va)
		}
	}
	return parts
}

// sameGaps reports whether shards with elements differ in their first extent alone.
func (x *Tensor) sameGaps() bool {
	first := x.first()
	return !slices.ContainsFunc(x.shards, func(s shard) bool {
		return s.elems > 0 && (!slices.Equal(s.strides(), first.strides()) || !slices.Equal(s.box.extent[1:], first.box.extent[1:]))
	})
}

// pointer returns the tensor as the kernel on a PE sees it: the shard that the PE holds, or
// the whole tensor if it holds none.
func (x *Tensor) pointer(s *shard, whole *tl.Ptr) tl.Ptr {
	if s == nil {
		return *whole
	}
	p := x.strided(s)
	p.Shard = &tl.Shard{Tensor: x.name, Part: s, Addr: p.Addr, Bytes: int64(s.end(x.dtype) - s.va), Whole: whole}
	if s.stride != nil {
		box := p
		p.Shard.Box = &box
	}
	return p
}

// whole returns the pointer to the start of the whole tensor, with the strides of its first
// shard.
func (x *Tensor) whole() *tl.Ptr {
	p := x.strided(x.first())
	p.Addr, p.Extent = int64(x.base), [oplog.MaxRank]int32{}
	p.Shard = &tl.Shard{Tensor: x.name, Addr: p.Addr, Whole: &p}
	for i := range x.shards {
		if s := &x.shards[i]; s.elems > 0 {
			p.Shard.Bytes = int64(s.end(x.dtype)) - p.Addr
		}
	}
	return &p
}

// strided returns a pointer to the start of a shard, with its strides and extents. The
// leading axes of a tensor with more axes than a pointer has are merged into one.
func (x *Tensor) strided(s *shard) tl.Ptr {
	p := tl.Ptr{Addr: int64(s.va), DType: x.dtype, Rank: int8(min(len(x.shape), oplog.MaxRank))}
	merged := len(x.shape) - int(p.Rank)
	stride := s.strides()
	for axis := len(x.shape) - 1; axis >= 0; axis-- {
		n := int32(s.box.extent[axis])
		if to := axis - merged; to >= 0 {
			p.Stride[to], p.Extent[to] = int64(stride[axis]), n
		} else {
			p.Extent[0] *= n
		}
	}
	return p
}

// addressable panics if a kernel cannot have a pointer to the tensor: one of more axes than
// a pointer has, whose leading ones have gaps between them.
func (x *Tensor) addressable(kernel string) {
	merged := len(x.shape) - oplog.MaxRank
	if merged <= 0 {
		return
	}
	for i := range x.shards {
		s := &x.shards[i]
		_, even := distance(s.box.extent[:merged+1], s.strides()[:merged+1])
		refuse(!even, "Launch", "%s: %s is not contiguous, and its first %d axes cannot be one axis of a pointer: give a View with fewer axes, or what Contiguous returns", kernel, x.name, merged+1)
	}
}

// String names the shard in errors of kernels: "this PE's shard [64:128, 0:32]".
func (s *shard) String() string { return "this PE's shard " + s.box.ranges() }

// ranges returns the box as an index of Python: "[64:128, 0:32]".
func (b box) ranges() string {
	list := make([]string, len(b.extent))
	for axis, n := range b.extent {
		list[axis] = fmt.Sprintf("%d:%d", b.start[axis], b.start[axis]+n)
	}
	return "[" + strings.Join(list, ", ") + "]"
}
