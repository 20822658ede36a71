package builtin

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/tp"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "gpt3_qkv",
		Uses:    bench.UsesNothing,
		Summary: "Q, K and V projection of GPT-3 as one column-parallel layer, by number of ranks",
		Doc: `GPT-3 has 12288 features and 96 heads of 128: the projection is 12288 × 36864 in
one ColumnParallelLinear with bias. --divide reduces the features and the heads.
There is a row for each number of ranks, on a machine like the given one with
one SIP for each rank.

Every element is compared with a dense computation in float64, within 8 standard
deviations of the rounding error. gemm_ns is the longest time that a GEMM engine
of rank 0 worked, ideal_ns the time of the product on all MAC arrays of the
device at full rate, and utilization ideal_ns divided by total_ns.
` + breakdownDoc,
		Params: []bench.Param{
			withDefault(tpParam, "1,2,4,8"), withDefault(tokensParam, "128"),
			{Name: "divide", Usage: "divisor of the 12288 features and 96 heads of GPT-3", Default: "16", Values: []string{"1", "2", "4", "8", "16", "32"}},
			precisionParam, withDefault(placementParam, "columns"),
		},
		Row:  qkvRow{},
		Cost: costGPT3QKV,
		Run:  runGPT3QKV,
	})
}

type qkvRow struct {
	Ranks       int        `json:"tp" table:",setting,ranks"`
	GEMM        torch.Time `json:"gemm_ns" table:"ns,lower,GEMM"`
	Ideal       torch.Time `json:"ideal_ns" table:"ns,bound"`
	Utilization *float64   `json:"utilization" table:",higher"`
	breakdown
}

// costGPT3QKV returns the cost of a run, which is the sum of the costs of all systems that
// --tp lists. A system costs 1 for each SIP, plus the cost of its weights. Without tokens,
// 1536×4608 weights cost 3, and other numbers of weights cost in proportion. Every 512
// tokens add half of that cost.
func costGPT3QKV(params map[string]string, _ *topology.Graph) (cost float64) {
	number := func(text string) float64 { n, _ := strconv.ParseFloat(text, 64); return n } // 0 if the parameter is invalid
	weights := 8 / number(params["divide"])
	for _, ranks := range strings.Split(params["tp"], ",") {
		cost += number(ranks) + 3*weights*weights*(1+number(params["tokens"])/1024)
	}
	return cost
}

// runGPT3QKV runs the QKV projection of GPT-3 on each number of ranks that the parameter tp
// lists. For each number it adds a row with the times of rank 0, and a check for each rank.
func runGPT3QKV(b *bench.B) error {
	tokens := torch.Must(countParam(b, "tokens", 1<<17))
	ranks := torch.Must(countsParam(b, "tp", 1<<10))
	dtype := dtypeOf(b)
	hidden := 12288 / torch.Must(strconv.Atoi(b.Param("divide")))
	out := 3 * hidden
	torch.OK(checkDivides("tp", "columns of the projection", out, ranks))
	torch.OK(checkAffordable(b.Rank, float64(tokens)*float64(hidden)*float64(out), float64(hidden)*float64(out)+float64(tokens)*float64(hidden+out)))
	var x, w, bias []float32
	var want *dense.Matrix
	if b.HasData() {
		x, w, bias = normalNumbers(tokens*hidden, 1, 1), normalNumbers(hidden*out, 1/math.Sqrt(float64(hidden)), 2), normalNumbers(out, 1, 3)
		product := dense.MatMul(dense.New(tokens, hidden, x, dtype), dense.New(hidden, out, w, dtype), 1, torch.F32)
		want = dense.Add(product, dense.New(1, out, bias, dtype), torch.F32).Round(dtype)
	}
	placement := weightPlacement(b)
	for _, n := range ranks {
		g := torch.Must(systemWithSIPs(b, n))
		err := runOnRanks(b, g, len(ranks) == 1, nil, func(r *torch.Rank) error {
			rank := r.Rank()
			qkv := torch.Must(tp.NewColumnParallelLinear(r, "qkv", hidden, out, tp.Options{DType: dtype, Bias: true, Weight: &placement}))
			in := torch.Must(r.Empty(dtype, torch.Shape{tokens, hidden}, tp.Activations(placement)))
			if r.HasData() {
				torch.OK(qkv.Load(w, bias))
				torch.OK(in.CopyFrom(x))
			}
			profile := torch.Must(r.Profile())
			y := forward(qkv, in)
			phases := torch.Must(profile.Stop())
			if rank == 0 {
				all := sumPhases(phases)
				ideal := idealGEMM(r, tokens, hidden, out/n)
				b.Row(qkvRow{n, gemmTime(r, 0), ideal, share(ideal, all.Total()), newBreakdown(all)})
			}
			if !r.HasData() {
				return nil
			}
			part := want.Slice(0, rank*out/n, tokens, out/n)
			return r.CheckWithin(fmt.Sprintf("tp %d, rank %d", n, rank), y, part.V, part.Tolerances())
		})
		if err != nil {
			return fmt.Errorf("tp %d: %w", n, err)
		}
	}
	return nil
}

// idealGEMM returns the time of an m×k by k×n product on all MAC arrays of a device at full
// rate.
func idealGEMM(r *torch.Rank, m, k, n int) torch.Time {
	spec := r.Topology().Spec()
	g := spec.PE.GEMM
	macs := g.Array.M * g.Array.K * g.Array.N * spec.CubesPerSIP() * spec.PEsPerCube()
	return g.Clock.Cycles(tl.CDiv(m*k*n, macs))
}
