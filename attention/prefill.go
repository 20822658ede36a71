package attention

import (
	"fmt"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// Prefill is the attention of all tokens of a prompt. The tokens, with their queries, keys
// and values, are divided over the holders of a mesh.
//
// Keys and values pass through the mesh block by block (route.go). When a block arrives, a
// PE first forwards it and then computes its queries with it, so that communication
// overlaps with arithmetic.
type Prefill struct {
	Mesh   Mesh
	Heads  Heads
	Tokens int
	Causal bool // a token sees only itself and earlier tokens
	// If ComputeFirst is set, a PE computes with a block, and waits for the results, before
	// it forwards the block. This is for comparison.
	ComputeFirst bool
}

// Launch starts the kernel that computes out from q, k and v. q and out are [Tokens
// Query·Dim]. k and v are [Tokens KV·Dim], rearranged by Heads.Spread for the lanes. All
// have the placement Mesh.Rows.
func (p Prefill) Launch(r *torch.Rank, q, k, v, out *torch.Tensor) (*torch.Launched, error) {
	l, err := newLayer(r, p.Mesh, p.Heads, p.Tokens, q.DType())
	if err != nil {
		return nil, err
	}
	pass := prefill{layer: l, causal: p.Causal, computeFirst: p.ComputeFirst}
	if err = pass.chooseSizes(); err == nil {
		err = pass.checkCache(k, v)
	}
	if err == nil {
		err = pass.checkPlacement("queries", q, p.Tokens, pass.queryCols(), true)
	}
	if err == nil {
		err = pass.checkPlacement("the result", out, p.Tokens, pass.queryCols(), true)
	}
	if err != nil {
		return nil, err
	}
	return r.Launch("attention_prefill", pass.kernel, q, k, v, out, torch.PEs(p.Mesh.PEs()...), torch.Neighbors(p.Mesh.Connections()))
}

// prefill holds the sizes that the kernel of one launch of a Prefill uses.
type prefill struct {
	layer
	causal, computeFirst bool
	chunksAtOnce         int // chunks of queries in TCM at a time
	maxAhead             int // largest number of units to issue before waiting for receives
}

// chooseSizes chooses how many keys a block has and how many queries a tile has. It divides
// the TCM into three parts. TCM may hold one block of keys from each holder at the same
// time, and these blocks together may take 3/8 of TCM. Steps may take another 3/8. Queries
// and their softmax states may take the remaining quarter. chooseSizes returns an error if
// even the smallest tiles do not fit into TCM.
func (p *prefill) chooseSizes() error {
	row := p.dim * p.dtype.Size()
	blocks := func() int { return p.places() * 2 * p.keysPerBlock * row }
	for p.keysPerBlock > 1 && blocks() > p.tcm*3/8 {
		p.keysPerBlock /= 2
	}
	p.chunkTokens = min(p.chunkTokens, p.tokensPerHolder)
	// Two steps are in progress at once, and keys are in TCM before they are transposed.
	steps := func() int { return 2*p.stepBytes(p.chunkTokens*p.group, p.keysPerBlock) + p.keysPerBlock*row }
	p.shrinkTiles(steps, p.tcm*3/8)
	rows := p.chunkTokens * p.group
	queries := rows*row + p.stateBytes(rows)
	p.chunksAtOnce = max(1, p.tcm/4/queries)
	// A tile in flight is pinned only after it has been waited for. Until then units may
	// be issued only as far as their tiles fit.
	p.maxAhead = max(0, (p.tcm-blocks()-p.chunksAtOnce*queries-steps())/p.stepBytes(rows, p.keysPerBlock))
	if need := blocks() + queries + steps(); need > p.tcm {
		return fmt.Errorf("attention: prefill over %d×%d holders needs %d bytes of TCM for tiles, and %d are there: take a smaller mesh, or a larger pe.tcm.size", p.w, p.h, need, p.tcm)
	}
	return nil
}

// kernel runs the prefill on one PE, head by head. For each head it takes as many queries
// at a time as fit in TCM, and computes their attention to all keys.
func (p *prefill) kernel(t *tl.PE, q, k, v, out tl.Ptr) {
	c := &prefillPE{prefill: p, t: t, place: t.Rank() % p.places()}
	wide := p.group * p.dim
	for head := range p.kv {
		for first := 0; first < p.tokensPerHolder; first += p.chunksAtOnce * p.chunkTokens {
			c.load(q.At(0, head*wide), first)
			for key := 0; key < p.tokensPerHolder; key += p.keysPerBlock {
				c.passBlocks(k.At(0, head*p.dim), v.At(0, head*p.dim), key)
			}
			c.store(out.At(0, head*wide))
		}
	}
}

// prefillPE is the state of a prefill on one PE.
type prefillPE struct {
	*prefill
	t        *tl.PE
	place    int
	queries  []queries
	todo     []unit // units that have not been issued
	pipeline Pipeline
	fence    fence
}

// queries is a chunk of queries: the queries of consecutive tokens in one tile, and their
// softmax state.
type queries struct {
	first, n int // first token, counted within the holder, and number of tokens
	tile     tl.Tile
	*Running
}

// load loads as many chunks of queries into TCM as fit. The chunks begin with token number
// `first` of the holder.
func (c *prefillPE) load(q tl.Ptr, first int) {
	c.queries = c.queries[:0]
	for end := min(first+c.chunksAtOnce*c.chunkTokens, c.tokensAt(c.place)); first < end; first += c.chunkTokens {
		n := min(c.chunkTokens, end-first)
		tile := c.t.Load(q.At(first), tl.Shape{n, c.group * c.dim}, c.dtype).Reshape(n*c.group, c.dim).Pin()
		c.queries = append(c.queries, queries{first, n, tile, New(c.t, n*c.group, c.dim)})
	}
}

// store writes the attention of the queries in TCM to out and frees the queries.
func (c *prefillPE) store(out tl.Ptr) {
	c.pipeline.Flush()
	for _, q := range c.queries {
		c.layer.store(out.At(q.first), q.Running, q.n)
		q.tile.Free()
	}
}

// block is a block of transposed keys and their values. It counts its outstanding uses,
// which are sends and units.
type block struct {
	first int // first token
	kt, v tl.Tile
	uses  int // number of outstanding uses
}

// release ends one use of the block. The last use frees the tiles.
func (b *block) release() {
	if b.uses--; b.uses == 0 {
		b.kt.Free()
		b.v.Free()
	}
}

// keysInBlock returns the number of keys in a block of the holder at a place. The block
// begins with key number `key` of this holder.
func (p *prefill) keysInBlock(place, key int) int {
	return max(0, min(p.keysPerBlock, p.tokensAt(place)-key))
}

// passBlocks passes one block of each holder through the mesh: the block that begins with
// key number `key` of the holder.
//
// At every step all receives are posted before the sends, so that the sends of all PEs
// complete even if queues are short. After the sends the PE computes units. Blocks reach
// some places sooner than others, so each PE spreads its units evenly over the steps;
// otherwise its neighbours would wait for it. Some of the units are issued before the PE
// waits for the receives. If computeFirst is set, a step begins by computing all units that
// are ready.
func (c *prefillPE) passBlocks(k, v tl.Ptr, key int) {
	blocks := make([]*block, c.places())
	if n := c.keysInBlock(c.place, key); n > 0 {
		shape := tl.Shape{n, c.dim}
		kt := c.t.Load(k.At(key), shape, c.dtype).Trans()
		blocks[c.place] = c.addBlock(c.place, key, kt, c.t.Load(v.At(key), shape, c.dtype))
	}
	left := c.countUnits(key)
	for step := range c.steps() + 1 {
		if c.computeFirst {
			left -= c.compute(len(c.todo))
			c.waitForUnits()
		}
		receives := c.postReceives(step, key)
		for _, port := range ports {
			if owner := c.outgoing(c.place, port, step); owner >= 0 && blocks[owner] != nil {
				c.t.Send(port, blocks[owner].kt)
				c.t.Send(port, blocks[owner].v)
				blocks[owner].release()
			}
		}
		now := min(len(c.todo), tl.CDiv(left, c.steps()+1-step))
		if now == 0 { // blocks that are only forwarded would evict the tiles of steps in the pipeline
			c.pipeline.Flush()
		}
		done := c.compute(min(now, c.maxAhead))
		for _, r := range receives {
			blocks[r.owner] = c.addBlock(r.owner, key, r.kt.Wait(), r.v.Wait())
		}
		left -= done + c.compute(now-done)
	}
}

// receive is a posted receive of one block.
type receive struct {
	owner int // holder of the block
	kt, v tl.Receive
}

// postReceives posts receives for the blocks that arrive at this PE at a step, and returns
// the receives. Each block begins with key number `key` of its holder.
func (c *prefillPE) postReceives(step, key int) (list []receive) {
	for _, port := range ports {
		owner := c.incoming(c.place, port, step)
		if owner < 0 {
			continue
		}
		if n := c.keysInBlock(owner, key); n > 0 {
			list = append(list, receive{owner, c.t.RecvAsync(port, tl.Shape{c.dim, n}, c.dtype), c.t.RecvAsync(port, tl.Shape{n, c.dim}, c.dtype)})
		}
	}
	return list
}

// unit is a unit of work: one chunk of queries with one block of keys. The queries see at
// least one key of the block.
type unit struct {
	*queries
	*block
	mask Mask
}

// mask returns which keys the queries q see in the block that begins at the given token.
func (c *prefillPE) mask(q *queries, token int) Mask {
	if !c.causal {
		return Mask{}
	}
	return Causal(c.place*c.tokensPerHolder+q.first-token, c.group)
}

// countUnits considers one block of each holder: the block that begins with key number
// `key` of that holder. It returns how many units this PE has for these blocks.
func (c *prefillPE) countUnits(key int) (n int) {
	for owner := range c.places() {
		for i := range c.queries {
			q := &c.queries[i]
			if c.keysInBlock(owner, key) > 0 && !c.mask(q, owner*c.tokensPerHolder+key).Hides(q.rows) {
				n++
			}
		}
	}
	return n
}

// addBlock returns a block that has arrived, with the transposed keys kt and the values v,
// and adds the units of the block to todo. The block belongs to the holder `owner` and
// begins with key number `key` of this holder. Each later send and each unit is a use of
// the block. A chunk of queries that sees no key of the block makes no unit.
func (c *prefillPE) addBlock(owner, key int, kt, v tl.Tile) *block {
	b := &block{owner*c.tokensPerHolder + key, kt.Pin(), v.Pin(), c.countSends(c.place, owner) + 1}
	for i := range c.queries {
		q := &c.queries[i]
		if mask := c.mask(q, b.first); !mask.Hides(q.rows) {
			c.todo = append(c.todo, unit{q, b, mask})
			b.uses++
		}
	}
	b.release()
	return b
}

// compute issues the arithmetic of the next n units of todo, and returns n.
func (c *prefillPE) compute(n int) int {
	for _, u := range c.todo[:n] {
		scores := u.tile.Dot(u.kt).Pin()
		c.pipeline.add(&step{Running: u.Running, scores: scores, v: u.v, scale: c.scale, mask: u.mask, onEnd: func() {
			scores.Free()
			u.release()
		}})
	}
	c.todo = append(c.todo[:0], c.todo[n:]...)
	return n
}

// waitForUnits waits until the units issued so far have been computed.
func (c *prefillPE) waitForUnits() {
	if !c.pipeline.empty() {
		c.pipeline.Flush()
		c.fence.wait(c.t)
	}
}
