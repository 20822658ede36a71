package taskchart

import (
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/report"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/task"
)

// result is a run of two tasks on two ranks of two cores, the second of which is told by
// the first.
func result(r task.Runtime) *task.Result {
	return &task.Result{
		Runtime: r, Ranks: 2, Cores: 2, Tasks: 2, Makespan: 100 * sim.Nanosecond,
		Control: []task.Work{
			{Rank: 0, Core: task.BuilderCore, Kind: task.Building, Task: 0, From: 0, To: 10 * sim.Nanosecond},
			{Rank: 0, Core: 0, Kind: task.Dispatching, Task: 0, From: 10 * sim.Nanosecond, To: 15 * sim.Nanosecond},
			{Rank: 0, Core: 0, Kind: task.Noticing, Task: 0, From: 50 * sim.Nanosecond, To: 60 * sim.Nanosecond},
		},
		Spans: []task.Span{
			{Rank: 0, Core: 1, Task: 0, Name: "tell", Peers: true, Dispatched: 10 * sim.Nanosecond, Begin: 20 * sim.Nanosecond, End: 50 * sim.Nanosecond, Noticed: 60 * sim.Nanosecond},
			{Rank: 1, Core: 0, Task: 0, Name: "add", Dispatched: 10 * sim.Nanosecond, Begin: 20 * sim.Nanosecond, End: 90 * sim.Nanosecond, Noticed: 100 * sim.Nanosecond},
		},
	}
}

func TestGantt(t *testing.T) {
	g := Gantt("two tasks", "a test", result(task.HostBuildGraph), result(task.TensorMapAndRingBuffer))
	var b strings.Builder
	if err := report.WriteGantt(&b, g, 60); err != nil {
		t.Fatal(err)
	}
	const want = `two tasks
a test

host_build_graph: makespan 100 ns
rank 0 host        │BBBB                                   │
rank 0 control 0   │   ·ss             ssss·               │
rank 0 pe 1        │   ·ssss~~~~~~~~~~~ssss·               │
rank 1 pe 0        │   ·ssss###########################ssss│
… 2 idle

tensormap_and_ringbuffer: makespan 100 ns
rank 0 orchestrator│BBBB                                   │
rank 0 control 0   │   ·ss             ssss·               │
rank 0 pe 1        │   ·ssss~~~~~~~~~~~ssss·               │
rank 1 pe 0        │   ·ssss###########################ssss│
… 2 idle
                   └┬──────────────────┬───────────────────┬
                 ns 0                  50                100
B building   s scheduling   # computing   ~ communicating
· mostly idle
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if g.Apart {
		t.Error("panels of the same length have axes of their own, want one")
	}
	short := result(task.AICPUBuildGraph)
	short.Makespan /= 5
	if !Gantt("", "", result(task.HostBuildGraph), short).Apart {
		t.Error("a panel five times as long as another shares its axis, want one each")
	}
}
