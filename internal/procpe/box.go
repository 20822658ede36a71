package procpe

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/oplog"
	"github.com/kernbench/kernbench/tl"
)

// box is the elements of a block that exist, as runs of bytes that are side by side
// both in memory and in the tile.
type box struct {
	at    int64 // first byte in its region
	run   int64 // bytes; 0 if no element exists
	axes  int   // around the runs, outermost first
	count [oplog.MaxRank]int64
	step  [oplog.MaxRank]int64 // bytes in memory
	tile  [oplog.MaxRank]int64 // bytes in the tile
}

// newBox lays a block out that begins at a byte of a region, and checks that all of it
// is there.
func newBox(b *tl.Block, at int64, r *region) (box, error) {
	x := box{at: at}
	if b.Valid.Elems() == 0 {
		return x, nil
	}
	size, elem := int64(len(r.bytes)), int64(b.DType.Size())
	first, end, dense := at, at+elem, elem
	for i := int(b.Shape.Rank) - 1; i >= 0; i-- {
		n, stride := int64(b.Valid.Dim[i]), b.Ptr.Stride[i]
		x.count[i], x.step[i], x.tile[i] = n, stride*elem, dense
		dense *= int64(b.Shape.Dim[i])
		if n == 1 {
			continue
		}
		if most := size / elem / (n - 1); stride > most || stride < -most { // and no product overflows
			return x, fmt.Errorf("axis %d of the block, %d elements that are %d apart, is longer than %s, which has %d bytes", i, n, stride, r.name, size)
		}
		first += min(0, (n-1)*x.step[i])
		end += max(0, (n-1)*x.step[i])
	}
	if first < 0 || end > size {
		return x, fmt.Errorf("bytes %d to %d are not all in %s, which has %d: move the pointer, or mask what lies beyond", first, end, r.name, size)
	}
	x.run = elem
	for x.axes = int(b.Shape.Rank); x.axes > 0; x.axes-- {
		i := x.axes - 1
		if x.tile[i] != x.run || x.count[i] > 1 && x.step[i] != x.run {
			break
		}
		x.run *= x.count[i]
	}
	return x, nil
}

// each calls f with every run: where it is in memory, where in the tile, and its bytes.
func (x *box) each(f func(at, in, n int64) error) error {
	if x.run == 0 {
		return nil
	}
	var index [oplog.MaxRank]int64
	at, in := x.at, int64(0)
	for {
		if err := f(at, in, x.run); err != nil {
			return err
		}
		axis := x.axes - 1
		for ; axis >= 0; axis-- {
			at, in = at+x.step[axis], in+x.tile[axis]
			if index[axis]++; index[axis] < x.count[axis] {
				break
			}
			at, in = at-x.count[axis]*x.step[axis], in-x.count[axis]*x.tile[axis]
			index[axis] = 0
		}
		if axis < 0 {
			return nil
		}
	}
}
