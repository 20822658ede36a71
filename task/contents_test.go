package task

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/torch"
)

// drawConfig draws a random configuration with small costs and small storage. Task rings
// are about as small as program p allows.
func drawConfig(r *rand.Rand, p *Program, cores int) *Config {
	span := func() Time {
		return Time([]int{0, 1, 5, 140, 2000}[r.IntN(5)]) * simtime.Nanosecond
	}
	c := Default()
	c.Control = Control{RegisterRead: span(), PostedWrite: span(), ToCompute: span(), CoreSwitch: span(), ComputeCores: cores}
	c.Host = HostGraph{Fixed: span(), PerTask: span(), Tasks: max(1, len(p.Tasks))}
	c.AICPU = AICPUGraph{PerTask: span(), PerEdge: span(), Tasks: drawInt(r, 1, 9)}
	rings := drawInt(r, 1, 4)
	c.TensorMap = TensorMap{
		PerTask: span(), PerEdge: span(), PerTensor: span(),
		Rings: rings, Slots: p.minSlots(rings) + drawInt(r, 0, 2), Schedulers: drawInt(r, 1, 3),
	}
	return c
}

// TestValuesEqualSubmissionOrder checks that a random program computes the same values as
// if its tasks ran one by one in the order of submission. Runtimes that infer edges run the
// program without any explicit edges. All runtimes run it with explicit edges that cover
// every conflict. The test uses the simulated machine and a real rank.
func TestValuesEqualSubmissionOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks, r := drawTasks(t, 15)
		s := drawSample(r, tasks)
		want := s.expected()
		for _, explicit := range []bool{false, true} {
			j := s.job(explicit)
			c := drawConfig(r, j.program(t, 0), s.cores)
			for _, runtime := range Runtimes {
				if !explicit && !runtime.infers() {
					continue
				}
				o := Options{Runtime: runtime, Config: c}
				what := fmt.Sprintf("%d tasks under %s, explicit edges %v", len(s.tasks), runtime, explicit)
				j.mustRunSimulated(t, o, torch.Options{KeepLog: true, Threads: 1}).checkEqual(t, what, want)
				got, errs := j.runReal(o)
				if errs[0] != nil {
					t.Fatalf("%s, on a real rank: %v", what, errs[0])
				}
				got.checkEqual(t, what+", on a real rank", want)
			}
		}
	})
}

// TestWithoutEdgesNothingIsOrdered checks that a program without explicit edges computes
// wrong values under the runtime that does not infer edges. So the other runtimes are not
// right by accident.
func TestWithoutEdgesNothingIsOrdered(t *testing.T) {
	j := &job{ranks: 1, arrays: []array{{shape: []int{64}}}, submit: func(b *Builder, x []*Tensor) {
		for i := range 8 {
			b.Submit("affine", affine, Args{InOut("x", x[0]), Scalar("c", i)})
		}
	}}
	want := int32(0)
	for i := range int32(8) {
		want = 3*want + i
	}
	c := loadConfig(t, "control.compute_cores=8", "aicpu_build_graph.per_task=1ns")
	for _, r := range Runtimes {
		got := j.mustRunSimulated(t, Options{Runtime: r, Config: c}, torch.Options{}).contents[0][0]
		if same := slices.Equal(got, slices.Repeat([]int32{want}, 64)); same != r.infers() {
			t.Errorf("%s: the tasks leave %v; want %d everywhere if edges are inferred, and something else if not", r, got, want)
		}
	}
}
