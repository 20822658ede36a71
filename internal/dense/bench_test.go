package dense

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkMatMul measures the product of a layer with 512 tokens. The variances of the
// second operand are zero, as for weights, or not zero, as for keys that were computed.
func BenchmarkMatMul(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	x, w := normal(r, 512, 1024, 1, f16), normal(r, 1024, 1024, 1, f16)
	for _, c := range []struct {
		name string
		w    *Matrix
	}{{"exact", w}, {"errors", w.Round(f16)}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				MatMul(x.Round(f16), c.w, 8, f16)
			}
			b.ReportMetric(512*1024*1024*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gterm/s")
		})
	}
}
