package task

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// bytesOf returns the addresses of all bytes of a block.
func bytesOf(b *tl.Block) map[int64]bool {
	all := map[int64]bool{}
	size := int64(b.DType.Size())
	starts := []int64{b.Ptr.Addr}
	for axis, n := range b.Valid.Dim[:b.Valid.Rank] {
		var next []int64
		for _, at := range starts {
			for i := range int64(n) {
				next = append(next, at+i*b.Ptr.Stride[axis]*size)
			}
		}
		starts = next
	}
	for _, at := range starts {
		for i := range size {
			all[at+i] = true
		}
	}
	return all
}

// TestRegionHolds checks that holds reports true for a block exactly if the region contains
// each byte of the block. Strides and dtypes are random.
func TestRegionHolds(t *testing.T) {
	held, missed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		_, r := drawTasks(t, 1)
		for range 50 {
			const base = 1000
			p := drawRegions(r, 1)
			x := p.Tensors[0]
			var start, extent []int
			for _, n := range x.Shape {
				size := drawInt(r, (n+1)/2, n)
				if r.IntN(3) == 0 {
					size = n
				}
				start, extent = append(start, drawInt(r, 0, n-size)), append(extent, size)
			}
			region := x.Box(start, extent)
			b := tl.Block{Ptr: region.pointer(memory{addr: base}), DType: []tl.DType{tl.I8, tl.I16, tl.I32, tl.I32, tl.I64}[r.IntN(5)]}
			b.Ptr.Addr += int64(drawInt(r, -1, 3) * b.DType.Size())
			b.Valid.Rank = int8(drawInt(r, 0, oplog.MaxRank))
			for axis := range b.Valid.Rank {
				b.Valid.Dim[axis] = int32(drawInt(r, 1, 3))
				switch r.IntN(3) {
				case 0:
					b.Ptr.Stride[axis] = int64(drawInt(r, -3, 12))
				case 1:
					b.Ptr.Stride[axis] = 1
				}
			}
			inside := map[int64]bool{}
			for _, e := range region.elements() {
				for i := range int64(4) {
					inside[base+4*int64(e)+i] = true
				}
			}
			want := true
			for at := range bytesOf(&b) {
				want = want && inside[at]
			}
			if got := region.holds(&b, base); got != want {
				t.Fatalf("%v of %v holds %v of %v with strides %v at byte %d: %v, want %v", region, x, b.Valid, b.DType, b.Ptr.Stride, b.Ptr.Addr-base, got, want)
			}
			if want {
				held++
			} else {
				missed++
			}
		}
	})
	if held < missed/10 || missed < held/10 {
		t.Errorf("%d blocks are inside and %d are not: too few of one kind for a meaningful test", held, missed)
	}
}
