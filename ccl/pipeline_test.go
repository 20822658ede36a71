package ccl

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// tape is an exchanger that records its calls.
type tape struct{ text string }

func (x *tape) receive(at item) (none tl.Tile) {
	x.text += fmt.Sprintf(" receive%v", at)
	return none
}
func (x *tape) send(at item, _ tl.Tile) { x.text += fmt.Sprintf(" send%v", at) }
func (x *tape) store(at item, _ tl.Tile) bool {
	x.text += fmt.Sprintf(" store%v", at)
	return false
}

// TestFlowSendsOneStepAhead checks the order in which a flow sends, receives and stores: a
// rank sends the messages of a step before it receives those of the same step.
func TestFlowSendsOneStepAhead(t *testing.T) {
	for _, c := range []struct {
		segments, steps, pieces int
		want                    string // segment, step, piece
	}{
		{0, 3, 0, ""},
		{1, 2, 1, " send{0 0 0} receive{0 0 0} send{0 1 0} store{0 0 0} receive{0 1 0} store{0 1 0}"},
		{2, 1, 1, " send{0 0 0} receive{0 0 0} send{1 0 0} store{0 0 0} receive{1 0 0} store{1 0 0}"},
		{1, 2, 2, " send{0 0 0} send{0 0 1}" +
			" receive{0 0 0} send{0 1 0} store{0 0 0} receive{0 0 1} send{0 1 1} store{0 0 1}" +
			" receive{0 1 0} store{0 1 0} receive{0 1 1} store{0 1 1}"},
	} {
		var x tape
		oneFlow{&x, c.segments, c.steps, c.pieces}.run(&member{Args: &Args{Plan: &Plan{Slots: 2}}})
		if x.text != c.want {
			t.Errorf("%d segments, %d steps, %d pieces: %s, want %s", c.segments, c.steps, c.pieces, x.text, c.want)
		}
	}
}

// TestCut checks how many segments and pieces newCut divides a block into.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		largest, chunk, slots int
		want                  cut
	}{
		{0, 8, 4, cut{}},
		{1, 8, 4, cut{1, 1, 1}},
		{9, 8, 4, cut{1, 2, 8}}, // a chunk and the rest
		{24, 8, 4, cut{1, 3, 8}},
		{25, 8, 4, cut{2, 2, 8}}, // with 4 slots, 3 messages are sent ahead
		{1 << 20, 1024, 256, cut{6, 171, 1024}},
		{100, 8, 1, cut{13, 1, 8}},
	} {
		if got := newCut(&Plan{Chunk: c.chunk, Slots: c.slots}, c.largest); got != c.want {
			t.Errorf("%d elements in messages of %d, %d slots: %v, want %v", c.largest, c.chunk, c.slots, got, c.want)
		}
	}
}

// TestFit checks the message sizes that algorithms choose for queues of 256 slots of 4 KiB,
// in bytes.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		algorithm *Algorithm
		ranks     int
		mib       int // size of the all-reduce
		tcm       topology.Bytes
		want      int
		slots     int
	}{
		{Ring, 64, 1, topology.GiB, 4 << 10, 256},
		{Ring, 64, 64, topology.GiB, 128 << 10, 8},
		{Ring, 64, 1 << 10, topology.GiB, 512 << 10, 2}, // half of the queue
		{Ring, 256, 1 << 10, topology.GiB, 512 << 10, 2},
		{Ring, 64, 1 << 10, topology.MiB, 16 << 10, 64}, // 1/64 of TCM
		{Ring, 64, 1 << 10, topology.KiB, 4 << 10, 256},
		{BidirectionalRing, 64, 64, topology.GiB, 64 << 10, 16},
		{Direct, 64, 1 << 10, topology.GiB, 256 << 10, 4},
		{Tree, 64, 1, topology.GiB, 4 << 10, 256},
	} {
		p := Plan{Collective: AllReduce, Ranks: c.ranks, DType: tl.F32, Counts: []int{c.mib << 18}, Chunk: 1024, Slots: 256, Grows: true}
		p.Fit(c.algorithm, c.tcm)
		if got := 4 * p.Chunk; got != c.want || p.Slots != c.slots {
			t.Errorf("%s, %d ranks, %d MiB, %v of TCM: %d slots for %d B, want %d for %d", c.algorithm.Name, c.ranks, c.mib, c.tcm, p.Slots, got, c.slots, c.want)
		}
	}
	p := Plan{Collective: AllReduce, Ranks: 4, DType: tl.F32, Counts: []int{1 << 28}, Chunk: 100, Slots: 10}
	if p.Fit(Ring, topology.MiB); p.Chunk != 100 || p.Slots != 10 || p.Tiles != 2621 {
		t.Errorf("with a given size: chunk %d, %d slots, %d tiles, want 100, 10, 2621", p.Chunk, p.Slots, p.Tiles)
	}
}

// TestPiecesMakeTheBlock checks that the pieces of a block follow each other without gaps,
// that no piece is larger than a message, and that together they cover the block.
func TestPiecesMakeTheBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Plan{Chunk: rapid.IntRange(1, 100).Draw(t, "chunk"), Slots: rapid.IntRange(1, 20).Draw(t, "slots")}
		largest := rapid.IntRange(0, 5000).Draw(t, "largest")
		n := rapid.IntRange(0, largest).Draw(t, "n")
		c, at := newCut(&p, largest), 0
		if c.pieces > p.Slots {
			t.Fatalf("%d pieces, of which a queue holds %d", c.pieces, p.Slots)
		}
		for segment := range c.segments {
			for piece := range c.pieces {
				from, count := c.piece(n, segment, piece)
				if from != at || count > p.Chunk {
					t.Fatalf("segment %d, piece %d is %d elements from %d, want at most %d from %d", segment, piece, count, from, p.Chunk, at)
				}
				at += count
			}
		}
		if at != n {
			t.Fatalf("the pieces are %d elements, want %d", at, n)
		}
	})
}

// TestGridIsSquare checks that ranks without a layout form the most square grid.
func TestGridIsSquare(t *testing.T) {
	for ranks, want := range map[int][2]int{1: {1, 1}, 2: {2, 1}, 6: {3, 2}, 7: {7, 1}, 12: {4, 3}, 16: {4, 4}, 200: {20, 10}} {
		if g := (&Plan{Ranks: ranks}).grid(); [2]int{g.w, g.h} != want {
			t.Errorf("%d ranks are %d wide and %d high, want %v", ranks, g.w, g.h, want)
		}
	}
}

// TestRingAllToAllInbox checks the number of elements on the busiest link of an all-to-all
// around a ring. With equal blocks, the link carries the blocks of half of the pairs of
// ranks.
func TestRingAllToAllInbox(t *testing.T) {
	for _, c := range []struct {
		ranks  int
		counts []int
		want   int
	}{
		{2, []int{5}, 5},
		{4, []int{3}, 18},
		{3, []int{0, 7, 0, 0, 0, 0, 0, 2, 0}, 9}, // from 0 to 1, and from 2 to 1 through 0
	} {
		if got := ringAllToAllInbox(&Plan{Collective: AllToAll, Ranks: c.ranks, Counts: c.counts}); got != c.want {
			t.Errorf("%d ranks, counts %v: %d elements, want %d", c.ranks, c.counts, got, c.want)
		}
	}
}
