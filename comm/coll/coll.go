package coll

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/numeric"
)

// F16 and BF16 are the bits of 16-bit floats.
type (
	F16  uint16
	BF16 uint16
)

// Element is the type of the elements of a buffer.
type Element interface {
	F16 | BF16 | float32 | float64 | int32 | int64
}

// dtypes maps the zero value of each element type to the dtype.
var dtypes = map[any]numeric.DType{
	F16(0): numeric.F16, BF16(0): numeric.BF16, float32(0): numeric.F32, float64(0): numeric.F64, int32(0): numeric.I32, int64(0): numeric.I64,
}

func dtypeOf[T Element]() numeric.DType { return dtypes[T(0)] }

// bytesOf returns the bytes of the elements of x without copying.
func bytesOf[T Element](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}

// Slice returns n elements of this rank's part of window w. They begin at byte offset
// `off`, which must be a multiple of the element size. It returns an error if the window is
// closed or does not contain the elements. Collectives need not stage such a slice.
func Slice[T Element](w *comm.Window, off int64, n int) ([]T, error) {
	var x T
	size := int64(unsafe.Sizeof(x))
	local := w.Local()
	if local == nil && w.Size() > 0 {
		c := w.Comm()
		return nil, &comm.Error{Rank: c.Ranks()[c.Rank()], Peer: -1, Op: "slice", Signal: -1, Err: comm.ErrClosed}
	}
	if off < 0 || n < 0 || off%size != 0 || off > int64(len(local)) || int64(n) > (int64(len(local))-off)/size {
		return nil, fmt.Errorf("%w: %d elements of %d bytes at offset %d of a window of %d bytes", comm.ErrRange, n, size, off, len(local))
	}
	if n == 0 {
		return nil, nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&local[off])), n), nil
}

// AllReduce combines the src of all ranks, element by element, and stores the result in the
// dst of each rank. dst and src may be the same slice.
func AllReduce[T Element](g *Group, dst, src []T, op Op) error {
	return g.Do(KindAllReduce, dtypeOf[T](), op, 0, bytesOf(dst), bytesOf(src))
}

// Reduce combines the src of all ranks, element by element, and stores the result in the
// dst of the root. At other ranks dst is not used.
func Reduce[T Element](g *Group, dst, src []T, op Op, root int) error {
	return g.Do(KindReduce, dtypeOf[T](), op, root, bytesOf(dst), bytesOf(src))
}

// Broadcast copies `data` of the root to `data` of every other rank.
func Broadcast[T Element](g *Group, data []T, root int) error {
	return g.Do(KindBroadcast, dtypeOf[T](), Sum, root, bytesOf(data), bytesOf(data))
}

// AllGather concatenates the src of all ranks, in the order of ranks, and stores the result
// in the dst of each rank. src may be this rank's part of dst.
func AllGather[T Element](g *Group, dst, src []T) error {
	return g.Do(KindAllGather, dtypeOf[T](), Sum, 0, bytesOf(dst), bytesOf(src))
}

// ReduceScatter divides the src of each rank into one part per rank. It combines part r of
// the src of all ranks into the dst of rank r. dst may be this rank's part of src.
func ReduceScatter[T Element](g *Group, dst, src []T, op Op) error {
	return g.Do(KindReduceScatter, dtypeOf[T](), op, 0, bytesOf(dst), bytesOf(src))
}

// AllToAll divides src and dst of each rank into one part per rank. It copies part d of the
// src of rank s to part s of the dst of rank d.
func AllToAll[T Element](g *Group, dst, src []T) error {
	return g.Do(KindAllToAll, dtypeOf[T](), Sum, 0, bytesOf(dst), bytesOf(src))
}

// Gather concatenates the src of all ranks, in the order of ranks, and stores the result in
// the dst of the root. At other ranks dst is not used.
func Gather[T Element](g *Group, dst, src []T, root int) error {
	return g.Do(KindGather, dtypeOf[T](), Sum, root, bytesOf(dst), bytesOf(src))
}

// Scatter divides the src of the root into one part per rank and copies part r to the dst
// of rank r. At other ranks src is not used.
func Scatter[T Element](g *Group, dst, src []T, root int) error {
	return g.Do(KindScatter, dtypeOf[T](), Sum, root, bytesOf(dst), bytesOf(src))
}

// Barrier waits until all ranks of the group have called it.
func (g *Group) Barrier() error {
	if err := g.comm.Barrier(); err != nil {
		return err
	}
	return g.awaitPreviousCall("barrier")
}

// Do runs the collective of the given kind on the buffers src and dst, which hold elements
// of dtype d. AllReduce and the other functions for typed slices call it. Do ignores op and
// root if the collective does not use them.
func (g *Group) Do(kind Kind, d numeric.DType, op Op, root int, dst, src []byte) error {
	c := call{kind: kind, dtype: d, dst: dst, src: src, srcPlaces: g.call.srcPlaces, dstPlaces: g.call.dstPlaces}
	if kind.Reduces() {
		c.op = op
	}
	if kind.Rooted() {
		c.root = root
	}
	if kind == KindAllReduce || kind == KindReduce {
		c.algorithm = g.options.Algorithm
	}
	clear(c.srcPlaces)
	clear(c.dstPlaces)
	if err := g.checkBuffers(&c); err != nil {
		return &comm.Error{Rank: g.comm.Ranks()[g.rank], Peer: -1, Op: c.kind.String(), Signal: -1, Err: err}
	}
	// This does not wait: it returns an error if the group cannot be used.
	if err := g.window.Await(kind.String(), "entry", g.rank, g.signal(entered, g.rank), 0); err != nil {
		return err
	}
	g.call = c
	if c.kind == KindAllReduce || c.kind == KindReduce {
		return g.reduceAll(&g.call)
	}
	return g.pull(&g.call)
}

// checkBuffers returns an error if the arguments of the call are invalid. It sets the count
// of the call from the sizes of the buffers.
func (g *Group) checkBuffers(c *call) error {
	switch {
	case c.kind > KindScatter:
		return fmt.Errorf("%w: no collective %d", comm.ErrRange, c.kind)
	case !c.dtype.Valid():
		return fmt.Errorf("%w: no dtype %d", comm.ErrRange, c.dtype)
	case c.op > Avg:
		return fmt.Errorf("%w: no operation %d", comm.ErrRange, c.op)
	case c.root < 0 || c.root >= g.n:
		return fmt.Errorf("%w: no root %d: ranks are 0 to %d", comm.ErrRange, c.root, g.n-1)
	}
	size := c.dtype.Size()
	if len(c.dst)%size != 0 || len(c.src)%size != 0 {
		return fmt.Errorf("%w: dst has %d bytes, src %d: elements of %v have %d", comm.ErrRange, len(c.dst), len(c.src), c.dtype, size)
	}
	dst, src := len(c.dst)/size, len(c.src)/size
	isRoot := !c.kind.Rooted() || c.root == g.rank
	switch c.kind {
	case KindAllReduce, KindReduce, KindBroadcast:
		c.count = src
		if isRoot && dst != src {
			return fmt.Errorf("%w: dst has %d elements, src %d: they need as many", comm.ErrRange, dst, src)
		}
	case KindAllToAll:
		c.count = src / g.n
		if dst != src || src != c.count*g.n {
			return fmt.Errorf("%w: dst has %d elements, src %d: both need equal parts for %d ranks", comm.ErrRange, dst, src, g.n)
		}
	case KindAllGather, KindGather:
		c.count = src
		if isRoot && dst != src*g.n {
			return fmt.Errorf("%w: dst has %d elements, src %d: dst needs %d, a part for each rank", comm.ErrRange, dst, src, src*g.n)
		}
	case KindReduceScatter, KindScatter:
		c.count = dst
		if isRoot && src != dst*g.n {
			return fmt.Errorf("%w: dst has %d elements, src %d: src needs %d, a part for each rank", comm.ErrRange, dst, src, dst*g.n)
		}
	}
	if !isRoot {
		return nil // one buffer is not used, or both are the same
	}
	return c.checkOverlap(g.rank)
}

// checkOverlap returns an error if dst and src overlap such that the collective would
// overwrite data before reading it.
func (c *call) checkOverlap(rank int) error {
	if len(c.dst) == 0 || len(c.src) == 0 {
		return nil
	}
	dst, src := uintptr(unsafe.Pointer(&c.dst[0])), uintptr(unsafe.Pointer(&c.src[0]))
	if dst+uintptr(len(c.dst)) <= src || src+uintptr(len(c.src)) <= dst {
		return nil
	}
	own := uintptr(rank * c.bytes())
	part, whole := "src", "dst"
	switch c.kind {
	case KindAllReduce, KindReduce, KindBroadcast:
		if src != dst {
			return errors.New("dst and src overlap in part: give the same slice for both, or slices that do not overlap")
		}
		return nil
	case KindAllToAll:
		return fmt.Errorf("dst and src overlap: %v is not done in place, give a dst of its own", c.kind)
	case KindReduceScatter, KindScatter:
		own = -own
		part, whole = whole, part
	}
	if src != dst+own {
		return fmt.Errorf("dst and src overlap: %s may only be this rank's own part of %s, elements %d to %d, or outside of it",
			part, whole, rank*c.count, (rank+1)*c.count-1)
	}
	return nil
}
