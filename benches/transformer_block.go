package benches

import (
	"math"

	"github.com/kernbench/kernbench/attention"
	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "transformer_block",
		Uses:    bench.UsesCollectives,
		Summary: "a block of a transformer, forward: norm, attention, norm, MLP, on tensor-parallel ranks",
		Doc: `A block as Llama has it, without rotary positions: RMSNorm, the projection to Q, K and V,
causal grouped-query attention, the projection back and the residual; RMSNorm, the gated
projection up, SwiGLU, the projection down and the residual. Heads and features are cut over
the ranks; with sequence parallelism the norms and residuals are cut by tokens. --shape
chooses the sizes: llama-70b has 8192 features, 64 query and 8 KV heads of 128, and 28672
features in its MLP; tiny has 256, 16 and 8 of 16, and 512.

Every element on every rank is compared with a dense computation in float64; it may be
off by 8 standard deviations of what rounding makes of it. Without sequence parallelism
all ranks must have the same bits.

A row for each step of rank 0: launches and collectives in their order, and all of them.
` + breakdownDoc,
		Params: []bench.Param{
			{Name: "shape", Usage: "sizes of the block", Default: "tiny", Values: []string{"tiny", "llama-70b"}},
			defaulted(tpParam, "8"), defaulted(tokensParam, "32"), precisionParam, defaulted(sequenceParam, "off"), defaulted(overlapParam, "1"), defaulted(placementParam, "columns"), groupParam,
		},
		Row: blockRow{},
		Run: runTransformerBlock,
	})
}

type blockRow struct {
	wayColumns
	Step string `json:"step" table:",setting"`
	breakdown
}

// block is a transformer block by the parameters, with its weights.
type block struct {
	activations
	blockShape
	weights map[string][]float32
}

// blockShape is the sizes of a block.
type blockShape struct {
	features, ffn int
	heads         attention.Heads
}

// blockShapes is the sizes by name.
var blockShapes = map[string]blockShape{
	"tiny":      {features: 256, ffn: 512, heads: attention.Heads{Query: 16, KV: 8, Dim: 16}},
	"llama-70b": {features: 8192, ffn: 28672, heads: attention.Heads{Query: 64, KV: 8, Dim: 128}},
}

const blockEps = 1e-5 // as in Llama

// linear is the name of each linear layer, with what goes in and what comes out. The
// columns of the first are queries, keys and values of the first rank, then those of the
// next, so that each has its own.
func (b *block) linear() []blockLayer {
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

func runTransformerBlock(b *bench.B) error {
	shape := blockShapes[b.Param("shape")]
	return runModel(b, &block{activations: newActivations(b, shape.features), blockShape: shape})
}

func (b *block) divided() (int, string) { return b.heads.KV, "KV heads" }

func (b *block) products() (n float64) {
	for _, l := range b.linear() {
		n += float64(b.tokens) * float64(l.in) * float64(l.out)
	}
	return n
}

func (b *block) elements() (n float64) {
	for _, l := range b.linear() {
		n += float64(l.in)*float64(l.out) + float64(b.tokens)*float64(l.in+l.out)
	}
	return n + float64(b.tokens)*float64(b.tokens) // and the scores of a head
}

// fill makes the weights and what goes in.
func (b *block) fill() {
	b.x = normal(b.tokens*b.hidden, 1, 1)
	b.weights = map[string][]float32{"norm1": normal(b.hidden, 1, 2), "norm2": normal(b.hidden, 1, 3)}
	for i, l := range b.linear() {
		b.weights[l.name] = normal(l.in*l.out, 1/math.Sqrt(float64(l.in)), uint64(4+i))
	}
}

// report adds a row for each phase and one for all.
func (*block) report(b *bench.B, _ *torch.Context, w way, phases []torch.Phase) {
	for _, p := range append(phases, torch.Phase{Name: "all", Breakdown: together(phases)}) {
		b.Row(blockRow{w.columns(), p.Name, newBreakdown(p.Breakdown)})
	}
}
