package builtin

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
		Doc: `The first step of an attention layer: x, 128 tokens of 256, times three weights
of 256 × 128. The tokens are divided over the PEs of a cube, and each PE has a
copy of the weights in its own HBM, so that PEs share only the NoC of the cube.`,
		Metrics: qkvMetrics{},
		Run:     runQKV,
	})
}

// project computes Q, K and V for the PE's rows of x. The rows are loaded once. The load of
// each weight overlaps with the previous product. The last PE may have fewer rows.
func project(t *tl.PE, x, wq, wk, wv, q, k, v tl.Ptr, tokens, in, out int) {
	rows := tl.CDiv(tokens, t.NumRanks())
	mine := tokens - rows*t.Rank()
	tile := t.Load(x, tl.Shape{rows, in}, tl.F16, tl.Mask(mine, in))
	for _, p := range []struct{ w, to tl.Ptr }{{wq, q}, {wk, k}, {wv, v}} {
		w := t.Load(p.w, tl.Shape{in, out}, tl.F16)
		t.Store(p.to, tile.Dot(w).To(tl.F16), tl.Mask(mine, out))
	}
}

type qkvMetrics struct {
	PEs     int        `json:"pes" table:",setting,PEs"`
	DMARead torch.Time `json:"dma_read_ns" table:"ns,lower,DMA read"`
	GEMM    torch.Time `json:"gemm_ns" table:"ns,lower,GEMM"`
}

// runQKV runs the kernel named project on the PEs of one cube and checks Q, K and V.
func runQKV(b *bench.B) error {
	const tokens, in, out = 128, 256, 128
	pes := b.CubePEs(0, 0)
	data := values(tokens*in, 7)
	x := torch.Must(b.FromSlice(data, torch.F16, torch.Shape{tokens, in}, torch.On(pes...)))
	names := []string{"q", "k", "v"}
	var weights [3][]float32
	var w, y [3]*torch.Tensor
	for i := range names {
		weights[i] = values(in*out, 11+2*i)
		w[i] = torch.Must(b.FromSlice(weights[i], torch.F16, torch.Shape{in, out}, torch.OnEach(pes...)))
		y[i] = torch.Must(b.Zeros(torch.F16, torch.Shape{tokens, out}, torch.On(pes...)))
	}
	torch.Must(b.Launch("project", project, x, w[0], w[1], w[2], y[0], y[1], y[2], tokens, in, out))
	e := b.Engines(pes[0])
	b.Metrics(qkvMetrics{len(pes), e.DMARead, e.GEMM})
	for i, name := range names {
		torch.OK(b.Check(name, y[i], matmul(data, weights[i], tokens, in, out)))
	}
	return nil
}
