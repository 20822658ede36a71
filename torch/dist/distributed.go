package dist

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/torch"
)

// inOrder makes a collective synchronous: what comes after it in the rank's stream waits
// for it. The rank itself does not.
func inOrder(w *Work, err error) error {
	if w != nil {
		w.handle.Waited = true
		if !w.handle.Op.Message {
			w.d.s.Hold(w.handle.Op)
		}
	}
	return err
}

// AllReduce gives every rank the reduction of all ranks' tensors, in place. Of a
// partial tensor the addends are reduced as well: it is replicated afterwards.
func AllReduce(r *torch.Rank, x *torch.Tensor, op ReduceOp, group ...*Group) error {
	return inOrder(AllReduceAsync(r, x, op, group...))
}

// AllReduceAsync starts AllReduce, which goes on until Wait.
func AllReduceAsync(r *torch.Rank, x *torch.Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return of(r).oneTensor(ccl.AllReduce, x, 0, op, group)
}

// Reduce gives rank dst of the world the reduction of all ranks' tensors, in place.
// The others' tensors are as they were.
func Reduce(r *torch.Rank, x *torch.Tensor, dst int, op ReduceOp, group ...*Group) error {
	return inOrder(ReduceAsync(r, x, dst, op, group...))
}

// ReduceAsync starts Reduce, which goes on until Wait.
func ReduceAsync(r *torch.Rank, x *torch.Tensor, dst int, op ReduceOp, group ...*Group) (*Work, error) {
	return of(r).oneTensor(ccl.Reduce, x, dst, op, group)
}

// oneTensor calls a collective on one tensor, which is sent and received into.
func (d *state) oneTensor(c ccl.Collective, x *torch.Tensor, root int, op ReduceOp, group []*Group) (*Work, error) {
	g, r, err := d.request(c, op, root, group)
	if err != nil {
		return nil, err
	}
	own := tensorOf(x, c.String())
	if c.Reduces() {
		op.check(c.String(), own)
	}
	r.in, r.out = wholes(own), wholes(own)
	w, err := d.call(g, r.about(g, d.describe(g, own)))
	if w != nil && c == ccl.AllReduce { // or Coalescing does it
		hosted.Replicate(x)
	}
	return w, err
}

// Broadcast gives every rank what rank src of the world has in its tensor.
func Broadcast(r *torch.Rank, x *torch.Tensor, src int, group ...*Group) error {
	return inOrder(BroadcastAsync(r, x, src, group...))
}

// BroadcastAsync starts Broadcast, which goes on until Wait.
func BroadcastAsync(r *torch.Rank, x *torch.Tensor, src int, group ...*Group) (*Work, error) {
	return of(r).oneTensor(ccl.Broadcast, x, src, ReduceOp{}, group)
}

// AllGather gives every rank everyone's tensor: list[i] is that of rank i of the
// group, and may be of another size than the others.
func AllGather(r *torch.Rank, list []*torch.Tensor, x *torch.Tensor, group ...*Group) error {
	return inOrder(AllGatherAsync(r, list, x, group...))
}

// AllGatherAsync starts AllGather, which goes on until Wait.
func AllGatherAsync(r *torch.Rank, list []*torch.Tensor, x *torch.Tensor, group ...*Group) (*Work, error) {
	return of(r).lists(ccl.AllGather, list, []*torch.Tensor{x}, -1, ReduceOp{}, group)
}

// AllGatherIntoTensor gives every rank everyone's tensor, one after the other in out.
func AllGatherIntoTensor(r *torch.Rank, out, in *torch.Tensor, group ...*Group) error {
	return inOrder(AllGatherIntoTensorAsync(r, out, in, group...))
}

// AllGatherIntoTensorAsync starts AllGatherIntoTensor, which goes on until Wait.
func AllGatherIntoTensorAsync(r *torch.Rank, out, in *torch.Tensor, group ...*Group) (*Work, error) {
	return of(r).tensors(ccl.AllGather, out, in, ReduceOp{}, group)
}

// ReduceScatter gives every rank the reduction of what all ranks have for it: list[i]
// is for rank i of the group.
func ReduceScatter(r *torch.Rank, out *torch.Tensor, list []*torch.Tensor, op ReduceOp, group ...*Group) error {
	return inOrder(ReduceScatterAsync(r, out, list, op, group...))
}

// ReduceScatterAsync starts ReduceScatter, which goes on until Wait.
func ReduceScatterAsync(r *torch.Rank, out *torch.Tensor, list []*torch.Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return of(r).lists(ccl.ReduceScatter, []*torch.Tensor{out}, list, -1, op, group)
}

// ReduceScatterTensor gives every rank the reduction of its part of all ranks' in.
func ReduceScatterTensor(r *torch.Rank, out, in *torch.Tensor, op ReduceOp, group ...*Group) error {
	return inOrder(ReduceScatterTensorAsync(r, out, in, op, group...))
}

// ReduceScatterTensorAsync starts ReduceScatterTensor, which goes on until Wait.
func ReduceScatterTensorAsync(r *torch.Rank, out, in *torch.Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return of(r).tensors(ccl.ReduceScatter, out, in, op, group)
}

// AllToAll gives every rank what all ranks have for it: in[i] is for rank i of the
// group, out[i] is from it. Tensors may be of any sizes. Both may be the same list.
func AllToAll(r *torch.Rank, out, in []*torch.Tensor, group ...*Group) error {
	return inOrder(AllToAllAsync(r, out, in, group...))
}

// AllToAllAsync starts AllToAll, which goes on until Wait.
func AllToAllAsync(r *torch.Rank, out, in []*torch.Tensor, group ...*Group) (*Work, error) {
	return of(r).lists(ccl.AllToAll, out, in, -1, ReduceOp{}, group)
}

// Gather gives rank dst of the world everyone's tensor: list[i] is that of rank i of
// the group. Other ranks give no list.
func Gather(r *torch.Rank, x *torch.Tensor, list []*torch.Tensor, dst int, group ...*Group) error {
	return inOrder(GatherAsync(r, x, list, dst, group...))
}

// GatherAsync starts Gather, which goes on until Wait.
func GatherAsync(r *torch.Rank, x *torch.Tensor, list []*torch.Tensor, dst int, group ...*Group) (*Work, error) {
	return of(r).lists(ccl.Gather, list, []*torch.Tensor{x}, dst, ReduceOp{}, group)
}

// Scatter gives every rank its tensor of the list of rank src of the world. Other
// ranks give no list.
func Scatter(r *torch.Rank, x *torch.Tensor, list []*torch.Tensor, src int, group ...*Group) error {
	return inOrder(ScatterAsync(r, x, list, src, group...))
}

// ScatterAsync starts Scatter, which goes on until Wait.
func ScatterAsync(r *torch.Rank, x *torch.Tensor, list []*torch.Tensor, src int, group ...*Group) (*Work, error) {
	return of(r).lists(ccl.Scatter, []*torch.Tensor{x}, list, src, ReduceOp{}, group)
}

// Barrier has what this rank asks for next begin when all ranks have come so far.
func Barrier(r *torch.Rank, group ...*Group) error { return inOrder(BarrierAsync(r, group...)) }

// BarrierAsync is Barrier as a Work: its Wait ends when all ranks have called it.
func BarrierAsync(r *torch.Rank, group ...*Group) (*Work, error) {
	d := of(r)
	g, err := d.group("barrier", group)
	if err != nil {
		return nil, err
	}
	return d.call(g, &request{collective: ccl.Barrier, what: "barrier"})
}

// AllToAllSingle is AllToAll on parts of one tensor: in is cut along its first axis
// into inSplits, one for each rank, and out into outSplits. Without splits they are
// cut evenly. Both may be the same tensor.
func AllToAllSingle(r *torch.Rank, out, in *torch.Tensor, outSplits, inSplits []int, group ...*Group) error {
	return inOrder(AllToAllSingleAsync(r, out, in, outSplits, inSplits, group...))
}

// AllToAllSingleAsync starts AllToAllSingle, which goes on until Wait.
func AllToAllSingleAsync(r *torch.Rank, out, in *torch.Tensor, outSplits, inSplits []int, group ...*Group) (*Work, error) {
	d := of(r)
	g, all, err := d.request(ccl.AllToAll, ReduceOp{}, 0, group)
	if err != nil {
		return nil, err
	}
	list := tensorsOf([]*torch.Tensor{in, out}, ccl.AllToAll.String())
	dtype := dtypeOf(ccl.AllToAll, list)
	all.in = d.split(g, "send", list[0], inSplits)
	all.out = d.split(g, "receive", list[1], outSplits)
	return d.call(g, all.about(g, dtype.String()))
}

// ReduceOp is how a collective combines elements.
type ReduceOp struct {
	kind   ccl.Reduction
	factor float64
}

// The reductions. AVG divides the sum by the number of ranks, once; it and PREMUL_SUM
// are for floats, the bitwise ones for integers.
var (
	SUM     = ReduceOp{kind: ccl.Sum}
	AVG     = ReduceOp{kind: ccl.Avg}
	PRODUCT = ReduceOp{kind: ccl.Product}
	MIN     = ReduceOp{kind: ccl.Min}
	MAX     = ReduceOp{kind: ccl.Max}
	BAND    = ReduceOp{kind: ccl.BAnd}
	BOR     = ReduceOp{kind: ccl.BOr}
	BXOR    = ReduceOp{kind: ccl.BXor}
)

// PREMUL_SUM multiplies each rank's elements by a factor before they are added.
func PREMUL_SUM(factor float64) ReduceOp { return ReduceOp{ccl.PremulSum, factor} }

func (op ReduceOp) String() string {
	if op.kind == ccl.PremulSum {
		return fmt.Sprintf("%v(%v)", op.kind, op.factor)
	}
	return op.kind.String()
}

// check panics if the reduction is not for the tensor: of a partial one only sums can be
// formed, because its value is the sum of what it has.
func (op ReduceOp) check(what string, x *tensor) {
	sums := op.kind == ccl.Sum || op.kind == ccl.Avg || op.kind == ccl.PremulSum
	partial := slices.ContainsFunc(x.info.Shards, func(s shard) bool { return s.Addend > 0 })
	refuse(!sums && partial, what, "%v of a partial tensor, which is the sum of its addends: form that first, by an all-reduce in a group of the rank alone", op)
	refuse(x.info.Partial && !x.info.Region.Entire, what, "%s is a part of a partial tensor, whose other elements would still have addends: reduce %s", x.info.Name, x.info.Of)
	refuse(!op.kind.Serves(x.info.DType), what, "there is no %v of %v: avg and premul_sum are for floats, band, bor and bxor for integers", op, x.info.DType)
}

// NewSubgroups divides the world into groups of consecutive ranks, size in each, and returns
// the caller's group and all groups. The size has to divide the world. All ranks call it.
func NewSubgroups(r *torch.Rank, size int, opts ...GroupOption) (own *Group, all []*Group, err error) {
	d := of(r)
	world, err := d.group("NewSubgroups", nil)
	if err != nil {
		return nil, nil, err
	}
	n := len(world.shared.ranks)
	refuse(size < 1 || n%size != 0, "NewSubgroups", "groups of %d in a world of %d ranks: the size has to divide the world", size, n)
	return d.subgroups("NewSubgroups", nil, slices.Collect(slices.Chunk(lists.Count(0, n), size)), opts)
}

// NewSubgroupsByEnumeration makes a group of each list of ranks of the world, and returns
// the caller's group, nil if it is in none, and all groups. No rank is in two of them. All
// ranks call it. Where a collective takes a group, nil is the default group.
func NewSubgroupsByEnumeration(r *torch.Rank, lists [][]int, opts ...GroupOption) (own *Group, all []*Group, err error) {
	return of(r).subgroups("NewSubgroupsByEnumeration", nil, lists, opts)
}

// SplitGroup makes a group of each list of ranks of the parent, by their ranks in the
// parent, which nil is the default group for. It returns the caller's group, nil if it is in
// none. No rank is in two of them. The members of the parent call it, and no other rank. The
// groups have the options of the parent where no option changes them.
func SplitGroup(r *torch.Rank, parent *Group, lists [][]int, opts ...GroupOption) (*Group, error) {
	d := of(r)
	g, err := d.group("SplitGroup", []*Group{parent})
	if err != nil {
		return nil, err
	}
	if g.rank < 0 {
		return nil, fmt.Errorf("SplitGroup: rank %d is not in %s: call it on these alone", d.s.Number, g.described())
	}
	if g == d.joined[0] {
		parent = nil // its groups are those of the world
	}
	own, _, err := d.subgroups("SplitGroup", parent, lists, opts)
	return own, err
}

// subgroups makes groups of ranks of the default group, or of a parent.
func (d *state) subgroups(op string, parent *Group, lists [][]int, opts []GroupOption) (own *Group, all []*Group, err error) {
	refuse(len(lists) == 0, op, "no groups: give a list of ranks for each")
	in := map[int]int{}
	for i, ranks := range lists {
		for _, rank := range ranks {
			j, known := in[rank]
			refuse(known && j != i, op, "rank %d is in lists %d and %d, %v and %v: a rank is in one group", rank, j, i, lists[j], ranks)
			in[rank] = i
		}
	}
	for _, ranks := range lists {
		g, err := d.subgroup(op, parent, ranks, opts)
		if err != nil {
			return nil, all, err
		}
		if all = append(all, g); g.rank >= 0 && own == nil {
			own = g
		}
	}
	return own, all, nil
}

// GetProcessGroupRanks returns the ranks of the world that are in a group, by their rank in
// it.
func GetProcessGroupRanks(r *torch.Rank, group ...*Group) []int {
	return of(r).must("GetProcessGroupRanks", group).Ranks()
}

// GetGroupRank returns the rank in a group of a rank of the world.
func GetGroupRank(r *torch.Rank, group *Group, rank int) int {
	g := of(r).must("GetGroupRank", []*Group{group})
	i := slices.Index(g.shared.ranks, rank)
	refuse(i < 0, "GetGroupRank", "rank %d is not in %v", rank, g)
	return i
}

// GetGlobalRank returns the rank of the world of a rank of a group.
func GetGlobalRank(r *torch.Rank, group *Group, rank int) int {
	g := of(r).must("GetGlobalRank", []*Group{group})
	refuse(rank < 0 || rank >= len(g.shared.ranks), "GetGlobalRank", "no rank %d in %v: it has 0 to %d", rank, g, len(g.shared.ranks)-1)
	return g.shared.ranks[rank]
}
