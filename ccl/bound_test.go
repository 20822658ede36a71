package ccl_test

import (
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/bound"
)

// TestBoundHoldsForPutAndGet checks that an all-reduce by Put and Get takes at least the
// bound and comes near it. A PE that reads and writes the memory of other PEs sends fewer
// than two messages per element through the port of its DMA, because memory slices send and
// receive, too. The bound counts the memory slices.
func TestBoundHoldsForPutAndGet(t *testing.T) {
	e := ccl.NewPutGet(8, 1<<19) // elements of 2 bytes
	g, pes := e.System(t)
	limit := bound.Compute(g, pes, &e.Plan)
	if got := e.Time(t); got < limit.Time || got > limit.Time*5/4 {
		t.Errorf("got %v, want the bound %+v or up to a quarter more", got, limit)
	}
}
