package builtin

import (
	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "matmul_composite",
		Uses:    bench.UsesNothing,
		Summary: "32×3072×32 f16 matrix product as one composite, with streamed or loaded operands",
		Doc: `There is a row for each way to give a composite its operands: ref_ref streams
both from HBM tile by tile, load_ref first loads the first operand into TCM,
load_load both operands. Streaming overlaps with the arithmetic; loading comes
before it.

composite_window_ns is the time from the first data that moves for the composite
to the last data written, gemm_count the number of tile products; both come from
the op log and are missing without it (--data=off). The other times are how long
engines worked. gemm_utilization is gemm_ns divided by crit_ns.`,
		Row: compositeRow{},
		Run: runMatmulComposite,
	})
}

// operands is a way to give a composite its operands: each operand is loaded first or
// streamed.
type operands struct {
	name         string
	loadA, loadB bool
}

// operandVariants are the ways to give operands that benches compare.
var operandVariants = []operands{{"ref_ref", false, false}, {"load_ref", true, false}, {"load_load", true, true}}

// composite computes c = a × b with one composite command, for the PE's shards of a, b and
// c. loadA and loadB choose the operands that are loaded into TCM first instead of
// streamed.
func composite(t *tl.PE, a, b, c tl.Ptr, loadA, loadB bool) {
	m, k, n := c.Dim(0), a.Dim(1), c.Dim(1)
	if m*n == 0 {
		return // this PE has no shard of the result
	}
	x, y := t.Ref(a, tl.Shape{m, k}, tl.F16), t.Ref(b, tl.Shape{k, n}, tl.F16)
	if loadA {
		x = t.Load(a, tl.Shape{m, k}, tl.F16)
	}
	if loadB {
		y = t.Load(b, tl.Shape{k, n}, tl.F16)
	}
	t.Wait(t.Composite(tl.Gemm(x, y, c)))
}

// compositeRow is a row of matmul_composite. Window and Count are nil without an op log.
type compositeRow struct {
	Operands    string      `json:"operands" table:",setting"`
	Crit        torch.Time  `json:"crit_ns" table:"ns,lower,critical path"`
	Window      *torch.Time `json:"composite_window_ns" table:"ns,lower"`
	Count       *int        `json:"gemm_count" table:",result,GEMM count"`
	DMARead     torch.Time  `json:"dma_read_ns" table:"ns,lower,DMA read"`
	GEMM        torch.Time  `json:"gemm_ns" table:"ns,lower,GEMM"`
	Utilization *float64    `json:"gemm_utilization" table:",higher,GEMM utilization"`
}

// runMatmulComposite runs the product with each variant of loaded and streamed operands.
func runMatmulComposite(on *bench.B) error {
	for _, v := range operandVariants {
		runVariant(on, v)
	}
	return nil
}

// runVariant runs the product with variant v, which says which operands are loaded and
// which are streamed. It adds a row and a check to the result.
func runVariant(on *bench.B, v operands) {
	const m, k, n = 32, 3072, 32
	x, y := values(m*k, 7), values(k*n, 11)
	a := torch.Must(on.FromSlice(x, torch.F16, torch.Shape{m, k}))
	b := torch.Must(on.FromSlice(y, torch.F16, torch.Shape{k, n}))
	c := torch.Must(on.Zeros(torch.F16, torch.Shape{m, n}))
	before := on.Engines(0)
	l := torch.Must(on.Launch(v.name, composite, a, b, c, v.loadA, v.loadB))
	e := on.Engines(0)
	gemm := e.GEMM - before.GEMM
	row := compositeRow{Operands: v.name, Crit: l.Crit(), DMARead: e.DMARead - before.DMARead, GEMM: gemm, Utilization: share(gemm, l.Crit())}
	all := on.Composites()
	row.Window, row.Count = window(all[max(0, len(all)-1):])
	on.Row(row)
	torch.OK(on.Check(v.name, c, matmul(x, y, m, k, n)))
	free(a, b, c)
}

// share returns part divided by whole. It returns nil if whole is 0, which happens on a
// system that takes no time.
func share(part, whole torch.Time) *float64 {
	if whole == 0 {
		return nil
	}
	return new(float64(part) / float64(whole))
}
