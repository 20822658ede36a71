package ccl_test

import (
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/bound"
)

// TestBoundHoldsForPutAndGet checks that the bound holds for an all-reduce by Put and Get,
// and that this all-reduce comes near the bound. A PE that reads and writes the memory of
// other PEs sends less than two messages for each element over the port of its DMA, because
// memory slices send and receive, too. The bound includes the memory slices.
func TestBoundHoldsForPutAndGet(t *testing.T) {
	e := ccl.NewPutGet(8, 1<<19) // elements of 2 bytes
	g, pes := e.System(t)
	limit := bound.Compute(g, pes, &e.Plan)
	if got := e.Time(t); got < limit.Time || got > limit.Time*5/4 {
		t.Errorf("got %v, want the bound %+v or up to a quarter more", got, limit)
	}
}
