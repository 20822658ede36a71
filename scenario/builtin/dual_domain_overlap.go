package builtin

import (
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// side is one of the two domains with the buffers of one of its members. T is the type of a
// buffer: tl.Ptr in kernels, *task.Tensor in orchestrations.
type side[T any] struct {
	scenario.Domain
	inbox, out T
	signal     int // the first of the two consecutive signals that the domain uses
}

// memberSides returns a side for each of the domains `left` and `right` of which this rank
// is a member. A side contains the domain, its inbox and its output.
func memberSides[T any](left, right scenario.Domain, leftX, rightX, leftOut, rightOut T) (list []side[T]) {
	for _, s := range []side[T]{{left, leftX, leftOut, 0}, {right, rightX, rightOut, 2}} {
		if s.Rank >= 0 {
			list = append(list, s)
		}
	}
	return list
}

// dualDomainOverlap computes an output for each domain that this rank is a member of. It
// sums x over the members of the domain, multiplies the sum by 0.5 + 0.01·rank and adds
// 10 + rank. A rank that is in both domains works in both at the same time.
func dualDomainOverlap(t *tl.PE, x, leftX, rightX, leftOut, rightOut tl.Ptr, n int, left, right scenario.Domain) {
	list := memberSides(left, right, leftX, rightX, leftOut, rightOut)
	for _, s := range list {
		t.Barrier(s.signal+ready, s.Ranks...)
	}
	for _, s := range list {
		for _, peer := range s.Ranks {
			dualSend(t, peer, x, s.inbox.At(s.Rank), n, s.signal+done)
		}
	}
	for _, s := range list {
		dualWait(t, s.inbox, s.signal+done, len(s.Ranks)-1)
		dualScale(t, s.inbox, s.out, len(s.Ranks), n)
	}
}

// dualSend writes n elements of x to a row in the inbox of a peer, which may be this rank.
// If the peer is another rank, dualSend notifies it with the signal `arrived`.
func dualSend(t *tl.PE, peer int, x, row tl.Ptr, n, arrived int) {
	sendTile(t, peer, x, row, n)
	if peer != t.Rank() {
		t.Notify(peer, arrived, tl.Add, 1)
	}
}

// dualWait waits until the given number of rows from other ranks have arrived in the inbox.
func dualWait(t *tl.PE, _ tl.Ptr, arrived, rows int) { t.WaitSignal(arrived, tl.EQ, rows) }

// dualScale adds the rows of the inbox and multiplies the sum by 0.5 + 0.01·rank. It adds
// 10 + rank to the product and stores the result in `out`.
func dualScale(t *tl.PE, inbox, out tl.Ptr, rows, n int) {
	scale, shift := 0.5+0.01*float64(t.Rank()), 10+float64(t.Rank())
	forBlocks(n, func(at, elems int) {
		total := t.Load(inbox.At(0, at), tl.Shape{elems}, tl.F32)
		for row := range rows - 1 {
			total = total.Add(t.Load(inbox.At(row+1, at), tl.Shape{elems}, tl.F32))
		}
		t.Store(out.At(at), total.Mul(scale).Add(shift))
	})
}

// dualDomainOverlapTasks submits the work of dualDomainOverlap as tasks: one for each row
// that this rank sends and one for each tile of the sum. The domains run at the same time.
// With one compute core they take turns; see domainRankMapTasks for why there is no
// deadlock.
func dualDomainOverlapTasks(b *task.Builder, x, leftX, rightX, leftOut, rightOut *task.Tensor, n int, left, right scenario.Domain) {
	for _, s := range memberSides(left, right, leftX, rightX, leftOut, rightOut) {
		start := submitBarrier(b, s.signal+ready, s.Ranks)
		last := []task.ID{start}
		for _, peer := range s.Ranks {
			last = append(last, b.Submit("send", dualSend, task.Args{
				task.Scalar("peer", peer), task.In("x", x), atRank(b, peer, task.Out, "row", s.inbox.Rows(s.Rank, 1)), task.Scalar("n", n), task.Scalar("arrived", s.signal+done),
			}, task.After(start)))
		}
		arrived := b.Submit("arrived", dualWait, task.Args{
			task.Out("inbox", s.inbox), task.Scalar("arrived", s.signal+done), task.Scalar("rows", len(s.Ranks)-1),
		}, task.After(last...))
		forTiles(n, func(from, elems int) task.ID {
			return b.Submit("scale", dualScale, task.Args{
				task.In("inbox", s.inbox.Box([]int{0, from}, []int{len(s.Ranks), elems})), task.Out("out", vectorRegion(s.out, from, elems)), task.Scalar("rows", len(s.Ranks)), task.Scalar("n", elems),
			}, task.After(arrived))
		})
	}
}
