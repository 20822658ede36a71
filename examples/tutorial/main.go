// Command tutorial is the program of docs/use/tutorial.md.
package main

import (
	"github.com/kernbench/kernbench"
	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// axpy computes y = a·x + y for the n elements that the PE holds.
func axpy(t *tl.PE, x, y tl.Ptr, a float64, n int) {
	xs := t.Load(x, tl.Shape{n}, tl.F32)
	ys := t.Load(y, tl.Shape{n}, tl.F32)
	t.Store(y, xs.Mul(a).Add(ys))
}

type metrics struct {
	PEs int `json:"pes" table:",setting,PEs"`
}

func runAxpy(b *bench.B) error {
	const n = 1024 // elements on each PE
	pes := b.CubePEs(0, 0)
	xs, ys, want := make([]float32, n*len(pes)), make([]float32, n*len(pes)), make([]float32, n*len(pes))
	for i := range xs {
		xs[i], ys[i] = float32(i), 1
		want[i] = float32(2*xs[i]) + ys[i]
	}
	x := torch.Must(b.FromSlice(xs, torch.F32, torch.Shape{len(xs)}, torch.On(pes...)))
	y := torch.Must(b.FromSlice(ys, torch.F32, torch.Shape{len(ys)}, torch.On(pes...)))
	torch.Must(b.Launch("axpy", axpy, x, y, 2.0, n))
	b.Metrics(metrics{PEs: len(pes)})
	return b.Check("y", y, want)
}

func main() {
	bench.Register(bench.Bench{Name: "axpy", Summary: "y = 2x + y on the PEs of a cube", Metrics: metrics{}, Run: runAxpy})
	kernbench.Main()
}
