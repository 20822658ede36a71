package torch_test

import (
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// An epilogue takes numbers, tiles, refs, rows and columns, each applied to the sum
// before it is rounded to the result.
func TestEpiloguesTakeEveryKindOfOperand(t *testing.T) {
	const m, k, n = 40, 70, 50
	sq := tl.Shape{m, n}
	for _, c := range []struct {
		name     string
		epilogue func(t *tl.PE, c, row, col tl.Ptr) []tl.Step
		want     func(sum, i, j int) int
	}{
		{"none", func(*tl.PE, tl.Ptr, tl.Ptr, tl.Ptr) []tl.Step { return nil }, func(sum, _, _ int) int { return sum }},
		{"number", func(*tl.PE, tl.Ptr, tl.Ptr, tl.Ptr) []tl.Step { return []tl.Step{tl.Do(tl.OpMaximum, 0)} }, func(sum, _, _ int) int { return max(sum, 0) }},
		{"two numbers", func(*tl.PE, tl.Ptr, tl.Ptr, tl.Ptr) []tl.Step { return []tl.Step{tl.Do(tl.OpClamp, -3, 5)} }, func(sum, _, _ int) int { return min(max(sum, -3), 5) }},
		{"tile", func(t *tl.PE, c, _, _ tl.Ptr) []tl.Step { return []tl.Step{tl.Do(tl.OpAdd, t.Load(c, sq, tl.F32))} }, func(sum, i, j int) int { return sum + i - j }},
		{"ref", func(t *tl.PE, c, _, _ tl.Ptr) []tl.Step { return []tl.Step{tl.Do(tl.OpSub, t.Ref(c, sq, tl.F32))} }, func(sum, i, j int) int { return sum - i + j }},
		{"row", func(t *tl.PE, _, row, _ tl.Ptr) []tl.Step {
			return []tl.Step{tl.Do(tl.OpAdd, t.Ref(row, tl.Shape{n}, tl.F32))}
		}, func(sum, _, j int) int { return sum + 10*j }},
		{"column", func(t *tl.PE, _, _, col tl.Ptr) []tl.Step {
			return []tl.Step{tl.Do(tl.OpAdd, t.Ref(col, tl.Shape{m, 1}, tl.F32))}
		}, func(sum, i, _ int) int { return sum + 100*i }},
		{"several", func(t *tl.PE, c, row, _ tl.Ptr) []tl.Step {
			return []tl.Step{tl.Do(tl.OpNeg), tl.Do(tl.OpAdd, t.Ref(row, tl.Shape{n}, tl.F32)), tl.Do(tl.OpMaximum, t.Ref(c, sq, tl.F32))}
		}, func(sum, i, j int) int { return max(10*j-sum, i-j) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, torch.Options{})
			at := func(rows, cols int, v func(i, j int) int) []int {
				list := make([]int, 0, rows*cols)
				for i := range rows {
					for j := range cols {
						list = append(list, v(i, j))
					}
				}
				return list
			}
			a, b := func(i, p int) int { return (i+2*p)%5 - 2 }, func(p, j int) int { return (3*p+j)%7 - 3 }
			on := torch.On(0)
			x, y := l.tensor(at(m, k, a), torch.F16, on, m, k), l.tensor(at(k, n, b), torch.F16, on, k, n)
			z := l.tensor(at(m, n, func(i, j int) int { return i - j }), torch.F32, on, m, n)
			row := l.tensor(at(1, n, func(_, j int) int { return 10 * j }), torch.F32, on, n)
			col := l.tensor(at(m, 1, func(i, _ int) int { return 100 * i }), torch.F32, on, m, 1)
			out := l.zeros(torch.F32, on, m, n)
			l.launch("gemm", func(t *tl.PE, x, y, z, row, col, out tl.Ptr) {
				t.Wait(t.Composite(tl.Gemm(t.Ref(x, tl.Shape{m, k}, tl.F16), t.Ref(y, tl.Shape{k, n}, tl.F16), out), c.epilogue(t, z, row, col)...))
			}, x, y, z, row, col, out)
			l.holds("result", out, at(m, n, func(i, j int) int {
				sum := 0
				for p := range k {
					sum += a(i, p) * b(p, j)
				}
				return c.want(sum, i, j)
			}))
		})
	}
}

// Program order holds for composites too: what one writes is what a load, a store or a
// composite behind it finds, without a Wait.
func TestCompositesKeepProgramOrder(t *testing.T) {
	l := newLab(t, torch.Options{})
	const n = 3000
	x := l.tensor(count(0, n), torch.I32, torch.On(0))
	y := l.zeros(torch.I32, torch.On(0), 4, n)
	vec := tl.Shape{n}
	l.launch("order", func(t *tl.PE, x, y tl.Ptr) {
		t.Composite(tl.Stream(tl.OpAdd, y, t.Ref(x, vec, tl.I32), 1))
		t.Store(y.At(1), t.Load(y, vec, tl.I32))                            // x+1
		t.Composite(tl.Stream(tl.OpMul, y.At(2), t.Ref(y, vec, tl.I32), 2)) // 2(x+1)
		t.Store(y, t.Full(vec, tl.I32, -1))                                 // after both have read it
		t.Composite(tl.Stream(tl.OpNeg, y.At(3), t.Ref(y.At(2), vec, tl.I32)))
		t.Store(x, t.Full(vec, tl.I32, 7))
	}, x, y)
	var want []int
	for _, f := range []func(v int) int{
		func(int) int { return -1 }, func(v int) int { return v + 1 }, func(v int) int { return 2 * (v + 1) }, func(v int) int { return -2 * (v + 1) },
	} {
		for v := range n {
			want = append(want, f(v))
		}
	}
	l.holds("y", y, want)
	l.holds("x", x, fill(7, n))
}

// A tile may lie in the memories of several PEs: each part is read and written where it
// is, and the whole keeps program order.
func TestTilesAcrossShardsKeepProgramOrder(t *testing.T) {
	const rows, cols = 30, 20
	for _, width := range []int{cols, 13} {
		l := newLab(t, torch.Options{})
		x := l.tensor(count(0, rows*cols), torch.I32, torch.On(0, 1, 9), rows, cols)
		want := count(0, rows*cols)
		shape := tl.Shape{14, width}
		l.launch("shards", func(t *tl.PE, x tl.Ptr) {
			x = x.Whole()
			for i := range 12 {
				t.Store(x.At(i+3, 2), t.Load(x.At(i, 1), shape, tl.I32, tl.Mask(14, width-3)), tl.Mask(14, width-3))
				t.Composite(tl.Stream(tl.OpAdd, x.At(i+1), t.Ref(x.At(i+7), tl.Shape{6, width}, tl.I32), 1))
			}
		}, x, torch.PEs(0))
		for i := range 12 {
			box := make([]int, 0, 14*width)
			for r := range 14 {
				box = append(box, want[(i+r)*cols+1:][:width-3]...)
			}
			for r := range 14 {
				copy(want[(i+3+r)*cols+2:], box[r*(width-3):][:width-3])
			}
			box = box[:0]
			for r := range 6 {
				box = append(box, want[(i+7+r)*cols:][:width]...)
			}
			for j, v := range box {
				want[(i+1+j/width)*cols+j%width] = v + 1
			}
		}
		l.holds("matrix", x, want)
	}
}
