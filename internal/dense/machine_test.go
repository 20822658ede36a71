package dense

import (
	"math"

	"github.com/kernbench/kernbench/numeric"
)

// tile is a matrix as a machine stores it: elements of a dtype, on which operations round.
// Tests compare references with the results of tiles.
type tile struct {
	rows, cols int
	d          numeric.DType
	bytes      []byte
}

func newTile(rows, cols int, d numeric.DType) tile {
	return tile{rows, cols, d, make([]byte, rows*cols*d.Size())}
}

// tileOf returns the values of m, rounded to d, as a tile.
func tileOf(m *Matrix, d numeric.DType) tile {
	t := newTile(m.Rows, m.Cols, d)
	for i, v := range m.V {
		numeric.Set(d, t.bytes, i, v)
	}
	return t
}

// fillLike returns a tile with the shape and dtype of the tile `like`, filled with v.
func fillLike(like tile, v float64) tile {
	t := newTile(like.rows, like.cols, like.d)
	for i := range t.rows * t.cols {
		numeric.Set(t.d, t.bytes, i, v)
	}
	return t
}

func (t tile) at(i int) float64 { return numeric.Get(t.d, t.bytes, i) }

func (t tile) convertTo(d numeric.DType) tile {
	out := newTile(t.rows, t.cols, d)
	numeric.Cast(d, out.bytes, t.d, t.bytes)
	return out
}

func (t tile) transpose() tile {
	out := newTile(t.cols, t.rows, t.d)
	for i := range t.rows {
		for j := range t.cols {
			numeric.Set(t.d, out.bytes, j*t.rows+i, t.at(i*t.cols+j))
		}
	}
	return out
}

func (t tile) slice(row, col, rows, cols int) tile {
	out := newTile(rows, cols, t.d)
	for i := range rows {
		for j := range cols {
			numeric.Set(t.d, out.bytes, i*cols+j, t.at((row+i)*t.cols+col+j))
		}
	}
	return out
}

// dot returns the matrix product of t and b. It accumulates in f32, in ascending order of
// k.
func (t tile) dot(b tile) tile {
	out := newTile(t.rows, b.cols, numeric.F32)
	numeric.Dot(t.d, out.bytes, t.bytes, b.bytes, t.rows, t.cols, b.cols)
	return out
}

// matmul returns the product of t and b as the ranks of tensor parallelism compute it: each
// rank computes a part of the sum over k. The parts of the ranks in `skip` are left out, to
// simulate a mistake.
func (t tile) matmul(b tile, parts int, d numeric.DType, skip ...int) tile {
	skipped := make(map[int]bool)
	for _, s := range skip {
		skipped[s] = true
	}
	block := t.cols / parts
	var total tile
	for p := range parts {
		if skipped[p] {
			continue
		}
		addend := t.slice(0, p*block, t.rows, block).dot(b.slice(p*block, 0, block, b.cols)).convertTo(d)
		if total.bytes == nil {
			total = addend
		} else {
			total = total.apply(numeric.Add, addend)
		}
	}
	return total
}

// apply applies one elementwise operation to t and the tiles in `others`. Operands of one
// row or one column are broadcast.
func (t tile) apply(op numeric.Op, others ...tile) tile {
	out := newTile(t.rows, t.cols, t.d)
	args := [][]byte{t.bytes}
	for _, o := range others {
		args = append(args, o.broadcast(t.rows, t.cols).bytes)
	}
	numeric.Apply(op, t.d, out.bytes, args...)
	return out
}

func (t tile) scale(v float64) tile { return t.apply(numeric.Mul, fillLike(t, v)) }

func (t tile) addScalar(v float64) tile { return t.apply(numeric.Add, fillLike(t, v)) }

func (t tile) broadcast(rows, cols int) tile {
	if t.rows == rows && t.cols == cols {
		return t
	}
	out := newTile(rows, cols, t.d)
	for i := range rows {
		for j := range cols {
			numeric.Set(t.d, out.bytes, i*cols+j, t.at(i%t.rows*t.cols+j%t.cols))
		}
	}
	return out
}

// reduce combines the elements of each row with op, and returns a tile of one column.
func (t tile) reduce(op numeric.Op) tile {
	out := newTile(t.rows, 1, t.d)
	numeric.Reduce(op, t.d, out.bytes, t.bytes, t.rows, t.cols, 1)
	return out
}

func (t tile) gelu() tile {
	cube := t.apply(numeric.Mul, t).apply(numeric.Mul, t)
	argument := cube.scale(0.044715).apply(numeric.Add, t).scale(math.Sqrt(2 / math.Pi))
	return t.scale(0.5).apply(numeric.Mul, argument.apply(numeric.Tanh).addScalar(1))
}

func (t tile) silu() tile {
	return t.apply(numeric.Div, t.scale(-1).apply(numeric.Exp).addScalar(1))
}

func (t tile) softmax() tile {
	e := t.apply(numeric.Sub, t.reduce(numeric.Max)).apply(numeric.Exp)
	return e.apply(numeric.Div, e.reduce(numeric.Sum))
}

// causal returns a copy of t in which the elements of row i after column i + offset are
// -Inf, so that a softmax makes them 0.
func (t tile) causal(offset int) tile {
	out := t.slice(0, 0, t.rows, t.cols)
	for i := range t.rows {
		for j := min(i+offset+1, t.cols); j < t.cols; j++ {
			numeric.Set(t.d, out.bytes, i*t.cols+j, math.Inf(-1))
		}
	}
	return out
}

func (t tile) rmsNorm(gain tile, eps float64) tile {
	mean := t.apply(numeric.Mul, t).reduce(numeric.Sum).scale(1 / float64(t.cols))
	return t.apply(numeric.Mul, mean.addScalar(eps).apply(numeric.Rsqrt)).apply(numeric.Mul, gain)
}

// compare compares a tile with the reference m. `wrong` is the number of elements beyond
// their tolerance. `rms` and `worst` are the root mean square and the maximum of the error
// divided by the standard deviation, over the elements whose standard deviation is not
// zero.
func (t tile) compare(m *Matrix) (wrong int, rms, worst float64) {
	tolerances := m.Tolerances()
	squares, count := 0.0, 0
	for i, v := range m.V {
		off := math.Abs(t.at(i) - v)
		if !(off <= tolerances[i]) {
			wrong++
		}
		if m.Var[i] > 0 {
			ratio := off / math.Sqrt(m.Var[i])
			squares += ratio * ratio
			worst = max(worst, ratio)
			count++
		}
	}
	return wrong, math.Sqrt(squares / float64(count)), worst
}
