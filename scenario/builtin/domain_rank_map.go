package builtin

import (
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// domainRankMap stores, for each of the two domains, the sum of x over its members. It also
// stores, for each domain, a map from every rank of the run to its rank in the domain, or
// to -1 if it is not a member.
func domainRankMap(t *tl.PE, x, evenX, oddX, evenSum, oddSum, evenMap, oddMap tl.Ptr, n int, even, odd scenario.Domain) {
	sumInDomain(t, even, 0, x, evenX, evenSum, n)
	sumInDomain(t, odd, 2, x, oddX, oddSum, n)
	writeMap(t, even, evenMap)
	writeMap(t, odd, oddMap)
}

// sumInDomain copies x to the window buffer `shared`, and stores in `out` the sum of
// `shared` over all members of the domain. It does nothing if this rank is not a member. It
// uses the signals with the numbers `signal` and `signal`+1 for barriers.
func sumInDomain(t *tl.PE, d scenario.Domain, signal int, x, shared, out tl.Ptr, n int) {
	if d.Rank < 0 {
		return
	}
	copyTile(t, t.Rank(), x, shared, n)
	t.Barrier(signal, d.Ranks...)
	sumTile(t, d.Ranks, shared, out, n)
	t.Barrier(signal+1, d.Ranks...)
}

// writeMap stores in element r of `out` the number that rank r of the run has in domain d.
// The element is -1 if rank r is not a member.
func writeMap(t *tl.PE, d scenario.Domain, out tl.Ptr) {
	for rank := range t.NumRanks() {
		inside, err := d.Lookup(rank)
		if err != nil {
			inside = -1
		}
		t.Store(out.At(rank), t.Full(tl.Shape{1}, tl.I32, float64(inside)))
	}
}

// domainRankMapTasks submits the tasks of both domains, which run at the same time. If the
// rank that is in both domains has only one compute core, the domains take turns: while
// this rank waits for the members of one domain, the members of the other domain wait for
// this rank. There is no deadlock, because only one rank is in both domains.
func domainRankMapTasks(b *task.Builder, x, evenX, oddX, evenSum, oddSum, evenMap, oddMap *task.Tensor, n int, even, odd scenario.Domain) {
	submitSum(b, even, 0, x, evenX, evenSum, n)
	submitSum(b, odd, 2, x, oddX, oddSum, n)
	b.Submit("map", writeMap, task.Args{task.Scalar("domain", even), task.Out("map", evenMap)})
	b.Submit("map", writeMap, task.Args{task.Scalar("domain", odd), task.Out("map", oddMap)})
}

// submitSum submits the work of sumInDomain as tasks: a copy, two barriers, and an addition
// for each tile of the sum.
func submitSum(b *task.Builder, d scenario.Domain, signal int, x, shared, out *task.Tensor, n int) {
	if d.Rank < 0 {
		return
	}
	show := b.Submit("show", copyTile, task.Args{
		task.Scalar("rank", b.Rank()), task.In("x", x), task.Out("shown", shared), task.Scalar("n", n),
	})
	start := submitBarrier(b, signal, d.Ranks, show)
	part := func(from, elems int) task.Region { return vectorRegion(shared, from, elems) }
	sums := sumTiles(b, sumTile, d.Ranks, n, part, out, start)
	submitBarrier(b, signal+1, d.Ranks, append(sums, start)...)
}
