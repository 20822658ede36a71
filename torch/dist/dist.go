package dist

import (
	"time"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/torch"
)

// The types of process groups and their collectives.
type (
	Group        = torch.Group
	GroupOption  = torch.GroupOption
	GroupOptions = torch.GroupOptions
	Making       = torch.Making
	P2PKind      = torch.P2PKind
	P2POp        = torch.P2POp
	ReduceOp     = torch.ReduceOp
	TimeoutError = torch.TimeoutError
	Work         = torch.Work
	Stats        = torch.Stats
)

// The ends of a message, the source of a receive from any rank, and the backend.
const (
	Sends     = torch.Sends
	Recvs     = torch.Recvs
	AnySource = torch.AnySource
	Backend   = torch.Backend
)

// The reductions. AVG divides the sum by the number of ranks, once; it and PREMUL_SUM
// are for floats, the bitwise ones for integers.
var (
	SUM     = torch.SUM
	AVG     = torch.AVG
	PRODUCT = torch.PRODUCT
	MIN     = torch.MIN
	MAX     = torch.MAX
	BAND    = torch.BAND
	BOR     = torch.BOR
	BXOR    = torch.BXOR
)

// Algorithm chooses the algorithm of a group's collectives, where it serves them; ccl.Auto
// is for each the one that costs least.
func Algorithm(name string) GroupOption {
	return torch.Algorithm(name)
}

// AllGather gives every rank everyone's tensor: list[i] is that of rank i of the
// group, and may be of another size than the others.
func AllGather(r *torch.Rank, list []*torch.Tensor, x *torch.Tensor, group ...*Group) error {
	return r.Distributed().AllGather(list, x, group...)
}

// AllGatherAsync starts AllGather, which goes on until Wait.
func AllGatherAsync(r *torch.Rank, list []*torch.Tensor, x *torch.Tensor, group ...*Group) (*Work, error) {
	return r.Distributed().AllGatherAsync(list, x, group...)
}

// AllGatherCoalesced gathers several tensors as AllGather does, in one collective: lists[i]
// receives the i-th tensor of every rank.
func AllGatherCoalesced(r *torch.Rank, lists [][]*torch.Tensor, in []*torch.Tensor, group ...*Group) error {
	return r.Distributed().AllGatherCoalesced(lists, in, group...)
}

// AllGatherCoalescedAsync starts AllGatherCoalesced, which goes on until Wait.
func AllGatherCoalescedAsync(r *torch.Rank, lists [][]*torch.Tensor, in []*torch.Tensor, group ...*Group) (*Work, error) {
	return r.Distributed().AllGatherCoalescedAsync(lists, in, group...)
}

// AllGatherIntoTensor gives every rank everyone's tensor, one after the other in out.
func AllGatherIntoTensor(r *torch.Rank, out, in *torch.Tensor, group ...*Group) error {
	return r.Distributed().AllGatherIntoTensor(out, in, group...)
}

// AllGatherIntoTensorAsync starts AllGatherIntoTensor, which goes on until Wait.
func AllGatherIntoTensorAsync(r *torch.Rank, out, in *torch.Tensor, group ...*Group) (*Work, error) {
	return r.Distributed().AllGatherIntoTensorAsync(out, in, group...)
}

// AllGatherIntoTensorCoalesced gathers several tensors as AllGatherIntoTensor does, in one
// collective.
func AllGatherIntoTensorCoalesced(r *torch.Rank, out, in []*torch.Tensor, group ...*Group) error {
	return r.Distributed().AllGatherIntoTensorCoalesced(out, in, group...)
}

// AllGatherIntoTensorCoalescedAsync starts AllGatherIntoTensorCoalesced, which goes on until Wait.
func AllGatherIntoTensorCoalescedAsync(r *torch.Rank, out, in []*torch.Tensor, group ...*Group) (*Work, error) {
	return r.Distributed().AllGatherIntoTensorCoalescedAsync(out, in, group...)
}

// AllGatherObject gives every rank a copy of the object of each, by rank of the group.
//
// Objects are values of the host that package encoding/gob can encode: exported fields of
// structs, slices, maps, strings, numbers, and values of interfaces whose types were given to
// gob.Register. An object that is a nil pointer, or refers to itself, is an error. Like those
// of PyTorch, which are pickled, they are encoded, and the bytes travel in U8 tensors between
// the devices, after their sizes. Receivers wait for them.
func AllGatherObject[T any](r *torch.Rank, object T, group ...*Group) ([]T, error) {
	return torch.AllGatherObject(r.Distributed(), object, group...)
}

// AllReduce gives every rank the reduction of all ranks' tensors, in place. Of a
// partial tensor the addends are reduced as well: it is replicated afterwards.
func AllReduce(r *torch.Rank, x *torch.Tensor, op ReduceOp, group ...*Group) error {
	return r.Distributed().AllReduce(x, op, group...)
}

// AllReduceAsync starts AllReduce, which goes on until Wait.
func AllReduceAsync(r *torch.Rank, x *torch.Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return r.Distributed().AllReduceAsync(x, op, group...)
}

// AllReduceCoalesced reduces several tensors as AllReduce does, in one collective. They may
// differ in shape, dtype and layout.
func AllReduceCoalesced(r *torch.Rank, list []*torch.Tensor, op ReduceOp, group ...*Group) error {
	return r.Distributed().AllReduceCoalesced(list, op, group...)
}

// AllReduceCoalescedAsync starts AllReduceCoalesced, which goes on until Wait.
func AllReduceCoalescedAsync(r *torch.Rank, list []*torch.Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return r.Distributed().AllReduceCoalescedAsync(list, op, group...)
}

// AllReduceMaking is AllReduce of several tensors one after the other, in one program
// that also makes them.
func AllReduceMaking(r *torch.Rank, m Making, pieces []*torch.Tensor, op ReduceOp, group ...*Group) error {
	return r.Distributed().AllReduceMaking(m, pieces, op, group...)
}

// AllToAll gives every rank what all ranks have for it: in[i] is for rank i of the
// group, out[i] is from it. Tensors may be of any sizes. Both may be the same list.
func AllToAll(r *torch.Rank, out, in []*torch.Tensor, group ...*Group) error {
	return r.Distributed().AllToAll(out, in, group...)
}

// AllToAllAsync starts AllToAll, which goes on until Wait.
func AllToAllAsync(r *torch.Rank, out, in []*torch.Tensor, group ...*Group) (*Work, error) {
	return r.Distributed().AllToAllAsync(out, in, group...)
}

// AllToAllSingle is AllToAll on parts of one tensor: in is cut along its first axis
// into inSplits, one for each rank, and out into outSplits. Without splits they are
// cut evenly. Both may be the same tensor.
func AllToAllSingle(r *torch.Rank, out, in *torch.Tensor, outSplits, inSplits []int, group ...*Group) error {
	return r.Distributed().AllToAllSingle(out, in, outSplits, inSplits, group...)
}

// AllToAllSingleAsync starts AllToAllSingle, which goes on until Wait.
func AllToAllSingleAsync(r *torch.Rank, out, in *torch.Tensor, outSplits, inSplits []int, group ...*Group) (*Work, error) {
	return r.Distributed().AllToAllSingleAsync(out, in, outSplits, inSplits, group...)
}

// Barrier has what this rank asks for next begin when all ranks have come so far.
func Barrier(r *torch.Rank, group ...*Group) error {
	return r.Distributed().Barrier(group...)
}

// BarrierAsync is Barrier as a Work: its Wait ends when all ranks have called it.
func BarrierAsync(r *torch.Rank, group ...*Group) (*Work, error) {
	return r.Distributed().BarrierAsync(group...)
}

// BatchISendIRecv asks for several messages. Like all messages that begin at one
// instant they go on side by side. A rank may send to itself if it receives that in the same
// batch.
func BatchISendIRecv(r *torch.Rank, ops []P2POp) (works []*Work, err error) {
	return r.Distributed().BatchISendIRecv(ops)
}

// Broadcast gives every rank what rank src of the world has in its tensor.
func Broadcast(r *torch.Rank, x *torch.Tensor, src int, group ...*Group) error {
	return r.Distributed().Broadcast(x, src, group...)
}

// BroadcastAsync starts Broadcast, which goes on until Wait.
func BroadcastAsync(r *torch.Rank, x *torch.Tensor, src int, group ...*Group) (*Work, error) {
	return r.Distributed().BroadcastAsync(x, src, group...)
}

// BroadcastObjectList gives every rank copies of the objects in the list of rank src of the
// world. The other ranks' lists are as long, and are written over. Objects are as for
// AllGatherObject.
func BroadcastObjectList[T any](r *torch.Rank, list []T, src int, group ...*Group) error {
	return torch.BroadcastObjectList(r.Distributed(), list, src, group...)
}

// CheckMaking returns an error if a group cannot do a collective beside a Making because its
// algorithm needs inboxes. Programs may ask before they compute anything.
func CheckMaking(r *torch.Rank, does ccl.Collective, group ...*Group) error {
	return r.Distributed().CheckMaking(does, group...)
}

// Coalescing makes one collective of those that a function calls: they are started together,
// and run in one program where they can. All are of one group, and all ranks call the same.
// The function calls nothing else that takes simulated time.
func Coalescing(r *torch.Rank, calls func() error) error {
	return r.Distributed().Coalescing(calls)
}

// CoalescingAsync starts Coalescing, which goes on until Wait. The Work is nil if the function
// calls no collective, and so is that of each call in it.
func CoalescingAsync(r *torch.Rank, calls func() error) (*Work, error) {
	return r.Distributed().CoalescingAsync(calls)
}

// DestroyProcessGroup waits for what the rank has asked for and forgets its groups.
func DestroyProcessGroup(r *torch.Rank) error {
	return r.Distributed().DestroyProcessGroup()
}

// Gather gives rank dst of the world everyone's tensor: list[i] is that of rank i of
// the group. Other ranks give no list.
func Gather(r *torch.Rank, x *torch.Tensor, list []*torch.Tensor, dst int, group ...*Group) error {
	return r.Distributed().Gather(x, list, dst, group...)
}

// GatherAsync starts Gather, which goes on until Wait.
func GatherAsync(r *torch.Rank, x *torch.Tensor, list []*torch.Tensor, dst int, group ...*Group) (*Work, error) {
	return r.Distributed().GatherAsync(x, list, dst, group...)
}

// GatherObject gives rank dst of the world a copy of the object of each rank, by rank of the
// group. The other ranks get none. Objects are as for AllGatherObject.
func GatherObject[T any](r *torch.Rank, object T, dst int, group ...*Group) ([]T, error) {
	return torch.GatherObject(r.Distributed(), object, dst, group...)
}

// GetBackend returns the backend of a group.
func GetBackend(r *torch.Rank, group ...*Group) string {
	return r.Distributed().GetBackend(group...)
}

// GetGlobalRank returns the rank of the world of a rank of a group.
func GetGlobalRank(r *torch.Rank, group *Group, rank int) int {
	return r.Distributed().GetGlobalRank(group, rank)
}

// GetGroupRank returns the rank in a group of a rank of the world.
func GetGroupRank(r *torch.Rank, group *Group, rank int) int {
	return r.Distributed().GetGroupRank(group, rank)
}

// GetProcessGroupRanks returns the ranks of the world that are in a group, by their rank in
// it.
func GetProcessGroupRanks(r *torch.Rank, group ...*Group) []int {
	return r.Distributed().GetProcessGroupRanks(group...)
}

// GetRank returns the rank of the caller in a group, the default one if none is given, and
// -1 if it is not a member. A program without Spawn drives all ranks and is rank 0.
func GetRank(r *torch.Rank, group ...*Group) int {
	return r.Distributed().GetRank(group...)
}

// GetWorldSize returns the number of ranks of a group, and -1 if the caller is not a
// member.
func GetWorldSize(r *torch.Rank, group ...*Group) int {
	return r.Distributed().GetWorldSize(group...)
}

// IRecv starts Recv, which goes on until Wait.
func IRecv(r *torch.Rank, x *torch.Tensor, src, tag int, group ...*Group) (*Work, error) {
	return r.Distributed().IRecv(x, src, tag, group...)
}

// ISend starts Send, which goes on until Wait.
func ISend(r *torch.Rank, x *torch.Tensor, dst, tag int, group ...*Group) (*Work, error) {
	return r.Distributed().ISend(x, dst, tag, group...)
}

// InitProcessGroup makes the default group. The group does its collectives as the defaults
// of ccl.yaml say, or the entry that they name, unless options say otherwise. Its ranks are
// all workers of Spawn, whatever world_size is; in a program without Spawn they are the first
// world_size PEs, or all PEs if ccl.yaml gives no world_size. A group whose queues cannot fit
// is refused.
func InitProcessGroup(r *torch.Rank, backend string, opts ...GroupOption) error {
	return r.Distributed().InitProcessGroup(backend, opts...)
}

// IsInitialized reports whether the calling rank has a default group.
func IsInitialized(r *torch.Rank) bool {
	return r.Distributed().IsInitialized()
}

// KeepOrder numbers the ranks of a group in the order in which they are listed. Without it
// they are sorted, as PyTorch does.
func KeepOrder() GroupOption {
	return torch.KeepOrder()
}

// MonitoredBarrier waits until all ranks of a group have called it, in contrast to Barrier
// also on the host. Rank 0 of the group gives up when a simulated time has passed since it
// came: its error names the lowest rank that has not come, or with waitAllRanks all of them,
// and the barrier fails on all ranks. Other ranks give up when rank 0 has not come as long
// after them. A timeout of 0 is that of the group.
func MonitoredBarrier(r *torch.Rank, timeout time.Duration, waitAllRanks bool, group ...*Group) error {
	return r.Distributed().MonitoredBarrier(timeout, waitAllRanks, group...)
}

// NewGroup makes a group of some ranks of the world, sorted unless KeepOrder is given. All
// ranks call it, members or not, in the same order.
func NewGroup(r *torch.Rank, ranks []int, opts ...GroupOption) (*Group, error) {
	return r.Distributed().NewGroup(ranks, opts...)
}

// NewSubgroups divides the world into groups of consecutive ranks, size in each, and returns
// the caller's group and all groups. The size has to divide the world. All ranks call it.
func NewSubgroups(r *torch.Rank, size int, opts ...GroupOption) (own *Group, all []*Group, err error) {
	return r.Distributed().NewSubgroups(size, opts...)
}

// NewSubgroupsByEnumeration makes a group of each list of ranks of the world, and returns
// the caller's group, nil if it is in none, and all groups. No rank is in two of them. All
// ranks call it. Where a collective takes a group, nil is the default group.
func NewSubgroupsByEnumeration(r *torch.Rank, lists [][]int, opts ...GroupOption) (own *Group, all []*Group, err error) {
	return r.Distributed().NewSubgroupsByEnumeration(lists, opts...)
}

// PEs returns the PEs of a group of a program without Spawn, by rank: where its tensors
// lie, with On.
func PEs(r *torch.Rank, group ...*Group) []int {
	return r.Distributed().PEs(group...)
}

// PREMUL_SUM multiplies each rank's elements by a factor before they are added.
func PREMUL_SUM(factor float64) ReduceOp {
	return torch.PREMUL_SUM(factor)
}

// Recv receives a tensor from rank src of the world, or from AnySource: see RecvAny.
func Recv(r *torch.Rank, x *torch.Tensor, src, tag int, group ...*Group) error {
	return r.Distributed().Recv(x, src, tag, group...)
}

// RecvAny receives a tensor from any other rank of the group, waits for it, and returns the
// rank of the world that sent it. It takes the earliest message with the tag in simulated
// time, of several the one of the lowest rank. Messages of one rank keep their order.
func RecvAny(r *torch.Rank, x *torch.Tensor, tag int, group ...*Group) (source int, err error) {
	return r.Distributed().RecvAny(x, tag, group...)
}

// RecvObjectList receives as many objects as the list has from rank src of the world, or from
// AnySource, into the list. It returns the rank of the world that sent them.
func RecvObjectList[T any](r *torch.Rank, list []T, src int, group ...*Group) (source int, err error) {
	return torch.RecvObjectList(r.Distributed(), list, src, group...)
}

// Reduce gives rank dst of the world the reduction of all ranks' tensors, in place.
// The others' tensors are as they were.
func Reduce(r *torch.Rank, x *torch.Tensor, dst int, op ReduceOp, group ...*Group) error {
	return r.Distributed().Reduce(x, dst, op, group...)
}

// ReduceAsync starts Reduce, which goes on until Wait.
func ReduceAsync(r *torch.Rank, x *torch.Tensor, dst int, op ReduceOp, group ...*Group) (*Work, error) {
	return r.Distributed().ReduceAsync(x, dst, op, group...)
}

// ReduceScatter gives every rank the reduction of what all ranks have for it: list[i]
// is for rank i of the group.
func ReduceScatter(r *torch.Rank, out *torch.Tensor, list []*torch.Tensor, op ReduceOp, group ...*Group) error {
	return r.Distributed().ReduceScatter(out, list, op, group...)
}

// ReduceScatterAsync starts ReduceScatter, which goes on until Wait.
func ReduceScatterAsync(r *torch.Rank, out *torch.Tensor, list []*torch.Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return r.Distributed().ReduceScatterAsync(out, list, op, group...)
}

// ReduceScatterMaking is ReduceScatter of several lists one after the other, in one
// program that also makes them: in[i][r] is what rank r of the group gets in out[i].
func ReduceScatterMaking(r *torch.Rank, m Making, out []*torch.Tensor, in [][]*torch.Tensor, op ReduceOp, group ...*Group) error {
	return r.Distributed().ReduceScatterMaking(m, out, in, op, group...)
}

// ReduceScatterTensor gives every rank the reduction of its part of all ranks' in.
func ReduceScatterTensor(r *torch.Rank, out, in *torch.Tensor, op ReduceOp, group ...*Group) error {
	return r.Distributed().ReduceScatterTensor(out, in, op, group...)
}

// ReduceScatterTensorAsync starts ReduceScatterTensor, which goes on until Wait.
func ReduceScatterTensorAsync(r *torch.Rank, out, in *torch.Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return r.Distributed().ReduceScatterTensorAsync(out, in, op, group...)
}

// ReduceScatterTensorCoalesced reduces several tensors as ReduceScatterTensor does, in one
// collective.
func ReduceScatterTensorCoalesced(r *torch.Rank, out, in []*torch.Tensor, op ReduceOp, group ...*Group) error {
	return r.Distributed().ReduceScatterTensorCoalesced(out, in, op, group...)
}

// ReduceScatterTensorCoalescedAsync starts ReduceScatterTensorCoalesced, which goes on until Wait.
func ReduceScatterTensorCoalescedAsync(r *torch.Rank, out, in []*torch.Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return r.Distributed().ReduceScatterTensorCoalescedAsync(out, in, op, group...)
}

// Scatter gives every rank its tensor of the list of rank src of the world. Other
// ranks give no list.
func Scatter(r *torch.Rank, x *torch.Tensor, list []*torch.Tensor, src int, group ...*Group) error {
	return r.Distributed().Scatter(x, list, src, group...)
}

// ScatterAsync starts Scatter, which goes on until Wait.
func ScatterAsync(r *torch.Rank, x *torch.Tensor, list []*torch.Tensor, src int, group ...*Group) (*Work, error) {
	return r.Distributed().ScatterAsync(x, list, src, group...)
}

// ScatterObjectList gives every rank a copy of its object in the list of rank src of the
// world, which has one for each rank of the group. The other ranks give no list. Objects are
// as for AllGatherObject.
func ScatterObjectList[T any](r *torch.Rank, list []T, src int, group ...*Group) (object T, err error) {
	return torch.ScatterObjectList(r.Distributed(), list, src, group...)
}

// Send sends a tensor to rank dst of the world. (In a program without Spawn it is rank
// 0 that sends, or receives: see P2POp for the others.) Messages between two ranks with one
// tag arrive in order. Like other collectives it is in the stream of both ranks, but
// does not wait for other messages, unless they have a tensor in common.
func Send(r *torch.Rank, x *torch.Tensor, dst, tag int, group ...*Group) error {
	return r.Distributed().Send(x, dst, tag, group...)
}

// SendObjectList sends copies of objects to rank dst of the world, as two messages with tag
// 0. Objects are as for AllGatherObject.
func SendObjectList[T any](r *torch.Rank, list []T, dst int, group ...*Group) error {
	return torch.SendObjectList(r.Distributed(), list, dst, group...)
}

// Settings has a group do its collectives as an entry of ccl.yaml says, instead of its
// defaults.
func Settings(s ccl.Settings) GroupOption {
	return torch.Settings(s)
}

// SplitGroup makes a group of each list of ranks of the parent, by their ranks in the
// parent, which nil is the default group for. It returns the caller's group, nil if it is in
// none. No rank is in two of them. The members of the parent call it, and no other rank. The
// groups have the options of the parent where no option changes them.
func SplitGroup(r *torch.Rank, parent *Group, lists [][]int, opts ...GroupOption) (*Group, error) {
	return r.Distributed().SplitGroup(parent, lists, opts...)
}

// Timeout limits the simulated time of a group's collectives and messages, from the first
// call of one to its end: one that takes longer ends all workers of Spawn, or the program.
// 0 is none, and the default.
func Timeout(d time.Duration) GroupOption {
	return torch.Timeout(d)
}

// Collectives returns how many programs of collectives and messages have ended.
func Collectives(c *torch.Context) int { return c.Collectives() }
