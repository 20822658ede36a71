package ccl

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// drawExperiment draws a random experiment: algorithm, collective, group, counts, dtype,
// reduction and queues. The queues hold as many messages as the plan says. The collective
// is one of the given collectives.
func drawExperiment(t *rapid.T, collectives ...Collective) experiment {
	c := rapid.SampledFrom(collectives).Draw(t, "collective")
	e := experiment{algorithm: rapid.SampledFrom(Algorithms(c)).Draw(t, "algorithm"), preset: "default"}
	ranks := rapid.SampledFrom([]int{1, 2, 3, 4, 6, 7, 8, 12, 16}).Draw(t, "ranks")
	e.Plan = Plan{
		Collective: c, Ranks: ranks, Root: rapid.IntRange(0, ranks-1).Draw(t, "root"), Factor: 0.5,
		DType: rapid.SampledFrom([]tl.DType{tl.F16, tl.BF16, tl.F32, tl.I32}).Draw(t, "dtype"),
		Slots: rapid.SampledFrom([]int{1, 2, 3, 4, 16}).Draw(t, "slots"),
	}
	e.Layout = drawLayout(t, ranks)
	e.RootCube = rapid.IntRange(0, max(0, e.Layout.cubes())).Draw(t, "root cube")
	e.Reduction = rapid.SampledFrom(Reductions()).Filter(func(r Reduction) bool { return r.Serves(e.DType) }).Draw(t, "reduction")
	e.Divisor = rapid.SampledFrom([]int{0, 2 * ranks}).Draw(t, "divisor")
	blocks := map[Collective]int{AllGather: ranks, ReduceScatter: ranks, Gather: ranks, Scatter: ranks, AllToAll: ranks * ranks}[c]
	if blocks == 0 || rapid.Bool().Draw(t, "even") {
		blocks = 1
	}
	largest := 0
	for range blocks {
		n := rapid.SampledFrom([]int{0, 1, 5, 8, 16, 64, 1000, 4099}).Draw(t, "count")
		e.Counts = append(e.Counts, n)
		largest = max(largest, n)
	}
	e.Chunk = max(largest/16, rapid.SampledFrom([]int{1, 3, 64, 2000}).Draw(t, "chunk"))
	e.queues.BufferKind = rapid.SampledFrom(topology.BufferKinds).Draw(t, "buffer")
	e.queues.SlotSize = memory.Bytes(e.Chunk * e.DType.Size())
	e.queues.NSlots = e.Slots
	if rapid.Bool().Draw(t, "fragments") {
		e.queues.NSlots *= 2
		e.queues.SlotSize = (e.queues.SlotSize + 1) / 2
	}
	e.first = rapid.IntRange(0, 2).Draw(t, "first")
	e.inPlace = rapid.Bool().Draw(t, "in place")
	e.inboxes = rapid.Bool().Draw(t, "inboxes")
	return e
}

// drawLayout draws a layout for the given number of ranks. The layout may be unknown.
func drawLayout(t *rapid.T, ranks int) (l Layout) {
	if !rapid.Bool().Draw(t, "known layout") {
		return l
	}
	factor := func(n int, name string) int {
		return rapid.IntRange(1, n).Filter(func(d int) bool { return n%d == 0 }).Draw(t, name)
	}
	devices := factor(ranks, "devices")
	l.Fabric = rapid.SampledFrom(topology.Shapes).Draw(t, "fabric")
	l.W, l.H = devices, 1
	if l.Fabric.Grid() {
		l.W = factor(devices, "device columns")
		l.H = devices / l.W
	}
	l.CubeW = factor(ranks/devices, "cube columns")
	l.CubeH = ranks / devices / l.CubeW
	return l
}

// TestAnythingIsRight checks the values of random collectives with random algorithms,
// groups and data.
func TestAnythingIsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawExperiment(t, Collectives()...)
		whole := !e.DType.IsFloat() || e.Reduction == Product || rapid.Bool().Draw(t, "whole")
		e.verify(t, 1, whole)
	})
}

// TestSameInputGivesTheSameBytes checks that the order in which elements are combined
// depends only on ranks and counts. A run with smaller messages, and with inboxes in place
// of queues or the reverse, must give the same bits.
func TestSameInputGivesTheSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawExperiment(t, AllReduce, Reduce, ReduceScatter)
		e.DType, e.Reduction = tl.F16, Sum
		e.queues.SlotSize, e.queues.NSlots = memory.Bytes(2*e.Chunk), e.Slots
		want := e.verify(t, 2, false).out
		e.inboxes = !e.inboxes
		e.Chunk = tl.CDiv(e.Chunk, 2)
		for rank, got := range e.verify(t, 2, false).out {
			if !bytes.Equal(got, want[rank]) {
				t.Fatalf("%v: rank %d has %x, and with larger messages %x", &e, rank, got, want[rank])
			}
		}
	})
}
