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

// newRequest returns a request for the collective c and the group that runs it. The group
// is the only element of `group`, or the default group if `group` is empty or its element
// is nil. root is a rank of the world; it is ignored if the collective has no root.
func (d *state) newRequest(c ccl.Collective, op ReduceOp, root int, group []*Group) (*Group, *request, error) {
	g, err := d.group(c.String(), group)
	if err != nil {
		return nil, nil, err
	}
	r := &request{collective: c, reduction: op}
	if c.Rooted() {
		r.root = d.groupRankOf(c, g, root)
	}
	return g, r, nil
}

// setSignature sets the signature of the request and returns the request. The signature is
// a text with everything that must be the same on all ranks: the collective, `operand`, the
// reduction and the root, if there is one. `operand` describes the tensors of the call.
func (r *request) setSignature(g *Group, operand string) *request {
	r.signature = fmt.Sprintf("%v of %s", r.collective, operand)
	if r.collective.Reduces() {
		r.signature += fmt.Sprintf(", %v", r.reduction)
	}
	if r.collective.Rooted() {
		r.signature += fmt.Sprintf(", root %d", g.shared.ranks[r.root])
	}
	return r
}

// callOnLists calls the collective c on lists of tensors. The rank sends the tensors of
// `in` and receives into the tensors of `out`. root is a rank of the world. callOnLists
// panics if a list has the wrong length, the dtypes differ, or two tensors of `out`
// overlap.
func (d *state) callOnLists(c ccl.Collective, out, in []*torch.Tensor, root int, op ReduceOp, group []*Group) (*Work, error) {
	g, r, err := d.newRequest(c, op, root, group)
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
	dtype := commonDType(c, all)
	from, to := all[:len(in)], all[len(in):]
	if c == ccl.AllToAll {
		checkDisjoint(from, to)
	}
	for i, x := range to {
		refuse(slices.ContainsFunc(to[:i], x.overlaps), c.String(), "%s is to receive two blocks: give each a tensor of its own", x.info.Name)
	}
	if c.Reduces() {
		op.check(c.String(), to[0])
	}
	r.in, r.out = fullSpans(from...), fullSpans(to...)
	return d.call(g, r.setSignature(g, dtype.String()))
}

// callOnTensors calls the collective c, which sends inTensor and receives into outTensor.
// One of the two has the blocks of all ranks, and the other has the block of this rank.
func (d *state) callOnTensors(c ccl.Collective, outTensor, inTensor *torch.Tensor, op ReduceOp, group []*Group) (*Work, error) {
	g, r, err := d.newRequest(c, op, 0, group)
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
	each := d.localElems(g, small)
	var blocks []span
	for i := range n {
		blocks = append(blocks, span{large, i * each, each})
	}
	if r.in, r.out = fullSpans(in), blocks; c == ccl.ReduceScatter {
		r.in, r.out = blocks, fullSpans(out)
	}
	return d.call(g, r.setSignature(g, d.describe(g, small)))
}

// checkDisjoint panics if the lists of an all-to-all have memory in common, unless both
// lists have the same tensors. In that case the all-to-all is in place and first copies the
// blocks that it sends.
func checkDisjoint(in, out []*tensor) {
	if slices.EqualFunc(in, out, (*tensor).sameElements) {
		return
	}
	for _, x := range in {
		refuse(slices.ContainsFunc(out, x.overlaps), "all_to_all", "%s is to be sent and received into, and the lists differ: receive into the tensors that are sent, in their order, or into others", x.info.Name)
	}
}

// splitRows divides the first axis of x into one span for each rank of the group g; splits
// has the number of rows of each span. Without splits the rows are divided evenly.
// splitRows panics if an even division is not possible, or if splits does not fit x and g.
// `what` is "send" or "receive", for errors.
func (d *state) splitRows(g *Group, what string, x *tensor, splits []int) (list []span) {
	n := len(g.shared.ranks)
	total := d.localElems(g, x)
	rows := x.info.Axes[0]
	if !d.w.spawned {
		rows = x.info.Shards[0].Extent[0] // the number of rows of each rank's part
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

// localElems returns the number of elements of x that belong to one rank: all elements
// under Spawn, or those of the rank's part in a program without Spawn.
func (d *state) localElems(g *Group, x *tensor) int {
	if d.w.spawned {
		return x.Numel()
	}
	d.checkEqualParts(g, x)
	return x.info.Shards[0].Elems
}

// groupRankOf returns the number in the group g of the root of the collective c. `rank` is
// the number of the root in the world. groupRankOf panics if the root is not a member.
func (d *state) groupRankOf(c ccl.Collective, g *Group, rank int) int {
	i := slices.Index(g.shared.ranks, rank)
	if i < 0 {
		panic(misuse(c.String(), "the root, rank %d, is not in %s: give a rank of the world, such as GetGlobalRank returns", rank, g.describe()))
	}
	return i
}

// commonDType returns the dtype that all tensors in list have. It panics if the dtypes
// differ or a tensor is not contiguous. c is the collective, for errors.
func commonDType(c ccl.Collective, list []*tensor) torch.DType {
	for _, x := range list {
		x.requireContiguous(c.String())
		refuse(x.info.DType != list[0].info.DType, c.String(), "tensors of %v and of %v: all have one dtype", list[0].info.DType, x.info.DType)
	}
	return list[0].info.DType
}

// describePart returns the dtype and shape of x or, in a program without Spawn, of the part
// of x that belongs to the given rank of the group.
func (d *state) describePart(g *Group, x *tensor, rank int) string {
	if d.w.spawned {
		return d.describe(g, x)
	}
	return fmt.Sprintf("%v %v", x.info.DType, x.info.Shards[rank].Extent)
}

// describe returns a text with the properties of x that must be the same on all ranks. In a
// program without Spawn, it panics if x is not divided evenly over the ranks of the group
// g.
func (d *state) describe(g *Group, x *tensor) string {
	if !d.w.spawned {
		d.checkEqualParts(g, x)
		return fmt.Sprintf("%v %v", x.info.DType, x.info.Shards[0].Extent)
	}
	parts, copies, addends := x.layoutCounts()
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

// checkOverRanks panics if x, a tensor of a program without Spawn, does not have one shard
// on each PE of the group g, in the order of the group.
func (d *state) checkOverRanks(g *Group, x *tensor) {
	over := slices.EqualFunc(x.info.Shards, g.shared.ranks, func(s shard, rank int) bool { return int(s.At) == rank })
	refuse(!over, "dist", "%s does not lie over the %d PEs of %s: make it with torch.On(dist.PEs(r)...)", x.info.Name, len(g.shared.ranks), g.shared)
}

// checkEqualParts panics if x, a tensor of a program without Spawn, is not divided evenly
// over the ranks of the group g.
func (d *state) checkEqualParts(g *Group, x *tensor) {
	d.checkOverRanks(g, x)
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

// resolveAlgorithm returns the algorithm with the given name. If this algorithm does not
// support the collective of plan, it returns the default algorithm. It returns an error if
// there is no algorithm with this name. For ccl.Auto it returns the cheapest algorithm that
// fits, the same for all lanes. reserved is the TCM in bytes that a producer needs on each
// PE. If queuesOnly is true, ccl.Auto excludes algorithms that need inboxes.
func (c *world) resolveAlgorithm(name string, plan *ccl.Plan, lanes []lane, queues topology.IPCQ, reserved memory.Bytes, queuesOnly bool) (*ccl.Algorithm, error) {
	does := plan.Collective
	if name == ccl.Auto {
		return c.cheapestAlgorithm(plan, lanes, queues, reserved, queuesOnly)
	}
	if a, err := ccl.Find(name, does); err == nil || !slices.Contains(ccl.Names(), name) {
		return a, err // the error lists the names
	}
	return ccl.Find(ccl.Usual(does), does)
}

// choiceKey contains everything that the choice of the cheapest algorithm depends on.
type choiceKey struct {
	does        ccl.Collective
	dtype       torch.DType
	pes         string
	root, count int
	lanes       int
	queues      topology.IPCQ
	reserved    memory.Bytes
	queuesOnly  bool // whether algorithms that need inboxes are excluded
	chunk       int
}

// cheapestAlgorithm returns the algorithm with the lowest cost for plan, or the default
// algorithm if no cost is known. It returns an error if the default algorithm does not fit.
// The parameters are those of resolveAlgorithm. The result is cached, because programs
// repeat the same collectives.
func (c *world) cheapestAlgorithm(plan *ccl.Plan, lanes []lane, queues topology.IPCQ, reserved memory.Bytes, queuesOnly bool) (*ccl.Algorithm, error) {
	places := machine.Numbers(lanes[0].pes)
	key := choiceKey{plan.Collective, plan.DType, fmt.Sprint(places), plan.Root, plan.Count(0), len(lanes), queues, reserved, queuesOnly, plan.Chunk}
	if a := c.choices[key]; a != nil && len(plan.Counts) == 1 {
		return a, nil
	}
	network := cost.NewNetwork(c.Topology(), places, queues)
	network.Lanes, network.Beat, network.QueuesAlone, network.Room = len(lanes), c.m.Engine.Beat, queuesOnly, reserved
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
