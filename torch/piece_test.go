package torch_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// boxCase is a test case: a tensor with a placement, and a box of the tensor.
type boxCase struct {
	on          torch.Placement
	shape       torch.Shape
	height      int // rows of the tensor as a matrix
	width       int
	row, col    int
	rows, cols  int
	device, pe  int
	copies      int
	description string
}

// boxCases draws random test cases on a system of three SIPs with two cubes of four PEs
// each.
var boxCases = rapid.Custom(func(t *rapid.T) (p boxCase) {
	extent := rapid.SampledFrom([]int{1, 2, 3, 4, 5, 7, 8, 13})
	p.height, p.width = 1, extent.Draw(t, "columns")
	p.shape = torch.Shape{p.width}
	for range rapid.SampledFrom([]int{0, 1, 1, 2, 3}).Draw(t, "axes of rows") {
		n := extent.Draw(t, "rows")
		p.height *= n
		p.shape = append(torch.Shape{n}, p.shape...)
		extent = rapid.SampledFrom([]int{1, 2, 3})
	}
	p.device, p.pe = rapid.IntRange(0, 2).Draw(t, "device"), rapid.IntRange(0, 23).Draw(t, "PE")
	switch rapid.IntRange(0, 4).Draw(t, "placement") {
	case 0:
		list := rapid.Permutation(lists.Count(0, 24)).Draw(t, "PEs")[:rapid.IntRange(1, 5).Draw(t, "parts")]
		p.on, p.copies, p.description = torch.On(list...), 1, fmt.Sprint("On", list)
	case 1:
		list := rapid.Permutation(lists.Count(0, 24)).Draw(t, "PEs")[:rapid.IntRange(1, 3).Draw(t, "copies")]
		p.on, p.copies, p.description = torch.OnEach(list...), len(list), fmt.Sprint("OnEach", list)
	default:
		split := rapid.SampledFrom([]torch.Split{torch.Replicate, torch.ColumnWise, torch.RowWise})
		policy := torch.DPPolicy{Cube: split.Draw(t, "Cube"), PE: split.Draw(t, "PE"), NumCubes: rapid.IntRange(1, 2).Draw(t, "NumCubes"), NumPEs: rapid.IntRange(1, 4).Draw(t, "NumPEs")}
		p.on, p.copies, p.description = policy, 1, policy.String()
		if policy.Cube == torch.Replicate {
			p.copies *= policy.NumCubes
		}
		if policy.PE == torch.Replicate {
			p.copies *= policy.NumPEs
		}
	}
	p.row, p.col = rapid.IntRange(0, p.height).Draw(t, "row"), rapid.IntRange(0, p.width).Draw(t, "column")
	p.rows, p.cols = rapid.IntRange(0, p.height-p.row).Draw(t, "height"), rapid.IntRange(0, p.width-p.col).Draw(t, "width")
	return p
})

func (p boxCase) String() string {
	return fmt.Sprintf("%d x %d from (%d, %d) of %v on device %d, %s, from PE %d", p.rows, p.cols, p.row, p.col, p.shape, p.device, p.description, p.pe)
}

// checkCoverage checks that each element of the box is in exactly `times` pieces of list,
// and that no element outside the box is in a piece.
func (p boxCase) checkCoverage(t *rapid.T, list []torch.Piece, times int) {
	seen := make([]int, p.height*p.width)
	for _, piece := range list {
		if piece.Rows < 1 || piece.Cols < 1 || piece.Row < 0 || piece.Col < 0 || piece.Row+piece.Rows > p.height || piece.Col+piece.Cols > p.width {
			t.Fatalf("%v: piece %+v", p, piece)
		}
		for i := range piece.Rows {
			for j := range piece.Cols {
				seen[(piece.Row+i)*p.width+piece.Col+j]++
			}
		}
	}
	for i := range p.height {
		for j := range p.width {
			want := 0
			if i >= p.row && i < p.row+p.rows && j >= p.col && j < p.col+p.cols {
				want = times
			}
			if got := seen[i*p.width+j]; got != want {
				t.Fatalf("%v: element (%d, %d) is in %d pieces of %+v, want %d", p, i, j, got, list, want)
			}
		}
	}
}

// distance returns how far apart two PEs are: 0 for the same PE, 1 for the same cube, 2 for
// the same SIP, 3 otherwise.
func distance(l *hostedtest.Lab, from, to int) int {
	sip, cube, _ := l.Place(from)
	otherSIP, otherCube, _ := l.Place(to)
	switch {
	case from == to:
		return 0
	case sip == otherSIP && cube == otherCube:
		return 1
	case sip == otherSIP:
		return 2
	}
	return 3
}

// holderOf returns the PE whose shard of x contains the address addr, or -1 if there is
// none. base is the first address of x.
func holderOf(l *hostedtest.Lab, x *torch.Tensor, base, addr int64) int {
	for _, s := range x.Shards() {
		if off := addr - base; off >= s.Offset && off < s.Offset+s.Bytes {
			return l.PE(s.SIP, s.Cube, s.PE)
		}
	}
	return -1
}

// TestPiecesCoverTheirBox checks that Pieces returns each element of the box once, from the
// nearest copy, and that Copies returns each element of every copy. It also reads and
// writes the box through the pointers of the pieces and checks the values.
func TestPiecesCoverTheirBox(t *testing.T) {
	options := hostedtest.Options(t, 3)
	several := 0 // number of pieces that span several shards
	rapid.Check(t, func(rt *rapid.T) {
		p := boxCases.Draw(rt, "box")
		l := hostedtest.New(t, options)
		defer l.Close()
		l.SetDevice(p.device)
		n := p.height * p.width
		x := l.Ints(lists.Count(0, n), torch.I32, p.on, p.shape...)
		list, copies := x.Pieces(p.row, p.col, p.rows, p.cols, p.pe), x.Copies(p.row, p.col, p.rows, p.cols)
		p.checkCoverage(rt, list, 1)
		p.checkCoverage(rt, copies, p.copies)
		whole := x.Copies(0, 0, p.height, p.width)
		base := slices.MinFunc(whole, func(a, b torch.Piece) int { return int(a.Ptr.Addr - b.Ptr.Addr) }).Ptr.Addr
		for _, piece := range list {
			for i := range piece.Rows {
				for j := range piece.Cols {
					holder := holderOf(l, x, base, piece.Ptr.At(i, j).Addr)
					nearest := 4
					for _, s := range x.Shards() {
						if hasElement(s, piece.Row+i, piece.Col+j) {
							nearest = min(nearest, distance(l, p.pe, l.PE(s.SIP, s.Cube, s.PE)))
						}
					}
					if got := distance(l, p.pe, holder); got != nearest {
						rt.Fatalf("%v: (%d, %d) is read from PE %d, at distance %d, and there is one at %d", p, piece.Row+i, piece.Col+j, holder, got, nearest)
					}
				}
			}
			first, last := piece.Ptr.Addr, piece.Ptr.At(piece.Rows-1, piece.Cols-1).Addr
			if holderOf(l, x, base, first) != holderOf(l, x, base, last) {
				several++
			}
		}
		y := l.Ints(hostedtest.Fill(-1, n), torch.I32, torch.On(p.pe), p.height, p.width)
		l.MustLaunch("read and write", func(t *tl.PE, y tl.Ptr) {
			for _, piece := range list {
				t.Store(y.At(piece.Row, piece.Col), t.Load(piece.Ptr, tl.Shape{piece.Rows, piece.Cols}, tl.I32))
			}
			for _, piece := range copies {
				t.Store(piece.Ptr, t.Load(y.At(piece.Row, piece.Col), tl.Shape{piece.Rows, piece.Cols}, tl.I32).Add(1000))
			}
		}, y, torch.Using(x))
		read, written := hostedtest.Fill(-1, n), lists.Count(0, n)
		for i := p.row; i < p.row+p.rows; i++ {
			for j := p.col; j < p.col+p.cols; j++ {
				read[i*p.width+j] = i*p.width + j
				written[i*p.width+j] += 1000
			}
		}
		l.Holds(p.String(), y, read)
		if err := l.Check(p.String(), x, written); err != nil || !l.Checks().OK() {
			rt.Fatalf("%v: error %v, checks %+v", p, err, l.Checks())
		}
	})
	if several == 0 {
		t.Error("no piece spans several shards")
	}
}

// hasElement reports whether the shard s contains the element at (row, col) of its tensor.
// The tensor is seen as a matrix whose columns are the last axis.
func hasElement(s torch.Shard, row, col int) bool {
	for axis := len(s.Start) - 1; axis >= 0; axis-- {
		at, extent := col, s.Extent[axis]
		if axis < len(s.Start)-1 {
			if at = row; axis > 0 {
				at, row = row%extent, row/extent
			}
		}
		if at < s.Start[axis] || at >= s.Start[axis]+extent {
			return false
		}
	}
	return true
}

// TestPiecesAreMerged checks how many pieces Pieces and Copies return. Parts of the box
// that are one below the other at consecutive addresses are one piece. Parts next to each
// other are separate pieces, except in a single row.
func TestPiecesAreMerged(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	rows := torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 4}
	columns := torch.DPPolicy{PE: torch.ColumnWise, NumCubes: 1, NumPEs: 4}
	for _, c := range []struct {
		name       string
		shape      []int
		on         torch.Placement
		box        [4]int
		want, each int // number of Pieces, and of Copies
	}{
		{"rows", []int{8, 8}, rows, [4]int{0, 0, 8, 8}, 1, 1},
		{"some columns of rows", []int{8, 8}, rows, [4]int{1, 2, 6, 3}, 1, 1},
		{"columns", []int{8, 8}, columns, [4]int{0, 0, 8, 8}, 4, 4},
		{"a part of the columns", []int{8, 8}, columns, [4]int{3, 1, 2, 4}, 3, 3},
		{"columns of a row", []int{1, 8}, columns, [4]int{0, 0, 1, 8}, 1, 1},
		{"a vector", []int{8}, rows, [4]int{0, 1, 1, 6}, 1, 1},
		{"copies", []int{8, 8}, torch.OnEach(0, 1, 9), [4]int{0, 0, 8, 8}, 1, 3},
		{"copies of rows", []int{8, 8}, torch.DPPolicy{Cube: torch.Replicate, PE: torch.RowWise, NumCubes: 2, NumPEs: 4}, [4]int{0, 0, 8, 8}, 1, 2},
		{"nothing", []int{8, 8}, rows, [4]int{3, 3, 0, 2}, 0, 0},
		{"no elements", []int{0, 8}, rows, [4]int{0, 0, 0, 8}, 0, 0},
	} {
		x := l.MustZeros(torch.I32, c.on, c.shape...)
		got, each := x.Pieces(c.box[0], c.box[1], c.box[2], c.box[3], 0), x.Copies(c.box[0], c.box[1], c.box[2], c.box[3])
		if len(got) != c.want || len(each) != c.each {
			t.Errorf("%s: pieces %+v and copies %+v, want %d and %d", c.name, got, each, c.want, c.each)
		}
	}
	scalar := l.Ints([]int{7}, torch.I32, torch.OnEach(0, 1), []int{}...)
	if got := scalar.Pieces(0, 0, 1, 1, 1); len(got) != 1 || got[0].Rows != 1 || got[0].Cols != 1 {
		t.Errorf("of a number: pieces %+v, want one", got)
	}
}

// TestLayoutMatchesShards checks that Layout returns the same shards as a tensor with the
// same shape and placement has, apart from offsets and sizes.
func TestLayoutMatchesShards(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	for i, on := range policies() {
		l.SetDevice(i % 3)
		for _, shape := range shapes {
			want := l.MustZeros(torch.I8, on, append([]int{}, shape...)...).Shards()
			for i := range want {
				want[i].Offset, want[i].Bytes = 0, 0
			}
			if got := fmt.Sprint(l.Layout(shape, on)); got != fmt.Sprint(want) {
				t.Errorf("%v of %v: %s, want %v", on, shape, got, want)
			}
		}
	}
}

// TestPlaceIsTheReverseOfPE checks that Place converts the number of a PE to a position
// from which the method PE computes the same number.
func TestPlaceIsTheReverseOfPE(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	for pe := range l.NumPEs() {
		if got := l.PE(l.Place(pe)); got != pe {
			t.Errorf("PE %d is at the place of PE %d", pe, got)
		}
	}
}

// TestPiecesMisuse checks the errors of Pieces, Copies, Place and Layout for wrong boxes,
// PEs, policies and tensors.
func TestPiecesMisuse(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	x := l.MustZeros(torch.F32, torch.On(0), 4, 6)
	cube := l.MustZeros(torch.F32, torch.On(0), 2, 3, 2)
	partial := l.MustZeros(torch.F32, torch.DPPolicy{Cube: torch.Partial, NumCubes: 2, NumPEs: 1}, 4, 6)
	gone := l.MustZeros(torch.F32, torch.On(0), 4, 6)
	if err := gone.Free(); err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]func(){
		"torch: Pieces: rows 0 to 5 and columns 0 to 6 of tensor 1 [4 6] f32":                        func() { x.Pieces(0, 0, 5, 6, 0) },
		"torch: Pieces: rows -1 to 3 and columns 0 to 6 of tensor 1 [4 6] f32":                       func() { x.Pieces(-1, 0, 4, 6, 0) },
		"torch: Copies: rows 0 to 4 and columns 3 to 7 of tensor 1 [4 6] f32":                        func() { x.Copies(0, 3, 4, 4) },
		"torch: Copies: rows 0 to -1 and columns 0 to 6 of tensor 1 [4 6] f32":                       func() { x.Copies(0, 0, -1, 6) },
		"torch: Pieces: rows 0 to 7 and columns 0 to 2 of tensor 2 [2 3 2] f32":                      func() { cube.Pieces(0, 0, 7, 2, 0) },
		"torch: Pieces: tensor 3 [4 6] f32 is partial: each PE has an addend of it: reduce it first": func() { partial.Pieces(0, 0, 4, 6, 0) },
		"torch: Copies: tensor 3 [4 6] f32 is partial: each PE has an addend of it: reduce it first": func() { partial.Copies(0, 0, 4, 6) },
		"torch: Pieces: tensor 4 [4 6] f32 has been freed":                                           func() { gone.Pieces(0, 0, 4, 6, 0) },
		"torch: Pieces: PE 24 of a system that has 0 to 23":                                          func() { x.Pieces(0, 0, 4, 6, 24) },
		"torch: Place: PE 24 of a system that has 0 to 23":                                           func() { l.Place(24) },
		"torch: Place: PE -1 of a system that has 0 to 23":                                           func() { l.Place(-1) },
		"torch: Layout: PE 24 of a system that has 0 to 23":                                          func() { l.Layout(torch.Shape{4}, torch.On(24)) },
		"torch: DPPolicy: cube=replicate(9) pe=replicate(all): 9 cubes, and a SIP has 2: use 1 to 2, or 0 for all": func() {
			l.Layout(torch.Shape{4}, torch.DPPolicy{NumCubes: 9})
		},
	} {
		if err := hostedtest.Misuse(f); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
