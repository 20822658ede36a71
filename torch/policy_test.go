package torch

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/rapidtest"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

// String returns the box as Python slices: "0:2,3:6".
func (b box) String() string {
	var axes []string
	for i, from := range b.start {
		axes = append(axes, fmt.Sprintf("%d:%d", from, from+b.extent[i]))
	}
	return strings.Join(axes, ",")
}

// TestEveryPairOfSplits checks what each PE holds, for every pair of a cube split and a PE
// split. What a PE holds is written as "part.addend.copy box".
func TestEveryPairOfSplits(t *testing.T) {
	for _, c := range []struct {
		cube, pe Split
		want     string // holdings of cube 0: PE 0, PE 1; of cube 1: PE 0, PE 1
	}{
		{Replicate, Replicate, "0.0.0 0:4,0:6 | 0.0.1 0:4,0:6 | 0.0.2 0:4,0:6 | 0.0.3 0:4,0:6"},
		{Replicate, ColumnWise, "0.0.0 0:4,0:3 | 1.0.0 0:4,3:6 | 0.0.1 0:4,0:3 | 1.0.1 0:4,3:6"},
		{Replicate, RowWise, "0.0.0 0:2,0:6 | 1.0.0 2:4,0:6 | 0.0.1 0:2,0:6 | 1.0.1 2:4,0:6"},
		{Replicate, Partial, "0.0.0 0:4,0:6 | 0.1.0 0:4,0:6 | 0.0.1 0:4,0:6 | 0.1.1 0:4,0:6"},
		{ColumnWise, Replicate, "0.0.0 0:4,0:3 | 0.0.1 0:4,0:3 | 1.0.0 0:4,3:6 | 1.0.1 0:4,3:6"},
		{ColumnWise, ColumnWise, "0.0.0 0:4,0:2 | 1.0.0 0:4,2:3 | 2.0.0 0:4,3:5 | 3.0.0 0:4,5:6"},
		{ColumnWise, RowWise, "0.0.0 0:2,0:3 | 1.0.0 2:4,0:3 | 2.0.0 0:2,3:6 | 3.0.0 2:4,3:6"},
		{ColumnWise, Partial, "0.0.0 0:4,0:3 | 0.1.0 0:4,0:3 | 1.0.0 0:4,3:6 | 1.1.0 0:4,3:6"},
		{RowWise, Replicate, "0.0.0 0:2,0:6 | 0.0.1 0:2,0:6 | 1.0.0 2:4,0:6 | 1.0.1 2:4,0:6"},
		{RowWise, ColumnWise, "0.0.0 0:2,0:3 | 1.0.0 0:2,3:6 | 2.0.0 2:4,0:3 | 3.0.0 2:4,3:6"},
		{RowWise, RowWise, "0.0.0 0:1,0:6 | 1.0.0 1:2,0:6 | 2.0.0 2:3,0:6 | 3.0.0 3:4,0:6"},
		{RowWise, Partial, "0.0.0 0:2,0:6 | 0.1.0 0:2,0:6 | 1.0.0 2:4,0:6 | 1.1.0 2:4,0:6"},
		{Partial, Replicate, "0.0.0 0:4,0:6 | 0.0.1 0:4,0:6 | 0.1.0 0:4,0:6 | 0.1.1 0:4,0:6"},
		{Partial, ColumnWise, "0.0.0 0:4,0:3 | 1.0.0 0:4,3:6 | 0.1.0 0:4,0:3 | 1.1.0 0:4,3:6"},
		{Partial, RowWise, "0.0.0 0:2,0:6 | 1.0.0 2:4,0:6 | 0.1.0 0:2,0:6 | 1.1.0 2:4,0:6"},
		{Partial, Partial, "0.0.0 0:4,0:6 | 0.1.0 0:4,0:6 | 0.2.0 0:4,0:6 | 0.3.0 0:4,0:6"},
	} {
		p := DPPolicy{Cube: c.cube, PE: c.pe}
		var got []string
		for i, h := range p.layout(Shape{4, 6}, 1, 2, 2) {
			if h.cube != i/2 || h.pe != i%2 {
				t.Errorf("%v: holding %d is of cube %d, PE %d; want cube %d, PE %d", p, i, h.cube, h.pe, i/2, i%2)
			}
			got = append(got, fmt.Sprintf("%d.%d.%d %v", h.part, h.addend, h.copy, h.box))
		}
		if got := strings.Join(got, " | "); got != c.want {
			t.Errorf("%v\ngot  %s\nwant %s", p, got, c.want)
		}
	}
}

// TestBoxesOfShapes checks the boxes of all PEs for shapes that divide evenly, that do not,
// and that have no elements or no axes.
func TestBoxesOfShapes(t *testing.T) {
	for _, c := range []struct {
		name       string
		shape      Shape
		p          DPPolicy
		cubes, pes int
		want       string // ";" between cubes
	}{
		{"one axis", Shape{8}, DPPolicy{Cube: RowWise, PE: RowWise}, 2, 2, "0:2 2:4;4:6 6:8"},
		{"one axis is rows and columns", Shape{8}, DPPolicy{Cube: RowWise, PE: ColumnWise}, 2, 2, "0:2 2:4;4:6 6:8"},
		{"ragged", Shape{10}, DPPolicy{PE: ColumnWise}, 1, 4, "0:3 3:6 6:9 9:10"},
		{"ragged, then empty", Shape{5}, DPPolicy{PE: RowWise}, 1, 4, "0:2 2:4 4:5 5:5"},
		{"ragged at both levels", Shape{7}, DPPolicy{Cube: RowWise, PE: RowWise}, 2, 3, "0:2 2:4 4:4;4:5 5:6 6:7"},
		{"an empty cube", Shape{2, 3}, DPPolicy{Cube: RowWise, PE: ColumnWise}, 3, 2, "0:1,0:2 0:1,2:3;1:2,0:2 1:2,2:3;2:2,0:2 2:2,2:3"},
		{"no elements", Shape{0, 3}, DPPolicy{Cube: RowWise, PE: RowWise}, 2, 2, "0:0,0:3 0:0,0:3;0:0,0:3 0:0,0:3"},
		{"no axes", Shape{}, DPPolicy{Cube: RowWise, PE: ColumnWise}, 2, 2, "0:1 1:1;1:1 1:1"},
		{"no axes, copies", nil, DPPolicy{}, 1, 2, "0:1 0:1"},
		{"three axes", Shape{4, 5, 6}, DPPolicy{Cube: RowWise, PE: ColumnWise}, 2, 2, "0:2,0:5,0:3 0:2,0:5,3:6;2:4,0:5,0:3 2:4,0:5,3:6"},
		{"three axes, ragged", Shape{3, 2, 5}, DPPolicy{Cube: ColumnWise, PE: RowWise}, 2, 2, "0:2,0:2,0:3 2:3,0:2,0:3;0:2,0:2,3:5 2:3,0:2,3:5"},
		{"some members", Shape{6}, DPPolicy{Cube: RowWise, PE: RowWise, NumCubes: 2, NumPEs: 3}, 16, 8, "0:1 1:2 2:3;3:4 4:5 5:6"},
		{"one member", Shape{6}, DPPolicy{Cube: RowWise, PE: ColumnWise, NumCubes: 1, NumPEs: 1}, 16, 8, "0:6"},
	} {
		var got strings.Builder
		for i, h := range c.p.layout(c.shape, 1, c.cubes, c.pes) {
			switch {
			case i > 0 && h.pe == 0:
				got.WriteString(";")
			case i > 0:
				got.WriteString(" ")
			}
			got.WriteString(h.box.String())
		}
		if got.String() != c.want {
			t.Errorf("%s: %v of %v\ngot  %s\nwant %s", c.name, c.p, c.shape, got.String(), c.want)
		}
	}
}

// TestLayoutKeepsItsOwnShape checks that a later change of the shape does not change the
// layout.
func TestLayoutKeepsItsOwnShape(t *testing.T) {
	shape := Shape{4, 6}
	held := DPPolicy{}.layout(shape, 1, 1, 1)
	shape[0] = 9
	if got, want := held[0].box.String(), "0:4,0:6"; got != want {
		t.Errorf("after the caller changed the shape: got %s, want %s", got, want)
	}
}

// TestCounts checks the numbers of parts, copies and addends of a policy.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		p    DPPolicy
		want [3]int // parts, copies, addends
	}{
		{DPPolicy{}, [3]int{1, 128, 1}},
		{DPPolicy{Cube: RowWise, PE: ColumnWise, NumCubes: 4, NumPEs: 0}, [3]int{32, 1, 1}},
		{DPPolicy{Cube: Replicate, PE: RowWise, NumCubes: 0, NumPEs: 3}, [3]int{3, 16, 1}},
		{DPPolicy{Cube: Partial, PE: Replicate, NumCubes: 2, NumPEs: 5}, [3]int{1, 5, 2}},
		{DPPolicy{Cube: Partial, PE: Partial, NumCubes: 2, NumPEs: 5}, [3]int{1, 1, 10}},
	} {
		parts, copies, addends := c.p.counts(1, 16, 8)
		if got := [3]int{parts, copies, addends}; got != c.want {
			t.Errorf("%v: parts, copies, addends: got %v, want %v", c.p, got, c.want)
		}
	}
}

// TestPolicyThatDoesNotFit checks the error for a policy with an unknown split, with more
// cubes or PEs than the system has, or with a negative number of them.
func TestPolicyThatDoesNotFit(t *testing.T) {
	for _, c := range []struct {
		p    DPPolicy
		want string
	}{
		{DPPolicy{Cube: RowWise, PE: ColumnWise, NumCubes: 17, NumPEs: 8}, "torch: DPPolicy: cube=row_wise(17) pe=column_wise(8): 17 cubes, and a SIP has 16: use 1 to 16, or 0 for all"},
		{DPPolicy{Cube: Replicate, PE: Partial, NumCubes: 0, NumPEs: 9}, "torch: DPPolicy: cube=replicate(all) pe=partial(9): 9 PEs, and a cube has 8: use 1 to 8, or 0 for all"},
		{DPPolicy{NumCubes: -1}, "torch: DPPolicy: cube=replicate(-1) pe=replicate(all): -1 cubes, and a SIP has 16: use 1 to 16, or 0 for all"},
		{DPPolicy{NumPEs: -1}, "torch: DPPolicy: cube=replicate(all) pe=replicate(-1): -1 PEs, and a cube has 8: use 1 to 8, or 0 for all"},
		{DPPolicy{Cube: 4}, "torch: DPPolicy: cube=Split(4)(all) pe=replicate(all): Cube is not a split: use torch.Replicate, ColumnWise, RowWise or Partial"},
		{DPPolicy{PE: 9}, "torch: DPPolicy: cube=replicate(all) pe=Split(9)(all): PE is not a split: use torch.Replicate, ColumnWise, RowWise or Partial"},
	} {
		for name, f := range map[string]func(){
			"layout": func() { c.p.layout(Shape{4}, 1, 16, 8) },
			"counts": func() { c.p.counts(1, 16, 8) },
		} {
			var got any
			func() {
				defer func() { got = recover() }()
				f()
			}()
			if err, ok := got.(*Error); !ok || err.Error() != c.want {
				t.Errorf("%s\ngot  %v\nwant %s", name, got, c.want)
			}
		}
	}
}

// TestContiguous checks which boxes are one run of consecutive elements.
func TestContiguous(t *testing.T) {
	for _, c := range []struct {
		shape Shape
		box   box
		want  bool
	}{
		{Shape{}, box{[]int{0}, []int{1}}, true},
		{Shape{8}, box{[]int{3}, []int{2}}, true},
		{Shape{4, 6}, box{[]int{1, 0}, []int{2, 6}}, true},
		{Shape{4, 6}, box{[]int{0, 1}, []int{2, 5}}, false},
		{Shape{4, 6}, box{[]int{3, 1}, []int{1, 5}}, true},
		{Shape{4, 6}, box{[]int{0, 6}, []int{4, 0}}, true},
		{Shape{2, 3, 4}, box{[]int{1, 1, 0}, []int{1, 2, 4}}, true},
		{Shape{2, 3, 4}, box{[]int{0, 1, 0}, []int{2, 2, 4}}, false},
		{Shape{1, 3, 4}, box{[]int{0, 0, 0}, []int{1, 3, 4}}, true},
	} {
		if got := c.box.contiguous(c.shape); got != c.want {
			t.Errorf("%v of %v: got %v, want %v", c.box, c.shape, got, c.want)
		}
	}
}

// contiguous reports whether the box is empty or one run of consecutive elements of a
// row-major tensor with the given shape.
func (b box) contiguous(shape Shape) bool {
	_, count, _ := b.runs(shape)
	return count <= 1
}

// elementIndices returns the row-major index of each element of the box, in order. It
// computes each index separately, as a reference for the code under test, which divides the
// box into runs.
func (b box) elementIndices(shape Shape) []int {
	at := []int{0}
	for axis, extent := range axes(shape) {
		var next []int
		for _, outer := range at {
			for i := range b.extent[axis] {
				next = append(next, outer*extent+b.start[axis]+i)
			}
		}
		at = next
	}
	return at
}

// drawShape draws a random shape of zero to four axes. A few of the shapes have no
// elements.
func drawShape(t *rapid.T) Shape {
	shape := make(Shape, rapid.IntRange(0, 4).Draw(t, "rank"))
	for axis := range shape {
		shape[axis] = rapid.SampledFrom([]int{1, 2, 3, 4, 5, 6, 0, 7, 8, 9}).Draw(t, "extent")
	}
	return shape
}

// TestPartsTileTheTensor checks for random policies that each element is in exactly one
// part, and that each part is held once for each copy and addend.
func TestPartsTileTheTensor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t)
		sips, cubes, pes := rapid.IntRange(1, 4).Draw(t, "SIPs"), rapid.IntRange(1, 5).Draw(t, "cubes"), rapid.IntRange(1, 5).Draw(t, "PEs")
		split := rapid.SampledFrom([]Split{Replicate, ColumnWise, RowWise, Partial})
		p := DPPolicy{
			SIP: split.Draw(t, "SIP"), Cube: split.Draw(t, "Cube"), PE: split.Draw(t, "PE"),
			NumSIPs: rapid.IntRange(0, sips).Draw(t, "NumSIPs"), NumCubes: rapid.IntRange(0, cubes).Draw(t, "NumCubes"), NumPEs: rapid.IntRange(0, pes).Draw(t, "NumPEs"),
		}
		parts, copies, addends := p.counts(sips, cubes, pes)

		held := p.layout(shape, sips, cubes, pes)
		if len(held) != parts*copies*addends {
			t.Fatalf("%v: %d holdings, want %d parts x %d copies x %d addends", p, len(held), parts, copies, addends)
		}
		n := len(wholeHolding(shape).box.elementIndices(shape))
		tiled := make([]int, n)  // number of parts that contain each element
		shared := make([]int, n) // number of holdings that contain each element
		boxes := map[int]box{}   // boxes of the parts, by part
		seen := map[[3]int]bool{}
		for _, h := range held {
			id := [3]int{h.part, h.copy, h.addend}
			if seen[id] || h.part >= parts || h.copy >= copies || h.addend >= addends {
				t.Fatalf("%v: part, copy, addend %v twice, or not below %d, %d, %d", p, id, parts, copies, addends)
			}
			seen[id] = true
			first, known := boxes[h.part]
			if !known {
				boxes[h.part] = h.box
			} else if h.box.String() != first.String() {
				t.Fatalf("%v of %v: part %d is both %v and %v", p, shape, h.part, first, h.box)
			}
			for _, i := range h.box.elementIndices(shape) {
				shared[i]++
				if !known {
					tiled[i]++
				}
			}
		}
		for i := range n {
			if tiled[i] != 1 || shared[i] != copies*addends {
				t.Fatalf("%v of %v: element %d is in %d parts and %d holdings, want 1 and %d", p, shape, i, tiled[i], shared[i], copies*addends)
			}
		}
	})
}

// TestExtractAndInsert checks for random boxes that extract copies exactly the elements of
// the box, that insert puts them back, and that the method contiguous returns the right
// result.
func TestExtractAndInsert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t)
		elem := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "elem")
		b := wholeHolding(shape).box
		n := len(b.elementIndices(shape))
		for axis, extent := range b.extent {
			if rapid.Bool().Draw(t, "cut") {
				b.start[axis] = rapid.IntRange(0, extent/2).Draw(t, "before")
				b.extent[axis] = extent - b.start[axis] - rapid.IntRange(0, (extent+1)/2).Draw(t, "after")
			}
		}
		whole := make([]byte, n*elem)
		for i := range whole {
			whole[i] = byte(i%251) + 1 // never 0, so that a lost byte is noticed
		}

		elementIndices := b.elementIndices(shape)
		var want []byte
		left := slices.Clone(whole) // the whole without the box
		for _, i := range elementIndices {
			want = append(want, whole[i*elem:(i+1)*elem]...)
			clear(left[i*elem : (i+1)*elem])
		}
		got := make([]byte, len(want))
		b.extract(got, whole, shape, elem)
		if !bytes.Equal(got, want) {
			t.Fatalf("extract %v of %v x %d bytes\ngot  %v\nwant %v", b, shape, elem, got, want)
		}
		b.insert(left, got, shape, elem)
		if !bytes.Equal(left, whole) {
			t.Fatalf("insert %v of %v x %d bytes\ngot  %v\nwant %v", b, shape, elem, left, whole)
		}
		run := len(elementIndices) == 0 || elementIndices[len(elementIndices)-1]-elementIndices[0] == len(elementIndices)-1
		if got := b.contiguous(shape); got != run {
			t.Fatalf("%v of %v is contiguous: got %v, want %v", b, shape, got, run)
		}
	})
}

// BenchmarkLayout measures the layout of a matrix over the PEs of a SIP.
func BenchmarkLayout(b *testing.B) {
	p := DPPolicy{Cube: RowWise, PE: ColumnWise}
	b.ReportAllocs()
	for b.Loop() {
		p.layout(Shape{4096, 4096}, 1, 16, 8)
	}
}

// BenchmarkExtract measures extract of an eighth of a tensor of 4096 x 4096 f16 elements:
// as one run, as one run per row and, for a tall tensor, as one run per element.
func BenchmarkExtract(b *testing.B) {
	const elem = 2
	for _, c := range []struct {
		name  string
		shape Shape
		pe    Split
	}{
		{"rows", Shape{4096, 4096}, RowWise},
		{"columns", Shape{4096, 4096}, ColumnWise},
		{"one_column", Shape{2 << 20, 8}, ColumnWise},
	} {
		b.Run(c.name, func(b *testing.B) {
			part := DPPolicy{PE: c.pe}.layout(c.shape, 1, 1, 8)[3].box
			whole, dst := make([]byte, 4096*4096*elem), make([]byte, 4096*4096*elem/8)
			b.SetBytes(int64(len(dst)))
			for b.Loop() {
				part.extract(dst, whole, c.shape, elem)
			}
		})
	}
}

// counts returns three numbers: how many parts a tensor has, how many copies each part and
// addend has, and how many addends each part has. Empty parts count as parts. The system
// has `sips` SIPs; each SIP has `cubes` cubes, and each cube has `pes` PEs.
func (p DPPolicy) counts(sips, cubes, pes int) (parts, copies, addends int) {
	last := wholeHolding(nil)
	for _, l := range p.members(sips, cubes, pes) {
		last = last.member(l, l.n-1)
	}
	return last.part + 1, last.copy + 1, last.addend + 1
}
