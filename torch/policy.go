package torch

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// Split says how a level of the machine (system, SIP or cube) divides a tensor among its
// members.
type Split uint8

// ColumnWise and RowWise give each member a part of the same size, rounded up. The last
// part with elements may be smaller, and parts after it are empty.
const (
	Replicate  Split = iota // every member has a copy
	ColumnWise              // the last axis is divided
	RowWise                 // the first axis is divided
	Partial                 // every member has an addend; the sum of the addends is the value
)

var splitNames = [...]string{"replicate", "column_wise", "row_wise", "partial"}

func (s Split) String() string {
	if int(s) < len(splitNames) {
		return splitNames[s]
	}
	return fmt.Sprintf("Split(%d)", uint8(s))
}

// DPPolicy lays a tensor out over devices. SIP divides it among the first NumSIPs SIPs.
// Cube divides each SIP's piece among the first NumCubes cubes of the SIP. PE divides each
// cube's piece among the first NumPEs PEs of the cube. A number of 0 means all, with one
// exception: SIP Replicate with NumSIPs 0, as in a policy that does not mention SIPs, means
// only the device of the rank. For a tensor with one axis, rows and columns are the same. A
// tensor without axes is laid out as if its shape were {1}.
type DPPolicy struct {
	Cube, PE         Split
	NumCubes, NumPEs int
	SIP              Split
	NumSIPs          int
}

func (p DPPolicy) String() string {
	text := fmt.Sprintf("cube=%v(%s) pe=%v(%s)", p.Cube, countText(p.NumCubes), p.PE, countText(p.NumPEs))
	if p.onDevice() {
		return text
	}
	return fmt.Sprintf("sip=%v(%s) %s", p.SIP, countText(p.NumSIPs), text)
}

// onDevice reports whether the policy puts a tensor only on the device of the rank.
func (p DPPolicy) onDevice() bool { return p.SIP == Replicate && p.NumSIPs == 0 }

// countText returns n as text, or "all" if n is 0.
func countText(n int) string {
	if n == 0 {
		return "all"
	}
	return fmt.Sprint(n)
}

// members returns the levels of the policy: for SIPs, cubes and PEs, how a tensor is
// divided and among how many members. The system has `sips` SIPs; each SIP has `cubes`
// cubes, and each cube has `pes` PEs. members panics with an *Error if the policy does not
// fit the system.
func (p DPPolicy) members(sips, cubes, pes int) []level {
	fit := func(name, unit, owner string, s Split, n, has int) level {
		refuse(int(s) >= len(splitNames), "DPPolicy", "%v: %s is not a split: use torch.Replicate, ColumnWise, RowWise or Partial", p, name)
		refuse(n < 0 || n > has, "DPPolicy", "%v: %d %s, and a %s has %d: use 1 to %d, or 0 for all", p, n, unit, owner, has, has)
		return level{s, cmp.Or(n, has)}
	}
	if p.onDevice() {
		sips = 1
	}
	return []level{
		fit("SIP", "SIPs", "system", p.SIP, p.NumSIPs, sips),
		fit("Cube", "cubes", "SIP", p.Cube, p.NumCubes, cubes),
		fit("PE", "PEs", "cube", p.PE, p.NumPEs, pes),
	}
}

// holding describes the part of a tensor that one PE holds. In a layout, no two holdings
// have the same part, addend and copy. Holdings may share the slices in their boxes.
type holding struct {
	sip, cube, pe int // the cube within the SIP, the PE within the cube
	part          int // index of the part of the tensor, counted over the levels that cut: by SIP, cube, then PE
	addend        int // index of the addend of that part
	copy          int // index of the copy of that addend
	box           box
}

// layout returns what each PE holds of a tensor with the given shape, ordered by SIP, cube
// and PE. The system has `sips` SIPs; each SIP has `cubes` cubes, and each cube has `pes`
// PEs. layout panics with an *Error if the policy does not fit the system.
func (p DPPolicy) layout(shape Shape, sips, cubes, pes int) []holding {
	levels := p.members(sips, cubes, pes)
	held := make([]holding, 0, countPEs(levels))
	whole := wholeHolding(shape)
	for sip := range levels[0].n {
		piece := whole.member(levels[0], sip)
		for cube := range levels[1].n {
			piece := piece.member(levels[1], cube)
			for pe := range levels[2].n {
				h := piece.member(levels[2], pe)
				h.sip, h.cube, h.pe = sip, cube, pe
				held = append(held, h)
			}
		}
	}
	return held
}

// wholeHolding returns the holding of a PE that holds a whole tensor with the given shape.
func wholeHolding(shape Shape) holding {
	extent := slices.Clone(axes(shape))
	return holding{box: box{make([]int, len(extent)), extent}}
}

// member divides h among the members of level l and returns what member i holds.
func (h holding) member(l level, i int) holding {
	switch l.split {
	case Replicate:
		h.copy = h.copy*l.n + i
	case Partial:
		h.addend = h.addend*l.n + i
	case ColumnWise:
		h.part = h.part*l.n + i
		h.box = h.box.cut(len(h.box.extent)-1, i, l.n)
	case RowWise:
		h.part = h.part*l.n + i
		h.box = h.box.cut(0, i, l.n)
	}
	return h
}

// axes returns shape, or {1} if shape has no axes.
func axes(shape Shape) Shape {
	if len(shape) == 0 {
		return Shape{1}
	}
	return shape
}

// box is a range of indices along each axis of a tensor: extent[k] indices from start[k] on
// axis k.
type box struct{ start, extent []int }

// cut divides the box along an axis into k parts and returns part i. All parts have the
// same size, rounded up, except that the last parts may be smaller or empty.
func (b box) cut(axis, i, k int) box {
	n := b.extent[axis]
	per := (n + k - 1) / k
	from := min(i*per, n)
	b = box{slices.Clone(b.start), slices.Clone(b.extent)}
	b.start[axis] += from
	b.extent[axis] = min(per, n-from)
	return b
}

// extract copies the elements of the box to dst, where they are row-major without gaps. The
// parameter whole has the row-major bytes of a tensor with the given shape. Each element is
// `elem` bytes long.
func (b box) extract(dst, whole []byte, shape Shape, elem int) {
	n, _, starts := b.runs(shape)
	n *= elem
	for at := range starts {
		copy(dst, whole[at*elem:at*elem+n])
		dst = dst[n:]
	}
}

// insert does the reverse of extract: it copies src, the row-major elements of the box, to
// their positions in the bytes of the whole tensor.
func (b box) insert(whole, src []byte, shape Shape, elem int) {
	n, _, starts := b.runs(shape)
	n *= elem
	for at := range starts {
		copy(whole[at*elem:at*elem+n], src)
		src = src[n:]
	}
}

// runs divides the box into runs of consecutive elements of a row-major tensor with the
// given shape. The runs are as long as possible. There are `count` runs of `n` elements
// each. starts iterates over the offsets of the first elements of the runs in the tensor,
// in ascending order.
func (b box) runs(shape Shape) (n, count int, starts iter.Seq[int]) {
	stride := packedStrides(axes(shape))
	first := 0
	for axis, from := range b.start {
		first += from * stride[axis]
	}
	return runs(first, b.extent, stride)
}

// packedStrides returns the strides of a row-major array without gaps that has the given
// extents.
func packedStrides(extent []int) []int {
	stride := make([]int, len(extent))
	for axis, step := len(extent)-1, 1; axis >= 0; axis-- {
		stride[axis] = step
		step *= extent[axis]
	}
	return stride
}

// runs divides a strided array into runs of consecutive elements. The parameter first is
// the offset of the first element of the array. There are `count` runs of `n` elements
// each. starts iterates over the offsets of the first elements of the runs, in row-major
// order.
func runs(first int, extent, stride []int) (n, count int, starts iter.Seq[int]) {
	outer := len(extent) // axes before outer enumerate the runs, and the axes from outer on form one run
	n = 1
	for outer > 0 && (stride[outer-1] == n || extent[outer-1] == 1) {
		outer--
		n *= extent[outer]
	}
	count = min(n, 1) // an empty array has no runs
	for _, extent := range extent[:outer] {
		count *= extent
	}

	return n, count, func(yield func(int) bool) {
		at, index := first, make([]int, outer)
		for range count {
			if !yield(at) {
				return
			}
			for axis := outer - 1; axis >= 0; axis-- {
				at += stride[axis]
				index[axis]++
				if index[axis] < extent[axis] {
					break
				}
				at -= index[axis] * stride[axis]
				index[axis] = 0
			}
		}
	}
}
