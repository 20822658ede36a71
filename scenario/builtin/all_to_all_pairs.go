package builtin

import (
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// allToAllPairs leaves row d of rank s in row s of rank d. It needs no barrier: peers write
// the inbox of this rank after the launch has begun everywhere, so after the rows of the last
// launch were taken, and this rank ends after all of them have written.
func allToAllPairs(t *tl.PE, x, inbox, out tl.Ptr, n int, sent scenario.Matrix) {
	me, ranks := t.Rank(), t.NumRanks()
	for i := 1; i < ranks; i++ {
		peer := (me + i) % ranks // not all to rank 0 first
		sendRow(t, peer, x.At(peer), inbox.At(me), n, sent.From(me))
	}
	sendTile(t, me, x.At(me), out.At(me), n)
	for i := 1; i < ranks; i++ {
		source := (me + ranks - i) % ranks // in the order in which they send to this rank
		takeRow(t, inbox.At(source), out.At(source), n, sent.From(source))
	}
}

// sendRow leaves n elements of x in the inbox of a peer, and notifies it.
func sendRow(t *tl.PE, peer int, x, inbox tl.Ptr, n, signal int) {
	sendTile(t, peer, x, inbox, n)
	t.Notify(peer, signal, tl.Set, 1)
}

// takeRow copies n elements of this rank's inbox once their source has notified it.
func takeRow(t *tl.PE, inbox, out tl.Ptr, n, signal int) {
	t.WaitSignal(signal, tl.EQ, 1)
	copyTile(t, t.Rank(), inbox, out, n)
}

// allToAllPairsTasks submits a task for each row that is sent and for each that is taken. No edge
// is needed: tasks of a rank have no rows in common. All rows are sent before one is waited
// for, so that one compute core is enough.
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
