package dist

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/torch"
)

// inOrder makes the collective or message w synchronous: its tensors may be read without a
// call of Wait. If w is a collective, later operations in the rank's stream wait for w. The
// host code of the rank does not wait. inOrder returns err.
func inOrder(w *Work, err error) error {
	if w != nil {
		w.handle.Waited = true
		if !w.handle.Op.Message {
			w.d.s.Hold(w.handle.Op)
		}
	}
	return err
}

// AllReduce reduces the tensors x of all ranks and stores the result in x on every rank. If
// x is partial, its addends are reduced as well, and afterwards x is replicated.
func AllReduce(r *torch.Rank, x *torch.Tensor, op ReduceOp, group ...*Group) error {
	return inOrder(AllReduceAsync(r, x, op, group...))
}

// AllReduceAsync starts AllReduce and returns a Work to wait for.
func AllReduceAsync(r *torch.Rank, x *torch.Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return stateOf(r).callOnTensor(ccl.AllReduce, x, 0, op, group)
}

// Reduce reduces the tensors x of all ranks and stores the result in x on rank dst of the
// world. The tensors of the other ranks do not change.
func Reduce(r *torch.Rank, x *torch.Tensor, dst int, op ReduceOp, group ...*Group) error {
	return inOrder(ReduceAsync(r, x, dst, op, group...))
}

// ReduceAsync starts Reduce and returns a Work to wait for.
func ReduceAsync(r *torch.Rank, x *torch.Tensor, dst int, op ReduceOp, group ...*Group) (*Work, error) {
	return stateOf(r).callOnTensor(ccl.Reduce, x, dst, op, group)
}

// callOnTensor calls the collective c, which sends x and receives into x. root is a rank of
// the world.
func (d *state) callOnTensor(c ccl.Collective, x *torch.Tensor, root int, op ReduceOp, group []*Group) (*Work, error) {
	g, r, err := d.newRequest(c, op, root, group)
	if err != nil {
		return nil, err
	}
	own := tensorOf(x, c.String())
	if c.Reduces() {
		op.check(c.String(), own)
	}
	r.in, r.out = fullSpans(own), fullSpans(own)
	w, err := d.call(g, r.setSignature(g, d.describe(g, own)))
	if w != nil && c == ccl.AllReduce { // inside Coalescing w is nil, and CoalescingAsync replicates
		hosted.Replicate(x)
	}
	return w, err
}

// Broadcast copies the tensor x of one rank into the tensor x of every other rank of the
// group. `src` is the number in the world of the rank whose tensor is copied.
func Broadcast(r *torch.Rank, x *torch.Tensor, src int, group ...*Group) error {
	return inOrder(BroadcastAsync(r, x, src, group...))
}

// BroadcastAsync starts Broadcast and returns a Work to wait for.
func BroadcastAsync(r *torch.Rank, x *torch.Tensor, src int, group ...*Group) (*Work, error) {
	return stateOf(r).callOnTensor(ccl.Broadcast, x, src, ReduceOp{}, group)
}

// AllGather gives every rank the tensors x of all ranks: list[i] receives x of rank i of
// the group. The tensors may differ in size.
func AllGather(r *torch.Rank, list []*torch.Tensor, x *torch.Tensor, group ...*Group) error {
	return inOrder(AllGatherAsync(r, list, x, group...))
}

// AllGatherAsync starts AllGather and returns a Work to wait for.
func AllGatherAsync(r *torch.Rank, list []*torch.Tensor, x *torch.Tensor, group ...*Group) (*Work, error) {
	return stateOf(r).callOnLists(ccl.AllGather, list, []*torch.Tensor{x}, -1, ReduceOp{}, group)
}

// AllGatherIntoTensor gathers the input tensors of all ranks on every rank. The output
// tensor receives them one after another, in the order of the ranks.
func AllGatherIntoTensor(r *torch.Rank, out, in *torch.Tensor, group ...*Group) error {
	return inOrder(AllGatherIntoTensorAsync(r, out, in, group...))
}

// AllGatherIntoTensorAsync starts AllGatherIntoTensor and returns a Work to wait for.
func AllGatherIntoTensorAsync(r *torch.Rank, out, in *torch.Tensor, group ...*Group) (*Work, error) {
	return stateOf(r).callOnTensors(ccl.AllGather, out, in, ReduceOp{}, group)
}

// ReduceScatter reduces the tensors list[i] of all ranks, for each i. Rank i of the group
// receives the reduction of list[i] in its tensor `out`.
func ReduceScatter(r *torch.Rank, out *torch.Tensor, list []*torch.Tensor, op ReduceOp, group ...*Group) error {
	return inOrder(ReduceScatterAsync(r, out, list, op, group...))
}

// ReduceScatterAsync starts ReduceScatter and returns a Work to wait for.
func ReduceScatterAsync(r *torch.Rank, out *torch.Tensor, list []*torch.Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return stateOf(r).callOnLists(ccl.ReduceScatter, []*torch.Tensor{out}, list, -1, op, group)
}

// ReduceScatterTensor reduces the tensors `in` of all ranks and divides the result into one
// part for each rank of the group. Rank i receives part i in its tensor `out`.
func ReduceScatterTensor(r *torch.Rank, out, in *torch.Tensor, op ReduceOp, group ...*Group) error {
	return inOrder(ReduceScatterTensorAsync(r, out, in, op, group...))
}

// ReduceScatterTensorAsync starts ReduceScatterTensor and returns a Work to wait for.
func ReduceScatterTensorAsync(r *torch.Rank, out, in *torch.Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return stateOf(r).callOnTensors(ccl.ReduceScatter, out, in, op, group)
}

// AllToAll exchanges tensors between all ranks: the tensor in[i] is sent to rank i of the
// group, and the tensor out[i] is received from rank i. The tensors may differ in size. The
// lists `in` and `out` may be the same list.
func AllToAll(r *torch.Rank, out, in []*torch.Tensor, group ...*Group) error {
	return inOrder(AllToAllAsync(r, out, in, group...))
}

// AllToAllAsync starts AllToAll and returns a Work to wait for.
func AllToAllAsync(r *torch.Rank, out, in []*torch.Tensor, group ...*Group) (*Work, error) {
	return stateOf(r).callOnLists(ccl.AllToAll, out, in, -1, ReduceOp{}, group)
}

// Gather sends x of all ranks to rank dst of the world: on that rank, list[i] receives x of
// rank i of the group. The other ranks pass no list.
func Gather(r *torch.Rank, x *torch.Tensor, list []*torch.Tensor, dst int, group ...*Group) error {
	return inOrder(GatherAsync(r, x, list, dst, group...))
}

// GatherAsync starts Gather and returns a Work to wait for.
func GatherAsync(r *torch.Rank, x *torch.Tensor, list []*torch.Tensor, dst int, group ...*Group) (*Work, error) {
	return stateOf(r).callOnLists(ccl.Gather, list, []*torch.Tensor{x}, dst, ReduceOp{}, group)
}

// Scatter sends one tensor to each rank of the group. Rank src of the world sends list[i]
// to rank i of the group, and every rank receives its tensor into x. Ranks other than src
// pass no list.
func Scatter(r *torch.Rank, x *torch.Tensor, list []*torch.Tensor, src int, group ...*Group) error {
	return inOrder(ScatterAsync(r, x, list, src, group...))
}

// ScatterAsync starts Scatter and returns a Work to wait for.
func ScatterAsync(r *torch.Rank, x *torch.Tensor, list []*torch.Tensor, src int, group ...*Group) (*Work, error) {
	return stateOf(r).callOnLists(ccl.Scatter, []*torch.Tensor{x}, list, src, ReduceOp{}, group)
}

// Barrier delays the later operations of the rank until all ranks of the group have reached
// the barrier in their streams.
func Barrier(r *torch.Rank, group ...*Group) error { return inOrder(BarrierAsync(r, group...)) }

// BarrierAsync starts a barrier and returns a Work. Wait of this Work returns when all
// ranks of the group have reached the barrier in their streams.
func BarrierAsync(r *torch.Rank, group ...*Group) (*Work, error) {
	d := stateOf(r)
	g, err := d.group("barrier", group)
	if err != nil {
		return nil, err
	}
	return d.call(g, &request{collective: ccl.Barrier, signature: "barrier"})
}

// AllToAllSingle does an all-to-all with the parts of one tensor. The first axis of the
// tensor `in` is divided into parts of inSplits[i] rows, and part i is sent to rank i of
// the group. The first axis of the tensor `out` is divided into parts of outSplits[i] rows,
// and part i is received from rank i. Without splits the axis is divided evenly. `in` and
// `out` may be the same tensor.
func AllToAllSingle(r *torch.Rank, out, in *torch.Tensor, outSplits, inSplits []int, group ...*Group) error {
	return inOrder(AllToAllSingleAsync(r, out, in, outSplits, inSplits, group...))
}

// AllToAllSingleAsync starts AllToAllSingle and returns a Work to wait for.
func AllToAllSingleAsync(r *torch.Rank, out, in *torch.Tensor, outSplits, inSplits []int, group ...*Group) (*Work, error) {
	d := stateOf(r)
	g, all, err := d.newRequest(ccl.AllToAll, ReduceOp{}, 0, group)
	if err != nil {
		return nil, err
	}
	list := tensorsOf([]*torch.Tensor{in, out}, ccl.AllToAll.String())
	dtype := commonDType(ccl.AllToAll, list)
	all.in = d.splitRows(g, "send", list[0], inSplits)
	all.out = d.splitRows(g, "receive", list[1], outSplits)
	return d.call(g, all.setSignature(g, dtype.String()))
}

// ReduceOp is the operation with which a collective combines the elements of different
// ranks.
type ReduceOp struct {
	kind   ccl.Reduction
	factor float64
}

// The reductions. AVG divides the sum by the number of ranks, once at the end. AVG and
// PREMUL_SUM are for floats; BAND, BOR and BXOR are for integers.
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

// PREMUL_SUM returns a reduction that multiplies the elements of each rank by factor and
// sums the products over the ranks.
func PREMUL_SUM(factor float64) ReduceOp { return ReduceOp{ccl.PremulSum, factor} }

func (op ReduceOp) String() string {
	if op.kind == ccl.PremulSum {
		return fmt.Sprintf("%v(%v)", op.kind, op.factor)
	}
	return op.kind.String()
}

// check panics if the reduction cannot be applied to x. A partial tensor can only be
// summed, because its value is the sum of its addends. `what` names the collective in
// errors.
func (op ReduceOp) check(what string, x *tensor) {
	sums := op.kind == ccl.Sum || op.kind == ccl.Avg || op.kind == ccl.PremulSum
	partial := slices.ContainsFunc(x.info.Shards, func(s shard) bool { return s.Addend > 0 })
	refuse(!sums && partial, what, "%v of a partial tensor, which is the sum of its addends: form that first, by an all-reduce in a group of the rank alone", op)
	refuse(x.info.Partial && !x.info.Region.Entire, what, "%s is a part of a partial tensor, whose other elements would still have addends: reduce %s", x.info.Name, x.info.Of)
	refuse(!op.kind.Serves(x.info.DType), what, "there is no %v of %v: avg and premul_sum are for floats, band, bor and bxor for integers", op, x.info.DType)
}

// NewSubgroups divides the world into groups of consecutive ranks; each group has the given
// size. It returns the group of the caller (own) and all groups. The number of ranks must
// be a multiple of size. All ranks must call NewSubgroups.
func NewSubgroups(r *torch.Rank, size int, opts ...GroupOption) (own *Group, all []*Group, err error) {
	d := stateOf(r)
	world, err := d.group("NewSubgroups", nil)
	if err != nil {
		return nil, nil, err
	}
	n := len(world.shared.ranks)
	refuse(size < 1 || n%size != 0, "NewSubgroups", "groups of %d in a world of %d ranks: the size has to divide the world", size, n)
	return d.subgroups("NewSubgroups", nil, slices.Collect(slices.Chunk(lists.Count(0, n), size)), opts)
}

// NewSubgroupsByEnumeration makes one group of each list of ranks of the world. It returns
// the group of the caller (own) and all groups. own is nil if the caller is in no list.
// Note that a collective takes a nil group as the default group. A rank may be in one list
// only. All ranks must call NewSubgroupsByEnumeration.
func NewSubgroupsByEnumeration(r *torch.Rank, lists [][]int, opts ...GroupOption) (own *Group, all []*Group, err error) {
	return stateOf(r).subgroups("NewSubgroupsByEnumeration", nil, lists, opts)
}

// SplitGroup makes one group of each list of ranks and returns the group of the caller, or
// nil if the caller is in no list. The lists contain ranks in the parent; a nil parent
// means the default group. A rank may be in one list only. All members of the parent must
// call SplitGroup, and no other rank. The groups inherit the options of the parent unless
// opts change them.
func SplitGroup(r *torch.Rank, parent *Group, lists [][]int, opts ...GroupOption) (*Group, error) {
	d := stateOf(r)
	g, err := d.group("SplitGroup", []*Group{parent})
	if err != nil {
		return nil, err
	}
	if g.rank < 0 {
		return nil, fmt.Errorf("SplitGroup: rank %d is not in %s: call it on these alone", d.s.Number, g.describe())
	}
	if g == d.joined[0] {
		parent = nil // groups of the default group are numbered like those of NewGroup
	}
	own, _, err := d.subgroups("SplitGroup", parent, lists, opts)
	return own, err
}

// subgroups makes one group from each list. A list contains ranks in the parent, or in the
// default group if parent is nil. subgroups returns the group of the caller (own), which
// may be nil, and all groups. op is the name of the calling function, for errors.
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

// GetProcessGroupRanks returns the members of a group as ranks of the world, in the order
// of the group.
func GetProcessGroupRanks(r *torch.Rank, group ...*Group) []int {
	return stateOf(r).mustGroup("GetProcessGroupRanks", group).Ranks()
}

// GetGroupRank returns the number in the group of the rank that has the number `rank` in
// the world.
func GetGroupRank(r *torch.Rank, group *Group, rank int) int {
	g := stateOf(r).mustGroup("GetGroupRank", []*Group{group})
	i := slices.Index(g.shared.ranks, rank)
	refuse(i < 0, "GetGroupRank", "rank %d is not in %v", rank, g)
	return i
}

// GetGlobalRank returns the number in the world of the rank that has the number `rank` in
// the group.
func GetGlobalRank(r *torch.Rank, group *Group, rank int) int {
	g := stateOf(r).mustGroup("GetGlobalRank", []*Group{group})
	refuse(rank < 0 || rank >= len(g.shared.ranks), "GetGlobalRank", "no rank %d in %v: it has 0 to %d", rank, g, len(g.shared.ranks)-1)
	return g.shared.ranks[rank]
}
