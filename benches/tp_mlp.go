package benches

import (
	"fmt"
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
		Summary: "an MLP of two tensor-parallel layers, by ranks, with sequence parallelism and overlap or not",
		Doc: `A ColumnParallelLinear from hidden to ffn features, GELU, and a RowParallelLinear back, both
with bias, on all PEs of every rank. A row for each number of ranks, without and with
sequence parallelism, where each rank has its tokens before and after, and for each
number of pieces in which the second layer reduces what is done while it computes the
rest (1: all at once, afterwards). Each runs on a system like the given one with as many
SIPs as ranks.

Every element on every rank is compared with a dense computation in float64; it may be
off by 8 standard deviations of what rounding makes of it, to dtype after each step and to
f32 in sums (docs/tp.md). After the reduction all ranks must have the same bits.

collective is the algorithm that reduces, gemm_ns how long the GEMM engine of rank 0 that
worked longest did, and comm_share how much of total_ns is exposed_comm_ns.
` + breakdownDoc,
		Params: []bench.Param{
			tpParam("1,2,4,8"), tokensParam("256"), sizeParam("hidden", "features between layers", "512"),
			sizeParam("ffn", "features within an MLP", "2048"), precisionParam, sequenceParam("off"), overlapParam("1,2"), placementParam("tokens"), groupParam,
		},
		Run: runTPMLP,
	})
}

// mlp is the two layers by the parameters, and what goes in and should come out.
type mlp struct {
	tokens, hidden, ffn int
	dtype               torch.DType
	placement           torch.DPPolicy
	x, w1, b1, w2, b2   []float32
}

func newMLP(ctx *torch.Context) (m *mlp, err error) {
	m = &mlp{placement: weightPlacement(ctx)}
	for _, p := range []struct {
		name string
		to   *int
	}{{"tokens", &m.tokens}, {"hidden", &m.hidden}, {"ffn", &m.ffn}} {
		if *p.to, err = count(ctx, p.name, 1<<17); err != nil {
			return nil, err
		}
	}
	m.dtype = precision(ctx)
	return m, affordable(ctx, 2*float64(m.tokens)*float64(m.hidden)*float64(m.ffn))
}

// check refuses ranks and pieces that the layers cannot be cut into.
func (m *mlp) check(ctx *torch.Context, ranks, pieces []int) error {
	if err := divides("tp", "features of the MLP", m.ffn, ranks); err != nil {
		return err
	}
	if slices.Contains(sequences(ctx), true) {
		if err := divides("tokens", "tokens", m.tokens, ranks); err != nil {
			return err
		}
	}
	if most := slices.Max(pieces); most > m.hidden {
		return &bench.ParamError{Name: "overlap", Err: fmt.Errorf("%d pieces of %d columns", most, m.hidden)}
	}
	return nil
}

// fill makes what goes in.
func (m *mlp) fill() {
	m.x = normal(m.tokens*m.hidden, 1, 1)
	m.w1, m.b1 = normal(m.hidden*m.ffn, 1/math.Sqrt(float64(m.hidden)), 2), normal(m.ffn, 1, 3)
	m.w2, m.b2 = normal(m.ffn*m.hidden, 1/math.Sqrt(float64(m.ffn)), 4), normal(m.hidden, 1, 5)
}

// reference is the dense result, as ranks add it up.
func (m *mlp) reference(ranks int) *dense.Matrix {
	of := func(rows, cols int, data []float32) *dense.Matrix { return dense.New(rows, cols, data, m.dtype) }
	h := dense.Add(dense.MatMul(of(m.tokens, m.hidden, m.x), of(m.hidden, m.ffn, m.w1), 1, torch.F32), of(1, m.ffn, m.b1), torch.F32).Round(m.dtype)
	h = dense.Map(h, dense.GELU, torch.F32).Round(m.dtype)
	return dense.Add(dense.MatMul(h, of(m.ffn, m.hidden, m.w2), ranks, m.dtype), of(1, m.hidden, m.b2), m.dtype)
}

func runTPMLP(ctx *torch.Context) error {
	m, err := newMLP(ctx)
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
	if err := m.check(ctx, ranks, pieces); err != nil {
		return err
	}
	if ctx.HasData() {
		m.fill()
	}
	whole := len(ranks)*len(sequences(ctx))*len(pieces) == 1
	for _, n := range ranks {
		var want *dense.Matrix
		if ctx.HasData() {
			want = m.reference(n)
		}
		for _, sequence := range sequences(ctx) {
			for _, overlap := range pieces {
				if n == 1 && (sequence != sequences(ctx)[0] || overlap != pieces[0]) {
					continue // there is nothing to do in another way
				}
				if err := m.run(ctx, n, whole, sequence, overlap, want); err != nil {
					return fmt.Errorf("tp %d, sequence parallel %t, overlap %d: %w", n, sequence, overlap, err)
				}
			}
		}
	}
	return nil
}

// run is the MLP on so many ranks: the whole bench, or a row of it.
func (m *mlp) run(ctx *torch.Context, ranks int, whole, sequence bool, overlap int, want *dense.Matrix) error {
	results := make([]*torch.Array, ranks)
	err := onRanks(ctx, ranks, whole, func(rank int, c *torch.Context) error {
		o := tp.Options{DType: m.dtype, Bias: true, SequenceParallel: sequence, Weight: &m.placement}
		fc1 := torch.Must(tp.NewColumnParallelLinear(c, "fc1", m.hidden, m.ffn, o))
		o.InputIsParallel, o.Overlap = true, overlap
		fc2 := torch.Must(tp.NewRowParallelLinear(c, "fc2", m.ffn, m.hidden, o))
		rows, first := m.tokens, 0
		if sequence {
			rows = m.tokens / ranks
			first = rank * rows
		}
		x := torch.Must(c.Empty(m.dtype, torch.Shape{rows, m.hidden}, tp.Activations(m.placement)))
		if c.HasData() {
			torch.OK(fc1.Load(m.w1, m.b1))
			torch.OK(fc2.Load(m.w2, m.b2))
			torch.OK(x.CopyFrom(m.x[first*m.hidden : (first+rows)*m.hidden]))
		}
		profile := torch.Must(c.Profile())
		h, _, err := fc1.Forward(x)
		torch.OK(err)
		g := torch.Must(tp.GELU(c, "GELU", h))
		y, _, err := fc2.Forward(g)
		torch.OK(err)
		phases := torch.Must(profile.Stop())
		if rank == 0 {
			ctx.Row(m.row(c, ranks, sequence, overlap, phases)...)
		}
		if !c.HasData() {
			return nil
		}
		results[rank] = torch.Must(y.Numpy())
		part := want.Slice(first, 0, rows, m.hidden)
		return c.CheckWithin(fmt.Sprintf("tp %d, sequence parallel %t, overlap %d, rank %d", ranks, sequence, overlap, rank), y, part.V, part.Tolerances())
	})
	if err == nil && ctx.HasData() && !sequence {
		agree(ctx, fmt.Sprintf("tp %d, overlap %d, all ranks alike", ranks, overlap), results)
	}
	return err
}

func (m *mlp) row(c *torch.Context, ranks int, sequence bool, overlap int, phases []torch.Phase) []torch.Metric {
	b := together(phases)
	return append([]torch.Metric{
		torch.Col("tp", ranks), torch.Col("sequence_parallel", sequence), torch.Col("overlap", overlap),
		torch.Col("collective", c.Collective.Algorithm), torch.Col("gemm_ns", gemmTime(c, 0)), torch.Col("comm_share", share(b.Comm, b.Total())),
	}, breakdown(b)...)
}
