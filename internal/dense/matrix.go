package dense

import (
	"fmt"
	"math"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/numeric"
)

// Sigmas is the tolerance of an element in standard deviations. The comment on the package
// explains the value.
const Sigmas = 8

// floor is added to every tolerance: the smallest normal number of f32 and bf16. A machine
// may flush smaller numbers to zero.
const floor = 0x1p-126

// Matrix holds rows × cols values, row-major, and the variances of their errors.
type Matrix struct {
	Rows, Cols int
	V, Var     []float64
}

// New returns a matrix of the given values, rounded to dtype d. Its variances are zero,
// because it is an input of the machine.
func New[T float32 | float64](rows, cols int, values []T, d numeric.DType) *Matrix {
	require(len(values) == rows*cols, "New of %d×%d with %d values", rows, cols, len(values))
	roundingTo(d) // panics if d is not supported
	m := zeros(rows, cols)
	for i, v := range values {
		m.V[i] = roundTo(float64(v), d)
	}
	return m
}

func zeros(rows, cols int) *Matrix {
	return &Matrix{Rows: rows, Cols: cols, V: make([]float64, rows*cols), Var: make([]float64, rows*cols)}
}

// Tolerances returns, for each element, how far a correct result may be from the reference
// value in V.
func (m *Matrix) Tolerances() []float64 {
	return lists.Map(m.Var, func(v float64) float64 { return Sigmas*math.Sqrt(v) + floor })
}

// Round models storing m in dtype d. It returns m with the same values; the variance of the
// rounding is added to each variance.
func (m *Matrix) Round(d numeric.DType) *Matrix {
	store := roundingTo(d)
	out := zeros(m.Rows, m.Cols)
	for i, v := range m.V {
		out.V[i], out.Var[i] = v, m.Var[i]+store.variance(v)
	}
	return out
}

// Transpose returns m with rows and columns exchanged.
func (m *Matrix) Transpose() *Matrix {
	out := zeros(m.Cols, m.Rows)
	for i := range m.Rows {
		for j := range m.Cols {
			out.V[j*m.Rows+i], out.Var[j*m.Rows+i] = m.V[i*m.Cols+j], m.Var[i*m.Cols+j]
		}
	}
	return out
}

// Slice returns a copy of the rows × cols elements of m that begin at (row, col).
func (m *Matrix) Slice(row, col, rows, cols int) *Matrix {
	require(0 <= row && 0 <= rows && row+rows <= m.Rows && 0 <= col && 0 <= cols && col+cols <= m.Cols,
		"Slice of %d×%d at (%d, %d) from %v", rows, cols, row, col, m)
	out := zeros(rows, cols)
	for i := range rows {
		out.put(i, 0, m, row+i, col, cols)
	}
	return out
}

// Beside places matrices next to each other, from left to right. All matrices must have the
// same number of rows. Examples are the heads of an attention and the columns of several
// ranks.
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

// put copies `cols` elements of one row from the matrix `from`, starting at (fromRow,
// fromCol), to m, starting at (row, col). It copies values and variances.
func (m *Matrix) put(row, col int, from *Matrix, fromRow, fromCol, cols int) {
	to, at := row*m.Cols+col, fromRow*from.Cols+fromCol
	copy(m.V[to:to+cols], from.V[at:])
	copy(m.Var[to:to+cols], from.Var[at:])
}

// row returns the values and variances of row i.
func (m *Matrix) row(i int) (values, variances []float64) {
	return m.V[i*m.Cols:][:m.Cols], m.Var[i*m.Cols:][:m.Cols]
}

// String returns the shape, such as "2×3".
func (m *Matrix) String() string { return fmt.Sprintf("%d×%d", m.Rows, m.Cols) }

// require panics with the given message unless ok is true.
func require(ok bool, format string, args ...any) {
	if !ok {
		panic("dense: " + fmt.Sprintf(format, args...))
	}
}
