package builtin

import (
	"fmt"
	"math"
	"strconv"

	"github.com/kernbench/kernbench/attention"
	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/torch"
)

// attentionParams returns the parameters that the attention benches share. tokens is the
// default for the number of tokens with queries.
func attentionParams(tokens string) []bench.Param {
	return []bench.Param{
		{Name: "scale", Usage: "divisor of the 64 query and 8 KV heads of Llama-70B", Default: "8", Values: []string{"1", "2", "4", "8"}},
		withDefault(tokensParam, tokens), precisionParam,
		{Name: "over", Usage: "holder of a shard: each PE of a cube, or each cube of a SIP", Default: "pe", Values: []string{"pe", "cube"}},
	}
}

// attentionCase is the attention that the parameters choose: the heads, and the mesh of
// holders (PEs or cubes) over which the tokens are divided.
type attentionCase struct {
	heads attention.Heads
	mesh  attention.Mesh
	dtype torch.DType
}

// attentionMetrics are the metrics of a bench: the numbers of heads and the size of the
// mesh.
type attentionMetrics struct {
	QueryHeads   int `json:"query_heads" table:",setting"`
	KVHeads      int `json:"kv_heads" table:",setting,KV heads"`
	MeshColumns  int `json:"mesh_columns" table:",setting"`
	MeshRows     int `json:"mesh_rows" table:",setting"`
	PEsPerHolder int `json:"pes_per_holder" table:",setting,PEs per holder"`
}

// newAttentionCase returns the heads, the mesh and the dtype that the parameters of the
// bench choose. It also sets the metrics of the bench to the numbers of heads and the size
// of the mesh.
func newAttentionCase(b *bench.B) attentionCase {
	scale := torch.Must(strconv.Atoi(b.Param("scale")))
	c := attentionCase{heads: attention.Heads{Query: 64 / scale, KV: 8 / scale, Dim: 128}, dtype: dtypeOf(b)}
	if b.Param("over") == "pe" {
		c.mesh = attention.OfCube(b.Rank, 0, 0)
	} else {
		c.mesh = attention.OfSIP(b.Rank, 0, c.heads.Lanes(b.Topology().Spec().PEsPerCube()))
	}
	b.Metrics(attentionMetrics{c.heads.Query, c.heads.KV, c.mesh.W, c.mesh.H, len(c.mesh.Lanes)})
	return c
}

// countParam returns the value of the parameter with the given name, which must be a whole
// number from 1 to `most`.
func countParam(b *bench.B, name string, most int) (int, error) {
	n, err := strconv.Atoi(b.Param(name))
	if err != nil || n < 1 || n > most {
		return 0, &bench.ParamError{Name: name, Err: fmt.Errorf("%q: write a whole number from 1 to %d", b.Param(name), most)}
	}
	return n, nil
}

// inputs returns random matrices Q, K and V. Q has a row for each of the given number of
// queries. K and V have a row for each of the given number of keys. Each element of each
// head is a column. inputs returns nil if values are not computed.
func (c attentionCase) inputs(r *torch.Rank, queries, keys int) (q, k, v []float32) {
	wide := c.heads.KV * c.heads.Dim
	products := 2 * float64(queries) * float64(keys) * float64(c.heads.Query*c.heads.Dim)
	elements := float64(queries)*float64(c.heads.Query*c.heads.Dim) + 2*float64(keys)*float64(wide) + float64(queries)*float64(keys)
	torch.OK(checkAffordable(r, products, elements))
	if !r.HasData() {
		return nil, nil, nil
	}
	return normalNumbers(queries*c.heads.Query*c.heads.Dim, 1, 1), normalNumbers(keys*wide, 1, 2), normalNumbers(keys*wide, 1, 3)
}

// tensors creates the tensors of Q, K and V with the values q, k and v. `on` is the
// placement of Q. The rows of K and V are divided over the holders of the mesh.
func (c attentionCase) tensors(r *torch.Rank, queries, keys int, q, k, v []float32, on torch.Placement) (list [3]*torch.Tensor) {
	lanes := len(c.mesh.Lanes)
	for i, x := range [][]float32{q, k, v} {
		rows, wide := queries, c.heads.Query*c.heads.Dim
		if i > 0 {
			rows, wide, on = keys, max(c.heads.KV, lanes)*c.heads.Dim, c.mesh.Rows()
			x = c.heads.Spread(x, lanes)
		}
		list[i] = torch.Must(r.Empty(c.dtype, torch.Shape{rows, wide}, on))
		if r.HasData() {
			torch.OK(list[i].CopyFrom(x))
		}
	}
	return list
}

// reference computes the attention of all query heads in plain Go. Each element of each
// head is a column of the result. Token i sees the keys up to i + offset.
func (c attentionCase) reference(q, k, v []float32, offset int) *dense.Matrix {
	d := c.heads.Dim
	matrix := func(x []float32, heads int) *dense.Matrix { return dense.New(len(x)/(heads*d), heads*d, x, c.dtype) }
	qs, ks, vs := matrix(q, c.heads.Query), matrix(k, c.heads.KV), matrix(v, c.heads.KV)
	var all []*dense.Matrix
	for head := range c.heads.Query {
		kv := head * c.heads.KV / c.heads.Query * d
		all = append(all, dense.Attention(qs.Slice(0, head*d, qs.Rows, d), ks.Slice(0, kv, ks.Rows, d), vs.Slice(0, kv, vs.Rows, d),
			1/math.Sqrt(float64(d)), offset, torch.F32, c.dtype))
	}
	return dense.Beside(all...)
}

// attentionTimes are the columns of a row for the time of a launch, and for its parts such
// as compute and idle time.
type attentionTimes struct {
	Crit torch.Time `json:"crit_ns" table:"ns,lower,critical path"`
	breakdown
}

// measureAttention calls launch, which starts a kernel, and returns the times of the
// launch.
func measureAttention(r *torch.Rank, launch func() (*torch.Launched, error)) attentionTimes {
	profile := torch.Must(r.Profile())
	l := torch.Must(launch())
	return attentionTimes{l.Crit(), newBreakdown(sumPhases(torch.Must(profile.Stop())))}
}
