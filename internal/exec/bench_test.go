package exec

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// vectorAdds returns an op log. In each round, every PE loads two tiles of n elements, adds
// them, doubles the sum, and stores the result.
func vectorAdds(pes, rounds int, n int32) *oplog.Log {
	b := &builder{}
	bytes := int64(n) * 2
	for range rounds {
		var store []oplog.ID
		for pe := range int32(pes) {
			space := oplog.Space{Kind: oplog.HBM, PE: pe}
			mem := func(i int64) []oplog.Access {
				return []oplog.Access{{Space: space, Addr: i * bytes, Rows: 1, RowBytes: bytes, Stride: bytes}}
			}
			x := tile(b.op(oplog.Op{Kind: oplog.Load, PE: pe, DType: f16, Shape: shape(n), Mem: mem(0)}, oplog.Read), f16, shape(n))
			y := tile(b.op(oplog.Op{Kind: oplog.Load, PE: pe, DType: f16, Shape: shape(n), Mem: mem(1)}, oplog.Read), f16, shape(n))
			z := b.op(oplog.Op{Kind: oplog.Math, PE: pe, Math: numeric.Add, DType: f16, Shape: shape(n), Args: []oplog.Operand{x, y}})
			w := b.op(oplog.Op{Kind: oplog.Math, PE: pe, Math: numeric.Mul, DType: f16, Shape: shape(n), Args: []oplog.Operand{tile(z, f16, shape(n)), num(2)}})
			store = append(store, b.op(oplog.Op{Kind: oplog.Store, PE: pe, DType: f16, Shape: shape(n), Mem: mem(2), Args: []oplog.Operand{tile(w, f16, shape(n))}}))
		}
		for _, id := range store {
			b.Effect(id, oplog.Write)
		}
	}
	return &b.Log
}

// BenchmarkExec measures the time per operation when a log of many small operations is
// executed.
func BenchmarkExec(b *testing.B) {
	log := vectorAdds(64, 300, 64)
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Replay(b.Context(), log, threads); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(log.Ops)), "ns/operation")
		})
	}
}

// BenchmarkGemm measures a large matrix product. With several threads, each thread computes
// a part of the rows.
func BenchmarkGemm(b *testing.B) {
	const n = 512
	log := &builder{}
	x := log.op(oplog.Op{Kind: oplog.Full, DType: f16, Shape: shape(n, n), Fill: 1.5})
	y := tile(x, f16, shape(n, n))
	z := log.op(oplog.Op{Kind: oplog.Dot, DType: f32, Shape: shape(n, n), Args: []oplog.Operand{y, y}})
	log.op(oplog.Op{Kind: oplog.Store, DType: f32, Shape: shape(n, n), Mem: at(0, n*n*4), Args: []oplog.Operand{tile(z, f32, shape(n, n))}}, oplog.Write)
	b.Run("dot", func(b *testing.B) { // only the arithmetic
		args, acc := values(f16, make([]float64, n*n)...), make([]byte, n*n*4)
		for b.Loop() {
			numeric.Dot(f16, acc, args, args, n, n, n)
		}
	})
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			for b.Loop() {
				if _, err := Replay(b.Context(), &log.Log, threads); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
