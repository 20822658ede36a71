package attention

import (
	"fmt"
	"math"
	"testing"

	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// numbers returns n numbers between -2 and 2 that f16 represents exactly. Different values
// of step give different numbers.
func numbers(n, step int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32((i+1)*step%2039-1019) / 512
	}
	return x
}

// newContext returns the first rank of a context with the default topology, changed by the
// settings in `sets`.
func newContext(t testing.TB, o torch.Options, sets ...string) *torch.Rank {
	t.Helper()
	spec, err := topology.Load(t.Context(), "default", sets...)
	if err != nil {
		t.Fatal(err)
	}
	if o.Topology, err = topology.Compile(spec); err != nil {
		t.Fatal(err)
	}
	c, err := torch.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r := c.Main()
	t.Cleanup(r.Close)
	return r
}

// onPEs returns a mesh of w × h holders on the first PEs of the system, with one lane.
func onPEs(w, h int) Mesh {
	pes := make([]int, w*h)
	for i := range pes {
		pes[i] = i
	}
	return Mesh{W: w, H: h, Lanes: [][]int{pes}}
}

// operands holds the elements of Q, K and V.
type operands struct {
	heads   Heads
	dtype   tl.DType
	q, k, v []float32
}

func newOperands(h Heads, queries, keys int, dtype tl.DType) *operands {
	return &operands{h, dtype, numbers(queries*h.Query*h.Dim, 7), numbers(keys*h.KV*h.Dim, 11), numbers(keys*h.KV*h.Dim, 13)}
}

// reference computes the attention of all queries. Query i sees the keys up to i + offset.
func (o *operands) reference(offset int) *dense.Matrix {
	matrix := func(x []float32, heads int) *dense.Matrix {
		return dense.New(len(x)/(heads*o.heads.Dim), heads*o.heads.Dim, x, o.dtype)
	}
	q, k, v := matrix(o.q, o.heads.Query), matrix(o.k, o.heads.KV), matrix(o.v, o.heads.KV)
	var all []*dense.Matrix
	d := o.heads.Dim
	for head := range o.heads.Query {
		at := head / (o.heads.Query / o.heads.KV) * d
		all = append(all, dense.Attention(q.Slice(0, head*d, q.Rows, d), k.Slice(0, at, k.Rows, d), v.Slice(0, at, v.Rows, d),
			1/math.Sqrt(float64(d)), offset, tl.F32, o.dtype))
	}
	return dense.Beside(all...)
}

// tensors creates the tensors of Q, K and V. The parameter queries is the placement of Q. K
// and V get the placement that kernels on the mesh m need.
func (o *operands) tensors(r *torch.Rank, m Mesh, queries torch.Placement) (q, k, v *torch.Tensor) {
	lanes := len(m.Lanes)
	matrix := func(x []float32, heads int, on torch.Placement) *torch.Tensor {
		return torch.Must(r.FromSlice(x, o.dtype, torch.Shape{len(x) / (heads * o.heads.Dim), heads * o.heads.Dim}, on))
	}
	spread := max(o.heads.KV, lanes)
	return matrix(o.q, o.heads.Query, queries), matrix(o.heads.Spread(o.k, lanes), spread, m.Rows()), matrix(o.heads.Spread(o.v, lanes), spread, m.Rows())
}

// compare fails the test unless x is within the tolerances of want and the run had no
// races.
func compare(t testing.TB, self *torch.Rank, what string, x *torch.Tensor, want *dense.Matrix) {
	t.Helper()
	torch.OK(self.CheckWithin(what, x, want.V, want.Tolerances()))
	for _, c := range self.Checks() {
		if c.Wrong != "" {
			t.Errorf("%s: %s", c.Name, c.Wrong)
		}
	}
	if !self.LooksForRaces() {
		return
	}
	races, err := self.Races()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range races {
		t.Errorf("%s: race: %s", what, r)
	}
}

// runPrefill runs a prefill and compares every element of its result with the reference. If
// values are not computed, runPrefill compares nothing.
func runPrefill(t testing.TB, r *torch.Rank, p Prefill, dtype tl.DType) *torch.Launched {
	t.Helper()
	what := fmt.Sprintf("%v of %v, %d tokens %v, causal %v", p.Mesh, p.Heads, p.Tokens, dtype, p.Causal)
	o := newOperands(p.Heads, p.Tokens, p.Tokens, dtype)
	q, k, v := o.tensors(r, p.Mesh, p.Mesh.Rows())
	out := torch.Must(r.Zeros(dtype, q.Shape(), p.Mesh.Rows()))
	l, err := p.Launch(r, q, k, v, out)
	if err == nil {
		err = l.Wait()
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if !r.HasData() {
		return l
	}
	offset := dense.NoMask
	if p.Causal {
		offset = 0
	}
	compare(t, r, what, out, o.reference(offset))
	return l
}

// splitByLane rearranges matrix m as the roots of a mesh hold it: first the columns of lane
// 0, then those of lane 1, and so on.
func splitByLane(m *dense.Matrix, lanes int) *dense.Matrix {
	cols := m.Cols / lanes
	out := &dense.Matrix{Rows: lanes * m.Rows, Cols: cols}
	for lane := range lanes {
		part := m.Slice(0, lane*cols, m.Rows, cols)
		out.V, out.Var = append(out.V, part.V...), append(out.Var, part.Var...)
	}
	return out
}

// runDecode runs a decode twice, in one launch and in two launches, and compares every
// element of both results with the reference. If values are not computed, runDecode only
// runs the decode in one launch and compares nothing.
func runDecode(t testing.TB, r *torch.Rank, d Decode, dtype tl.DType) *torch.Launched {
	t.Helper()
	what := fmt.Sprintf("%v of %v, %d of %d tokens %v", d.Mesh, d.Heads, d.Tokens, d.Context, dtype)
	o := newOperands(d.Heads, d.Tokens, d.Context, dtype)
	q, k, v := o.tensors(r, d.Mesh, d.Mesh.Copies())
	lanes := len(d.Mesh.Lanes)
	shape := torch.Shape{lanes * d.Tokens, d.Heads.Query * d.Heads.Dim / lanes}
	out := torch.Must(r.Zeros(dtype, shape, torch.On(d.Mesh.Roots()...)))
	l, err := d.Launch(r, q, k, v, out)
	if err == nil {
		err = l.Wait()
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if !r.HasData() {
		return l
	}
	want := splitByLane(o.reference(d.Context-d.Tokens), lanes)
	compare(t, r, what, out, want)

	again := torch.Must(r.Zeros(dtype, shape, torch.On(d.Mesh.Roots()...)))
	states := torch.Must(r.Zeros(tl.F32, torch.Shape{len(d.Mesh.PEs()) * d.StateElems()}, torch.On(d.Mesh.PEs()...)))
	if _, err := d.LaunchLocal(r, q, k, v, states); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if _, err := d.LaunchMerge(r, states, again); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	torch.OK(r.Check(what+", in halves", again, torch.Must(out.Numpy())))
	compare(t, r, what+", in halves", again, want)
	return l
}
