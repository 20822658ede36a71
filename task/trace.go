package task

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
)

// cause is work for a task that is under way on a control core, at the host or on the fabric.
// In a trace it is an activity, and what its end starts happens because of it.
type cause struct {
	what  string
	task  ID
	since Time     // of the machine's clock
	by    sim.Mark // the activity that released it; 0 without a trace
}

// begins returns the cause of what begins now.
func (s *simulation) begins(what string, id ID) cause {
	return cause{what, id, s.engine.Now(), s.engine.By}
}

// record records a cause of the rank, or of the host, that ends now, on a track of theirs.
func (d *device) record(host bool, track string, c cause) {
	process := machine.Host
	if !host {
		process = fmt.Sprintf("rank %d control", d.rank)
	}
	d.machine.TraceActivity(process, track, fmt.Sprintf("%s task %d", c.what, c.task), c.since, c.by)
}

// worked records what a control core, or the builder, has done until now.
func (d *device) worked(core int) {
	if d.causes[core].by == 0 {
		return
	}
	track, host := fmt.Sprintf("control core %d", core), false
	if core == len(d.busy) {
		track, host = "task builder", d.runtime == HostBuildGraph
	}
	d.record(host, track, d.causes[core])
}
