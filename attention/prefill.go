package attention

import (
	"fmt"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// Prefill is attention of all tokens of a prompt, which are cut over the holders of a mesh
// with their queries, keys and values.
//
// Keys and values pass through the mesh block by block (route.go). Every PE computes its
// queries with each block that comes, and passes it on before it does: so communication
// goes on beside the arithmetic.
type Prefill struct {
	Mesh   Mesh
	Heads  Heads
	Tokens int
	Causal bool // a token sees itself and those before it; else all
	// ComputeFirst has PEs compute with a block, and wait for the end of that, before they
	// pass it on: for comparison.
	ComputeFirst bool
}

// Launch computes out, which is like q, from q, [Tokens Query·Dim], and k and v, [Tokens
// KV·Dim] as Heads.Spread has it for the lanes. All are placed as Mesh.Rows says.
func (p Prefill) Launch(r *torch.Rank, q, k, v, out *torch.Tensor) (*torch.Launched, error) {
	l, err := newLayer(r, p.Mesh, p.Heads, p.Tokens, q.DType())
	if err != nil {
		return nil, err
	}
	pass := prefill{layer: l, causal: p.Causal, computeFirst: p.ComputeFirst}
	if err = pass.size(); err == nil {
		err = pass.cache(k, v)
	}
	if err == nil {
		err = pass.laid("queries", q, p.Tokens, pass.queryCols(), true)
	}
	if err == nil {
		err = pass.laid("the result", out, p.Tokens, pass.queryCols(), true)
	}
	if err != nil {
		return nil, err
	}
	return r.Launch("attention_prefill", pass.kernel, q, k, v, out, torch.PEs(p.Mesh.PEs()...), torch.Neighbors(p.Mesh.Connections()))
}

// prefill is a launch.
type prefill struct {
	layer
	causal, computeFirst bool
	chunks               int // of queries that are computed with as keys pass, at a time
	ahead                int // units that are asked for before what comes is waited for
}

// size chooses the sizes of blocks and tiles by the room in TCM. The blocks of all holders,
// which may all be there at a time, and steps may take 3/8 of it each, queries with their
// states the rest.
func (p *prefill) size() error {
	row := p.dim * p.dtype.Size()
	blocks := func() int { return p.places() * 2 * p.keys * row }
	for p.keys > 1 && blocks() > p.tcm*3/8 {
		p.keys /= 2
	}
	p.chunk = min(p.chunk, p.share)
	// Two steps follow each other closely, and keys are there before they are transposed.
	steps := func() int { return 2*p.stepBytes(p.chunk*p.group, p.keys) + p.keys*row }
	p.fit(steps, p.tcm*3/8)
	rows := p.chunk * p.group
	queries := rows*row + p.stateBytes(rows)
	p.chunks = max(1, p.tcm/4/queries)
	// A tile that is on its way is pinned when it has been waited for. Until then no more
	// may be made than there is room for.
	p.ahead = max(0, (p.tcm-blocks()-p.chunks*queries-steps())/p.stepBytes(rows, p.keys))
	if need := blocks() + queries + steps(); need > p.tcm {
		return fmt.Errorf("attention: prefill over %d×%d holders needs %d bytes of TCM for tiles, and %d are there: take a smaller mesh, or a larger pe.tcm.size", p.w, p.h, need, p.tcm)
	}
	return nil
}

// kernel runs the prefill of a PE: head by head, and of each as many of its queries at a time
// as there is room for, with all keys.
func (p *prefill) kernel(t *tl.PE, q, k, v, out tl.Ptr) {
	c := &passing{prefill: p, t: t, place: t.Rank() % p.places()}
	wide := p.group * p.dim
	for head := range p.kv {
		for first := 0; first < p.share; first += p.chunks * p.chunk {
			c.load(q.At(0, head*wide), first)
			for key := 0; key < p.share; key += p.keys {
				c.pass(k.At(0, head*p.dim), v.At(0, head*p.dim), key)
			}
			c.store(out.At(0, head*wide))
		}
	}
}

// passing is a PE while keys and values pass it.
type passing struct {
	*prefill
	t        *tl.PE
	place    int
	queries  []queries
	todo     []unit // that have been found and not been asked for
	pipeline Pipeline
	fence    fence
}

// queries is those of some tokens: rows of a tile.
type queries struct {
	first, n int // tokens of the holder
	tile     tl.Tile
	*Running
}

// load brings queries into TCM, from a token of the holder on.
func (c *passing) load(q tl.Ptr, first int) {
	c.queries = c.queries[:0]
	for end := min(first+c.chunks*c.chunk, c.held(c.place)); first < end; first += c.chunk {
		n := min(c.chunk, end-first)
		tile := c.t.Load(q.At(first), tl.Shape{n, c.group * c.dim}, c.dtype).Reshape(n*c.group, c.dim).Pin()
		c.queries = append(c.queries, queries{first, n, tile, New(c.t, n*c.group, c.dim)})
	}
}

// store writes what came out of the queries.
func (c *passing) store(out tl.Ptr) {
	c.pipeline.Flush()
	for _, q := range c.queries {
		c.layer.store(out.At(q.first), q.Running, q.n)
		q.tile.Free()
	}
}

// block is some keys, transposed, and their values, while there are uses for them.
type block struct {
	first int // token
	kt, v tl.Tile
	uses  int
}

func (b *block) used() {
	if b.uses--; b.uses == 0 {
		b.kt.Free()
		b.v.Free()
	}
}

// blockAt returns how many keys of a holder are in the blocks that begin at one of its keys.
func (p *prefill) blockAt(place, key int) int { return max(0, min(p.keys, p.held(place)-key)) }

// pass has one block of each holder pass through the mesh, from some key of theirs on. At
// every step all receives are asked for before the sends, so that these end whatever the
// others wait for, and however little queues hold. Then comes arithmetic: at each step about
// as much as at any other, since blocks come to some places sooner than to others and none
// should wait for its neighbours. Some of it is asked for before what comes is waited for.
func (c *passing) pass(k, v tl.Ptr, key int) {
	blocks := make([]*block, c.places())
	if n := c.blockAt(c.place, key); n > 0 {
		shape := tl.Shape{n, c.dim}
		kt := c.t.Load(k.At(key), shape, c.dtype).Trans()
		blocks[c.place] = c.came(c.place, key, kt, c.t.Load(v.At(key), shape, c.dtype))
	}
	left := c.seen(key)
	for step := range c.steps() + 1 {
		if c.computeFirst {
			left -= c.compute(len(c.todo))
			c.wait()
		}
		receives := c.receive(step, key)
		for _, port := range ports {
			if of := c.goes(c.place, port, step); of >= 0 && blocks[of] != nil {
				c.t.Send(port, blocks[of].kt)
				c.t.Send(port, blocks[of].v)
				blocks[of].used()
			}
		}
		now := min(len(c.todo), tl.CDiv(left, c.steps()+1-step))
		if now == 0 { // what waits in the pipeline would lose its room to blocks that only pass
			c.pipeline.Flush()
		}
		done := c.compute(min(now, c.ahead))
		for _, r := range receives {
			blocks[r.of] = c.came(r.of, key, r.kt.Wait(), r.v.Wait())
		}
		left -= done + c.compute(now-done)
	}
}

// receive is a block on its way.
type receive struct {
	of    int
	kt, v tl.Receive
}

// receive asks for the blocks that come at a step.
func (c *passing) receive(step, key int) (list []receive) {
	for _, port := range ports {
		of := c.comes(c.place, port, step)
		if of < 0 {
			continue
		}
		if n := c.blockAt(of, key); n > 0 {
			list = append(list, receive{of, c.t.RecvAsync(port, tl.Shape{c.dim, n}, c.dtype), c.t.RecvAsync(port, tl.Shape{n, c.dim}, c.dtype)})
		}
	}
	return list
}

// unit is some queries and a block of keys that they see.
type unit struct {
	*queries
	*block
	mask Mask
}

// mask returns which keys the queries see, of those from a token on.
func (c *passing) mask(q *queries, token int) Mask {
	if !c.causal {
		return Mask{}
	}
	return Causal(c.place*c.share+q.first-token, c.group)
}

// seen returns how many units there are in the blocks that begin at a key of their holders.
func (c *passing) seen(key int) (n int) {
	for of := range c.places() {
		for i := range c.queries {
			q := &c.queries[i]
			if c.blockAt(of, key) > 0 && !c.mask(q, of*c.share+key).Hides(q.rows) {
				n++
			}
		}
	}
	return n
}

// came returns a block of a holder that is there now. It has uses for the sends that there will
// be, and for the units that it makes: none with queries of which it is the future.
func (c *passing) came(of, key int, kt, v tl.Tile) *block {
	b := &block{of*c.share + key, kt.Pin(), v.Pin(), c.sends(c.place, of) + 1}
	for i := range c.queries {
		q := &c.queries[i]
		if mask := c.mask(q, b.first); !mask.Hides(q.rows) {
			c.todo = append(c.todo, unit{q, b, mask})
			b.uses++
		}
	}
	b.used()
	return b
}

// compute asks for the arithmetic of the next n units, and is n.
func (c *passing) compute(n int) int {
	for _, u := range c.todo[:n] {
		scores := u.tile.Dot(u.kt).Pin()
		c.pipeline.add(&step{Running: u.Running, s: scores, v: u.v, scale: c.scale, mask: u.mask, done: func() {
			scores.Free()
			u.used()
		}})
	}
	c.todo = append(c.todo[:0], c.todo[n:]...)
	return n
}

// wait waits for the arithmetic so far.
func (c *passing) wait() {
	if !c.pipeline.empty() {
		c.pipeline.Flush()
		c.fence.wait(c.t)
	}
}
