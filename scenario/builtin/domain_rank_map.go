package builtin

import (
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// domainRankMap leaves in the sums of each domain what its members have in x, and in
// the maps the ranks of all there: -1 for those that are no members.
func domainRankMap(t *tl.PE, x, evenX, oddX, evenSum, oddSum, evenMap, oddMap tl.Ptr, n int, even, odd scenario.Domain) {
	sumInDomain(t, even, 0, x, evenX, evenSum, n)
	sumInDomain(t, odd, 2, x, oddX, oddSum, n)
	writeMap(t, even, evenMap)
	writeMap(t, odd, oddMap)
}

// sumInDomain shows x to the other members of a domain, if this rank is one, and adds
// up what they show. It takes two signals.
func sumInDomain(t *tl.PE, d scenario.Domain, signal int, x, shown, out tl.Ptr, n int) {
	if d.Rank < 0 {
		return
	}
	copyTile(t, t.Rank(), x, shown, n)
	t.Barrier(signal, d.Ranks...)
	sumTile(t, d.Ranks, shown, out, n)
	t.Barrier(signal+1, d.Ranks...)
}

// writeMap leaves the ranks of all in a domain in out.
func writeMap(t *tl.PE, d scenario.Domain, out tl.Ptr) {
	for rank := range t.NumRanks() {
		inside, err := d.Lookup(rank)
		if err != nil {
			inside = -1
		}
		t.Store(out.At(rank), t.Full(tl.Shape{1}, tl.I32, float64(inside)))
	}
}

// domainRankMapTasks has both domains work side by side. Where a rank has one compute
// core they take turns: while it waits for the members of one, those of the other wait
// for it, and that ends, for only one rank is in both.
func domainRankMapTasks(b *task.Builder, x, evenX, oddX, evenSum, oddSum, evenMap, oddMap *task.Tensor, n int, even, odd scenario.Domain) {
	submitSum(b, even, 0, x, evenX, evenSum, n)
	submitSum(b, odd, 2, x, oddX, oddSum, n)
	b.Submit("map", writeMap, task.Args{task.Scalar("domain", even), task.Out("map", evenMap)})
	b.Submit("map", writeMap, task.Args{task.Scalar("domain", odd), task.Out("map", oddMap)})
}

// submitSum is sumInDomain, with a task for each tile of the sum.
func submitSum(b *task.Builder, d scenario.Domain, signal int, x, shown, out *task.Tensor, n int) {
	if d.Rank < 0 {
		return
	}
	show := b.Submit("show", copyTile, task.Args{
		task.Scalar("rank", b.Rank()), task.In("x", x), task.Out("shown", shown), task.Scalar("n", n),
	})
	start := meet(b, signal, d.Ranks, show)
	part := func(from, elems int) task.Region { return vector(shown, from, elems) }
	sums := sumTiles(b, sumTile, d.Ranks, n, part, out, start)
	meet(b, signal+1, d.Ranks, append(sums, start)...)
}
