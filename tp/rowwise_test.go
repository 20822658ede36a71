package tp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// layouts lists placements of matrices. The first usualLayouts of them are the usual ones.
var layouts = []torch.DPPolicy{
	Spread,
	{Cube: torch.Replicate, PE: torch.RowWise},
	{Cube: torch.RowWise, PE: torch.ColumnWise},
	{Cube: torch.ColumnWise, PE: torch.ColumnWise},

	{Cube: torch.RowWise, PE: torch.RowWise},
	{Cube: torch.ColumnWise, PE: torch.Replicate},
	{Cube: torch.RowWise, PE: torch.Replicate},
	{Cube: torch.Replicate, PE: torch.ColumnWise},
	{Cube: torch.ColumnWise, PE: torch.RowWise, NumCubes: 1},
	{},
}

// TestRowwise checks that sums and maxima along rows of integers equal those of plain Go.
// Shapes, placements of all operands and sizes of tiles are random.
func TestRowwise(t *testing.T) {
	self := newSystem(t, 1, "sip.cube_mesh.w=3", "sip.cube_mesh.h=1", "cube.pe_layout.corners=4", "cube.pe_layout.pe_per_corner=1")
	before := usedHBM(self)
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string, most int) int { return rapid.IntRange(1, most).Draw(t, name) }
		layout := func(name string) torch.DPPolicy { return rapid.SampledFrom(layouts).Draw(t, name) }
		rows, cols := n("rows", 10), n("cols", 24)
		values, gain, addend := numberedMatrix(0, rows, cols), numberedMatrix(0, 1, cols)[0], numberedMatrix(0, 1, rows)[0]
		rng := rand.New(rand.NewPCG(uint64(n("seed", 1000)), 0))
		for i := range values {
			for j := range values[i] {
				values[i][j] = rng.IntN(19) - 9
			}
		}
		x := torch.Must(self.FromSlice(values.flat(), rapid.SampledFrom([]torch.DType{torch.F16, torch.F32}).Draw(t, "dtype"), torch.Shape{rows, cols}, layout("x")))
		vector := torch.Must(self.FromSlice(gain, torch.F16, torch.Shape{cols}, layout("vector")))
		column := torch.Must(self.FromSlice(addend, torch.F32, torch.Shape{rows, 1}, layout("column")))
		y := torch.Must(self.EmptyLike(x, torch.F32))
		if got, want := layoutOf(y), layoutOf(x); !reflect.DeepEqual(got, want) {
			t.Fatalf("a tensor like x is placed at\n%v, want\n%v", got, want)
		}

		r := newRowwise(self, "test", x)
		r.tileBytes = 4 * (2 + n("room", 40))
		p := torch.Must(r.newPartials(2))
		torch.OK(r.launch("sum", launchOperands{others: []*torch.Tensor{p.Tensor}}, func(b *band) {
			all := b.reduceRows(sumReduction, func(x tl.Tile) []tl.Tile { return []tl.Tile{x, x.Mul(x)} })
			b.t.Store(b.ownPartials(p, 0), all[0])
			b.t.Store(b.ownPartials(p, 1), all[1])
		}))
		m := torch.Must(r.newPartials(1))
		torch.OK(r.launch("max", launchOperands{others: []*torch.Tensor{m.Tensor}}, func(b *band) {
			b.t.Store(b.ownPartials(m, 0), b.reduceRows(maxReduction, func(x tl.Tile) []tl.Tile { return []tl.Tile{x} })[0])
		}))
		to := r.shareStarts(y)
		use := launchOperands{vectors: []*torch.Tensor{vector}, columns: []*torch.Tensor{column}, others: []*torch.Tensor{p.Tensor, m.Tensor, y}}
		torch.OK(r.launch("use", use, func(b *band) {
			addend := b.keep(b.reducePartials(p, 0, sumReduction).Mul(1000).Add(b.reducePartials(p, 1, sumReduction)).Mul(100).Add(b.reducePartials(m, 0, maxReduction)).Add(b.columns[0]))
			for x := range b.tiles() {
				b.storeTile(to, x, x.Mul(x.vectors[0]).Add(addend))
			}
		}))

		var want []int
		for i, row := range values {
			sum, squares := 0, 0
			for _, v := range row {
				sum, squares = sum+v, squares+v*v
			}
			for j, v := range row {
				want = append(want, v*gain[j]+(sum*1000+squares)*100+slices.Max(row)+addend[i])
			}
		}
		torch.OK(self.Check("y", y, want))
		if c := self.Checks()[len(self.Checks())-1]; c.Wrong != "" {
			t.Fatalf("%s: %s", c.Name, c.Wrong)
		}
		for _, y := range []*torch.Tensor{x, y, vector, column, p.Tensor, m.Tensor} {
			torch.OK(y.Free())
		}
	})
	if n := usedHBM(self) - before; n > 0 {
		t.Errorf("%v are not freed", n)
	}
}

const usualLayouts = 4 // number of usual ones in layouts

// layoutOf returns the shards of x, with their offsets and sizes in bytes set to 0, so that
// placements can be compared.
func layoutOf(x *torch.Tensor) []torch.Shard {
	list := x.Shards()
	for i := range list {
		list[i].Offset, list[i].Bytes = 0, 0
	}
	return list
}

// BenchmarkRMSNorm measures how long it takes to simulate a norm on a SIP of the default
// system, including the work of the host API. It also reports the simulated time.
func BenchmarkRMSNorm(b *testing.B) {
	for _, tokens := range []int{16, 512, 4096} {
		b.Run(fmt.Sprintf("tokens=%d", tokens), func(b *testing.B) {
			c, err := torch.New(context.Background(), torch.Options{NoData: true})
			if err != nil {
				b.Fatal(err)
			}
			r := c.Main()
			defer r.Close()
			norm := torch.Must(NewRMSNorm(r, "norm", 8192, 1e-5, Options{}))
			x := torch.Must(r.Empty(torch.F16, torch.Shape{tokens, 8192}, Spread))
			torch.OK(r.Synchronize())
			start := r.Now()
			for range b.N {
				y := torch.Must(norm.Forward(x))
				torch.OK(errors.Join(y.Free(), r.Synchronize()))
			}
			b.ReportMetric((r.Now()-start).NS()/float64(b.N), "simulated-ns/op")
		})
	}
}
