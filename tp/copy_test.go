package tp

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestCopyBoxes copies random boxes between matrices in several placements. It checks that
// the boxes arrive and that no other element changes.
func TestCopyBoxes(t *testing.T) {
	r := newSystem(t, 1)
	layouts := []torch.Placement{Spread, torch.DPPolicy{}, torch.DPPolicy{Cube: torch.RowWise, PE: torch.ColumnWise}, torch.On(3), torch.On(2, 0, 1)}
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(t, name) }
		layout := func(name string) torch.Placement { return layouts[n(name, 0, len(layouts)-1)] }
		rows, cols, sources := n("rows", 1, 9), n("cols", 1, 9), n("sources", 1, 3)
		to := torch.Must(r.Zeros(torch.F32, torch.Shape{rows, cols * sources}, layout("to")))
		want := make(matrix, rows)
		for i := range want {
			want[i] = make([]int, cols*sources)
		}
		var source, target blockMatrix
		for k := range sources { // each source has its own columns of to, because PEs do not wait for each other
			values := numberedMatrix(k+1, n("source rows", 1, 9), n("source cols", 1, 9))
			from := torch.Must(r.FromSlice(values.flat(), torch.F32, torch.Shape{len(values), len(values[0])}, layout("from")))
			m := submatrix{col: k * cols, rows: n("box rows", 0, min(rows, len(values))), cols: n("box cols", 0, min(cols, len(values[0])))}
			m.from = corner{from, n("from row", 0, len(values)-m.rows), n("from col", 0, len(values[0])-m.cols)}
			source = append(source, m)
			toRow, toCol := n("to row", 0, rows-m.rows), k*cols+n("to col", 0, cols-m.cols)
			for i := range m.rows {
				copy(want[toRow+i][toCol:], values[m.from.row+i][m.from.col:m.from.col+m.cols])
			}
			m.from = corner{to, toRow, toCol}
			target = append(target, m)
		}
		torch.OK(copyMatrix(r, "copy", source, target))
		if got := torch.Must(to.Numpy()); got.Wrong(want.flat()) >= 0 {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		for _, m := range source {
			torch.OK(m.from.x.Free())
		}
		torch.OK(to.Free())
	})
}

// TestCopyLargerThanTCM checks copyMatrix for shards that are larger than TCM, with rows
// longer and shorter than a tile.
func TestCopyLargerThanTCM(t *testing.T) {
	for _, shape := range []torch.Shape{{4, 600_000}, {600_000, 4}} {
		r := newSystem(t, 1)
		values := make([]int, shape[0]*shape[1])
		for i := range values {
			values[i] = i
		}
		x := torch.Must(r.FromSlice(values, torch.F32, shape, Spread))
		y := torch.Must(r.Empty(torch.F32, shape, Spread))
		if held, tcm := y.Shards()[0].Bytes, int64(r.Topology().Spec().PE.TCM.Size); held <= tcm {
			t.Fatalf("a shard of %d bytes, want more than the %d of TCM", held, tcm)
		}
		torch.OK(copyMatrix(r, "copy", stack{x}.blocks(), stack{y}.blocks()))
		if i := torch.Must(y.Numpy()).Wrong(values); i >= 0 {
			t.Errorf("%v: element %d is wrong", shape, i)
		}
	}
}

// TestSplitCopy checks the shapes of the tiles into which splitCopy divides a piece.
func TestSplitCopy(t *testing.T) {
	for _, c := range []struct {
		rows, cols, elems int
		want              []tl.Shape
	}{
		{3, 4, 100, []tl.Shape{{3, 4}}},
		{5, 4, 8, []tl.Shape{{2, 4}, {2, 4}, {1, 4}}},
		{2, 5, 3, []tl.Shape{{1, 3}, {1, 2}, {1, 3}, {1, 2}}},
	} {
		var got []tl.Shape
		for _, tile := range splitCopy(torch.Piece{Rows: c.rows, Cols: c.cols, Ptr: tl.Ptr{Rank: 2, DType: tl.F16}}, tl.Ptr{Rank: 2, DType: tl.F16}, c.elems) {
			got = append(got, tile.shape)
		}
		if !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%d×%d in tiles of %d: got %v, want %v", c.rows, c.cols, c.elems, got, c.want)
		}
	}
}

// BenchmarkGather measures how long it takes to simulate a gather of features over the two
// SIPs of the default system, including the work of the host API.
func BenchmarkGather(b *testing.B) {
	c, err := torch.New(context.Background(), torch.Options{NoData: true})
	if err != nil {
		b.Fatal(err)
	}
	r := c.Main()
	defer r.Close()
	spawn(b, r, 2, 2, func(r *torch.Rank) error {
		x := torch.Must(r.Zeros(torch.F16, torch.Shape{1024, 1024}, Spread))
		start := r.Now()
		for range b.N {
			y := torch.Must(GatherFromTensorModelParallelRegion.Forward(r, x))
			torch.OK(y.Free())
		}
		torch.OK(r.Synchronize())
		if r.Rank() == 0 {
			b.ReportMetric((r.Now()-start).NS()/float64(b.N), "simulated-ns/op")
		}
		return nil
	})
}
