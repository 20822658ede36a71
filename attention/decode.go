package attention

import (
	"fmt"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// Decode is the attention of the last tokens of a context. The keys and values of the whole
// context, including the last tokens, are divided over the holders of a mesh along the
// sequence. A token sees itself and the tokens before it.
//
// Every holder computes the running softmax (Running) of all queries over its own keys.
// These softmax states are then merged: along each row of the mesh from both ends to the
// middle column, and along the middle column from both ends to the middle place. The PE at
// the middle place is the root of its lane and has the result.
type Decode struct {
	Mesh    Mesh
	Heads   Heads
	Context int // number of tokens with keys and values
	Tokens  int // number of tokens with queries, the last of the context
}

// Launch starts the kernel that computes out from q, k and v. q is [Tokens Query·Dim] with
// the placement Mesh.Copies. k and v are [Context KV·Dim], rearranged by Heads.Spread for
// the lanes, with the placement Mesh.Rows. out is [lanes·Tokens Query·Dim/lanes], lane by
// lane, with the placement torch.On(Mesh.Roots()...).
func (d Decode) Launch(r *torch.Rank, q, k, v, out *torch.Tensor) (*torch.Launched, error) {
	l, err := d.launch(r, []*torch.Tensor{q, k, v}, out)
	if err != nil {
		return nil, err
	}
	return r.Launch("attention_decode", l.kernel, q, k, v, out, torch.PEs(d.Mesh.PEs()...), torch.Neighbors(d.Mesh.Connections()))
}

// LaunchLocal runs only the first half of Launch, so that this half can be measured
// separately: every holder computes softmax states over its own keys. LaunchLocal writes
// the softmax states to the tensor `states`, a vector of f32 with StateElems elements on
// each of Mesh.PEs.
func (d Decode) LaunchLocal(r *torch.Rank, q, k, v, states *torch.Tensor) (*torch.Launched, error) {
	l, err := d.launch(r, []*torch.Tensor{q, k, v}, nil)
	if err != nil {
		return nil, err
	}
	return r.Launch("attention_local", l.localKernel, q, k, v, states, torch.PEs(d.Mesh.PEs()...))
}

// LaunchMerge runs the second half of Launch: it merges the softmax states that LaunchLocal
// wrote, and writes the result to out.
func (d Decode) LaunchMerge(r *torch.Rank, states, out *torch.Tensor) (*torch.Launched, error) {
	l, err := d.launch(r, nil, out)
	if err != nil {
		return nil, err
	}
	return r.Launch("attention_merge", l.mergeKernel, states, out, torch.PEs(d.Mesh.PEs()...), torch.Neighbors(d.Mesh.Connections()))
}

// StateElems returns the number of f32 elements in the softmax states of one PE.
func (d Decode) StateElems() int {
	return d.Heads.Query / len(d.Mesh.Lanes) * d.Tokens * (d.Heads.Dim + 2)
}

// launch prepares a launch and checks the placement of its tensors. The list `in` holds q,
// k and v, or is nil for LaunchMerge. out is nil for LaunchLocal.
func (d Decode) launch(r *torch.Rank, in []*torch.Tensor, out *torch.Tensor) (*decode, error) {
	layer, err := newLayer(r, d.Mesh, d.Heads, d.Context, append(in, out)[0].DType())
	if err != nil {
		return nil, err
	}
	if d.Tokens < 1 || d.Tokens > d.Context {
		return nil, fmt.Errorf("attention: %d new tokens in a context of %d: it has them as well", d.Tokens, d.Context)
	}
	l := &decode{layer: layer, queries: d.Tokens}
	if err = l.chooseSizes(); err == nil && in != nil {
		err = l.checkCache(in[1], in[2])
	}
	if err == nil && in != nil {
		err = l.checkPlacement("queries", in[0], l.queries, l.queryCols(), false)
	}
	if err == nil && out != nil {
		err = l.checkResult(out)
	}
	return l, err
}

// decode holds the sizes that the kernels of one launch of a Decode use.
type decode struct {
	layer
	queries int // number of tokens with queries
}

// checkResult returns an error unless out has the expected shape and dtype, and exactly one
// shard on the root of each lane.
func (d *decode) checkResult(out *torch.Tensor) error {
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

// loadAhead is the number of blocks whose loads are issued before the scores of the current
// block.
const loadAhead = 1

// chooseSizes chooses the number of queries in a chunk and the number of keys in a block,
// so that tiles take at most 3/4 of TCM if possible. It returns an error if even the
// smallest tiles do not fit into TCM. It counts the bytes of TCM for the queries and
// softmax states of all heads. It also counts the bytes for the keys, values and
// intermediate results of each block, from its load to its last use in the pipeline.
func (d *decode) chooseSizes() error {
	d.chunkTokens = min(d.chunkTokens, d.queries)
	need := func() int {
		rows := d.chunkTokens * d.group
		row := d.dim * d.dtype.Size()
		return d.kv*(d.stateBytes(rows)+rows*row) + (loadAhead+4)*(2*d.keysPerBlock*row+d.stepBytes(rows, d.keysPerBlock))
	}
	if d.shrinkTiles(need, d.tcm*3/4); need() > d.tcm {
		return fmt.Errorf("attention: decode of %d heads on a PE needs %d bytes of TCM for tiles, and %d are there: take more lanes, or a larger pe.tcm.size", d.kv*d.group, need(), d.tcm)
	}
	return nil
}

// forEachChunk calls f for each chunk of queries, with the number of its first query and
// the number of its queries.
func (d *decode) forEachChunk(f func(first, n int)) {
	for first := 0; first < d.queries; first += d.chunkTokens {
		f(first, min(d.chunkTokens, d.queries-first))
	}
}

// kernel runs a decode on one PE: it computes the softmax states and merges them, chunk by
// chunk of queries.
func (d *decode) kernel(t *tl.PE, q, k, v, out tl.Ptr) {
	d.forEachChunk(func(first, n int) {
		d.mergeStates(t, d.computeStates(t, q, k, v, first, n), out, first, n)
	})
}

// localKernel computes the softmax states on one PE and stores them in memory, chunk by
// chunk of queries and head by head.
func (d *decode) localKernel(t *tl.PE, q, k, v, states tl.Ptr) {
	at := 0
	d.forEachChunk(func(first, n int) {
		for _, r := range d.computeStates(t, q, k, v, first, n) {
			r.Store(states.At(at))
			at += StateElems(r.rows, r.d)
			r.Free()
		}
	})
}

// mergeKernel merges the softmax states that localKernel stored. The root of each lane
// writes the result to out.
func (d *decode) mergeKernel(t *tl.PE, states, out tl.Ptr) {
	at := 0
	d.forEachChunk(func(first, n int) {
		rs := make([]*Running, d.kv)
		for head := range rs {
			rs[head] = Load(t, states.At(at), n*d.group, d.dim)
			at += StateElems(n*d.group, d.dim)
		}
		d.mergeStates(t, rs, out, first, n)
	})
}

// computeStates returns one softmax state per KV head: the state of `n` queries, beginning
// with query number `first`, over the keys of this holder. The query heads that share a KV
// head are rows of one tile.
func (d *decode) computeStates(t *tl.PE, q, k, v tl.Ptr, first, n int) []*Running {
	type block struct{ head, key, keys int }
	var blocks []block
	place := t.Rank() % d.places()
	states, rows := make([]*Running, d.kv), make([]tl.Tile, d.kv)
	for head := range states {
		states[head] = New(t, n*d.group, d.dim)
		tile := t.Load(q.At(first, head*d.group*d.dim), tl.Shape{n, d.group * d.dim}, d.dtype).Reshape(n*d.group, d.dim)
		rows[head] = states[head].orientQueries(tile).Pin()
		for key := 0; key < d.tokensAt(place) && !d.mask(place, key, first).Hides(n*d.group); key += d.keysPerBlock {
			blocks = append(blocks, block{head, key, min(d.keysPerBlock, d.tokensAt(place)-key)})
		}
	}
	var next Pipeline
	var keys, values []tl.Tile // the blocks of keys and values whose loads have been issued
	for i, b := range blocks {
		for _, b := range blocks[len(keys):min(i+loadAhead+1, len(blocks))] {
			shape := tl.Shape{b.keys, d.dim}
			keys = append(keys, t.Load(k.At(b.key, b.head*d.dim), shape, d.dtype))
			values = append(values, t.Load(v.At(b.key, b.head*d.dim), shape, d.dtype))
		}
		next.add(states[b.head].newStep(rows[b.head], keys[i], values[i], d.scale, d.mask(place, b.key, first)))
	}
	next.Flush()
	for _, x := range rows {
		x.Free()
	}
	return states
}

// mask returns which keys a chunk of queries sees in a block of keys. The chunk begins with
// query number `first`. The block begins with key number `key` of the holder at `place`.
func (d *decode) mask(place, key, first int) Mask {
	return Causal(d.tokens-d.queries+first-(place*d.tokensPerHolder+key), d.group)
}

// mergeStates merges the softmax states of `n` queries, beginning with query number
// `first`, over the mesh. The root writes the attention of these queries to the memory at
// `out`.
func (d *decode) mergeStates(t *tl.PE, states []*Running, out tl.Ptr, first, n int) {
	place := t.Rank() % d.places()
	from, to := d.mergePorts(place)
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
