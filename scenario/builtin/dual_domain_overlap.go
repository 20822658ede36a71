package builtin

import (
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// side is a domain of the two, as one of its members sees it.
type side[T any] struct {
	scenario.Domain
	inbox, out T
	signal     int // and the one after it
}

// sides is those of the two domains that a rank is in.
func sides[T any](left, right scenario.Domain, leftX, rightX, leftOut, rightOut T) (list []side[T]) {
	for _, s := range []side[T]{{left, leftX, leftOut, 0}, {right, rightX, rightOut, 2}} {
		if s.Rank >= 0 {
			list = append(list, s)
		}
	}
	return list
}

// dualDomainOverlap leaves in the outputs of each domain the sum of its members' x,
// times 0.5 + 0.01·rank, plus 10 + rank. Whoever is in both domains works in both at
// once.
func dualDomainOverlap(t *tl.PE, x, leftX, rightX, leftOut, rightOut tl.Ptr, n int, left, right scenario.Domain) {
	list := sides(left, right, leftX, rightX, leftOut, rightOut)
	for _, s := range list {
		t.Barrier(s.signal+ready, s.Ranks...)
	}
	for _, s := range list {
		for _, peer := range s.Ranks {
			dualSend(t, peer, x, s.inbox.At(s.Rank), n, s.signal+done)
		}
	}
	for _, s := range list {
		dualArrived(t, s.inbox, s.signal+done, len(s.Ranks)-1)
		dualScale(t, s.inbox, s.out, len(s.Ranks), n)
	}
}

// dualSend leaves x in the row that a peer, or this rank, has for it, and tells the peer.
func dualSend(t *tl.PE, peer int, x, row tl.Ptr, n, arrived int) {
	sendTile(t, peer, x, row, n)
	if peer != t.Rank() {
		t.Notify(peer, arrived, tl.Add, 1)
	}
}

// dualArrived waits until all rows are in the inbox.
func dualArrived(t *tl.PE, _ tl.Ptr, arrived, rows int) { t.WaitSignal(arrived, tl.EQ, rows) }

// dualScale leaves the sum of the rows in out, scaled.
func dualScale(t *tl.PE, inbox, out tl.Ptr, rows, n int) {
	scale, shift := 0.5+0.01*float64(t.Rank()), 10+float64(t.Rank())
	blocks(n, func(at, elems int) {
		total := t.Load(inbox.At(0, at), tl.Shape{elems}, tl.F32)
		for row := range rows - 1 {
			total = total.Add(t.Load(inbox.At(row+1, at), tl.Shape{elems}, tl.F32))
		}
		t.Store(out.At(at), total.Mul(scale).Add(shift))
	})
}

// dualDomainOverlapTasks has a task for each row that is sent and for each tile of the
// sum. Both domains work side by side; with one compute core they take turns, which ends
// for the reason that domainRankMapTasks gives.
func dualDomainOverlapTasks(b *task.Builder, x, leftX, rightX, leftOut, rightOut *task.Tensor, n int, left, right scenario.Domain) {
	for _, s := range sides(left, right, leftX, rightX, leftOut, rightOut) {
		start := meet(b, s.signal+ready, s.Ranks)
		last := []task.ID{start}
		for _, peer := range s.Ranks {
			last = append(last, b.Submit("send", dualSend, task.Args{
				task.Scalar("peer", peer), task.In("x", x), atRank(b, peer, task.Out, "row", s.inbox.Rows(s.Rank, 1)), task.Scalar("n", n), task.Scalar("arrived", s.signal+done),
			}, task.After(start)))
		}
		arrived := b.Submit("arrived", dualArrived, task.Args{
			task.Out("inbox", s.inbox), task.Scalar("arrived", s.signal+done), task.Scalar("rows", len(s.Ranks)-1),
		}, task.After(last...))
		tiles(n, func(from, elems int) task.ID {
			return b.Submit("scale", dualScale, task.Args{
				task.In("inbox", s.inbox.Box([]int{0, from}, []int{len(s.Ranks), elems})), task.Out("out", vector(s.out, from, elems)), task.Scalar("rows", len(s.Ranks)), task.Scalar("n", elems),
			}, task.After(arrived))
		})
	}
}
