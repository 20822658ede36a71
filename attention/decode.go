package attention

import (
	"fmt"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// Decode is attention of the last tokens of a context whose keys and values, theirs
// included, are cut over the holders of a mesh along the sequence. A token sees itself and
// those before it.
//
// Every holder computes the state of all queries with its own keys. States are then merged
// along each row, from both ends towards the middle column, and along that from both ends
// to the middle, where the root of a lane has the result.
type Decode struct {
	Mesh    Mesh
	Heads   Heads
	Context int // tokens with keys
	Tokens  int // of these the last, with queries
}

// Launch computes out from q, [Tokens Query·Dim] placed as Mesh.Copies says, and k and v,
// [Context KV·Dim] as Heads.Spread has it for the lanes, placed as Mesh.Rows says. out is
// on the roots, lane by lane: [lanes·Tokens Query·Dim/lanes] on torch.On(Mesh.Roots()...).
func (d Decode) Launch(r *torch.Rank, q, k, v, out *torch.Tensor) (*torch.Launched, error) {
	l, err := d.launch(r, []*torch.Tensor{q, k, v}, out)
	if err != nil {
		return nil, err
	}
	return r.Launch("attention_decode", l.kernel, q, k, v, out, torch.PEs(d.Mesh.PEs()...), torch.Neighbors(d.Mesh.Connections()))
}

// LaunchLocal runs the first half of Launch, to measure it apart from the second. It writes
// states, a vector of f32 over Mesh.PEs with StateElems for each.
func (d Decode) LaunchLocal(r *torch.Rank, q, k, v, states *torch.Tensor) (*torch.Launched, error) {
	l, err := d.launch(r, []*torch.Tensor{q, k, v}, nil)
	if err != nil {
		return nil, err
	}
	return r.Launch("attention_local", l.localKernel, q, k, v, states, torch.PEs(d.Mesh.PEs()...))
}

// LaunchMerge runs the second half, and computes out from states.
func (d Decode) LaunchMerge(r *torch.Rank, states, out *torch.Tensor) (*torch.Launched, error) {
	l, err := d.launch(r, nil, out)
	if err != nil {
		return nil, err
	}
	return r.Launch("attention_merge", l.mergeKernel, states, out, torch.PEs(d.Mesh.PEs()...), torch.Neighbors(d.Mesh.Connections()))
}

// StateElems returns the elements of f32 that the states of a PE take in memory.
func (d Decode) StateElems() int {
	return d.Heads.Query / len(d.Mesh.Lanes) * d.Tokens * (d.Heads.Dim + 2)
}

// launch returns a launch with q, k and v, or with a result, or with both, and checks where
// these lie.
func (d Decode) launch(r *torch.Rank, in []*torch.Tensor, out *torch.Tensor) (*decode, error) {
	layer, err := newLayer(r, d.Mesh, d.Heads, d.Context, append(in, out)[0].DType())
	if err != nil {
		return nil, err
	}
	if d.Tokens < 1 || d.Tokens > d.Context {
		return nil, fmt.Errorf("attention: %d new tokens in a context of %d: it has them as well", d.Tokens, d.Context)
	}
	l := &decode{layer: layer, queries: d.Tokens}
	if err = l.size(); err == nil && in != nil {
		err = l.cache(in[1], in[2])
	}
	if err == nil && in != nil {
		err = l.laid("queries", in[0], l.queries, l.queryCols(), false)
	}
	if err == nil && out != nil {
		err = l.result(out)
	}
	return l, err
}

// decode is a launch.
type decode struct {
	layer
	queries int // tokens with queries
}

// result checks where the result goes: to the root of each lane.
func (d *decode) result(out *torch.Tensor) error {
	roots := d.mesh.Roots()
	want := torch.Shape{len(roots) * d.queries, d.queryCols() / len(roots)}
	shards := out.Shards()
	ok := out.Shape().String() == want.String() && out.DType() == d.dtype && len(shards) == len(roots)
	for i, s := range shards {
		ok = ok && d.rank.PE(s.SIP, s.Cube, s.PE) == roots[i]
	}
	if !ok {
		return fmt.Errorf("attention: the result %v %v: want %v %v on torch.On(Mesh.Roots()...)", out.DType(), out.Shape(), d.dtype, want)
	}
	return nil
}

// loadAhead is how many blocks are on their way from memory, or there, before their scores
// are asked for.
const loadAhead = 1

// size chooses the sizes of chunks and blocks by the room in TCM: queries and states of all
// heads, with what comes between the load of values and their use at the end of a pipeline,
// may take 3/4 of it.
func (d *decode) size() error {
	d.chunk = min(d.chunk, d.queries)
	need := func() int {
		rows := d.chunk * d.group
		row := d.dim * d.dtype.Size()
		return d.kv*(d.stateBytes(rows)+rows*row) + (loadAhead+4)*(2*d.keys*row+d.stepBytes(rows, d.keys))
	}
	if d.fit(need, d.tcm*3/4); need() > d.tcm {
		return fmt.Errorf("attention: decode of %d heads on a PE needs %d bytes of TCM for tiles, and %d are there: take more lanes, or a larger pe.tcm.size", d.kv*d.group, need(), d.tcm)
	}
	return nil
}

// each calls a function for chunks of the queries: n of them from the first on.
func (d *decode) each(f func(first, n int)) {
	for first := 0; first < d.queries; first += d.chunk {
		f(first, min(d.chunk, d.queries-first))
	}
}

// kernel computes and merges.
func (d *decode) kernel(t *tl.PE, q, k, v, out tl.Ptr) {
	d.each(func(first, n int) {
		d.merge(t, d.local(t, q, k, v, first, n), out, first, n)
	})
}

// localKernel computes states and stores them, chunk by chunk and head by head.
func (d *decode) localKernel(t *tl.PE, q, k, v, states tl.Ptr) {
	at := 0
	d.each(func(first, n int) {
		for _, r := range d.local(t, q, k, v, first, n) {
			r.Store(states.At(at))
			at += StateElems(r.rows, r.d)
			r.Free()
		}
	})
}

// mergeKernel merges the states that localKernel stored.
func (d *decode) mergeKernel(t *tl.PE, states, out tl.Ptr) {
	at := 0
	d.each(func(first, n int) {
		rs := make([]*Running, d.kv)
		for head := range rs {
			rs[head] = Load(t, states.At(at), n*d.group, d.dim)
			at += StateElems(n*d.group, d.dim)
		}
		d.merge(t, rs, out, first, n)
	})
}

// local returns the states of n queries with the keys of this holder, for each KV head. The
// query heads of a KV head are rows of one tile.
func (d *decode) local(t *tl.PE, q, k, v tl.Ptr, first, n int) []*Running {
	type block struct{ head, key, keys int }
	var blocks []block
	place := t.Rank() % d.places()
	states, rows := make([]*Running, d.kv), make([]tl.Tile, d.kv)
	for head := range states {
		states[head] = New(t, n*d.group, d.dim)
		tile := t.Load(q.At(first, head*d.group*d.dim), tl.Shape{n, d.group * d.dim}, d.dtype).Reshape(n*d.group, d.dim)
		rows[head] = states[head].turned(tile).Pin()
		for key := 0; key < d.held(place) && !d.mask(place, key, first).Hides(n*d.group); key += d.keys {
			blocks = append(blocks, block{head, key, min(d.keys, d.held(place)-key)})
		}
	}
	var next Pipeline
	var keys, values []tl.Tile // that have been asked for
	for i, b := range blocks {
		for _, b := range blocks[len(keys):min(i+loadAhead+1, len(blocks))] {
			shape := tl.Shape{b.keys, d.dim}
			keys = append(keys, t.Load(k.At(b.key, b.head*d.dim), shape, d.dtype))
			values = append(values, t.Load(v.At(b.key, b.head*d.dim), shape, d.dtype))
		}
		next.add(states[b.head].step(rows[b.head], keys[i], values[i], d.scale, d.mask(place, b.key, first)))
	}
	next.Flush()
	for _, x := range rows {
		x.Free()
	}
	return states
}

// mask returns which keys of a holder, from one of them on, the queries see from one of them on.
func (d *decode) mask(place, key, first int) Mask {
	return Causal(d.tokens-d.queries+first-(place*d.share+key), d.group)
}

// merge merges the states of n queries over the mesh. The root writes what comes out.
func (d *decode) merge(t *tl.PE, states []*Running, out tl.Ptr, first, n int) {
	place := t.Rank() % d.places()
	from, to := d.merges(place)
	for head, r := range states {
		for _, port := range from {
			r.Merge(Receive(t, port, r.rows, r.d))
		}
		if to != tl.AnyPort {
			r.Send(to)
			r.Free()
			continue
		}
		d.store(out.At(first, head*d.group*d.dim), r, n)
	}
}
