package dense

import "github.com/kernbench/kernbench/internal/numeric"

// Attention is softmax(scale · q·kᵀ)·v of one head. Scores and softmax are in the dtype
// work; the probabilities are stored in d, of which v is too, before they are multiplied
// by v, and so is the result. Row i of q sees the rows of k up to and including i +
// offset, as in [Softmax].
func Attention(q, k, v *Matrix, scale float64, offset int, work, d numeric.DType) *Matrix {
	scores := Scale(MatMul(q, k.Transpose(), 1, work), scale, work)
	p := Softmax(scores, offset, work)
	if work != d {
		p = p.Round(d)
	}
	return MatMul(p, v, 1, d)
}
