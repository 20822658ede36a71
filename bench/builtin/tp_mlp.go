package builtin

import (
	"math"
	"slices"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/tp"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "tp_mlp",
		Uses:    bench.UsesCollectives,
		Summary: "MLP of two tensor-parallel layers, by ranks, sequence parallelism and overlap",
		Doc: `A ColumnParallelLinear from hidden to ffn features, GELU, and a
RowParallelLinear back, both with bias, on all PEs of every rank. There is a row
for each combination of the number of ranks, sequence parallelism and overlap.
With sequence parallelism each rank has its own tokens before and after the MLP.
With an overlap of n the second layer cuts its result into n pieces and reduces
finished pieces while it computes the next (1: all at the end). Each combination
runs on a machine like the given one with one SIP for each rank.

Every element on every rank is compared with a dense computation in float64,
within 8 standard deviations of the rounding error (docs/write/tp.md). Values
are rounded to dtype after each step, and to f32 in sums. After the reduction
all ranks must have the same bits.

The column collective is the algorithm that reduces, gemm_ns is the longest time
that a GEMM engine of rank 0 worked, and comm_share is exposed_comm_ns divided
by total_ns.
` + breakdownDoc,
		Params: []bench.Param{
			withDefault(tpParam, "1,2,4,8"), withDefault(tokensParam, "256"), {Name: "hidden", Usage: "features between layers", Default: "512"},
			{Name: "ffn", Usage: "features within the MLP", Default: "2048"}, precisionParam, withDefault(sequenceParam, "off"), withDefault(overlapParam, "1,2"), withDefault(placementParam, "tokens"), groupParam,
		},
		Row: mlpRow{},
		Run: runTPMLP,
	})
}

type mlpRow struct {
	variantColumns
	Collective string     `json:"collective" table:",result"`
	GEMM       torch.Time `json:"gemm_ns" table:"ns,lower,GEMM"`
	CommShare  *float64   `json:"comm_share" table:",result,share of exposed communication"`
	breakdown
}

// mlp is an MLP of two layers with the sizes that the parameters choose, and its weights.
type mlp struct {
	activations
	ffn            int
	w1, b1, w2, b2 []float32
}

// runTPMLP runs the MLP with the sizes and in the variants that the parameters choose.
func runTPMLP(b *bench.B) error {
	hidden := torch.Must(countParam(b, "hidden", maxSize))
	ffn := torch.Must(countParam(b, "ffn", maxSize))
	return runModel(b, &mlp{activations: newActivations(b, hidden), ffn: ffn})
}

// shardedSize returns the size that is divided over the ranks, and its name.
func (m *mlp) shardedSize() (int, string) { return m.ffn, "features of the MLP" }

// products returns the number of multiplications in a forward pass.
func (m *mlp) products() float64 { return 2 * float64(m.tokens) * float64(m.hidden) * float64(m.ffn) }

// elements returns the number of elements of weights, input and intermediate results.
func (m *mlp) elements() float64 {
	return 2*float64(m.hidden)*float64(m.ffn) + float64(m.tokens)*float64(2*m.hidden+m.ffn)
}

// fill computes the values of the weights and the input.
func (m *mlp) fill() {
	m.x = normalNumbers(m.tokens*m.hidden, 1, 1)
	m.w1, m.b1 = normalNumbers(m.hidden*m.ffn, 1/math.Sqrt(float64(m.hidden)), 2), normalNumbers(m.ffn, 1, 3)
	m.w2, m.b2 = normalNumbers(m.ffn*m.hidden, 1/math.Sqrt(float64(m.ffn)), 4), normalNumbers(m.hidden, 1, 5)
}

// reference computes the result of the MLP in plain Go. Like the devices, it computes the
// second product as a sum of one partial product per rank.
func (m *mlp) reference(ranks int) *dense.Matrix {
	matrix := func(rows, cols int, data []float32) *dense.Matrix { return dense.New(rows, cols, data, m.dtype) }
	h := dense.Add(dense.MatMul(matrix(m.tokens, m.hidden, m.x), matrix(m.hidden, m.ffn, m.w1), 1, torch.F32), matrix(1, m.ffn, m.b1), torch.F32).Round(m.dtype)
	h = dense.Map(h, dense.GELU, torch.F32).Round(m.dtype)
	return dense.Add(dense.MatMul(h, matrix(m.ffn, m.hidden, m.w2), ranks, m.dtype), matrix(1, m.hidden, m.b2), m.dtype)
}

// layers builds the two linear layers of rank r and returns the forward pass: the first
// layer, GELU, the second layer.
func (m *mlp) layers(r *torch.Rank, w variant) func(x *torch.Tensor) *torch.Tensor {
	o := tp.Options{DType: m.dtype, Bias: true, SequenceParallel: w.sequence, Weight: &m.placement}
	fc1 := torch.Must(tp.NewColumnParallelLinear(r, "fc1", m.hidden, m.ffn, o))
	o.InputIsParallel, o.Overlap = true, w.overlap
	fc2 := torch.Must(tp.NewRowParallelLinear(r, "fc2", m.ffn, m.hidden, o))
	if r.HasData() {
		torch.OK(fc1.Load(m.w1, m.b1))
		torch.OK(fc2.Load(m.w2, m.b2))
	}
	return func(x *torch.Tensor) *torch.Tensor {
		return forward(fc2, torch.Must(tp.GELU(r, "GELU", forward(fc1, x))))
	}
}

// report adds a row with the times of all phases.
func (m *mlp) report(b *bench.B, r *torch.Rank, w variant, phases []torch.Phase) {
	t := sumPhases(phases)
	b.Row(mlpRow{w.columns(), algorithm(phases), gemmTime(r, 0), share(t.Comm, t.Total()), newBreakdown(t)})
}

// algorithm returns the algorithm of the last collective in phases, or "" if there is none.
func algorithm(phases []torch.Phase) string {
	for _, p := range slices.Backward(phases) {
		if p.Algorithm != "" {
			return p.Algorithm
		}
	}
	return ""
}
