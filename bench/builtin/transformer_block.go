package builtin

import (
	"math"
	"slices"

	"github.com/kernbench/kernbench/attention"
	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/tp"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "transformer_block",
		Uses:    bench.UsesCollectives,
		Summary: "forward pass of a transformer block on tensor-parallel ranks: norm, attention, MLP",
		Doc: `A block of Llama without rotary positions: RMSNorm, the projection to Q, K and
V, causal grouped-query attention, the projection back and the residual;
RMSNorm, the gated projection up, SwiGLU, the projection down and the residual.
Heads and features are divided over the ranks; with sequence parallelism the
norms and residuals are divided by tokens. --shape chooses the sizes: llama-70b
has 8192 features, 64 query and 8 KV heads of 128, and 28672 features in its
MLP; tiny has 256 features, 16 query and 8 KV heads of 16, and 512 features in
its MLP.

Every element on every rank is compared with a dense computation in float64,
within 8 standard deviations of the rounding error. Without sequence parallelism
all ranks must have the same bits.

Each launch or collective of rank 0 is a step. There is a row for each step, in
order, and a row for all of them. A step begins with the end of the step before,
so it includes the route of the command to the device and the wait for other
ranks. The row named before is the time until the first step, in which weights
and input are copied to the devices. The row named after is the time from the
last step to the end of the run, in which results are copied back. The rows
before, all and after add up to the row makespan, which is makespan_ns if the
block runs in one way.
` + breakdownDoc,
		Params: []bench.Param{
			{Name: "shape", Usage: "sizes of the block", Default: "tiny", Values: []string{"tiny", "llama-70b"}},
			withDefault(tpParam, "8"), withDefault(tokensParam, "32"), precisionParam, withDefault(sequenceParam, "off"), withDefault(overlapParam, "1"), withDefault(placementParam, "columns"), groupParam,
		},
		Row: blockRow{},
		Run: runTransformerBlock,
	})
}

type blockRow struct {
	variantColumns
	Step string `json:"step" table:",setting"`
	breakdown
}

// block is a transformer block with the sizes that the parameters choose, and its weights.
type block struct {
	activations
	blockShape
	weights map[string][]float32
	elapsed torch.Breakdown // the time until the end of the last step
	last    torch.Time      // the end of the last step
}

// blockShape is the sizes of a block.
type blockShape struct {
	features, ffn int
	heads         attention.Heads
}

// blockShapes maps names to the sizes of a block.
var blockShapes = map[string]blockShape{
	"tiny":      {features: 256, ffn: 512, heads: attention.Heads{Query: 16, KV: 8, Dim: 16}},
	"llama-70b": {features: 8192, ffn: 28672, heads: attention.Heads{Query: 64, KV: 8, Dim: 128}},
}

const blockEps = 1e-5 // as in Llama

// linearLayers returns the name, the input size and the output size of each linear layer.
// The columns of qkv are the queries, keys and values of the first rank, then those of the
// next rank, and so on. So the columns of each rank are contiguous.
func (b *block) linearLayers() []blockLayer {
	q, kv := b.heads.Query*b.heads.Dim, b.heads.KV*b.heads.Dim
	return []blockLayer{
		{"qkv", b.hidden, q + 2*kv}, {"o", q, b.hidden},
		{"up", b.hidden, 2 * b.ffn}, {"down", b.ffn, b.hidden},
	}
}

type blockLayer struct {
	name    string
	in, out int
}

// runTransformerBlock runs the block with the shape and in the variants that the parameters
// choose.
func runTransformerBlock(b *bench.B) error {
	shape := blockShapes[b.Param("shape")]
	return runModel(b, &block{activations: newActivations(b, shape.features), blockShape: shape})
}

// shardedSize returns the size that is divided over the ranks, and its name.
func (b *block) shardedSize() (int, string) { return b.heads.KV, "KV heads" }

// products returns the number of multiplications in a forward pass.
func (b *block) products() (n float64) {
	for _, l := range b.linearLayers() {
		n += float64(b.tokens) * float64(l.in) * float64(l.out)
	}
	return n
}

// elements returns the number of elements of weights, input and intermediate results.
func (b *block) elements() (n float64) {
	for _, l := range b.linearLayers() {
		n += float64(l.in)*float64(l.out) + float64(b.tokens)*float64(l.in+l.out)
	}
	return n + float64(b.tokens)*float64(b.tokens) // plus the scores of a head
}

// fill computes the values of the weights and the input.
func (b *block) fill() {
	b.x = normalNumbers(b.tokens*b.hidden, 1, 1)
	b.weights = map[string][]float32{"norm1": normalNumbers(b.hidden, 1, 2), "norm2": normalNumbers(b.hidden, 1, 3)}
	for i, l := range b.linearLayers() {
		b.weights[l.name] = normalNumbers(l.in*l.out, 1/math.Sqrt(float64(l.in)), uint64(4+i))
	}
}

// report adds a row for the time before the block, a row for each phase and a row for all
// phases.
func (m *block) report(b *bench.B, _ *torch.Rank, w variant, phases []torch.Phase) {
	before, all := torch.Breakdown{Idle: phases[0].Start}, sumPhases(phases)
	m.elapsed, m.last = before.Add(all), phases[len(phases)-1].End
	m.row(b, w, "before", before)
	for _, p := range phases {
		m.row(b, w, p.Name, p.Breakdown)
	}
	m.row(b, w, "all", all)
}

// reportEnd adds a row for the time after the block and a row for the whole makespan.
func (m *block) reportEnd(b *bench.B, w variant, makespan torch.Time) {
	after := torch.Breakdown{Idle: makespan - m.last}
	m.row(b, w, "after", after)
	m.row(b, w, "makespan", m.elapsed.Add(after))
}

// row adds a row for a step of a block, with the time t of the step.
func (*block) row(b *bench.B, w variant, step string, t torch.Breakdown) {
	b.Row(blockRow{w.columns(), step, newBreakdown(t)})
}

// layers builds the part of the block's layers that rank r computes. It returns the forward
// pass.
func (b *block) layers(r *torch.Rank, w variant) func(x *torch.Tensor) *torch.Tensor {
	column := tp.Options{DType: b.dtype, Weight: &b.placement}
	gated, row := column, column
	gated.Gated = true
	row.InputIsParallel, row.SequenceParallel, row.Overlap = true, w.sequence, w.overlap
	norm1, norm2 := b.newNorm(r, "norm1", column), b.newNorm(r, "norm2", column)
	qkv := newLinear(r, b, "qkv", column, tp.NewColumnParallelLinear)
	o := newLinear(r, b, "o", row, tp.NewRowParallelLinear)
	up := newLinear(r, b, "up", gated, tp.NewColumnParallelLinear)
	down := newLinear(r, b, "down", row, tp.NewRowParallelLinear)
	gather := func(x *torch.Tensor) *torch.Tensor { // x with the rows of all ranks, if the rows are divided over the ranks
		if !w.sequence {
			return x
		}
		all := torch.Must(tp.GatherFromSequenceParallelRegion.Forward(r, x))
		if all != x {
			free(x)
		}
		return all
	}
	residual := func(x *torch.Tensor, layer *tp.RowParallelLinear, h *torch.Tensor) *torch.Tensor { // x + layer(h)
		out := forward(layer, h)
		sum := torch.Must(tp.Add(r, "residual", x, out))
		free(out)
		return sum
	}
	return func(x *torch.Tensor) *torch.Tensor {
		h := gather(torch.Must(norm1.Forward(x)))
		heads := forward(qkv, h)
		a := torch.Must(tp.DotProductAttention(r, "attention", heads, b.headsPerRank(w.ranks)))
		x = residual(x, o, a)
		free(h, heads, a)

		h = gather(torch.Must(norm2.Forward(x)))
		wide := forward(up, h)
		g := torch.Must(tp.SwiGLU("SwiGLU", up, wide))
		y := residual(x, down, g)
		free(x, h, wide, g)
		return y
	}
}

// newNorm returns an RMS norm with its weights.
func (b *block) newNorm(r *torch.Rank, name string, o tp.Options) *tp.RMSNorm {
	n := torch.Must(tp.NewRMSNorm(r, name, b.hidden, blockEps, o))
	if r.HasData() {
		torch.OK(n.Load(b.weights[name]))
	}
	return n
}

// linearLayer is a linear layer of a rank.
type linearLayer interface {
	Forward(x *torch.Tensor) (y, bias *torch.Tensor, err error)
	Load(weight, bias []float32) error
}

// newLinear builds the linear layer of block b that has the given name. It calls `make` to
// create the layer. If values are computed, it then loads the weights into the layer.
func newLinear[L linearLayer](r *torch.Rank, b *block, name string, o tp.Options, make func(*torch.Rank, string, int, int, tp.Options) (L, error)) L {
	size := b.linearLayers()[slices.IndexFunc(b.linearLayers(), func(l blockLayer) bool { return l.name == name })]
	l := torch.Must(make(r, name, size.in, size.out, o))
	if r.HasData() {
		torch.OK(l.Load(b.weights[name], nil))
	}
	return l
}

// forward returns the output of a linear layer for the input x.
func forward(l linearLayer, x *torch.Tensor) *torch.Tensor {
	y, _, err := l.Forward(x)
	torch.OK(err)
	return y
}

// headsPerRank returns the numbers of query and KV heads that each rank computes.
func (b *block) headsPerRank(ranks int) attention.Heads {
	return attention.Heads{Query: b.heads.Query / ranks, KV: b.heads.KV / ranks, Dim: b.heads.Dim}
}

// free frees the given tensors on the machine.
func free(list ...*torch.Tensor) {
	for _, x := range list {
		torch.OK(x.Free())
	}
}

// reference computes the block in float64, with the rounding of a run on the given number
// of ranks.
func (b *block) reference(ranks int) *dense.Matrix {
	weight := func(name string, in, out int) *dense.Matrix { return dense.New(in, out, b.weights[name], b.dtype) }
	w := map[string]*dense.Matrix{}
	for _, l := range b.linearLayers() {
		w[l.name] = weight(l.name, l.in, l.out)
	}
	column := func(x *dense.Matrix, name string) *dense.Matrix { return dense.MatMul(x, w[name], 1, b.dtype) }
	norm := func(x *dense.Matrix, name string) *dense.Matrix {
		return dense.RMSNorm(x, weight(name, 1, b.hidden), blockEps, torch.F32).Round(b.dtype)
	}
	x := dense.New(b.tokens, b.hidden, b.x, b.dtype)
	h := norm(x, "norm1")
	qkv := column(h, "qkv")
	head := func(i int) *dense.Matrix { return qkv.Slice(0, i*b.heads.Dim, b.tokens, b.heads.Dim) }
	own := b.headsPerRank(ranks)
	var heads []*dense.Matrix
	for rank := range ranks {
		first := rank * (own.Query + 2*own.KV)
		for i := range own.Query {
			kv := first + own.Query + i*own.KV/own.Query
			heads = append(heads, dense.Attention(head(first+i), head(kv), head(kv+own.KV), 1/math.Sqrt(float64(own.Dim)), 0, torch.F32, b.dtype))
		}
	}
	x = dense.Add(x, dense.MatMul(dense.Beside(heads...), w["o"], ranks, b.dtype), b.dtype)
	h = norm(x, "norm2")
	up := column(h, "up") // the gates, followed by the values that they scale
	gate := dense.Map(up.Slice(0, 0, b.tokens, b.ffn), dense.SiLU, torch.F32)
	g := dense.Mul(gate, up.Slice(0, b.ffn, b.tokens, b.ffn), torch.F32).Round(b.dtype)
	return dense.Add(x, dense.MatMul(g, w["down"], ranks, b.dtype), b.dtype)
}
