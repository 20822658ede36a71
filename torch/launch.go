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

// Option changes a launch. Options are passed among the arguments of Launch and are not
// passed to the kernel.
type Option func(*launchOptions)

type launchOptions struct {
	pes    []int
	links  []Connection
	queues topology.IPCQ // settings of the queues that differ from the topology; 0 means no change
	using  []*Tensor
}

// PEs lists the PEs that a kernel runs on; PE i of the list is rank i. Without this option,
// the kernel runs on the PEs that hold its tensors.
func PEs(pes ...int) Option { return func(o *launchOptions) { o.pes = pes } }

// Using names tensors that a kernel may read and write although they are not among its
// arguments, for example through their Pieces.
func Using(tensors ...*Tensor) Option {
	return func(o *launchOptions) { o.using = append(o.using, tensors...) }
}

// Neighbors connects the PEs of a launch by queues. Each entry of table joins two ports.
func Neighbors(table []Connection) Option {
	return func(o *launchOptions) { o.links = append(o.links, table...) }
}

// Buffers selects the memory that holds the slots of the queues: tcm, sram or hbm. "" means
// the memory that the topology names.
func Buffers(kind topology.BufferKind) Option {
	refuse(kind != "" && !slices.Contains(topology.BufferKinds, kind), "Buffers", "no memory %q: use one of %v", kind, topology.BufferKinds)
	return func(o *launchOptions) { o.queues.BufferKind = kind }
}

// Connection joins a port of PE A with a port of PE B, in both directions.
type Connection = tl.Connection

// Ring returns connections that join the east port of each PE with the west port of the
// next PE. The east port of the last PE is joined with the west port of the first.
func Ring(pes ...int) []Connection {
	var table []Connection
	for i, pe := range pes {
		table = append(table, Connection{A: pe, APort: tl.East, B: pes[(i+1)%len(pes)], BPort: tl.West})
	}
	return table
}

// Line returns the same connections as Ring, but leaves out the one between the last PE and
// the first.
func Line(pes ...int) []Connection {
	table := Ring(pes...)
	return table[:max(0, len(table)-1)]
}

// AllPairs returns connections that join each PE with every other PE. Port tl.Numbered(i)
// of a PE leads to the i-th PE of the list. The number of PEs is at most the number of
// ports of a PE plus one, 9 by default.
func AllPairs(pes ...int) []Connection {
	var table []Connection
	for i, a := range pes {
		for j := i + 1; j < len(pes); j++ {
			table = append(table, Connection{A: a, APort: tl.Numbered(j), B: pes[j], BPort: tl.Numbered(i)})
		}
	}
	return table
}

// Launched is a kernel that has been launched. Its methods that return times wait for the
// end of the kernel. If the kernel failed, they return zero, and Wait returns the error.
type Launched struct {
	Name  string
	rank  *Rank
	op    *stream.Operation
	ranks int // number of PEs that the kernel runs on
	run   *machine.Run
}

// Wait waits until the kernel has ended on all its PEs. It returns the error if the kernel
// failed.
func (l *Launched) Wait() error {
	if err := l.rank.actingRank().s.Begin("Wait"); err != nil {
		return err
	}
	return l.rank.actingRank().s.Await(l.op)
}

// Start waits for the end of the kernel and returns the simulated time at which all PEs
// began together. It returns 0 if the kernel failed.
func (l *Launched) Start() Time { return l.time(func() Time { return l.run.Start }) }

// Crit waits for the end of the kernel and returns the time from Start to the end of the
// last PE. This is the maximum of Exec. It returns 0 if the kernel failed.
func (l *Launched) Crit() Time { return l.time(func() Time { return l.run.Critical() }) }

// Spread waits for the end of the kernel and returns how much later the last PE was ready
// to start than the first PE. It returns 0 if the kernel failed.
func (l *Launched) Spread() Time { return l.time(func() Time { return l.run.Spread() }) }

// time waits for the end of the kernel and returns get(), or 0 if the kernel failed.
func (l *Launched) time(get func() Time) Time {
	if l.Wait() != nil {
		return 0
	}
	return get()
}

// Exec waits for the end of the kernel. For each rank of the launch, it returns the time
// from Start to the end of the kernel on this rank. If the kernel failed, all times are 0.
func (l *Launched) Exec() []Time {
	if l.Wait() != nil {
		return make([]Time, l.ranks)
	}
	return rankTimes(l.run, nil).Exec
}

// Launch runs a kernel on the PEs that hold its tensors, when everything that this rank has
// requested before has ended. Launch returns without waiting for the kernel.
//
// kernel is a function of a *tl.PE and further parameters, to which args are passed. A
// *Tensor is passed to a parameter of type tl.Ptr. The pointer leads to the shard that the
// PE holds, or to the start of the tensor if the PE holds none. It has up to four axes: in
// a tensor with more axes, the leading axes are merged into the first. Numbers are passed
// to parameters of their kind. An Option is applied to the launch and not passed.
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
	l, err := r.newLaunch("Launch", p, o.pes)
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
		x.checkUsable("Launch")
		x.checkAddressable(name)
		shards[w], wholes[w] = x.shardsOn(p.Targets), x.wholePointer()
		p.Windows = append(p.Windows, x.windowParts(shards[w]))
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
		x.checkUsable("Launch")
	}
	written := slices.Concat(tensors, o.using)
	if err := r.reserveValues("Launch", heldWhenWritten, written...); err != nil {
		return nil, err
	}
	l.enqueue(p, written)
	return l, nil
}

// newLaunch makes the given PEs the targets of the program p, reserves memory for
// simulating them and returns a launch of p. It does not enqueue the launch. op is the name
// of the calling function, for errors.
func (r *Rank) newLaunch(op string, p *machine.Program, pes []int) (*Launched, error) {
	p.Targets = r.peIDs(op, p.Name+" runs on ", pes, "")
	return &Launched{Name: p.Name, rank: r, ranks: len(pes)}, r.usePEs(op, p.Targets)
}

// enqueue appends the launch of the program p to the stream of its rank. `tensors` lists
// all tensors that p may read or write.
func (l *Launched) enqueue(p *machine.Program, tensors []*Tensor) {
	l.op = l.rank.newProgram(p, tensors, func(run *machine.Run) { l.run = run })
	l.rank.s.Enqueue(l.op)
}

// holders returns the PEs that hold any of the tensors in args. The order is that of the
// tensors and of their shards, so that rank i of the launch holds part i of the first
// tensor.
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

// shardsOn returns for each of pes the shard that the PE holds, or nil if it holds none.
func (x *Tensor) shardsOn(pes []machine.PEID) []*shard {
	held := make(map[machine.PEID]*shard, len(x.shards))
	for i := range x.shards {
		held[x.shards[i].at] = &x.shards[i]
	}
	return lists.Map(pes, func(pe machine.PEID) *shard { return held[pe] })
}

// windowParts returns for each shard the memory that Put and Get of other PEs can reach.
// The memory is empty for a shard that is nil. For a tensor with gaps it is empty too,
// unless the gaps are at the same positions in all shards.
func (x *Tensor) windowParts(shards []*shard) []memory.Part {
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

// sameGaps reports whether all shards with elements have the same strides and the same
// extents, except for the first extent.
func (x *Tensor) sameGaps() bool {
	first := x.firstShard()
	return !slices.ContainsFunc(x.shards, func(s shard) bool {
		return s.elems > 0 && (!slices.Equal(s.strides(), first.strides()) || !slices.Equal(s.box.extent[1:], first.box.extent[1:]))
	})
}

// pointer returns the pointer that the kernel on one PE gets as its argument for the
// tensor. s is the shard that the PE holds. If the PE holds none, s is nil and pointer
// returns *whole.
func (x *Tensor) pointer(s *shard, whole *tl.Ptr) tl.Ptr {
	if s == nil {
		return *whole
	}
	p := x.shardPointer(s)
	p.Shard = &tl.Shard{Tensor: x.name, Part: s, Addr: p.Addr, Bytes: int64(s.end(x.dtype) - s.va), Whole: whole}
	if s.stride != nil {
		box := p
		p.Shard.Box = &box
	}
	return p
}

// wholePointer returns a pointer to the start of the whole tensor, with the strides of its
// first shard.
func (x *Tensor) wholePointer() *tl.Ptr {
	p := x.shardPointer(x.firstShard())
	p.Addr, p.Extent = int64(x.base), [oplog.MaxRank]int32{}
	p.Shard = &tl.Shard{Tensor: x.name, Addr: p.Addr, Whole: &p}
	for i := range x.shards {
		if s := &x.shards[i]; s.elems > 0 {
			p.Shard.Bytes = int64(s.end(x.dtype)) - p.Addr
		}
	}
	return &p
}

// shardPointer returns a pointer to the start of the shard s, with the strides and extents
// of s. If the tensor has more axes than a pointer can have, the leading axes are merged.
func (x *Tensor) shardPointer(s *shard) tl.Ptr {
	p := tl.Ptr{Addr: int64(s.va), DType: x.dtype, Rank: int8(min(len(x.shape), oplog.MaxRank))}
	mergedAxes := len(x.shape) - int(p.Rank)
	stride := s.strides()
	for axis := len(x.shape) - 1; axis >= 0; axis-- {
		n := int32(s.box.extent[axis])
		if to := axis - mergedAxes; to >= 0 {
			p.Stride[to], p.Extent[to] = int64(stride[axis]), n
		} else {
			p.Extent[0] *= n
		}
	}
	return p
}

// checkAddressable panics if a kernel cannot get a pointer to the tensor. This is the case
// if the tensor has more axes than a pointer can have, and gaps between its leading axes.
// `kernel` is the name of the kernel, for errors.
func (x *Tensor) checkAddressable(kernel string) {
	mergedAxes := len(x.shape) - oplog.MaxRank
	if mergedAxes <= 0 {
		return
	}
	for i := range x.shards {
		s := &x.shards[i]
		_, even := commonStride(s.box.extent[:mergedAxes+1], s.strides()[:mergedAxes+1])
		refuse(!even, "Launch", "%s: %s is not contiguous, and its first %d axes cannot be one axis of a pointer: give a View with fewer axes, or what Contiguous returns", kernel, x.name, mergedAxes+1)
	}
}

// String describes the shard in errors of kernels: "this PE's shard [64:128, 0:32]".
func (s *shard) String() string { return "this PE's shard " + s.box.ranges() }

// ranges formats the box as a Python index: "[64:128, 0:32]".
func (b box) ranges() string {
	list := make([]string, len(b.extent))
	for axis, n := range b.extent {
		list[axis] = fmt.Sprintf("%d:%d", b.start[axis], b.start[axis]+n)
	}
	return "[" + strings.Join(list, ", ") + "]"
}
