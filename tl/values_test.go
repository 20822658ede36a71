package tl_test

import (
	"math"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/tl"
)

// TestValues checks the results of operations. Most of the operations depend on the order
// of their operands, so that exchanged operands would be found.
func TestValues(t *testing.T) {
	e := newEager(1)
	p := e.tensor(tl.F32, tl.Shape{2, 3}, []float64{1, -2, 3, -4, 5, -6})[0]
	q := e.tensor(tl.F16, tl.Shape{3, 2})[0]
	tests := []struct {
		name string
		do   func(t *tl.PE, x tl.Tile) tl.Tile
		want []float64
	}{
		{"Sub", func(t *tl.PE, x tl.Tile) tl.Tile { return x.Sub(1) }, []float64{0, -3, 2, -5, 4, -7}},
		{"number first", func(t *tl.PE, x tl.Tile) tl.Tile { return t.Sub(1, x) }, []float64{0, 3, -2, 5, -4, 7}},
		{"Div", func(t *tl.PE, x tl.Tile) tl.Tile { return t.Div(60, x) }, []float64{60, -30, 20, -15, 12, -10}},
		{"FMA", func(t *tl.PE, x tl.Tile) tl.Tile { return t.FMA(2, x, 1) }, []float64{3, -3, 7, -7, 11, -11}},
		{"Clamp", func(t *tl.PE, x tl.Tile) tl.Tile { return x.Clamp(-3, 4) }, []float64{1, -2, 3, -3, 4, -3}},
		{"Where", func(t *tl.PE, x tl.Tile) tl.Tile { return t.Where(x.Gt(0), x, 7) }, []float64{1, 7, 3, 7, 5, 7}},
		{"Where of a row", func(t *tl.PE, x tl.Tile) tl.Tile { return t.Where(t.Arange(3, tl.F32).Eq(1), 0, x) },
			[]float64{1, 0, 3, -4, 0, -6}},
		{"Sum of rows", func(t *tl.PE, x tl.Tile) tl.Tile { return x.Sum(-1) }, []float64{2, -5}},
		{"Max of columns", func(t *tl.PE, x tl.Tile) tl.Tile { return x.Max(0) }, []float64{1, 5, 3}},
		{"Min", func(t *tl.PE, x tl.Tile) tl.Tile { return x.Min(0).Min(0) }, []float64{-6}},
		{"Trans", func(t *tl.PE, x tl.Tile) tl.Tile { return x.Trans() }, []float64{1, -4, -2, 5, 3, -6}},
		{"Reshape", func(t *tl.PE, x tl.Tile) tl.Tile { return x.Sub(x.Max(1).Reshape(2, 1)) }, []float64{-2, -5, 0, -9, 0, -11}},
		{"Dot", func(t *tl.PE, x tl.Tile) tl.Tile { return x.Dot(x.Trans()) }, []float64{14, -32, -32, 77}},
		{"Dot onto", func(t *tl.PE, x tl.Tile) tl.Tile { return x.Dot(x.Trans(), t.Full(tl.Shape{2, 2}, tl.F32, 100)) },
			[]float64{114, 68, 68, 177}},
		{"Softmax", func(t *tl.PE, x tl.Tile) tl.Tile { return t.Zeros(tl.Shape{2, 4}, tl.F32).Softmax() },
			[]float64{.25, .25, .25, .25, .25, .25, .25, .25}},
		{"To", func(t *tl.PE, x tl.Tile) tl.Tile { return x.Div(2).To(tl.I8) }, []float64{0, -1, 1, -2, 2, -3}},
		{"And", func(t *tl.PE, x tl.Tile) tl.Tile { return x.To(tl.I8).And(6) }, []float64{0, 6, 2, 4, 4, 2}},
		{"Or", func(t *tl.PE, x tl.Tile) tl.Tile { return x.To(tl.I8).Or(t.Arange(3, tl.I8)) }, []float64{1, -1, 3, -4, 5, -6}},
		{"Xor", func(t *tl.PE, x tl.Tile) tl.Tile { return x.To(tl.I16).Xor(-1) }, []float64{-2, 1, -4, 3, -6, 5}},
		{"column", func(t *tl.PE, x tl.Tile) tl.Tile { return t.Load(p.At(0, 1).Strided(3), tl.Shape{2}, tl.F32) }, []float64{-2, 5}},
		{"other dtype", func(t *tl.PE, x tl.Tile) tl.Tile { return t.Load(p.As(tl.U8).At(0, 2), tl.Shape{2, 2}, tl.U8) },
			[]float64{0x80, 0x3f, 0x80, 0xc0}},
		{"scratch", func(t *tl.PE, x tl.Tile) tl.Tile {
			s := t.Scratch(tl.Shape{3, 4}, tl.F32)
			t.Store(s.At(1, 1), x)
			return t.Load(s, tl.Shape{12}, tl.F32)
		}, []float64{0, 0, 0, 0, 0, 1, -2, 3, 0, -4, 5, -6}},
		{"Gemm", func(t *tl.PE, x tl.Tile) tl.Tile {
			t.Wait(t.Composite(tl.Gemm(x.Trans(), t.Ref(p.At(0, 1), tl.Shape{2, 2}, tl.F32), q),
				tl.Do(tl.OpMul, t.Arange(3, tl.I32).Reshape(3, 1)), tl.Do(tl.OpSub, 1)))
			return t.Load(q, tl.Shape{3, 2}, tl.F16)
		}, []float64{-1, -1, 28, -37, -73, 89}},
		{"Stream", func(t *tl.PE, x tl.Tile) tl.Tile {
			t.Wait(t.Composite(tl.Stream(tl.OpSub, q.Strided(3, 1), 10, t.Ref(p, tl.Shape{2, 3}, tl.F32)), tl.Do(tl.OpMinimum, 10)))
			return t.Load(q, tl.Shape{6}, tl.F16)
		}, []float64{9, 10, 7, 10, 5, 10}},
	}
	for _, tt := range tests {
		pe := e.pe(0, tt.name)
		got := tt.do(pe, pe.Load(p, tl.Shape{2, 3}, tl.F32)).Values()
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestBetweenPEs sums a tile of each rank on all ranks of a ring: in each round, every rank
// passes a tile to the next rank. It checks the sum for each operation that can pass a
// tile.
func TestBetweenPEs(t *testing.T) {
	const ranks, n = 5, 3
	shape := tl.Shape{n}
	east := func(t *tl.PE) int { return (t.Rank() + 1) % t.NumRanks() }
	ways := []struct {
		name string
		// pass sends x to the east neighbour and returns the tile from the west.
		pass func(t *tl.PE, window tl.Ptr, x tl.Tile, round int) tl.Tile
	}{
		{"Recv", func(t *tl.PE, _ tl.Ptr, x tl.Tile, _ int) tl.Tile {
			t.Send(tl.East, x)
			return t.Recv(tl.West, shape, tl.I32)
		}},
		{"RecvAny", func(t *tl.PE, _ tl.Ptr, x tl.Tile, _ int) tl.Tile {
			t.Send(tl.East, x)
			y, from := t.RecvAny(shape, tl.I32)
			t.Assert(from == tl.West, "message from %v", from)
			return y
		}},
		{"Select", func(t *tl.PE, _ tl.Ptr, x tl.Tile, round int) tl.Tile {
			t.Assert(t.Select(tl.CanSend(tl.East, shape, tl.I32), tl.CanRecv(tl.West)) == 0, "no room")
			t.Send(tl.East, x)
			t.Notify(east(t), 0, tl.Add, 1)
			t.Assert(t.Select(tl.CanSignal(1, tl.NE, 0), tl.CanSignal(0, tl.GE, round+1)) == 1, "a signal that nobody sent")
			t.Assert(t.Select(tl.CanRecv(tl.East), tl.CanRecv(tl.West)) == 1, "a message that nobody sent")
			return t.Recv(tl.West, shape, tl.I32)
		}},
		{"RecvAsync", func(t *tl.PE, _ tl.Ptr, x tl.Tile, _ int) tl.Tile {
			first, second := t.RecvAsync(tl.West, shape, tl.I32), t.RecvAsync(tl.West, shape, tl.I32)
			t.Send(tl.East, x.Sub(100))
			t.Send(tl.East, x)
			y := second.Wait()
			t.Assert(first.Wait().Sub(y).Max(0).Item() == -100, "messages out of order")
			return y
		}},
		{"RecvInto", func(t *tl.PE, window tl.Ptr, x tl.Tile, _ int) tl.Tile {
			t.Store(window, x)
			t.Send(tl.East, t.Ref(window, shape, tl.I32))
			t.RecvInto(tl.West, window.At(n), shape, tl.I32)
			return t.Load(window.At(n), shape, tl.I32)
		}},
		{"Put", func(t *tl.PE, window tl.Ptr, x tl.Tile, round int) tl.Tile {
			at := window.At(n * (round % 2))
			t.Put(east(t), at, x)
			t.Notify(east(t), 0, tl.Add, 1)
			t.WaitSignal(0, tl.GE, round+1)
			t.Assert(!t.Test(0, tl.LT, round+1), "signal went back")
			y := t.Load(at, shape, tl.I32)
			t.Notify((t.Rank()+ranks-1)%ranks, 1, tl.Set, round+1)
			t.WaitSignal(1, tl.GE, round+1)
			return y
		}},
		{"Get", func(t *tl.PE, window tl.Ptr, x tl.Tile, round int) tl.Tile {
			at := window.At(n * (round % 2))
			t.Store(at, x)
			t.Notify(east(t), 0, tl.Set, round+1)
			t.WaitSignal(0, tl.GE, round+1)
			y := t.Get((t.Rank()+ranks-1)%ranks, at, shape, tl.I32)
			t.Notify((t.Rank()+ranks-1)%ranks, 1, tl.Set, round+1)
			t.WaitSignal(1, tl.GE, round+1)
			return y
		}},
	}
	for _, way := range ways {
		e := newEager(ranks)
		window := e.tensor(tl.I32, tl.Shape{2 * n})
		out := e.tensor(tl.I32, shape)
		errs := e.run(way.name, func(t *tl.PE) {
			x := t.Arange(n, tl.I32).Mul(10).Add(t.Rank())
			sum := x
			for round := range t.NumRanks() - 1 {
				x = way.pass(t, window[t.Rank()], x, round)
				sum = sum.Add(x)
			}
			t.Store(out[t.Rank()], sum)
		})
		for r, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
			if got, want := e.values(out[r], n), []float64{10, 60, 110}; !slices.Equal(got, want) {
				t.Errorf("%s: rank %d has %v, want %v", way.name, r, got, want)
			}
		}
	}
}

// TestReducePeers checks the results of reductions over peers at rank 2. The elements are
// f16 values whose sums depend on the order of the ranks.
func TestReducePeers(t *testing.T) {
	inf := math.Inf(1)
	parts := [][]float64{{2048, 1, -3, inf}, {1, 2048, 7, 5}, {1, 1, 2, -inf}, {-2, 3, -9, 0}}
	for _, c := range []struct {
		op    tl.Op
		peers []int
		want  []float64
	}{
		{tl.OpAdd, []int{0, 1, 2}, []float64{2048, 2048, 6, math.NaN()}}, // 2048 + 1 is 2048 in f16, a tie to even
		{tl.OpAdd, []int{1, 2, 0}, []float64{2050, 2048, 6, math.NaN()}}, // 1 + 1 comes first
		{tl.OpAdd, nil, []float64{2046, 2052, -3, math.NaN()}},           // 2048 + 3 is 2052, also a tie to even
		{tl.OpAdd, []int{3}, []float64{-2, 3, -9, 0}},
		{tl.OpMaximum, nil, []float64{2048, 2048, 7, inf}},
		{tl.OpMinimum, []int{2, 3}, []float64{-2, 1, -9, -inf}},
		{tl.OpMul, []int{1, 3}, []float64{-2, 6144, -63, 0}},
	} {
		e := newEager(4)
		x, out := e.tensor(tl.F16, tl.Shape{4}, parts...), e.tensor(tl.F16, tl.Shape{4})
		pe := e.pe(2, "reduce")
		pe.Wait(pe.Composite(tl.ReducePeers(c.op, out[2], x[2], tl.Shape{4}, tl.F16, c.peers...)))
		got := e.values(out[2], 4)
		for i := range got {
			if got[i] != c.want[i] && !(math.IsNaN(got[i]) && math.IsNaN(c.want[i])) {
				t.Errorf("%v of ranks %v is %v, want %v", c.op, c.peers, got, c.want)
				break
			}
		}
	}
}
