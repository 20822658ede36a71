package dist

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/cost"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// request returns the request of a collective of a group, of which a rank of the world is
// the root if the collective has one.
func (d *state) request(c ccl.Collective, op ReduceOp, root int, group []*Group) (*Group, *request, error) {
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
func (d *state) lists(c ccl.Collective, out, in []*torch.Tensor, root int, op ReduceOp, group []*Group) (*Work, error) {
	g, r, err := d.request(c, op, root, group)
	if err != nil {
		return nil, err
	}
	each, reason := len(g.shared.ranks), "one for each rank"
	if c.Rooted() && r.root != g.rank && d.w.spawned {
		each, reason = 0, "the root alone gives a list"
	}
	check := func(name string, list []*torch.Tensor) {
		refuse(len(list) != each, c.String(), "%d tensors to %s, want %d: %s", len(list), name, each, reason)
	}
	if c == ccl.AllGather || c == ccl.Gather || c == ccl.AllToAll {
		check("receive", out)
	}
	if c == ccl.ReduceScatter || c == ccl.Scatter || c == ccl.AllToAll {
		check("send", in)
	}
	all := tensorsOf(slices.Concat(in, out), c.String())
	dtype := dtypeOf(c, all)
	from, to := all[:len(in)], all[len(in):]
	if c == ccl.AllToAll {
		apart(from, to)
	}
	for i, x := range to {
		refuse(slices.ContainsFunc(to[:i], x.overlaps), c.String(), "%s is to receive two blocks: give each a tensor of its own", x.info.Name)
	}
	if c.Reduces() {
		op.check(c.String(), to[0])
	}
	r.in, r.out = wholes(from...), wholes(to...)
	return d.call(g, r.about(g, dtype.String()))
}

// tensors is a collective on a tensor that has the blocks of all ranks, and one that
// has one's own.
func (d *state) tensors(c ccl.Collective, outTensor, inTensor *torch.Tensor, op ReduceOp, group []*Group) (*Work, error) {
	g, r, err := d.request(c, op, 0, group)
	if err != nil {
		return nil, err
	}
	n := len(g.shared.ranks)
	in, out := tensorOf(inTensor, c.String()), tensorOf(outTensor, c.String())
	large, small, names := out, in, [2]string{"out", "in"}
	if c == ccl.ReduceScatter {
		op.check(c.String(), out)
		large, small, names = in, out, [2]string{"in", "out"}
	}
	refuse(large.Numel() != n*small.Numel() || large.info.DType != small.info.DType,
		c.String(), "%s is %v %v, %s %v %v: %[1]s needs %[7]d times the elements of %[4]s, a block for each rank, and the same dtype",
		names[0], large.info.DType, large.info.Shape, names[1], small.info.DType, small.info.Shape, n)
	each := d.local(g, small)
	var blocks []span
	for i := range n {
		blocks = append(blocks, span{large, i * each, each})
	}
	if r.in, r.out = wholes(in), blocks; c == ccl.ReduceScatter {
		r.in, r.out = blocks, wholes(out)
	}
	return d.call(g, r.about(g, d.describe(g, small)))
}

// apart checks that the lists of an all-to-all have no memory in common, or are the same:
// what is sent is copied first if it is done in place.
func apart(in, out []*tensor) {
	if slices.EqualFunc(in, out, (*tensor).coincides) {
		return
	}
	for _, x := range in {
		refuse(slices.ContainsFunc(out, x.overlaps), "all_to_all", "%s is to be sent and received into, and the lists differ: receive into the tensors that are sent, in their order, or into others", x.info.Name)
	}
}

// split cuts a tensor along its first axis.
func (d *state) split(g *Group, what string, x *tensor, splits []int) (list []span) {
	n := len(g.shared.ranks)
	total := d.local(g, x)
	rows := x.info.Axes[0]
	if !d.w.spawned {
		rows = x.info.Shards[0].Extent[0] // of each rank's part
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
		list = append(list, span{x, from * width, k * width})
		from += k
	}
	return list
}

// local returns the elements of what a rank calls its tensor.
func (d *state) local(g *Group, x *tensor) int {
	if d.w.spawned {
		return x.Numel()
	}
	d.alike(g, x)
	return x.info.Shards[0].Elems
}

// root returns a rank of the world as one of the group.
func (d *state) root(c ccl.Collective, g *Group, rank int) int {
	i := slices.Index(g.shared.ranks, rank)
	if i < 0 {
		panic(misuse(c.String(), "the root, rank %d, is not in %s: give a rank of the world, such as GetGlobalRank returns", rank, g.described()))
	}
	return i
}

func dtypeOf(c ccl.Collective, list []*tensor) torch.DType {
	for _, x := range list {
		x.packed(c.String())
		refuse(x.info.DType != list[0].info.DType, c.String(), "tensors of %v and of %v: all have one dtype", list[0].info.DType, x.info.DType)
	}
	return list[0].info.DType
}

// describePart returns what one rank has of a tensor.
func (d *state) describePart(g *Group, x *tensor, rank int) string {
	if d.w.spawned {
		return d.describe(g, x)
	}
	return fmt.Sprintf("%v %v", x.info.DType, x.info.Shards[rank].Extent)
}

// describe returns a tensor as ranks have to agree on it. In a program without Spawn it
// checks that the tensor lies over the ranks, each with as much.
func (d *state) describe(g *Group, x *tensor) string {
	if !d.w.spawned {
		d.alike(g, x)
		return fmt.Sprintf("%v %v", x.info.DType, x.info.Shards[0].Extent)
	}
	parts, copies, addends := x.numbers()
	text := fmt.Sprintf("%v %v", x.info.DType, x.info.Shape)
	if parts > 1 {
		text += fmt.Sprintf(" in %d parts of %v", parts, x.info.Shards[0].Extent)
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
func (d *state) overRanks(g *Group, x *tensor) {
	over := slices.EqualFunc(x.info.Shards, g.shared.ranks, func(s shard, rank int) bool { return int(s.At) == rank })
	refuse(!over, "dist", "%s does not lie over the %d PEs of %s: make it with torch.On(dist.PEs(r)...)", x.info.Name, len(g.shared.ranks), g.shared)
}

// alike checks that each rank has as much of such a tensor.
func (d *state) alike(g *Group, x *tensor) {
	d.overRanks(g, x)
	for _, s := range x.info.Shards {
		if s.Elems != x.info.Shards[0].Elems {
			what := "rows"
			if len(x.info.Shape) > 1 && x.info.Shards[0].Extent[0] == x.info.Shape[0] {
				what = "columns"
			}
			panic(misuse("dist", "%s is cut into parts of %d and of %d elements: its %s have to be a multiple of the %d ranks", x.info.Name, x.info.Shards[0].Elems, s.Elems, what, len(g.shared.ranks)))
		}
	}
}

// algorithm returns the algorithm of a name if it does the collective, and else the usual
// one. For auto it returns the cheapest that fits, the same for all lanes. Room is the bytes
// of TCM that other work needs at the same time, and alone excludes inboxes.
func (c *world) algorithm(name string, plan *ccl.Plan, lanes []lane, queues topology.IPCQ, room memory.Bytes, alone bool) (*ccl.Algorithm, error) {
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
	dtype       torch.DType
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
func (c *world) cheapest(plan *ccl.Plan, lanes []lane, queues topology.IPCQ, room memory.Bytes, alone bool) (*ccl.Algorithm, error) {
	places := machine.Numbers(lanes[0].pes)
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
