package benches

import (
	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "gemm_single_pe",
		Uses:    bench.UsesNothing,
		Summary: "32×128×32 matrix product of f16 on one PE: load, dot, store",
		Doc: `The plainest matrix product: both operands are loaded whole, multiplied by one Dot
and the result is stored. Nothing overlaps but the two loads, so that crit_ns is
about the sum of the engines' times; matmul_composite shows what overlapping
gains.`,
		Run: runGemmSinglePE,
	})
}

// gemm is c = a × b of matrices that fit into TCM.
func gemm(t *tl.PE, a, b, c tl.Ptr, m, k, n int) {
	x := t.Load(a, tl.Shape{m, k}, tl.F16)
	y := t.Load(b, tl.Shape{k, n}, tl.F16)
	t.Store(c, x.Dot(y).To(tl.F16))
}

func runGemmSinglePE(ctx *torch.Context) error {
	const m, k, n = 32, 128, 32
	x, y := values(m*k, 7), values(k*n, 11)
	a, err := ctx.FromSlice(x, torch.F16, torch.Shape{m, k})
	if err != nil {
		return err
	}
	b, err := ctx.FromSlice(y, torch.F16, torch.Shape{k, n})
	if err != nil {
		return err
	}
	c, err := ctx.Zeros(torch.F16, torch.Shape{m, n})
	if err != nil {
		return err
	}
	if _, err := ctx.Launch("gemm", gemm, a, b, c, m, k, n); err != nil {
		return err
	}
	e := ctx.Engines(0)
	ctx.Metric("dma_read_ns", e.DMARead)
	ctx.Metric("fetch_ns", e.Fetch)
	ctx.Metric("gemm_ns", e.GEMM)
	ctx.Metric("math_ns", e.Math)
	ctx.Metric("store_ns", e.Store)
	ctx.Metric("dma_write_ns", e.DMAWrite)
	return ctx.Check("c", c, matmul(x, y, m, k, n))
}
