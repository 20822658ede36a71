package torch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/ccl"
)

// replicate makes copies of the addends of a tensor and its views, which have all become
// their sum.
func (x *Tensor) replicate() {
	addends := 1
	for _, s := range x.shards {
		addends = max(addends, s.addend+1)
	}
	for _, y := range x.partial {
		y.shards = slices.Clone(y.shards) // a call that is not complete has the others
		for i := range y.shards {
			s := &y.shards[i]
			s.copy, s.addend = s.copy*addends+s.addend, 0
		}
	}
	x.partial = nil
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
			reason := "one for each rank"
			if want == 0 {
				reason = "the root alone gives a list"
			}
			panic(misuse(c.String(), "%d tensors to %s, want %d: %s", len(list), name, want, reason))
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
	for i, x := range out {
		if slices.ContainsFunc(out[:i], x.overlaps) {
			panic(misuse(c.String(), "%s is to receive two blocks: give each a tensor of its own", x.name))
		}
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
	large, small, names := out, in, [2]string{"out", "in"}
	if c == ccl.ReduceScatter {
		op.check(c.String(), out)
		large, small, names = in, out, [2]string{"in", "out"}
	}
	if large.Numel() != n*small.Numel() || large.dtype != small.dtype {
		panic(misuse(c.String(), "%s is %v %v, %s %v %v: %[1]s needs %[7]d times the elements of %[4]s, a block for each rank, and the same dtype",
			names[0], large.dtype, large.shape, names[1], small.dtype, small.shape, n))
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

// apart checks that the lists of an all-to-all have no memory in common, or are the same:
// what is sent is copied first if it is done in place.
func apart(in, out []*Tensor) {
	if slices.EqualFunc(in, out, (*Tensor).coincides) {
		return
	}
	for _, x := range in {
		if slices.ContainsFunc(out, x.overlaps) {
			panic(misuse("all_to_all", "%s is to be sent and received into, and the lists differ: receive into the tensors that are sent, in their order, or into others", x.name))
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
		panic(misuse("all_to_all", "splits %v to %s: give one for each of %d ranks, none negative, that add up to %d rows", splits, what, n, rows))
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
		panic(misuse(c.String(), "the root, rank %d, is not in %s: give a rank of the world, such as GetGlobalRank returns", rank, g.described()))
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
		x.packed(c.String())
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
			what := "rows"
			if first := &x.shards[0].box; len(x.shape) > 1 && first.extent[0] == x.shape[0] {
				what = "columns"
			}
			panic(misuse("Distributed", "%s is cut into parts of %d and of %d elements: its %s have to be a multiple of the %d ranks", x.name, x.shards[0].elems, s.elems, what, len(g.shared.ranks)))
		}
	}
}
