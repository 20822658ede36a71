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
	rank   *Rank  // the rank that made the tensor
	label  string // number and, for a view, index: "tensor 3", "tensor 3[2:4]"
	given  string // the name that the program gave the tensor, or ""
	name   string // the full name in errors
	shape  Shape
	dtype  DType
	base   memory.VA // address of the first element
	shards []shard   // the shards in the order of their addresses
	levels []level   // how each level of the machine divides the storage
	cuts   string    // where the levels cut the tensor: see the function cuts
	viewOf *Tensor   // the tensor that this one is a view of, or nil
	region *stream.Region
}

// shard is the part of a tensor that one PE holds: a box in row-major order.
type shard struct {
	holding
	at     machine.PEID
	va     memory.VA
	elems  int
	bytes  memory.Bytes // size of the elements
	stride []int        // distance in elements between neighbours along each axis; nil without gaps
}

// pesOf returns for each shard the PE that holds it.
func pesOf(shards []shard) []machine.PEID {
	return lists.Make(len(shards), func(i int) machine.PEID { return shards[i].at })
}

// countParts returns the number of parts of the tensor, the number of copies of each part,
// and the number of addends of each part.
func (x *Tensor) countParts() (parts, copies, addends int) {
	for _, s := range x.shards {
		parts, copies, addends = max(parts, s.part+1), max(copies, s.copy+1), max(addends, s.addend+1)
	}
	return parts, copies, addends
}

// TensorOption is an option for a new tensor: a Placement, which says which PEs hold the
// tensor, or Named, which gives the tensor a name.
type TensorOption interface{ tensorOption() }

// Named is the name of a tensor: r.Zeros(torch.F32, shape, torch.Named("weights")). Errors
// then say "weights (tensor 3) [8] f32" instead of "tensor 3 [8] f32".
type Named string

func (Named) tensorOption()        {}
func (DPPolicy) tensorOption()     {}
func (pesPlacement) tensorOption() {}

// Placement says which PEs hold a tensor, and which part each PE holds: On, OnEach or a
// DPPolicy.
type Placement interface {
	TensorOption
	// place returns the shards of a tensor with the given shape that rank r makes. op is the
	// name of the calling function, for errors.
	place(r *Rank, op string, shape Shape) []shard
	// levels returns how each level of the machine divides a tensor, and among how many
	// members.
	levels(c *Context) []level
}

// level is one division of a tensor, or of each part of a tensor, among n members.
type level struct {
	split Split
	n     int
}

// countPEs returns the number of PEs over which the given levels divide a tensor. This is
// the product of the numbers of members of the levels.
func countPEs(levels []level) int {
	n := 1
	for _, l := range levels {
		n *= l.n
	}
	return n
}

// cuts returns a text that describes where the given levels cut a tensor with the given
// shape. The text determines which PE holds which elements. Tensors with equal cuts have
// corresponding shards.
func cuts(levels []level, shape Shape) string {
	text, columns := "", false
	for _, l := range levels {
		switch {
		case l.n == 1:
			continue
		case l.split == Partial:
			l.split = Replicate // every addend has all elements
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

// place returns the shards of a tensor with the given shape. Depending on the policy, the
// shards are on the device of the rank or on several SIPs.
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

// pesPlacement is a list of PEs that each hold a part of a tensor, or a copy if split is
// Replicate.
type pesPlacement struct {
	pes   []int
	split Split
}

// On returns a placement that divides a tensor among PEs. The first axis is cut into parts
// of equal size; the last parts may be smaller or empty. A single PE holds the whole
// tensor.
func On(pes ...int) Placement { return pesPlacement{pes, RowWise} }

// OnEach returns a placement that gives each PE a copy of the tensor.
func OnEach(pes ...int) Placement { return pesPlacement{pes, Replicate} }

func (p pesPlacement) levels(*Context) []level { return []level{{p.split, len(p.pes)}} }

// place returns one shard for each PE: a part of the tensor, or a copy.
func (p pesPlacement) place(r *Rank, op string, shape Shape) (shards []shard) {
	refuse(len(p.pes) == 0, op, "no PEs to hold the tensor")
	for i, at := range r.peIDs(op, "", p.pes, " holds the tensor") {
		shards = append(shards, shard{holding: wholeHolding(shape).member(p.levels(r.Context)[0], i), at: at})
	}
	return shards
}

// placement returns the placement and the name that options contain. Without a placement in
// options, the tensor is on the first PE of the rank's device. op is the name of the
// calling function, for errors.
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

// maxElems is the largest number of elements of a tensor, chosen so that the size in bytes
// fits in an int64.
const maxElems = 1 << 48

// elems returns the number of elements of an array with the given shape.
func elems(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// allocate returns a tensor with memory but without values. op is the name of the calling
// function, for errors.
func (r *Rank) allocate(op string, dtype DType, shape Shape, options []TensorOption) (*Tensor, error) {
	if err := r.s.Begin(op); err != nil {
		return nil, err
	}
	err := checkShape(shape)
	refuse(err != nil, op, "%w", err)
	placement, name := r.placement(op, options)
	if err := r.affordPEs(op, countPEs(placement.levels(r.Context))); err != nil {
		return nil, err
	}
	return r.newTensor(op, name, dtype, shape, placement.place(r, op, shape), placement.levels(r.Context), cuts(placement.levels(r.Context), shape))
}

// maxAxes is the largest number of axes of a tensor. Pointers in kernels have at most
// oplog.MaxRank axes.
const maxAxes = 8

// checkShape returns an error if a tensor cannot have the given shape: too many axes, a
// negative extent, or too many elements.
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

// newTensor returns a tensor with the given properties and allocates memory for its shards.
// op is the name of the calling function, for errors.
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
	x.updateShards()
	if err := x.mapShards(); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return x, nil
}

// mapShards allocates memory for the shards in the HBM of their PEs and assigns consecutive
// addresses to the shards.
func (x *Tensor) mapShards() error {
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

// Free frees the tensor's memory when the last operation that uses the tensor has ended.
// Free returns an error for a view, which has no memory of its own, and for a tensor that
// was freed before.
func (x *Tensor) Free() error {
	switch {
	case x.viewOf != nil:
		return fmt.Errorf("%s is a view: free %s", x.name, x.viewOf.name)
	case x.order.Freed():
		return fmt.Errorf("%s: freed twice", x.name)
	}
	return x.order.Free()
}

// unmap frees the tensor's memory now.
func (x *Tensor) unmap() error {
	x.rank.unreserve(x.storage)
	segments, err := x.rank.m.Space.Unmap(x.storage.va)
	if err != nil {
		return err
	}
	return x.rank.free(segments)
}

// free returns segments of simulated memory to their allocators.
func (c *Context) free(segments []memory.Segment) (err error) {
	for _, s := range segments {
		err = errors.Join(err, c.m.Memory(s.Memory).Allocator.Free(s.Addr))
	}
	return err
}

// SetName gives the tensor a name for errors, as the option Named does. "" removes the
// name.
func (x *Tensor) SetName(name string) {
	x.given = name
	x.name = fmt.Sprintf("%s %v %v", x.title(), x.shape, x.dtype)
}

// title returns the tensor's name and number: "weights (tensor 3)", or "tensor 3" without a
// name.
func (x *Tensor) title() string {
	if x.given == "" {
		return x.label
	}
	return fmt.Sprintf("%s (%s)", x.given, x.label)
}

// Name returns the name that the program gave the tensor, or "".
func (x *Tensor) Name() string { return x.given }

// Rank returns the rank that the tensor belongs to. That is the rank that made the tensor
// or, after the Spawn of that rank has returned, the program itself.
func (x *Tensor) Rank() *Rank { return x.rank.actingRank() }

// Shape returns the extents of the tensor's axes.
func (x *Tensor) Shape() Shape {
	x.checkNotNil("Shape")
	return slices.Clone(x.shape)
}

// DType returns the type of the elements.
func (x *Tensor) DType() DType {
	x.checkNotNil("DType")
	return x.dtype
}

// Numel returns the number of elements.
func (x *Tensor) Numel() int { return elems(x.shape) }

// Shard describes the part of a tensor that one PE holds.
type Shard struct {
	SIP, Cube, PE int
	Start, Extent []int // the box of the tensor that the PE holds
	Copy, Addend  int   // index of the copy if replicated, and of the addend if partial
	Offset, Bytes int64 // offset in bytes from the start of the tensor, and size
}

// Shards returns the shards of the tensor, in the order of their addresses.
func (x *Tensor) Shards() (list []Shard) {
	for _, s := range x.shards {
		where := x.rank.shard(&s)
		if where.Bytes = int64(s.bytes); s.bytes > 0 || x.viewOf == nil {
			where.Offset = int64(s.va - x.base)
		}
		list = append(list, where)
	}
	return list
}

// checkNotNil panics if the tensor is nil. op is the name of the calling function, for
// errors.
func (x *Tensor) checkNotNil(op string) {
	refuse(x == nil, op, "a nil tensor")
}

// checkUsable panics if the tensor is nil or has been freed. op is the name of the calling
// function, for errors.
func (x *Tensor) checkUsable(op string) {
	x.checkNotNil(op)
	switch {
	case x.order.Freed() && x.viewOf != nil:
		panic(misuse(op, "%s is a view of %s, which has been freed", x.name, x.viewOf.name))
	case x.order.Freed():
		panic(misuse(op, "%s has been freed", x.name))
	}
}
