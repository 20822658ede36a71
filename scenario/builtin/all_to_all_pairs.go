package builtin

import (
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// allToAllPairs sends row d of this rank's x to the inbox of rank d, for every rank d.
// Then, for every rank s, it copies the row that came from rank s to row s of `out`. The
// kernel needs no barrier. Peers write the inbox of this rank only after the launch has
// started at all ranks. By then this rank has copied the rows of the previous launch. This
// rank ends after all peers have written its inbox.
func allToAllPairs(t *tl.PE, x, inbox, out tl.Ptr, n int, sent scenario.Matrix) {
	me, ranks := t.Rank(), t.NumRanks()
	for i := 1; i < ranks; i++ {
		peer := (me + i) % ranks // so that the ranks do not all send to rank 0 first
		sendRow(t, peer, x.At(peer), inbox.At(me), n, sent.From(me))
	}
	sendTile(t, me, x.At(me), out.At(me), n)
	for i := 1; i < ranks; i++ {
		source := (me + ranks - i) % ranks // in the order in which the rows arrive: rank me-1 sends to this rank first
		takeRow(t, inbox.At(source), out.At(source), n, sent.From(source))
	}
}

// sendRow puts n elements of x into the inbox of a peer, and sets the peer's signal with
// the number `signal` to 1.
func sendRow(t *tl.PE, peer int, x, inbox tl.Ptr, n, signal int) {
	sendTile(t, peer, x, inbox, n)
	t.Notify(peer, signal, tl.Set, 1)
}

// takeRow waits until the sender has set the signal with the number `signal` to 1. Then it
// copies n elements from the inbox to `out`.
func takeRow(t *tl.PE, inbox, out tl.Ptr, n, signal int) {
	t.WaitSignal(signal, tl.EQ, 1)
	copyTile(t, t.Rank(), inbox, out, n)
}

// allToAllPairsTasks submits a task for each row that this rank sends and for each row that
// it takes. No edges are needed, because no two tasks of a rank access the same row. One
// compute core is enough, because all rows are sent before the first task waits.
func allToAllPairsTasks(b *task.Builder, x, inbox, out *task.Tensor, n int, sent scenario.Matrix) {
	me, ranks := b.Rank(), b.NumRanks()
	for i := 1; i < ranks; i++ {
		peer := (me + i) % ranks
		b.Submit("send", sendRow, task.Args{
			task.Scalar("peer", peer), task.In("x", x.Rows(peer, 1)), task.AtPeers("inbox", inbox.Rows(me, 1)), task.Scalar("n", n), task.Scalar("signal", sent.From(me)),
		})
	}
	b.Submit("own", sendTile, task.Args{
		task.Scalar("rank", me), task.In("x", x.Rows(me, 1)), task.Out("out", out.Rows(me, 1)), task.Scalar("n", n),
	})
	for i := 1; i < ranks; i++ {
		source := (me + ranks - i) % ranks
		b.Submit("take", takeRow, task.Args{
			task.InOut("inbox", inbox.Rows(source, 1)), task.Out("out", out.Rows(source, 1)), task.Scalar("n", n), task.Scalar("signal", sent.From(source)),
		})
	}
}
