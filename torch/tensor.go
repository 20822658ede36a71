package torch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/topology"
)

// Tensor is an array in the HBM of one or more PEs.
type Tensor struct {
	*storage
	rank   *Rank  // that it belongs to
	label  string // what it is without a name: "tensor 3", "tensor 3[2:4]"
	given  string // name of the program's own, or none
	name   string // as errors have it
	shape  Shape
	dtype  DType
	base   memory.VA // of its first element
	shards []shard   // in the order of their addresses
	levels []level   // how its storage was cut
	cuts   string    // tensors with the same have corresponding shards
	of     *Tensor   // that it is a view of; nil if it is none
	region *stream.Region
}

// shard is what one PE holds of a tensor: a box of it, row-major.
type shard struct {
	holding
	at     machine.PEID
	va     memory.VA
	elems  int
	bytes  memory.Bytes // of these elements
	stride []int        // elements between neighbours along each axis; nil if there are no gaps
}

// pesOf returns the PEs that hold shards.
func pesOf(shards []shard) []machine.PEID {
	return lists.Make(len(shards), func(i int) machine.PEID { return shards[i].at })
}

// numbers returns how many parts a tensor has, copies of each, and addends.
func (x *Tensor) numbers() (parts, copies, addends int) {
	for _, s := range x.shards {
		parts, copies, addends = max(parts, s.part+1), max(copies, s.copy+1), max(addends, s.addend+1)
	}
	return parts, copies, addends
}

// TensorOption says something of a tensor that is made: a Placement where it lies, Named
// what it is called.
type TensorOption interface{ tensorOption() }

// Named is the name of a tensor: r.Zeros(torch.F32, shape, torch.Named("weights")).
// Errors then say "weights (tensor 3) [8] f32" for "tensor 3 [8] f32".
type Named string

func (Named) tensorOption()        {}
func (DPPolicy) tensorOption()     {}
func (pesPlacement) tensorOption() {}

// Placement says which PEs hold a tensor, and what of it: On, OnEach or a DPPolicy.
type Placement interface {
	TensorOption
	// place is who holds what of a tensor; op is for whom.
	place(r *Rank, op string, shape Shape) []shard
	// levels is by how many each level of the machine divides a tensor, and how.
	levels(c *Context) []level
}

// level is a division of a tensor, or of each part of one.
type level struct {
	split Split
	n     int
}

// placed returns how many PEs hold a tensor.
func placed(levels []level) int {
	n := 1
	for _, l := range levels {
		n *= l.n
	}
	return n
}

// cuts returns the levels of a tensor as far as they say which element is where: two
// tensors with the same have corresponding shards.
func cuts(levels []level, shape Shape) string {
	text, columns := "", false
	for _, l := range levels {
		switch {
		case l.n == 1:
			continue
		case l.split == Partial:
			l.split = Replicate // of an addend
		case l.split == ColumnWise && len(shape) < 2:
			l.split = RowWise
		}
		columns = columns || l.split == ColumnWise
		text += fmt.Sprintf(" %v/%d", l.split, l.n)
	}
	if columns {
		text += fmt.Sprint(shape[1:])
	}
	return text
}

// place lays the tensor out on the device of the rank, or over SIPs.
func (p DPPolicy) place(r *Rank, _ string, shape Shape) (shards []shard) {
	first := 0
	if p.onDevice() {
		first = r.device
	}
	sips, cubes, pes := r.counts()
	for _, h := range p.layout(shape, sips, cubes, pes) {
		shards = append(shards, shard{holding: h, at: r.m.ID(first+h.sip, h.cube, h.pe)})
	}
	return shards
}

func (p DPPolicy) levels(c *Context) []level {
	return p.members(c.counts())
}

// pesPlacement is a list of PEs, each of which has a part or a copy.
type pesPlacement struct {
	pes   []int
	split Split
}

// On lays a tensor out over PEs: the first axis is cut into parts of equal size,
// the last of which may be smaller or empty. On one PE it is whole.
func On(pes ...int) Placement { return pesPlacement{pes, RowWise} }

// OnEach gives every one of the PEs a copy.
func OnEach(pes ...int) Placement { return pesPlacement{pes, Replicate} }

func (p pesPlacement) levels(*Context) []level { return []level{{p.split, len(p.pes)}} }

func (p pesPlacement) place(r *Rank, op string, shape Shape) (shards []shard) {
	refuse(len(p.pes) == 0, op, "no PEs to hold the tensor")
	for i, at := range r.peIDs(op, "", p.pes, " holds the tensor") {
		shards = append(shards, shard{holding: undivided(shape).member(p.levels(r.Context)[0], i), at: at})
	}
	return shards
}

// placement returns where a tensor goes, onto the first PE of the rank's device unless
// an option says otherwise, and its name.
func (r *Rank) placement(op string, options []TensorOption) (on Placement, name string) {
	placements := 0
	for _, option := range options {
		switch option := option.(type) {
		case Placement:
			on = option
			placements++
		case Named:
			name = string(option)
		}
	}
	refuse(placements > 1, op, "%d placements: give one", placements)
	if on == nil {
		on = On(int(r.m.ID(r.device, 0, 0)))
	}
	return on, name
}

// maxElems bounds the elements of a tensor, so that its size in bytes is an int64.
const maxElems = 1 << 48

func elems(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func (r *Rank) allocate(op string, dtype DType, shape Shape, options []TensorOption) (*Tensor, error) {
	if err := r.s.Begin(op); err != nil {
		return nil, err
	}
	err := checkShape(shape)
	refuse(err != nil, op, "%w", err)
	placement, name := r.placement(op, options)
	if err := r.affordPEs(op, placed(placement.levels(r.Context))); err != nil {
		return nil, err
	}
	return r.newTensor(op, name, dtype, shape, placement.place(r, op, shape), placement.levels(r.Context), cuts(placement.levels(r.Context), shape))
}

// maxAxes is the most axes that a tensor has. Pointers of kernels have oplog.MaxRank.
const maxAxes = 8

// checkShape returns why no tensor can have a shape.
func checkShape(shape Shape) error {
	if len(shape) > maxAxes {
		return fmt.Errorf("shape %v has %d axes, and a tensor has at most %d: merge some of them", shape, len(shape), maxAxes)
	}
	size := 1
	for _, d := range shape {
		if d < 0 {
			return fmt.Errorf("shape %v has a negative extent", shape)
		}
		if d > 0 && size > maxElems/d {
			return fmt.Errorf("shape %v has more than 2^48 elements", shape)
		}
		size *= max(d, 1)
	}
	return nil
}

// newTensor returns a tensor of shards that have no memory yet.
func (r *Rank) newTensor(op, name string, dtype DType, shape Shape, shards []shard, levels []level, cuts string) (*Tensor, error) {
	refuse(!dtype.Valid(), op, "no such dtype: use torch.F16 to torch.U64")
	if err := r.usePEs(op, pesOf(shards)); err != nil {
		return nil, err
	}
	r.tensors++
	x := &Tensor{
		storage: &storage{}, rank: r, label: fmt.Sprintf("tensor %d", r.tensors),
		shape: slices.Clone(shape), dtype: dtype, shards: shards, levels: levels, cuts: cuts,
	}
	x.SetName(name)
	x.settle()
	if err := x.mapped(); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return x, nil
}

// mapped allocates the memory of the shards and gives them addresses.
func (x *Tensor) mapped() error {
	c := x.rank
	var segments []memory.Segment
	for _, s := range x.shards {
		id := c.m.PE(s.at).Memory(topology.KindHBM)
		addr, err := c.m.Memory(id).Allocator.Alloc(s.bytes, 256)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", x.name, err), c.free(segments))
		}
		if s.bytes > 0 {
			segments = append(segments, memory.Segment{Memory: id, Addr: addr, Bytes: s.bytes})
		}
	}
	base, err := c.m.Space.Map(x.name, segments)
	if err != nil {
		return err
	}
	x.base, x.storage.va = base, base
	for i := range x.shards {
		x.shards[i].va = base
		base += memory.VA(x.shards[i].bytes)
		x.size += x.shards[i].bytes
	}
	x.order = stream.NewStorage(x.unmap)
	x.region = x.newRegion(true)
	return nil
}

// Free gives the tensor's memory back, when the last operation on it has ended. It is an
// error for a view, which has no memory of its own.
func (x *Tensor) Free() error {
	switch {
	case x.of != nil:
		return fmt.Errorf("%s is a view: free %s", x.name, x.of.name)
	case x.order.Freed():
		return fmt.Errorf("%s: freed twice", x.name)
	}
	return x.order.Free()
}

// unmap gives the tensor's memory back.
func (x *Tensor) unmap() error {
	x.rank.unreserve(x.storage)
	segments, err := x.rank.m.Space.Unmap(x.storage.va)
	if err != nil {
		return err
	}
	return x.rank.free(segments)
}

func (c *Context) free(segments []memory.Segment) (err error) {
	for _, s := range segments {
		err = errors.Join(err, c.m.Memory(s.Memory).Allocator.Free(s.Addr))
	}
	return err
}

// SetName names the tensor as Named does; "" takes the name away.
func (x *Tensor) SetName(name string) {
	x.given = name
	x.name = fmt.Sprintf("%s %v %v", x.title(), x.shape, x.dtype)
}

// title returns the tensor's name and number: "weights (tensor 3)", or "tensor 3" without
// a name.
func (x *Tensor) title() string {
	if x.given == "" {
		return x.label
	}
	return fmt.Sprintf("%s (%s)", x.given, x.label)
}

// Name returns the name that the tensor was given, "" if it was given none.
func (x *Tensor) Name() string { return x.given }

// Rank returns the rank that the tensor belongs to: the one that made it, or after Spawn,
// when the ranks are gone, the program itself.
func (x *Tensor) Rank() *Rank { return x.rank.acting() }

// Shape returns the extents of the tensor.
func (x *Tensor) Shape() Shape {
	x.exists("Shape")
	return slices.Clone(x.shape)
}

// DType returns the type of the elements.
func (x *Tensor) DType() DType {
	x.exists("DType")
	return x.dtype
}

// Numel returns the number of elements.
func (x *Tensor) Numel() int { return elems(x.shape) }

// Shard is where a part of a tensor lies.
type Shard struct {
	SIP, Cube, PE int
	Start, Extent []int // the box of the tensor that it is
	Copy, Addend  int   // which of several, if the tensor is replicated or partial
	Offset, Bytes int64 // in the tensor's range of addresses
}

// Shards returns where the tensor lies, in the order of its addresses.
func (x *Tensor) Shards() (list []Shard) {
	for _, s := range x.shards {
		where := x.rank.shard(&s)
		if where.Bytes = int64(s.bytes); s.bytes > 0 || x.of == nil {
			where.Offset = int64(s.va - x.base)
		}
		list = append(list, where)
	}
	return list
}

// exists checks that there is a tensor.
func (x *Tensor) exists(op string) {
	refuse(x == nil, op, "a nil tensor")
}

// usable reports why a tensor cannot be used by an operation.
func (x *Tensor) usable(op string) {
	x.exists(op)
	switch {
	case x.order.Freed() && x.of != nil:
		panic(misuse(op, "%s is a view of %s, which has been freed", x.name, x.of.name))
	case x.order.Freed():
		panic(misuse(op, "%s has been freed", x.name))
	}
}
