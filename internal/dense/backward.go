package dense

import "github.com/kernbench/kernbench/internal/numeric"

// LinearBackward returns the gradients of a loss by x, w and a bias of every row, given
// that by y = x·w + bias: dy·wᵀ, xᵀ·dy and the sums of the columns of dy, each accumulated
// in f32 and rounded to d. The sum of the first is cut into parts, as in [MatMul]: the
// columns of a weight that ranks share.
func LinearBackward(x, w, dy *Matrix, parts int, d numeric.DType) (dx, dw, dbias *Matrix) {
	require(x.Rows == dy.Rows && x.Cols == w.Rows && w.Cols == dy.Cols, "LinearBackward of %v by %v with a gradient of %v", x, w, dy)
	rows := make([]int, dy.Rows) // each of which is row 0 of the bias
	return MatMul(dy, w.Transpose(), parts, d), MatMul(x.Transpose(), dy, 1, d), EmbeddingBackward(dy, rows, 1, d)
}

// EmbeddingBackward returns the gradient of the table of [Embedding], given dy, the gradient
// of its result for some ids. Each row of the gradient is the sum of the rows of dy at the
// positions of its id, accumulated in f32 in ascending order and rounded to d.
// An id that the table does not have, such as one of another rank, counts for nothing.
func EmbeddingBackward(dy *Matrix, ids []int, rows int, d numeric.DType) *Matrix {
	require(len(ids) == dy.Rows, "EmbeddingBackward of %v with %d ids", dy, len(ids))
	out := zeros(rows, dy.Cols)
	for i, id := range ids {
		if id < 0 || id >= rows {
			continue
		}
		v, variance := dy.row(i)
		total, totalVar := out.row(id)
		for j := range v {
			total[j] += v[j]
			totalVar[j] += variance[j] + accumulator.perSquare()*total[j]*total[j]
		}
	}
	if narrows(d) {
		return out.Round(d)
	}
	return out
}
