package ccl_test

import (
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/bound"
)

// TestBoundHoldsForPutAndGet checks that an all-reduce by Put and Get takes at least the
// bound and comes near it. When a PE reads and writes the memory of other PEs, the data
// also passes through the ports of their memory slices. The port of its own DMA engine
// therefore carries fewer than two messages per element. The bound holds because it counts
// the ports of the memory slices as well.
func TestBoundHoldsForPutAndGet(t *testing.T) {
	e := ccl.NewPutGet(8, 1<<19) // elements of 2 bytes
	g, pes := e.System(t)
	limit := bound.Compute(g, pes, &e.Plan)
	if got := e.Time(t); got < limit.Time || got > limit.Time*5/4 {
		t.Errorf("got %v, want the bound %+v or up to a quarter more", got, limit)
	}
}
