package ccl_test

import (
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/bound"
)

// A PE that reads memory of others and writes there sends less than two messages of each
// element over the port of its DMA: memory slices send and receive too, and are part
// of the bound. Here an all-reduce comes near it.
func TestBoundHoldsForPutAndGet(t *testing.T) {
	e := ccl.NewPutGet(8, 1<<19) // of 2 bytes
	g, pes := e.System(t)
	limit := bound.Compute(g, pes, &e.Plan)
	if got := e.Time(t); got < limit.Time || got > limit.Time*5/4 {
		t.Errorf("got %v, want the bound %+v or up to a quarter more", got, limit)
	}
}
