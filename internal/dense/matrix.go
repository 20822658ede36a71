package dense

import (
	"fmt"
	"math"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/numeric"
)

// Sigmas is how many standard deviations an element may be off. The text of the package
// says why so many.
const Sigmas = 8

// floor is added to every tolerance: the least normal number of f32 and bf16. What is
// smaller a machine may flush to zero.
const floor = 0x1p-126

// Matrix is rows × cols of values, row-major, and the variances of their errors.
type Matrix struct {
	Rows, Cols int
	V, Var     []float64
}

// New is a matrix of values, rounded to the dtype: what the machine was given, without
// errors.
func New[T float32 | float64](rows, cols int, values []T, d numeric.DType) *Matrix {
	require(len(values) == rows*cols, "New of %d×%d with %d values", rows, cols, len(values))
	roundingTo(d) // refuses dtypes without one
	m := zeros(rows, cols)
	for i, v := range values {
		m.V[i] = rounded(float64(v), d)
	}
	return m
}

func zeros(rows, cols int) *Matrix {
	return &Matrix{Rows: rows, Cols: cols, V: make([]float64, rows*cols), Var: make([]float64, rows*cols)}
}

// Tolerances is how far each element of a right result may be from V.
func (m *Matrix) Tolerances() []float64 {
	return lists.Map(m.Var, func(v float64) float64 { return Sigmas*math.Sqrt(v) + floor })
}

// Round is m stored in d. The values stay: only their variances grow by the rounding.
func (m *Matrix) Round(d numeric.DType) *Matrix {
	store := roundingTo(d)
	out := zeros(m.Rows, m.Cols)
	for i, v := range m.V {
		out.V[i], out.Var[i] = v, m.Var[i]+store.variance(v)
	}
	return out
}

// Transpose is m with rows and columns exchanged.
func (m *Matrix) Transpose() *Matrix {
	out := zeros(m.Cols, m.Rows)
	for i := range m.Rows {
		for j := range m.Cols {
			out.V[j*m.Rows+i], out.Var[j*m.Rows+i] = m.V[i*m.Cols+j], m.Var[i*m.Cols+j]
		}
	}
	return out
}

// Slice is a copy of the rows × cols elements that begin at (row, col).
func (m *Matrix) Slice(row, col, rows, cols int) *Matrix {
	require(0 <= row && 0 <= rows && row+rows <= m.Rows && 0 <= col && 0 <= cols && col+cols <= m.Cols,
		"Slice of %d×%d at (%d, %d) from %v", rows, cols, row, col, m)
	out := zeros(rows, cols)
	for i := range rows {
		out.put(i, 0, m, row+i, col, cols)
	}
	return out
}

// Beside is matrices of as many rows, from left to right: the heads of an attention, the
// columns of several ranks.
func Beside(ms ...*Matrix) *Matrix {
	require(len(ms) > 0, "Beside of no matrices")
	cols := 0
	for _, m := range ms {
		require(m.Rows == ms[0].Rows, "Beside of %v and %v: rows differ", ms[0], m)
		cols += m.Cols
	}
	out := zeros(ms[0].Rows, cols)
	for i := range out.Rows {
		col := 0
		for _, m := range ms {
			out.put(i, col, m, i, 0, m.Cols)
			col += m.Cols
		}
	}
	return out
}

// put copies cols elements of from, at (fromRow, fromCol), to (row, col).
func (m *Matrix) put(row, col int, from *Matrix, fromRow, fromCol, cols int) {
	to, at := row*m.Cols+col, fromRow*from.Cols+fromCol
	copy(m.V[to:to+cols], from.V[at:])
	copy(m.Var[to:to+cols], from.Var[at:])
}

// row is row i, values and variances.
func (m *Matrix) row(i int) (values, variances []float64) {
	return m.V[i*m.Cols:][:m.Cols], m.Var[i*m.Cols:][:m.Cols]
}

// String is the shape: "2×3".
func (m *Matrix) String() string { return fmt.Sprintf("%d×%d", m.Rows, m.Cols) }

// require panics unless the operands fit. Callers say which do not.
func require(ok bool, format string, args ...any) {
	if !ok {
		panic("dense: " + fmt.Sprintf(format, args...))
	}
}
