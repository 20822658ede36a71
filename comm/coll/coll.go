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

// Element is what buffers are made of.
type Element interface {
	F16 | BF16 | float32 | float64 | int32 | int64
}

// dtypes holds the dtype of each element type, by its zero.
var dtypes = map[any]numeric.DType{
	F16(0): numeric.F16, BF16(0): numeric.BF16, float32(0): numeric.F32, float64(0): numeric.F64, int32(0): numeric.I32, int64(0): numeric.I64,
}

func dtypeOf[T Element]() numeric.DType { return dtypes[T(0)] }

func bytesOf[T Element](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}

// Slice is a part of a window's bytes as elements, for collectives that need not copy:
// n elements from a byte offset on, a multiple of their size.
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

// AllReduce combines the src of all ranks, element by element, into the dst of each.
// They may be the same.
func AllReduce[T Element](g *Group, dst, src []T, op Op) error {
	return g.Do(KindAllReduce, dtypeOf[T](), op, 0, bytesOf(dst), bytesOf(src))
}

// Reduce is AllReduce into the dst of the root alone. Elsewhere dst is not used.
func Reduce[T Element](g *Group, dst, src []T, op Op, root int) error {
	return g.Do(KindReduce, dtypeOf[T](), op, root, bytesOf(dst), bytesOf(src))
}

// Broadcast copies the data of the root to that of all other ranks.
func Broadcast[T Element](g *Group, data []T, root int) error {
	return g.Do(KindBroadcast, dtypeOf[T](), Sum, root, bytesOf(data), bytesOf(data))
}

// AllGather puts the src of all ranks side by side into the dst of each, by rank. src
// may be the rank's own part of dst.
func AllGather[T Element](g *Group, dst, src []T) error {
	return g.Do(KindAllGather, dtypeOf[T](), Sum, 0, bytesOf(dst), bytesOf(src))
}

// ReduceScatter combines part r of the src of all ranks into the dst of rank r. dst may
// be the rank's own part of src.
func ReduceScatter[T Element](g *Group, dst, src []T, op Op) error {
	return g.Do(KindReduceScatter, dtypeOf[T](), op, 0, bytesOf(dst), bytesOf(src))
}

// AllToAll copies part d of the src of rank s to part s of the dst of rank d.
func AllToAll[T Element](g *Group, dst, src []T) error {
	return g.Do(KindAllToAll, dtypeOf[T](), Sum, 0, bytesOf(dst), bytesOf(src))
}

// Gather is AllGather into the dst of the root alone. Elsewhere dst is not used.
func Gather[T Element](g *Group, dst, src []T, root int) error {
	return g.Do(KindGather, dtypeOf[T](), Sum, root, bytesOf(dst), bytesOf(src))
}

// Scatter copies part r of the src of the root to the dst of rank r. Elsewhere src is
// not used.
func Scatter[T Element](g *Group, dst, src []T, root int) error {
	return g.Do(KindScatter, dtypeOf[T](), Sum, root, bytesOf(dst), bytesOf(src))
}

// Barrier waits until all ranks have called it.
func (g *Group) Barrier() error {
	if err := g.comm.Barrier(); err != nil {
		return err
	}
	return g.settle("barrier")
}

// Do does a collective on the bytes of elements: what the functions above do for
// slices of a type. Operation and root are only looked at where there is one.
func (g *Group) Do(kind Kind, d numeric.DType, op Op, root int, dst, src []byte) error {
	c := call{kind: kind, dtype: d, dst: dst, src: src, at: g.call.at, into: g.call.into}
	if kind.Reduces() {
		c.op = op
	}
	if kind.Rooted() {
		c.root = root
	}
	if kind == KindAllReduce || kind == KindReduce {
		c.algorithm = g.options.Algorithm
	}
	clear(c.at)
	clear(c.into)
	if err := g.fit(&c); err != nil {
		return &comm.Error{Rank: g.comm.Ranks()[g.rank], Peer: -1, Op: c.kind.String(), Signal: -1, Err: err}
	}
	// Nothing to wait for: it fails if the group cannot be used.
	if err := g.window.Await(kind.String(), "entry", g.rank, g.signal(entered, g.rank), 0); err != nil {
		return err
	}
	g.call = c
	if c.kind == KindAllReduce || c.kind == KindReduce {
		return g.reduceAll(&g.call)
	}
	return g.pull(&g.call)
}

// fit works out the count and checks that buffers have it.
func (g *Group) fit(c *call) error {
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
		return nil // one of them is not used, or both are the same
	}
	return c.overlap(g.rank)
}

// overlap refuses buffers that would be read after they were written.
func (c *call) overlap(rank int) error {
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
