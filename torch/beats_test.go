package torch_test

import (
	"testing"

	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestLaunchBeats checks that the start of a launch reports progress to the guard against
// endless loops, for each PE and each queue. A launch on very many PEs is then not mistaken
// for an endless loop.
func TestLaunchBeats(t *testing.T) {
	r := torch.Must(torch.New(t.Context(), torch.Options{NoData: true})).Main()
	defer r.Close()
	engine, pes := hosted.Scheduler(r.Context).Machine.Engine, r.AllPEs()
	x := torch.Must(r.Zeros(torch.F16, torch.Shape{len(pes)}, torch.On(pes...)))
	torch.OK(r.Synchronize())
	beats, events := engine.Beats(), engine.Events()
	torch.OK(torch.Must(r.Launch("idle", func(*tl.PE, tl.Ptr) {}, x, torch.Neighbors(torch.Ring(pes...)))).Wait())
	const perPE = 4 // progress reports: for its core, for its process, and for creating and removing a queue
	if got, byEvents := engine.Beats()-beats, (engine.Events()-events)/64+1; got < perPE*uint64(len(pes)) {
		t.Errorf("%d beats for a launch on %d PEs, of which events account for %d; want %d or more", got, len(pes), byEvents, perPE*len(pes))
	}
}
