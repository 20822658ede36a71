package benches

import (
	"sync"

	"github.com/kernbench/kernbench/topology"
)

// gemmReferences is products to compare with, each computed once for all points of its
// sizes. Points run side by side.
type gemmReferences struct {
	mu   sync.Mutex
	made map[topology.Dims3]func() []float32
}

// product is a × b, of sizes that always have the same operands.
func (r *gemmReferences) product(d topology.Dims3, a, b []float32) []float32 {
	r.mu.Lock()
	of := r.made[d]
	if of == nil {
		of = sync.OnceValue(func() []float32 { return matmulByRows(a, b, d.M, d.K, d.N) })
		r.made[d] = of
	}
	r.mu.Unlock()
	return of()
}

// matmulByRows is matmul, faster: it adds four rows of b at a time to a row of the
// result, which for each element is the same additions in the same order.
func matmulByRows(a, b []float32, m, k, n int) []float32 {
	c := make([]float32, m*n)
	for from := 0; from < k; from += blockRows { // of b: so few that they stay in the cache
		to := min(k, from+blockRows)
		for i := range m {
			addProducts(c[i*n:][:n], a[i*k+from:i*k+to], b[from*n:to*n])
		}
	}
	return c
}

const blockRows = 64

// addProducts adds to a row of the result the rows of b, each times an element of x.
func addProducts(row, x, b []float32) {
	n := len(row)
	for ; len(x) >= 4; x, b = x[4:], b[4*n:] {
		x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
		b0, b1, b2, b3 := b[:n], b[n:][:n], b[2*n:][:n], b[3*n:][:n]
		for j, sum := range row {
			sum += float32(x0 * b0[j])
			sum += float32(x1 * b1[j])
			sum += float32(x2 * b2[j])
			sum += float32(x3 * b3[j])
			row[j] = sum
		}
	}
	for l, v := range x {
		for j, w := range b[l*n:][:n] {
			row[j] += float32(v * w)
		}
	}
}
