package benches

import (
	"fmt"
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
			tpParam("8"), tokensParam("32"), precisionParam, sequenceParam("off"), overlapParam("1"), placementParam("columns"), groupParam,
		},
		Run: runTransformerBlock,
	})
}

// block is the sizes of a transformer block, its weights and its input.
type block struct {
	hidden, ffn int
	heads       attention.Heads
	tokens      int
	dtype       torch.DType
	placement   torch.DPPolicy
	x           []float32
	weights     map[string][]float32
}

// blockShapes is the sizes by name.
var blockShapes = map[string]block{
	"tiny":      {hidden: 256, ffn: 512, heads: attention.Heads{Query: 16, KV: 8, Dim: 16}},
	"llama-70b": {hidden: 8192, ffn: 28672, heads: attention.Heads{Query: 64, KV: 8, Dim: 128}},
}

const blockEps = 1e-5 // as in Llama

// layers is the name of each linear layer, with what goes in and what comes out. The
// columns of the first are queries, keys and values of the first rank, then those of the
// next, so that each has its own.
func (b *block) layers() []blockLayer {
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

func newBlock(ctx *torch.Context) (*block, error) {
	b := blockShapes[ctx.Param("shape")]
	b.placement = weightPlacement(ctx)
	var err error
	if b.tokens, err = count(ctx, "tokens", 1<<17); err != nil {
		return nil, err
	}
	b.dtype = precision(ctx)
	products := 0.0
	for _, l := range b.layers() {
		products += float64(b.tokens) * float64(l.in) * float64(l.out)
	}
	return &b, affordable(ctx, products)
}

// check refuses ranks and pieces that the block cannot be cut into.
func (b *block) check(ctx *torch.Context, ranks, pieces []int) error {
	if err := divides("tp", "KV heads", b.heads.KV, ranks); err != nil {
		return err
	}
	if slices.Contains(sequences(ctx), true) {
		if err := divides("tokens", "tokens", b.tokens, ranks); err != nil {
			return err
		}
	}
	if most := slices.Max(pieces); most > b.hidden {
		return &bench.ParamError{Name: "overlap", Err: fmt.Errorf("%d pieces of %d columns", most, b.hidden)}
	}
	return nil
}

// fill makes the weights and what goes in.
func (b *block) fill() {
	b.x = normal(b.tokens*b.hidden, 1, 1)
	b.weights = map[string][]float32{"norm1": normal(b.hidden, 1, 2), "norm2": normal(b.hidden, 1, 3)}
	for i, l := range b.layers() {
		b.weights[l.name] = normal(l.in*l.out, 1/math.Sqrt(float64(l.in)), uint64(4+i))
	}
}

func runTransformerBlock(ctx *torch.Context) error {
	b, err := newBlock(ctx)
	if err != nil {
		return err
	}
	ranks, err := counts(ctx, "tp", 1<<10)
	if err != nil {
		return err
	}
	pieces, err := counts(ctx, "overlap", 1<<10)
	if err != nil {
		return err
	}
	if err := b.check(ctx, ranks, pieces); err != nil {
		return err
	}
	if ctx.HasData() {
		b.fill()
	}
	whole := len(ranks)*len(sequences(ctx))*len(pieces) == 1
	for _, n := range ranks {
		var want *dense.Matrix
		if ctx.HasData() {
			want = b.reference(n)
		}
		for _, sequence := range sequences(ctx) {
			for _, overlap := range pieces {
				if n == 1 && (sequence != sequences(ctx)[0] || overlap != pieces[0]) {
					continue // there is nothing to do in another way
				}
				if err := b.run(ctx, n, whole, sequence, overlap, want); err != nil {
					return fmt.Errorf("tp %d, sequence parallel %t, overlap %d: %w", n, sequence, overlap, err)
				}
			}
		}
	}
	return nil
}

// run is the block on so many ranks: the whole bench, or a part of it.
func (b *block) run(ctx *torch.Context, ranks int, whole, sequence bool, overlap int, want *dense.Matrix) error {
	results := make([]*torch.Array, ranks)
	name := fmt.Sprintf("tp %d, sequence parallel %t, overlap %d", ranks, sequence, overlap)
	err := onRanks(ctx, ranks, whole, func(rank int, c *torch.Context) error {
		l := b.parallel(c, ranks, sequence, overlap)
		rows, first := b.tokens, 0
		if sequence {
			rows = b.tokens / ranks
			first = rank * rows
		}
		x := torch.Must(c.Empty(b.dtype, torch.Shape{rows, b.hidden}, tp.Activations(b.placement)))
		if c.HasData() {
			torch.OK(x.CopyFrom(b.x[first*b.hidden : (first+rows)*b.hidden]))
		}
		profile := torch.Must(c.Profile())
		y := l.forward(x)
		phases := torch.Must(profile.Stop())
		if rank == 0 {
			b.report(ctx, ranks, sequence, overlap, phases)
		}
		if !c.HasData() {
			return nil
		}
		results[rank] = torch.Must(y.Numpy())
		part := want.Slice(first, 0, rows, b.hidden)
		return c.CheckWithin(fmt.Sprintf("%s, rank %d", name, rank), y, part.V, part.Tolerances())
	})
	if err == nil && ctx.HasData() && !sequence {
		agree(ctx, name+", all ranks alike", results)
	}
	return err
}

// report is a row for each phase and one for all.
func (b *block) report(ctx *torch.Context, ranks int, sequence bool, overlap int, phases []torch.Phase) {
	row := func(step string, times torch.Breakdown) {
		ctx.Row(append([]torch.Metric{
			torch.Col("tp", ranks), torch.Col("sequence_parallel", sequence), torch.Col("overlap", overlap), torch.Col("step", step),
		}, breakdown(times)...)...)
	}
	for _, p := range phases {
		row(p.Name, p.Breakdown)
	}
	row("all", together(phases))
}
