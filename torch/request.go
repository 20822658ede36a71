package torch

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/cost"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/topology"
)

// replicate makes copies of the addends of a tensor and its views, which have all become
// their sum.
func (x *Tensor) replicate() {
	_, _, addends := x.numbers()
	for _, y := range x.partial {
		y.shards = slices.Clone(y.shards) // a call that is not complete has the others
		for i := range y.shards {
			s := &y.shards[i]
			s.copy, s.addend = s.copy*addends+s.addend, 0
		}
	}
	x.partial = nil
}

// request returns the request of a collective of a group, of which a rank of the world is
// the root if the collective has one.
func (d *Distributed) request(c ccl.Collective, op ReduceOp, root int, group []*Group) (*Group, *request, error) {
	g, err := d.group(c.String(), group)
	if err != nil {
		return nil, nil, err
	}
	r := &request{collective: c, reduction: op}
	if c.Rooted() {
		r.root = d.root(c, g, root)
	}
	return g, r, nil
}

// about notes what all ranks have to agree on: the collective, what it is of, its reduction
// and its root.
func (r *request) about(g *Group, of string) *request {
	r.what = fmt.Sprintf("%v of %s", r.collective, of)
	if r.collective.Reduces() {
		r.what += fmt.Sprintf(", %v", r.reduction)
	}
	if r.collective.Rooted() {
		r.what += fmt.Sprintf(", root %d", g.shared.ranks[r.root])
	}
	return r
}

// lists calls a collective on lists of tensors.
func (d *Distributed) lists(c ccl.Collective, out, in []*Tensor, root int, op ReduceOp, group []*Group) (*Work, error) {
	g, r, err := d.request(c, op, root, group)
	if err != nil {
		return nil, err
	}
	each, reason := len(g.shared.ranks), "one for each rank"
	if c.Rooted() && r.root != g.rank && d.r.spawned() {
		each, reason = 0, "the root alone gives a list"
	}
	check := func(name string, list []*Tensor) {
		refuse(len(list) != each, c.String(), "%d tensors to %s, want %d: %s", len(list), name, each, reason)
	}
	if c == ccl.AllGather || c == ccl.Gather || c == ccl.AllToAll {
		check("receive", out)
	}
	if c == ccl.ReduceScatter || c == ccl.Scatter || c == ccl.AllToAll {
		check("send", in)
	}
	dtype := dtypeOf(c, slices.Concat(in, out))
	if c == ccl.AllToAll {
		apart(in, out)
	}
	for i, x := range out {
		refuse(slices.ContainsFunc(out[:i], x.overlaps), c.String(), "%s is to receive two blocks: give each a tensor of its own", x.name)
	}
	if c.Reduces() {
		op.check(c.String(), out[0])
	}
	r.in, r.out = wholes(in...), wholes(out...)
	return d.call(g, r.about(g, dtype.String()))
}

// tensors is a collective on a tensor that has the blocks of all ranks, and one that
// has one's own.
func (d *Distributed) tensors(c ccl.Collective, out, in *Tensor, op ReduceOp, group []*Group) (*Work, error) {
	g, r, err := d.request(c, op, 0, group)
	if err != nil {
		return nil, err
	}
	n := len(g.shared.ranks)
	in.usable(c.String())
	out.usable(c.String())
	large, small, names := out, in, [2]string{"out", "in"}
	if c == ccl.ReduceScatter {
		op.check(c.String(), out)
		large, small, names = in, out, [2]string{"in", "out"}
	}
	refuse(large.Numel() != n*small.Numel() || large.dtype != small.dtype,
		c.String(), "%s is %v %v, %s %v %v: %[1]s needs %[7]d times the elements of %[4]s, a block for each rank, and the same dtype",
		names[0], large.dtype, large.shape, names[1], small.dtype, small.shape, n)
	each := d.local(g, small)
	var blocks []span
	for i := range n {
		blocks = append(blocks, span{large, i * each, each, large.shards})
	}
	if r.in, r.out = wholes(in), blocks; c == ccl.ReduceScatter {
		r.in, r.out = blocks, wholes(out)
	}
	return d.call(g, r.about(g, d.describe(g, small)))
}

// apart checks that the lists of an all-to-all have no memory in common, or are the same:
// what is sent is copied first if it is done in place.
func apart(in, out []*Tensor) {
	if slices.EqualFunc(in, out, (*Tensor).coincides) {
		return
	}
	for _, x := range in {
		refuse(slices.ContainsFunc(out, x.overlaps), "all_to_all", "%s is to be sent and received into, and the lists differ: receive into the tensors that are sent, in their order, or into others", x.name)
	}
}

// split cuts a tensor along its first axis.
func (d *Distributed) split(g *Group, what string, x *Tensor, splits []int) (list []span) {
	n := len(g.shared.ranks)
	total := d.local(g, x)
	rows := axes(x.shape)[0]
	if !d.r.spawned() {
		rows = x.shards[0].box.extent[0] // of each rank's part
	}
	if len(splits) == 0 {
		refuse(rows%n != 0, "all_to_all", "%d rows to %s do not divide by %d ranks: give splits", rows, what, n)
		splits = slices.Repeat([]int{rows / n}, n)
	}
	sum := 0
	for _, k := range splits {
		sum += k
	}
	refuse(len(splits) != n || sum != rows || slices.Min(splits) < 0, "all_to_all", "splits %v to %s: give one for each of %d ranks, none negative, that add up to %d rows", splits, what, n, rows)
	width := 0
	if rows > 0 {
		width = total / rows
	}
	from := 0
	for _, k := range splits {
		list = append(list, span{x, from * width, k * width, x.shards})
		from += k
	}
	return list
}

// local returns the elements of what a rank calls its tensor.
func (d *Distributed) local(g *Group, x *Tensor) int {
	if d.r.spawned() {
		return x.Numel()
	}
	d.alike(g, x)
	return x.shards[0].elems
}

// root returns a rank of the world as one of the group.
func (d *Distributed) root(c ccl.Collective, g *Group, rank int) int {
	i := slices.Index(g.shared.ranks, rank)
	if i < 0 {
		panic(misuse(c.String(), "the root, rank %d, is not in %s: give a rank of the world, such as GetGlobalRank returns", rank, g.described()))
	}
	return i
}

func dtypeOf(c ccl.Collective, list []*Tensor) DType {
	for _, x := range list {
		x.usable(c.String())
		x.packed(c.String())
		refuse(x.dtype != list[0].dtype, c.String(), "tensors of %v and of %v: all have one dtype", list[0].dtype, x.dtype)
	}
	return list[0].dtype
}

// describePart returns what one rank has of a tensor.
func (d *Distributed) describePart(g *Group, x *Tensor, rank int) string {
	if d.r.spawned() {
		return d.describe(g, x)
	}
	return fmt.Sprintf("%v %v", x.dtype, x.shards[rank].box.extent)
}

// describe returns a tensor as ranks have to agree on it. In a program without Spawn it
// checks that the tensor lies over the ranks, each with as much.
func (d *Distributed) describe(g *Group, x *Tensor) string {
	if !d.r.spawned() {
		d.alike(g, x)
		return fmt.Sprintf("%v %v", x.dtype, x.shards[0].box.extent)
	}
	parts, copies, addends := x.numbers()
	text := fmt.Sprintf("%v %v", x.dtype, x.shape)
	if parts > 1 {
		text += fmt.Sprintf(" in %d parts of %v", parts, x.shards[0].box.extent)
	}
	if copies > 1 {
		text += fmt.Sprintf(" in %d copies", copies)
	}
	if addends > 1 {
		text += fmt.Sprintf(" in %d addends", addends)
	}
	return text
}

// overRanks checks that a tensor of a program without Spawn lies over the PEs of the
// group in order.
func (d *Distributed) overRanks(g *Group, x *Tensor) {
	over := slices.EqualFunc(x.shards, g.shared.ranks, func(s shard, rank int) bool { return int(s.at) == rank })
	refuse(!over, "Distributed", "%s does not lie over the %d PEs of %s: make it with torch.On(dist.PEs()...)", x.name, len(g.shared.ranks), g.shared)
}

// alike checks that each rank has as much of such a tensor.
func (d *Distributed) alike(g *Group, x *Tensor) {
	d.overRanks(g, x)
	for _, s := range x.shards {
		if s.elems != x.shards[0].elems {
			what := "rows"
			if first := &x.shards[0].box; len(x.shape) > 1 && first.extent[0] == x.shape[0] {
				what = "columns"
			}
			panic(misuse("Distributed", "%s is cut into parts of %d and of %d elements: its %s have to be a multiple of the %d ranks", x.name, x.shards[0].elems, s.elems, what, len(g.shared.ranks)))
		}
	}
}

// algorithm returns the algorithm of a name if it does the collective, and else the usual
// one. For auto it returns the cheapest that fits, the same for all lanes. Room is the bytes
// of TCM that other work needs at the same time, and alone excludes inboxes.
func (c *Context) algorithm(name string, plan *ccl.Plan, lanes []lane, queues topology.IPCQ, room memory.Bytes, alone bool) (*ccl.Algorithm, error) {
	does := plan.Collective
	if name == ccl.Auto {
		return c.cheapest(plan, lanes, queues, room, alone)
	}
	if a, err := ccl.Find(name, does); err == nil || !slices.Contains(ccl.Names(), name) {
		return a, err // which says what there is
	}
	return ccl.Find(ccl.Usual(does), does)
}

// choice is what the cost of a collective depends on.
type choice struct {
	does        ccl.Collective
	dtype       DType
	pes         string
	root, count int
	lanes       int
	queues      topology.IPCQ
	room        memory.Bytes
	alone       bool // no inboxes
	chunk       int
}

// cheapest returns the algorithm that costs least, or the usual one if no cost is known. It
// is an error if that does not fit either. Programs ask for the same again and again.
func (c *Context) cheapest(plan *ccl.Plan, lanes []lane, queues topology.IPCQ, room memory.Bytes, alone bool) (*ccl.Algorithm, error) {
	places := peNumbers(lanes[0].pes)
	key := choice{plan.Collective, plan.DType, fmt.Sprint(places), plan.Root, plan.Count(0), len(lanes), queues, room, alone, plan.Chunk}
	if a := c.choices[key]; a != nil && len(plan.Counts) == 1 {
		return a, nil
	}
	network := cost.NewNetwork(c.Topology(), places, queues)
	network.Lanes, network.Beat, network.QueuesAlone, network.Room = len(lanes), c.m.Engine.Beat, alone, room
	a, _ := cost.Pick(plan, network)
	if a == nil {
		usual, err := ccl.Find(ccl.Usual(plan.Collective), plan.Collective)
		if err != nil {
			return nil, err
		}
		if err := network.Fits(usual, plan); err != nil {
			return nil, fmt.Errorf("auto finds no algorithm for %v that fits: %w", plan.Collective, err)
		}
		a = usual
	}
	c.choices[key] = a
	return a, nil
}
