package task

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
)

// activity is work for a task in progress on a control core, at the host or on the fabric.
// A trace records it, and its end releases other activities.
type activity struct {
	what       string
	task       ID
	since      Time     // on the machine's clock
	releasedBy sim.Mark // the activity that released it; 0 without a trace
}

// beginActivity returns an activity that begins now: work of the kind `what` for task id.
func (s *simulation) beginActivity(what string, id ID) activity {
	return activity{what, id, s.engine.Now(), s.engine.By}
}

// recordActivity records activity c, which ends now, on the given track of the trace. The
// track belongs to the host if `host` is set, and otherwise to the rank's control cores.
func (d *device) recordActivity(host bool, track string, c activity) {
	process := machine.Host
	if !host {
		process = fmt.Sprintf("rank %d control", d.rank)
	}
	d.machine.TraceActivity(process, track, fmt.Sprintf("%s task %d", c.what, c.task), c.since, c.releasedBy)
}

// recordCoreActivity records in the trace the activity of the given control core that ends
// now. If `core` equals the number of control cores, the activity is that of the task
// builder. Without a trace, recordCoreActivity does nothing.
func (d *device) recordCoreActivity(core int) {
	if d.activities[core].releasedBy == 0 {
		return
	}
	track, host := fmt.Sprintf("control core %d", core), false
	if core == len(d.busy) {
		track, host = "task builder", d.runtime == HostBuildGraph
	}
	d.recordActivity(host, track, d.activities[core])
}
