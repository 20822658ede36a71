package builtin

import (
	"github.com/kernbench/kernbench/attention"
	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "attention_prefill",
		Uses:    bench.UsesNothing,
		Summary: "Llama-70B attention of a prompt, with keys and values that move through a mesh",
		Doc: `Grouped-query attention with heads of 128 elements, 8 query heads to a KV head.
The tokens of a prompt are divided over the holders of a mesh: the PEs of a
cube, or with --over cube the cubes of a SIP, whose PEs share the heads. Every
holder has the queries, keys and values of its tokens. Keys and values move east
and west along their row of the mesh, and from each place of the row north and
south, block by block, so that every holder receives the blocks of every other
holder once. It computes its queries with each block that arrives and updates
the running softmax. With --mask causal a token sees itself and earlier tokens:
blocks of later tokens are forwarded without computing, so the holder of the
last tokens has the most work and the others wait.

There is a row for each order: pass_first forwards a block before it computes
with it, compute_first afterwards.

Every element is compared with a dense computation in float64, within 8 standard
deviations of the rounding error.
` + breakdownDoc,
		Params: append(attentionParams("256"), bench.Param{
			Name: "mask", Usage: "keys that a query sees", Default: "causal", Values: []string{"causal", "none"},
		}),
		Row: prefillRow{}, Metrics: attentionMetrics{},
		Run: runAttentionPrefill,
	})
}

type prefillRow struct {
	Order string `json:"order" table:",setting"`
	attentionTimes
}

// runAttentionPrefill measures attention of all tokens with each order of passing and
// computing. It adds a row and a check for each order.
func runAttentionPrefill(b *bench.B) error {
	tokens := torch.Must(countParam(b, "tokens", 1<<17))
	c, r := newAttentionCase(b), b.Rank
	q, k, v := c.inputs(r, tokens, tokens)
	x := c.tensors(r, tokens, tokens, q, k, v, c.mesh.Rows())
	p := attention.Prefill{Mesh: c.mesh, Heads: c.heads, Tokens: tokens, Causal: b.Param("mask") == "causal"}
	var want dense.Matrix
	if r.HasData() {
		offset := dense.NoMask
		if p.Causal {
			offset = 0
		}
		want = *c.reference(q, k, v, offset)
	}
	for _, order := range []string{"pass_first", "compute_first"} {
		out := torch.Must(r.Zeros(c.dtype, x[0].Shape(), c.mesh.Rows()))
		p.ComputeFirst = order == "compute_first"
		times := measureAttention(r, func() (*torch.Launched, error) {
			return p.Launch(r, x[0], x[1], x[2], out)
		})
		b.Row(prefillRow{order, times})
		torch.OK(r.CheckWithin(order, out, want.V, want.Tolerances()))
		torch.OK(out.Free())
	}
	return nil
}
