package torch_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestEpiloguesTakeEveryKindOfOperand checks that the epilogues of a product accept
// operands of every kind: numbers, tiles, refs, rows and columns. Each step of an
// epilogue is applied to the unrounded sum; only the result is rounded to its dtype.
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
			l := hostedtest.New(t, torch.Options{})
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
			x, y := l.Ints(at(m, k, a), torch.F16, on, m, k), l.Ints(at(k, n, b), torch.F16, on, k, n)
			z := l.Ints(at(m, n, func(i, j int) int { return i - j }), torch.F32, on, m, n)
			row := l.Ints(at(1, n, func(_, j int) int { return 10 * j }), torch.F32, on, n)
			col := l.Ints(at(m, 1, func(i, _ int) int { return 100 * i }), torch.F32, on, m, 1)
			out := l.MustZeros(torch.F32, on, m, n)
			l.MustLaunch("gemm", func(t *tl.PE, x, y, z, row, col, out tl.Ptr) {
				t.Wait(t.Composite(tl.Gemm(t.Ref(x, tl.Shape{m, k}, tl.F16), t.Ref(y, tl.Shape{k, n}, tl.F16), out), c.epilogue(t, z, row, col)...))
			}, x, y, z, row, col, out)
			l.Holds("result", out, at(m, n, func(i, j int) int {
				sum := 0
				for p := range k {
					sum += a(i, p) * b(p, j)
				}
				return c.want(sum, i, j)
			}))
		})
	}
}

// TestCompositesKeepProgramOrder checks that loads, stores and composites that follow a
// composite see what that composite wrote, without a Wait.
func TestCompositesKeepProgramOrder(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	const n = 3000
	x := l.Ints(lists.Count(0, n), torch.I32, torch.On(0))
	y := l.MustZeros(torch.I32, torch.On(0), 4, n)
	vec := tl.Shape{n}
	l.MustLaunch("order", func(t *tl.PE, x, y tl.Ptr) {
		t.Composite(tl.Stream(tl.OpAdd, y, t.Ref(x, vec, tl.I32), 1))
		t.Store(y.At(1), t.Load(y, vec, tl.I32))                            // x+1
		t.Composite(tl.Stream(tl.OpMul, y.At(2), t.Ref(y, vec, tl.I32), 2)) // 2(x+1)
		t.Store(y, t.Full(vec, tl.I32, -1))                                 // both earlier operations have read y
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
	l.Holds("y", y, want)
	l.Holds("x", x, hostedtest.Fill(7, n))
}

// TestTilesAcrossShardsKeepProgramOrder checks tiles that extend over the memories of
// several PEs. Each part of a tile is read and written in the memory of its PE, and
// accesses to the tile keep program order.
func TestTilesAcrossShardsKeepProgramOrder(t *testing.T) {
	const rows, cols = 30, 20
	for _, width := range []int{cols, 13} {
		l := hostedtest.New(t, torch.Options{})
		x := l.Ints(lists.Count(0, rows*cols), torch.I32, torch.On(0, 1, 9), rows, cols)
		want := lists.Count(0, rows*cols)
		shape := tl.Shape{14, width}
		l.MustLaunch("shards", func(t *tl.PE, x tl.Ptr) {
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
		l.Holds("matrix", x, want)
	}
}

// TestStreamsOfMoreThanTwoAxes runs a Stream over three or four axes, and the same Stream
// over a matrix. The last axis is the columns of the matrix, and all other axes are merged
// into its rows. The test checks that both give the same values and take the same time.
func TestStreamsOfMoreThanTwoAxes(t *testing.T) {
	for _, shape := range []tl.Shape{{2, 3, 5}, {3, 1, 2, 7}, {1, 1, 3, 700}, {5, 2, 3, 1}, {1, 1, 1, 1}, {7, 11, 601}} {
		rows, cols := 1, shape[len(shape)-1]
		for _, n := range shape[:len(shape)-1] {
			rows *= n
		}
		line := make(tl.Shape, len(shape)) // [1 1 cols]
		column := slices.Clone(shape)      // [.. .. 1]
		for i := range line {
			line[i] = 1
		}
		line[len(line)-1], column[len(column)-1] = cols, 1
		list := func(n int, v func(i int) int) []int {
			all := make([]int, n)
			for i := range all {
				all[i] = v(i)
			}
			return all
		}
		var took [2]torch.Time
		for i, of := range [...][3]tl.Shape{{shape, line, column}, {{rows, cols}, {cols}, {rows, 1}}} {
			l := hostedtest.New(t, torch.Options{})
			n, on := rows*cols, torch.On(0)
			x := l.Ints(list(n, func(i int) int { return i }), torch.I32, on, of[0]...)
			y := l.Ints(list(cols, func(i int) int { return 3 * i }), torch.I32, on, of[1]...)
			z := l.Ints(list(rows, func(i int) int { return 7 * i }), torch.I32, on, of[2]...)
			out := l.Ints(list(n, func(i int) int { return -1 }), torch.I32, on, of[0]...)
			took[i] = l.MustLaunch("stream", func(t *tl.PE, x, y, z, out tl.Ptr) {
				t.Wait(t.Composite(tl.Stream(tl.OpAdd, out, t.Ref(x, of[0], tl.I32), t.Ref(y, of[1], tl.I32)), tl.Do(tl.OpSub, t.Ref(z, of[2], tl.I32))))
			}, x, y, z, out).Crit()
			l.Holds(fmt.Sprint("result ", of[0]), out, list(n, func(i int) int { return i + 3*(i%cols) - 7*(i/cols) }))
		}
		if took[0] != took[1] {
			t.Errorf("%v takes %v, and the same as a matrix %v", shape, took[0], took[1])
		}
	}
}

// TestStreamsOfUnevenRows checks that the composite Stream refuses blocks of more than two
// axes whose rows are not evenly spaced in memory, and refs that are repeated along only
// some of the leading axes. Stream must accept a tile that is repeated in this way.
func TestStreamsOfUnevenRows(t *testing.T) {
	shape, uneven := tl.Shape{2, 3, 5}, "Stream(neg, ref [2 3 5] i32): the rows of a block of more than two axes are not all equally far apart: do its matrices one by one"
	for want, kernel := range map[string]func(t *tl.PE, x, out tl.Ptr){
		uneven + " ": func(t *tl.PE, x, out tl.Ptr) {
			t.Composite(tl.Stream(tl.OpNeg, out, t.Ref(x.Strided(30, 5, 1), shape, tl.I32)))
		},
		uneven: func(t *tl.PE, x, out tl.Ptr) {
			t.Composite(tl.Stream(tl.OpNeg, out.Strided(30, 5, 1), t.Ref(x, shape, tl.I32)))
		},
		"Stream(add, ref [2 3 5] i32, ref [3 5] i32): ref [3 5] i32 is repeated along some of the leading axes of the result's [2 3 5] and not along the others: do its matrices one by one, or load it": func(t *tl.PE, x, out tl.Ptr) {
			t.Composite(tl.Stream(tl.OpAdd, out, t.Ref(x, shape, tl.I32), t.Ref(x, tl.Shape{3, 5}, tl.I32)))
		},
	} {
		l := hostedtest.New(t, torch.Options{})
		x, out := l.MustZeros(torch.I32, torch.On(0), 4, 3, 5), l.MustZeros(torch.I32, torch.On(0), 4, 3, 5)
		err := try(l, "stream", kernel, x, out)
		said := ""
		if err != nil {
			said = regexp.MustCompile(` at composite_test.go:\d+`).ReplaceAllString(err.Error(), "")
		}
		if !strings.HasSuffix(said, strings.TrimSpace(want)) {
			t.Errorf("error %q, want %q", said, want)
		}
	}
	l := hostedtest.New(t, torch.Options{})
	data := make([]int, 30)
	for i := range data {
		data[i] = i
	}
	x := l.Ints(data, torch.I32, torch.On(0), shape...)
	l.MustLaunch("stream", func(t *tl.PE, x tl.Ptr) {
		t.Wait(t.Composite(tl.Stream(tl.OpAdd, x, t.Ref(x, shape, tl.I32), t.Load(x, tl.Shape{3, 5}, tl.I32))))
	}, x)
	for i := range data {
		data[i] += i % 15
	}
	l.Holds("with a tile", x, data)
}
