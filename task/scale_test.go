package task

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/torch"
)

// TestHundredThousandTasks checks that the makespan of a chain of 100,000 tasks equals the
// closed form, under every runtime. Task rings that are far smaller than the chain must not
// delay the chain.
func TestHundredThousandTasks(t *testing.T) {
	const tasks = 100_000
	c := loadConfig(t, fmt.Sprint("host_build_graph.tasks=", tasks), fmt.Sprint("aicpu_build_graph.tasks=", tasks), "tensormap_and_ringbuffer.slots=100")
	for _, r := range Runtimes {
		self := newSystem(t, "default", torch.Options{NoData: true}, "sip.cube_mesh.w=1", "sip.cube_mesh.h=1")
		d := kernelTime(t, self, 1)
		got, err := Run(self, Options{Runtime: r, Config: c, Devices: []int{0}}, chain(tasks, 1))
		if err != nil {
			t.Fatalf("%s: %v", r, err)
		}
		if want := c.ChainTime(r, tasks, 0, d); got.Makespan != want {
			t.Errorf("%s: makespan %v, want %v", r, got.Makespan, want)
		}
		if got.Tasks != tasks || len(got.Spans) != tasks || got.Compute != tasks*d {
			t.Errorf("%s: %d tasks, %d spans, %v of computing; want %d, %[5]d, %v", r, got.Tasks, len(got.Spans), got.Compute, tasks, tasks*d)
		}
		for i, s := range got.Spans {
			if s.Task != ID(i) || s.Released != ID(i-1) {
				t.Fatalf("%s: span %d is %+v, want the tasks in order, each released by the one before", r, i, s)
			}
		}
	}
}
