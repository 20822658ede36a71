package benches

import (
	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "qkv_gemm",
		Uses:    bench.UsesNothing,
		Summary: "Q, K and V projections of 128×256×128 f16, over the PEs of a cube",
		Doc: `An attention layer's first step: x, 128 tokens of 256, times three weights of
256 × 128. The tokens are cut over the PEs of a cube, and each PE has a copy of the
weights in its own HBM, so that PEs share nothing but the cube's NoC.`,
		Run: runQKV,
	})
}

// project is Q, K and V of a PE's rows of x. They are loaded once; the load of a
// weight overlaps the product before it. The last PE may have fewer rows.
func project(t *tl.PE, x, wq, wk, wv, q, k, v tl.Ptr, tokens, in, out int) {
	rows := tl.CDiv(tokens, t.NumRanks())
	mine := tokens - rows*t.Rank()
	tile := t.Load(x, tl.Shape{rows, in}, tl.F16, tl.Mask(mine, in))
	for _, p := range []struct{ w, to tl.Ptr }{{wq, q}, {wk, k}, {wv, v}} {
		w := t.Load(p.w, tl.Shape{in, out}, tl.F16)
		t.Store(p.to, tile.Dot(w).To(tl.F16), tl.Mask(mine, out))
	}
}

func runQKV(ctx *torch.Context) error {
	const tokens, in, out = 128, 256, 128
	pes := ctx.CubePEs(0, 0)
	data := values(tokens*in, 7)
	x, err := ctx.FromSlice(data, torch.F16, torch.Shape{tokens, in}, torch.On(pes...))
	if err != nil {
		return err
	}
	names := []string{"q", "k", "v"}
	var weights [3][]float32
	var w, y [3]*torch.Tensor
	for i := range names {
		weights[i] = values(in*out, 11+2*i)
		if w[i], err = ctx.FromSlice(weights[i], torch.F16, torch.Shape{in, out}, torch.OnEach(pes...)); err != nil {
			return err
		}
		if y[i], err = ctx.Zeros(torch.F16, torch.Shape{tokens, out}, torch.On(pes...)); err != nil {
			return err
		}
	}
	if _, err := ctx.Launch("project", project, x, w[0], w[1], w[2], y[0], y[1], y[2], tokens, in, out); err != nil {
		return err
	}
	e := ctx.Engines(pes[0])
	ctx.Metric("pes", len(pes))
	ctx.Metric("dma_read_ns", e.DMARead)
	ctx.Metric("gemm_ns", e.GEMM)
	for i, name := range names {
		if err := ctx.Check(name, y[i], matmul(data, weights[i], tokens, in, out)); err != nil {
			return err
		}
	}
	return nil
}
