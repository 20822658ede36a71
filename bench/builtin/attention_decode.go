package builtin

import (
	"fmt"

	"github.com/kernbench/kernbench/attention"
	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "attention_decode",
		Uses:    bench.UsesNothing,
		Summary: "Llama-70B attention of new tokens, with a KV cache divided over PEs or cubes",
		Doc: `Grouped-query attention with heads of 128 elements, 8 query heads to a KV head.
The keys and values of a context, those of the new tokens included, are divided
along the sequence over the holders of a mesh: the PEs of a cube, or with --over
cube the cubes of a SIP, whose PEs share the heads. Every holder computes the
queries of the new tokens with its own keys: the largest score, the sum of
exponentials and the weighted sum of values. These states are merged along the
rows of the mesh, from both ends to the middle column, and along that column to
the middle, which has the result.

There is a row for each of three launches. The launch local computes the states
and writes them to HBM. The launch merge reads the states and merges them. The
launch both does all at once, without HBM in between.

Every element is compared with a dense computation in float64, within 8 standard
deviations of the rounding error.
` + breakdownDoc,
		Params: append(attentionParams("1"), bench.Param{
			Name: "context", Usage: "number of tokens with keys and values", Default: "1024",
		}),
		Row: decodeRow{}, Metrics: attentionMetrics{},
		Run: runAttentionDecode,
	})
}

type decodeRow struct {
	Phase string `json:"phase" table:",setting"`
	attentionTimes
}

// runAttentionDecode measures attention of the last tokens of a context in two ways: in the
// two launches "local" and "merge", and in the single launch "both". It adds a row for each
// of the three launches, and checks the results of "merge" and of "both".
func runAttentionDecode(b *bench.B) error {
	context := torch.Must(countParam(b, "context", 1<<20))
	tokens, err := countParam(b, "tokens", context)
	if err != nil {
		return fmt.Errorf("%w: the context has them as well", err)
	}
	c, r := newAttentionCase(b), b.Rank
	lanes := len(c.mesh.Lanes)
	q, k, v := c.inputs(r, tokens, context)
	x := c.tensors(r, tokens, context, q, k, v, c.mesh.Copies())
	d := attention.Decode{Mesh: c.mesh, Heads: c.heads, Context: context, Tokens: tokens}
	states := torch.Must(r.Empty(torch.F32, torch.Shape{len(c.mesh.PEs()) * d.StateElems()}, torch.On(c.mesh.PEs()...)))
	var want dense.Matrix
	if r.HasData() {
		want = *stackLanes(c.reference(q, k, v, context-tokens), lanes)
	}
	shape := torch.Shape{lanes * tokens, c.heads.Query * c.heads.Dim / lanes}
	for _, phase := range []string{"local", "merge", "both"} {
		out := torch.Must(r.Zeros(c.dtype, shape, torch.On(c.mesh.Roots()...)))
		times := measureAttention(r, func() (*torch.Launched, error) {
			switch phase {
			case "local":
				return d.LaunchLocal(r, x[0], x[1], x[2], states)
			case "merge":
				return d.LaunchMerge(r, states, out)
			}
			return d.Launch(r, x[0], x[1], x[2], out)
		})
		b.Row(decodeRow{phase, times})
		if phase == "local" {
			continue
		}
		torch.OK(r.CheckWithin(phase, out, want.V, want.Tolerances()))
	}
	return nil
}

// stackLanes splits the columns of a matrix into one block for each lane. It stacks the
// blocks, with the block of the first lane on top. The roots of a mesh store results in
// this layout.
func stackLanes(m *dense.Matrix, lanes int) *dense.Matrix {
	wide := m.Cols / lanes
	out := &dense.Matrix{Rows: lanes * m.Rows, Cols: wide}
	for lane := range lanes {
		part := m.Slice(0, lane*wide, m.Rows, wide)
		out.V, out.Var = append(out.V, part.V...), append(out.Var, part.Var...)
	}
	return out
}
