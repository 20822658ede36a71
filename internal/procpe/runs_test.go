package procpe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
)

// drawBlock draws a random block, whose strides are dense, positive, negative or 0. Some
// elements may be masked.
func drawBlock(rt *rapid.T) tl.Block {
	rank := rapid.IntRange(0, oplog.MaxRank).Draw(rt, "rank")
	b := tl.Block{DType: rapid.SampledFrom([]tl.DType{tl.U8, tl.F16, tl.F32}).Draw(rt, "dtype")}
	b.Shape.Rank, b.Valid.Rank, b.Ptr.Rank = int8(rank), int8(rank), int8(rank)
	dense := int64(1)
	for i := rank - 1; i >= 0; i-- {
		b.Shape.Dim[i] = rapid.Int32Range(0, 4).Draw(rt, "extent")
		b.Valid.Dim[i] = b.Shape.Dim[i]
		if rapid.Bool().Draw(rt, "masked") {
			b.Valid.Dim[i] = rapid.Int32Range(0, b.Shape.Dim[i]).Draw(rt, "valid")
		}
		b.Ptr.Stride[i] = dense
		if rapid.Bool().Draw(rt, "strided") {
			b.Ptr.Stride[i] = rapid.Int64Range(-9, 9).Draw(rt, "stride")
		}
		dense *= int64(b.Shape.Dim[i])
	}
	return b
}

// listElements returns, for each unmasked element of a block that begins at offset `at`,
// the offset of the element in memory and its offset in the tile.
func listElements(b *tl.Block, at int64) (list [][2]int64) {
	elem := int64(b.DType.Size())
	for i := range b.Shape.Elems() {
		mem, rest, exists := at, i, true
		for axis := int(b.Shape.Rank) - 1; axis >= 0; axis-- {
			n := int(b.Shape.Dim[axis])
			exists = exists && rest%n < int(b.Valid.Dim[axis])
			mem += int64(rest%n) * b.Ptr.Stride[axis] * elem
			rest /= n
		}
		if exists {
			list = append(list, [2]int64{mem, int64(i) * elem})
		}
	}
	return list
}

// TestBlockRuns checks that the runs of a random block cover exactly the unmasked elements
// of the block, in order. If an element is outside the region, newBlockRuns must return an
// error.
func TestBlockRuns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := drawBlock(rt)
		r := &region{name: "x", bytes: make([]byte, rapid.IntRange(0, 400).Draw(rt, "bytes"))}
		at := rapid.Int64Range(-8, 200).Draw(rt, "at")
		want := listElements(&b, at)
		inside, elem := true, int64(b.DType.Size())
		for _, e := range want {
			inside = inside && e[0] >= 0 && e[0]+elem <= int64(len(r.bytes))
		}
		x, err := newBlockRuns(&b, at, r)
		if (err == nil) != inside {
			rt.Fatalf("block %v at %d of %d bytes, strides %v: error %v, inside %v", b, at, len(r.bytes), b.Ptr.Stride, err, inside)
		}
		if err != nil {
			return
		}
		var got [][2]int64
		if err := x.each(func(at, in, n int64) error {
			for off := int64(0); off < n; off += elem {
				got = append(got, [2]int64{at + off, in + off})
			}
			return nil
		}); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Errorf("elements of %v, strides %v (-want +got):\n%s", b, b.Ptr.Stride, diff)
		}
	})
}

// TestRunsAreLongest checks that newBlockRuns combines contiguous elements into as few runs
// as possible.
func TestRunsAreLongest(t *testing.T) {
	for _, c := range []struct {
		name         string
		shape, valid []int32
		stride       []int64
		run, runs    int64
	}{
		{"vector", []int32{64}, nil, []int64{1}, 256, 1},
		{"no axes", nil, nil, nil, 4, 1},
		{"dense matrix", []int32{4, 8}, nil, []int64{8, 1}, 128, 1},
		{"row of a matrix", []int32{1, 8}, nil, []int64{100, 1}, 32, 1},
		{"rows apart", []int32{4, 8}, nil, []int64{10, 1}, 32, 4},
		{"fewer rows", []int32{4, 8}, []int32{3, 8}, []int64{8, 1}, 96, 1},
		{"fewer columns", []int32{4, 8}, []int32{4, 7}, []int64{8, 1}, 28, 4},
		{"column", []int32{4}, nil, []int64{8}, 4, 4},
		{"nothing", []int32{4, 8}, []int32{0, 8}, []int64{8, 1}, 0, 0},
	} {
		b := tl.Block{DType: tl.F32}
		b.Shape.Rank, b.Valid.Rank, b.Ptr.Rank = int8(len(c.shape)), int8(len(c.shape)), int8(len(c.shape))
		copy(b.Shape.Dim[:], c.shape)
		copy(b.Valid.Dim[:], c.shape)
		copy(b.Valid.Dim[:], c.valid)
		copy(b.Ptr.Stride[:], c.stride)
		x, err := newBlockRuns(&b, 0, &region{bytes: make([]byte, 1000)})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		runs := int64(0)
		if err := x.each(func(_, _, _ int64) error { runs++; return nil }); err != nil || x.runBytes != c.run || runs != c.runs {
			t.Errorf("%s: %d runs of %d bytes, %v, want %d of %d", c.name, runs, x.runBytes, err, c.runs, c.run)
		}
	}
}
