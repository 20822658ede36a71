package dense

import (
	"github.com/kernbench/kernbench/numeric"
)

// MatMul returns a·b as the ranks of tensor parallelism compute it. The sum over k is
// divided into equal blocks; `parts` is the number of blocks. Each block is accumulated in
// f32 and rounded to d. Then the blocks are added in ascending order, and each sum is
// rounded to d.
func MatMul(a, b *Matrix, parts int, d numeric.DType) *Matrix {
	require(a.Cols == b.Rows, "MatMul of %v and %v: columns of the first must be rows of the second", a, b)
	require(parts > 0 && a.Cols%parts == 0, "MatMul of %v and %v: %d parts do not divide the sum", a, b, parts)
	p := product{a: a, out: zeros(a.Rows, b.Cols), parts: parts, store: roundingTo(d), narrow: narrows(d)}
	p.a2, p.fromA = make([]float64, len(a.V)), make([]float64, len(a.V))
	for i, v := range a.V {
		p.a2[i] = v * v
		p.fromA[i] = a.Var[i] + accumulator.perSquare()*v*v
	}
	for col := 0; col < b.Cols; col += stripCols {
		p.strip(col, b.Slice(0, col, b.Rows, min(stripCols, b.Cols-col)))
	}
	return p.out
}

// stripCols is the number of columns of b that are multiplied at a time: so few that a
// copy of them stays in the second-level cache while all rows of a are processed.
const stripCols = 64

// product is a matrix product in progress. The variances of its elements, except for the
// part of the partial sums, are matrix products too, because all errors are independent:
//
//	Σ Var(a)·b² + a²·Var(b) + Var(a)·Var(b) + perSquare·a²·b²
//
// The last term is the rounding of each product. The sum is computed as
// fromA·(b² + Var(b)) + a²·Var(b) with fromA = Var(a) + perSquare·a².
type product struct {
	a, out    *Matrix
	parts     int
	store     rounding // the rounding of stored sums
	narrow    bool     // an accumulated sum is rounded when it is stored
	a2, fromA []float64
}

// strip computes some columns of the result, starting at column col. b has only these
// columns of the right operand.
func (p *product) strip(col int, b *Matrix) {
	exact := true
	b2PlusVar := make([]float64, len(b.V))
	for i, v := range b.V {
		b2PlusVar[i] = v*v + b.Var[i]
		exact = exact && b.Var[i] == 0
	}
	sums, squares := make([]float64, b.Cols), make([]float64, b.Cols)
	k := b.Rows
	block := k / p.parts
	for i := range p.a.Rows {
		v, variance := p.out.row(i)
		v, variance = v[col:][:b.Cols], variance[col:][:b.Cols]
		for part := range p.parts {
			clear(sums)
			clear(squares)
			from := part * block
			addTerms(sums, squares, p.a.V[i*k+from:][:block], b.V[from*b.Cols:])
			for j, s := range sums {
				variance[j] += accumulator.perSquare() * squares[j]
				if p.narrow {
					variance[j] += p.store.variance(s)
				}
				v[j] += s
				if part > 0 {
					variance[j] += p.store.variance(v[j])
				}
			}
		}
		addProduct(variance, p.fromA[i*k:][:k], b2PlusVar)
		if !exact {
			addProduct(variance, p.a2[i*k:][:k], b.Var)
		}
	}
}

// addTerms adds the product of the row x and the matrix y to the row `sums`, term by term
// in ascending order. It also adds the square of every partial sum to the row `squares`. It
// processes four terms at a time to wait less for memory.
func addTerms(sums, squares, x, y []float64) {
	n := len(sums)
	squares = squares[:n]
	for ; len(x) >= 4; x, y = x[4:], y[4*n:] {
		x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
		y0, y1, y2, y3 := y[:n], y[n:][:n], y[2*n:][:n], y[3*n:][:n]
		for j, s := range sums {
			s0 := s + x0*y0[j]
			s1 := s0 + x1*y1[j]
			s2 := s1 + x2*y2[j]
			s3 := s2 + x3*y3[j]
			sums[j] = s3
			squares[j] += (s0*s0 + s1*s1) + (s2*s2 + s3*s3)
		}
	}
	for k, x := range x {
		for j, y := range y[k*n:][:n] {
			sums[j] += x * y
			squares[j] += sums[j] * sums[j]
		}
	}
}

// addProduct adds the product of the row x and the matrix y to the row `sums`.
func addProduct(sums, x, y []float64) {
	n := len(sums)
	for ; len(x) >= 4; x, y = x[4:], y[4*n:] {
		x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
		y0, y1, y2, y3 := y[:n], y[n:][:n], y[2*n:][:n], y[3*n:][:n]
		for j := range sums {
			sums[j] += (x0*y0[j] + x1*y1[j]) + (x2*y2[j] + x3*y3[j])
		}
	}
	for k, x := range x {
		for j, y := range y[k*n:][:n] {
			sums[j] += x * y
		}
	}
}
