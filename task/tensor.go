package task

import (
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/internal/oplog"
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
	axes := make([]string, len(r.Tensor.Shape))
	for i := range axes {
		axes[i] = fmt.Sprintf("%d:%d", r.from[i], r.to[i])
	}
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
