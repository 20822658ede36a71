package builtin

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
		Doc: `The simplest matrix product: both operands are loaded whole, multiplied by one
Dot, and the result is stored. Only the two loads overlap, so crit_ns is about
the sum of the times of the engines. matmul_composite shows how much time
overlap saves.`,
		Metrics: engineTimes{},
		Run:     runGemmSinglePE,
	})
}

// gemm computes c = a × b for matrices that fit into TCM.
func gemm(t *tl.PE, a, b, c tl.Ptr, m, k, n int) {
	x := t.Load(a, tl.Shape{m, k}, tl.F16)
	y := t.Load(b, tl.Shape{k, n}, tl.F16)
	t.Store(c, x.Dot(y).To(tl.F16))
}

// engineTimes are the times that the engines of a PE were busy.
type engineTimes struct {
	DMARead  torch.Time `json:"dma_read_ns" table:"ns,lower,DMA read"`
	Fetch    torch.Time `json:"fetch_ns" table:"ns,lower"`
	GEMM     torch.Time `json:"gemm_ns" table:"ns,lower,GEMM"`
	Math     torch.Time `json:"math_ns" table:"ns,lower"`
	Store    torch.Time `json:"store_ns" table:"ns,lower"`
	DMAWrite torch.Time `json:"dma_write_ns" table:"ns,lower,DMA write"`
}

func runGemmSinglePE(on *bench.B) error {
	const m, k, n = 32, 128, 32
	x, y := values(m*k, 7), values(k*n, 11)
	a := torch.Must(on.FromSlice(x, torch.F16, torch.Shape{m, k}))
	b := torch.Must(on.FromSlice(y, torch.F16, torch.Shape{k, n}))
	c := torch.Must(on.Zeros(torch.F16, torch.Shape{m, n}))
	torch.Must(on.Launch("gemm", gemm, a, b, c, m, k, n))
	e := on.Engines(0)
	on.Metrics(engineTimes{e.DMARead, e.Fetch, e.GEMM, e.Math, e.Store, e.DMAWrite})
	return on.Check("c", c, matmul(x, y, m, k, n))
}
