package torch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/ccl"
)

// inOrder makes a collective synchronous: what comes after it in the rank's stream waits
// for it. The rank itself does not.
func inOrder(w *Work, err error) error {
	if w != nil {
		w.waited = true
		if !w.op.message {
			w.op.strict = append(w.op.strict, &w.c.current.stream)
		}
	}
	return err
}

// AllReduce gives every rank the reduction of all ranks' tensors, in place. Of a
// partial tensor the addends are reduced as well: it is replicated afterwards.
func (d *Distributed) AllReduce(x *Tensor, op ReduceOp, group ...*Group) error {
	return inOrder(d.AllReduceAsync(x, op, group...))
}

// AllReduceAsync is AllReduce that goes on until Wait.
func (d *Distributed) AllReduceAsync(x *Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return d.reduce(ccl.AllReduce, x, 0, op, group)
}

// Reduce gives rank dst of the world the reduction of all ranks' tensors, in place.
// The others' tensors are as they were.
func (d *Distributed) Reduce(x *Tensor, dst int, op ReduceOp, group ...*Group) error {
	return inOrder(d.ReduceAsync(x, dst, op, group...))
}

// ReduceAsync is Reduce that goes on until Wait.
func (d *Distributed) ReduceAsync(x *Tensor, dst int, op ReduceOp, group ...*Group) (*Work, error) {
	return d.reduce(ccl.Reduce, x, dst, op, group)
}

func (d *Distributed) reduce(c ccl.Collective, x *Tensor, dst int, op ReduceOp, group []*Group) (*Work, error) {
	g, err := d.group(c.String(), group)
	if err != nil {
		return nil, err
	}
	x.usable(c.String())
	op.check(c.String(), x)
	r := &request{collective: c, reduction: op, in: []span{whole(x)}, out: []span{whole(x)}}
	if c.Rooted() {
		r.root = d.root(c, g, dst)
	}
	r.what = fmt.Sprintf("%v of %s, %v%s", c, d.describe(g, x), op, toRoot(c, dst))
	w, err := d.call(g, r)
	if err == nil && c == ccl.AllReduce {
		x.replicate()
	}
	return w, err
}

// replicate makes copies of addends, which have all become their sum.
func (x *Tensor) replicate() {
	addends := 1
	for _, s := range x.shards {
		addends = max(addends, s.addend+1)
	}
	if addends == 1 {
		return
	}
	x.shards = slices.Clone(x.shards) // a call that is not complete has the others
	for i := range x.shards {
		s := &x.shards[i]
		s.copy, s.addend = s.copy*addends+s.addend, 0
	}
}

// Broadcast gives every rank what rank src of the world has in its tensor.
func (d *Distributed) Broadcast(x *Tensor, src int, group ...*Group) error {
	return inOrder(d.BroadcastAsync(x, src, group...))
}

// BroadcastAsync is Broadcast that goes on until Wait.
func (d *Distributed) BroadcastAsync(x *Tensor, src int, group ...*Group) (*Work, error) {
	g, err := d.group("broadcast", group)
	if err != nil {
		return nil, err
	}
	x.usable("broadcast")
	r := &request{collective: ccl.Broadcast, root: d.root(ccl.Broadcast, g, src), in: []span{whole(x)}, out: []span{whole(x)}}
	r.what = fmt.Sprintf("broadcast of %s%s", d.describe(g, x), toRoot(ccl.Broadcast, src))
	return d.call(g, r)
}

// AllGather gives every rank everyone's tensor: list[i] is that of rank i of the
// group, and may be of another size than the others.
func (d *Distributed) AllGather(list []*Tensor, x *Tensor, group ...*Group) error {
	return inOrder(d.AllGatherAsync(list, x, group...))
}

// AllGatherAsync is AllGather that goes on until Wait.
func (d *Distributed) AllGatherAsync(list []*Tensor, x *Tensor, group ...*Group) (*Work, error) {
	return d.lists(ccl.AllGather, list, []*Tensor{x}, -1, ReduceOp{}, group)
}

// AllGatherIntoTensor gives every rank everyone's tensor, one after the other in out.
func (d *Distributed) AllGatherIntoTensor(out, in *Tensor, group ...*Group) error {
	return inOrder(d.AllGatherIntoTensorAsync(out, in, group...))
}

// AllGatherIntoTensorAsync is AllGatherIntoTensor that goes on until Wait.
func (d *Distributed) AllGatherIntoTensorAsync(out, in *Tensor, group ...*Group) (*Work, error) {
	return d.tensors(ccl.AllGather, out, in, ReduceOp{}, group)
}

// ReduceScatter gives every rank the reduction of what all ranks have for it: list[i]
// is for rank i of the group.
func (d *Distributed) ReduceScatter(out *Tensor, list []*Tensor, op ReduceOp, group ...*Group) error {
	return inOrder(d.ReduceScatterAsync(out, list, op, group...))
}

// ReduceScatterAsync is ReduceScatter that goes on until Wait.
func (d *Distributed) ReduceScatterAsync(out *Tensor, list []*Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return d.lists(ccl.ReduceScatter, []*Tensor{out}, list, -1, op, group)
}

// ReduceScatterTensor gives every rank the reduction of its part of all ranks' in.
func (d *Distributed) ReduceScatterTensor(out, in *Tensor, op ReduceOp, group ...*Group) error {
	return inOrder(d.ReduceScatterTensorAsync(out, in, op, group...))
}

// ReduceScatterTensorAsync is ReduceScatterTensor that goes on until Wait.
func (d *Distributed) ReduceScatterTensorAsync(out, in *Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return d.tensors(ccl.ReduceScatter, out, in, op, group)
}

// AllToAll gives every rank what all ranks have for it: in[i] is for rank i of the
// group, out[i] is from it. Tensors may be of any sizes.
func (d *Distributed) AllToAll(out, in []*Tensor, group ...*Group) error {
	return inOrder(d.AllToAllAsync(out, in, group...))
}

// AllToAllAsync is AllToAll that goes on until Wait.
func (d *Distributed) AllToAllAsync(out, in []*Tensor, group ...*Group) (*Work, error) {
	return d.lists(ccl.AllToAll, out, in, -1, ReduceOp{}, group)
}

// Gather gives rank dst of the world everyone's tensor: list[i] is that of rank i of
// the group. Other ranks give no list.
func (d *Distributed) Gather(x *Tensor, list []*Tensor, dst int, group ...*Group) error {
	return inOrder(d.GatherAsync(x, list, dst, group...))
}

// GatherAsync is Gather that goes on until Wait.
func (d *Distributed) GatherAsync(x *Tensor, list []*Tensor, dst int, group ...*Group) (*Work, error) {
	return d.lists(ccl.Gather, list, []*Tensor{x}, dst, ReduceOp{}, group)
}

// Scatter gives every rank its tensor of the list of rank src of the world. Other
// ranks give no list.
func (d *Distributed) Scatter(x *Tensor, list []*Tensor, src int, group ...*Group) error {
	return inOrder(d.ScatterAsync(x, list, src, group...))
}

// ScatterAsync is Scatter that goes on until Wait.
func (d *Distributed) ScatterAsync(x *Tensor, list []*Tensor, src int, group ...*Group) (*Work, error) {
	return d.lists(ccl.Scatter, []*Tensor{x}, list, src, ReduceOp{}, group)
}

// Barrier has what this rank asks for next begin when all ranks have come so far.
func (d *Distributed) Barrier(group ...*Group) error { return inOrder(d.BarrierAsync(group...)) }

// BarrierAsync is Barrier as a Work: its Wait ends when all ranks have called it.
func (d *Distributed) BarrierAsync(group ...*Group) (*Work, error) {
	g, err := d.group("barrier", group)
	if err != nil {
		return nil, err
	}
	return d.call(g, &request{collective: ccl.Barrier, what: "barrier"})
}

// lists is a collective on lists of tensors.
func (d *Distributed) lists(c ccl.Collective, out, in []*Tensor, root int, op ReduceOp, group []*Group) (*Work, error) {
	g, err := d.group(c.String(), group)
	if err != nil {
		return nil, err
	}
	r := &request{collective: c, reduction: op}
	n := len(g.shared.ranks)
	has := !c.Rooted() // a list; the root alone does, of those that have one
	if c.Rooted() {
		r.root = d.root(c, g, root)
		has = r.root == g.rank || !d.c.spawned()
	}
	check := func(name string, list []*Tensor, want int) {
		if len(list) != want {
			panic(misuse(c.String(), "%d tensors to %s, want %d: one for each rank, and of gather and scatter a list at the root alone", len(list), name, want))
		}
	}
	each := 0
	if has {
		each = n
	}
	switch c {
	case ccl.AllGather, ccl.Gather:
		check("receive", out, each)
	case ccl.ReduceScatter, ccl.Scatter:
		check("send", in, each)
	case ccl.AllToAll:
		check("receive", out, n)
		check("send", in, n)
	}
	r.what = fmt.Sprintf("%v of %v%s", c, dtypeOf(c, slices.Concat(in, out)), toRoot(c, root))
	if c == ccl.AllToAll {
		apart(in, out)
	}
	for _, x := range in {
		r.in = append(r.in, whole(x))
	}
	for _, x := range out {
		r.out = append(r.out, whole(x))
	}
	if c.Reduces() {
		op.check(c.String(), out[0])
		r.what += fmt.Sprintf(", %v", op)
	}
	return d.call(g, r)
}

// tensors is a collective on a tensor that has the blocks of all ranks, and one that
// has one's own.
func (d *Distributed) tensors(c ccl.Collective, out, in *Tensor, op ReduceOp, group []*Group) (*Work, error) {
	g, err := d.group(c.String(), group)
	if err != nil {
		return nil, err
	}
	n := len(g.shared.ranks)
	in.usable(c.String())
	out.usable(c.String())
	large, small := out, in
	if c == ccl.ReduceScatter {
		op.check(c.String(), out)
		large, small = in, out
	}
	if large.Numel() != n*small.Numel() || large.dtype != small.dtype {
		panic(misuse(c.String(), "%v %v and %v %v: one is %d times the other, of the same dtype", out.dtype, out.shape, in.dtype, in.shape, n))
	}
	r := &request{collective: c, reduction: op, what: fmt.Sprintf("%v of %s", c, d.describe(g, small))}
	if c.Reduces() {
		r.what += fmt.Sprintf(", %v", op)
	}
	each := d.local(g, small)
	var blocks []span
	for i := range n {
		blocks = append(blocks, span{large, i * each, each, large.shards})
	}
	if c == ccl.AllGather {
		r.in, r.out = []span{whole(in)}, blocks
	} else {
		r.in, r.out = blocks, []span{whole(out)}
	}
	return d.call(g, r)
}

// AllToAllSingle is AllToAll on parts of one tensor: in is cut along its first axis
// into inSplits, one for each rank, and out into outSplits. Without splits they are
// cut evenly.
func (d *Distributed) AllToAllSingle(out, in *Tensor, outSplits, inSplits []int, group ...*Group) error {
	return inOrder(d.AllToAllSingleAsync(out, in, outSplits, inSplits, group...))
}

// AllToAllSingleAsync is AllToAllSingle that goes on until Wait.
func (d *Distributed) AllToAllSingleAsync(out, in *Tensor, outSplits, inSplits []int, group ...*Group) (*Work, error) {
	g, err := d.group("all_to_all", group)
	if err != nil {
		return nil, err
	}
	dtype := dtypeOf(ccl.AllToAll, []*Tensor{in, out})
	apart([]*Tensor{in}, []*Tensor{out})
	r := &request{collective: ccl.AllToAll, what: fmt.Sprintf("all_to_all of %v", dtype)}
	r.in = d.split(g, "send", in, inSplits)
	r.out = d.split(g, "receive", out, outSplits)
	return d.call(g, r)
}

// apart checks that an all-to-all is not to be done in place: what comes in would be
// written over what has not gone out.
func apart(in, out []*Tensor) {
	for _, x := range in {
		if slices.Contains(out, x) {
			panic(misuse("all_to_all", "%s is to be sent and received into: receive into another tensor", x.name))
		}
	}
}

// split cuts a tensor along its first axis.
func (d *Distributed) split(g *Group, what string, x *Tensor, splits []int) (list []span) {
	n := len(g.shared.ranks)
	total := d.local(g, x)
	rows := axes(x.shape)[0]
	if !d.c.spawned() {
		rows = x.shards[0].box.extent[0] // of each rank's part
	}
	if len(splits) == 0 {
		if rows%n != 0 {
			panic(misuse("all_to_all", "%d rows to %s do not divide by %d ranks: give splits", rows, what, n))
		}
		splits = slices.Repeat([]int{rows / n}, n)
	}
	sum := 0
	for _, k := range splits {
		sum += k
	}
	if len(splits) != n || sum != rows || slices.Min(splits) < 0 {
		panic(misuse("all_to_all", "splits %v to %s: there are %d ranks and %d rows", splits, what, n, rows))
	}
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

// local is the elements of what a rank calls its tensor.
func (d *Distributed) local(g *Group, x *Tensor) int {
	if d.c.spawned() {
		return x.Numel()
	}
	d.alike(g, x)
	return x.shards[0].elems
}

// root is a rank of the world as one of the group.
func (d *Distributed) root(c ccl.Collective, g *Group, rank int) int {
	i := slices.Index(g.shared.ranks, rank)
	if i < 0 {
		panic(misuse(c.String(), "the root, rank %d, is not in %s", rank, g.shared))
	}
	return i
}

func toRoot(c ccl.Collective, rank int) string {
	if !c.Rooted() {
		return ""
	}
	return fmt.Sprintf(", root %d", rank)
}

func dtypeOf(c ccl.Collective, list []*Tensor) DType {
	for _, x := range list {
		x.usable(c.String())
		if x.dtype != list[0].dtype {
			panic(misuse(c.String(), "tensors of %v and of %v: all have one dtype", list[0].dtype, x.dtype))
		}
	}
	return list[0].dtype
}

// describePart is what one rank has of a tensor.
func (d *Distributed) describePart(g *Group, x *Tensor, rank int) string {
	if d.c.spawned() {
		return d.describe(g, x)
	}
	return fmt.Sprintf("%v %v", x.dtype, x.shards[rank].box.extent)
}

// describe is a tensor as ranks have to agree on it. In a program without Spawn it
// checks that the tensor lies over the ranks, each with as much.
func (d *Distributed) describe(g *Group, x *Tensor) string {
	parts, copies, addends := 0, 0, 0
	for _, s := range x.shards {
		parts, copies, addends = max(parts, s.part+1), max(copies, s.copy+1), max(addends, s.addend+1)
	}
	if !d.c.spawned() {
		d.alike(g, x)
		return fmt.Sprintf("%v %v", x.dtype, x.shards[0].box.extent)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v", x.dtype, x.shape)
	for _, n := range []struct {
		count int
		text  string
	}{{parts, " in %d parts of " + fmt.Sprint(x.shards[0].box.extent)}, {copies, " in %d copies"}, {addends, " in %d addends"}} {
		if n.count > 1 {
			fmt.Fprintf(&b, n.text, n.count)
		}
	}
	return b.String()
}

// overRanks checks that a tensor of a program without Spawn lies over the PEs of the
// group in order.
func (d *Distributed) overRanks(g *Group, x *Tensor) {
	ok := len(x.shards) == len(g.shared.ranks)
	for i, s := range x.shards {
		ok = ok && int(s.at) == g.shared.ranks[i]
	}
	if !ok {
		panic(misuse("Distributed", "%s does not lie over the %d PEs of %s: make it with torch.On(dist.PEs()...)", x.name, len(g.shared.ranks), g.shared))
	}
}

// alike checks that each rank has as much of such a tensor.
func (d *Distributed) alike(g *Group, x *Tensor) {
	d.overRanks(g, x)
	for _, s := range x.shards {
		if s.elems != x.shards[0].elems {
			panic(misuse("Distributed", "%s is cut into parts of %d and of %d elements: its rows have to be a multiple of the %d ranks", x.name, x.shards[0].elems, s.elems, len(g.shared.ranks)))
		}
	}
}
