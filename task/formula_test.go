package task

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// chain returns an orchestration of n tasks, each of which waits for the previous one. Each
// kernel has `ops` operations.
func chain(n, ops int) func(b *Builder) {
	return func(b *Builder) {
		var last []ID
		for range n {
			last = []ID{b.Submit("link", count, Args{Scalar("n", ops)}, After(last...))}
		}
	}
}

// fanOut returns an orchestration in which n tasks wait for one task. If `withSink` is set,
// one more task waits for all of the n tasks. Each kernel has `ops` operations.
func fanOut(n, ops int, withSink bool) func(b *Builder) {
	return func(b *Builder) {
		args := Args{Scalar("n", ops)}
		source := b.Submit("source", count, args)
		var all []ID
		for range n {
			all = append(all, b.Submit("leaf", count, args, After(source)))
		}
		if withSink {
			b.Submit("sink", count, args, After(all...))
		}
	}
}

// shape is a shape of programs whose makespan has a closed form: a chain, a fan-out or a
// diamond.
type shape struct {
	name       string
	program    func(n, ops int) func(b *Builder)
	time       func(c *Config, r Runtime, n, tensors int, d topology.Time) topology.Time
	tasks      func(n int) int
	submitTime func(c *Config, r Runtime, n int) Time // time to submit the tasks that must be submitted when the first task ends; nil if there is no such condition
}

var (
	chainShape = shape{
		"chain", chain, (*Config).ChainTime, func(n int) int { return n }, nil,
	}
	fanOutShape = shape{
		"fan-out", func(n, ops int) func(*Builder) { return fanOut(n, ops, false) }, (*Config).FanOutTime, func(n int) int { return n + 1 },
		func(c *Config, r Runtime, n int) Time { return Time(n) * c.submitTime(r, 1, 0) },
	}
	diamondShape = shape{
		"diamond", func(n, ops int) func(*Builder) { return fanOut(n, ops, true) }, (*Config).DiamondTime, func(n int) int { return n + 2 },
		func(c *Config, r Runtime, n int) Time { return Time(n)*c.submitTime(r, 1, 0) + c.submitTime(r, n, 0) },
	}
)

// holds reports whether the conditions of the closed form are met for n tasks whose kernels
// take d.
func (s *shape) holds(c *Config, r Runtime, n int, d Time) bool {
	if s.submitTime == nil {
		return true
	}
	flight, w := c.Control.flightTime(d), c.Control.PostedWrite
	return (r == HostBuildGraph || s.submitTime(c, r, n) <= flight) && Time(n)*w <= w+flight
}

// TestFormulas checks that the makespans of chains, fan-outs and diamonds equal the closed
// forms, for several configurations.
func TestFormulas(t *testing.T) {
	self := newSystem(t, "default", torch.Options{NoData: true})
	operations := []int{1, 700, 12000}
	var kernels []Time
	for _, ops := range operations {
		kernels = append(kernels, kernelTime(t, self, ops))
	}
	for _, sets := range [][]string{
		nil,
		{"tensormap_and_ringbuffer.schedulers=1", "control.register_read=7ns", "control.posted_write=11ns"},
		{"tensormap_and_ringbuffer.per_task=9us", "tensormap_and_ringbuffer.schedulers=8", "aicpu_build_graph.per_task=1us"},
		{"control.register_read=0ns", "control.posted_write=0ns", "control.to_compute=0ns", "control.core_switch=0ns", "host_build_graph.fixed=0ns"},
	} {
		c := loadConfig(t, sets...)
		for _, shape := range []shape{chainShape, fanOutShape, diamondShape} {
			for _, r := range Runtimes {
				for _, n := range []int{1, 2, 7, 24} {
					for i, d := range kernels {
						if !shape.holds(c, r, n, d) {
							continue
						}
						name := fmt.Sprintf("%s of %d under %s with %v, kernels of %v", shape.name, n, r, sets, d)
						got, err := Run(self, Options{Runtime: r, Config: c, Devices: []int{0}}, shape.program(n, operations[i]))
						if err != nil {
							t.Fatalf("%s: %v", name, err)
						}
						if want := shape.time(c, r, n, 0, d); got.Makespan != want {
							t.Errorf("%s: makespan %v, want %v", name, got.Makespan, want)
						}
						if p := got.Critical; p.Build+p.Stall+p.Wait+p.Schedule+p.Compute+p.Communicate != got.Makespan || p.Compute != Time(p.Tasks)*d {
							t.Errorf("%s: the critical path %+v does not add up to %v", name, p, got.Makespan)
						}
						if want := Time(shape.tasks(n)) * d; got.Compute != want {
							t.Errorf("%s: %v of computing, want %v", name, got.Compute, want)
						}
						if all, want := got.Compute+got.Communicate+got.Schedule+got.Idle, Time(got.Cores)*got.Makespan; all != want {
							t.Errorf("%s: compute cores account for %v, want %v", name, all, want)
						}
					}
				}
			}
		}
	}
}

// TestFormulaBounds checks the closed forms where their conditions just hold, and where a
// kernel is 1 fs too short. In the second case, a control core is still busy when a kernel
// ends, and reads the end 1 fs later. Under tensormap_and_ringbuffer a separate core
// builds, so building that takes too long delays nothing.
func TestFormulaBounds(t *testing.T) {
	const n, ops = 8, 1
	r := newSystem(t, "default", torch.Options{NoData: true})
	d := kernelTime(t, r, ops)
	building := []string{"control.core_switch=0ns"}
	dispatching := []string{
		"control.core_switch=0ns", "control.posted_write=200ns", "control.register_read=300ns", "aicpu_build_graph.per_task=1ns", "aicpu_build_graph.per_edge=1ns",
		"tensormap_and_ringbuffer.schedulers=1", "tensormap_and_ringbuffer.per_task=1ns", "tensormap_and_ringbuffer.per_edge=1ns",
	}
	for _, shape := range []shape{fanOutShape, diamondShape} {
		built := func(r Runtime) func(c *Config) Time { return func(c *Config) Time { return shape.submitTime(c, r, n) } }
		dispatched := func(c *Config) Time { return (n - 1) * c.Control.PostedWrite }
		for _, tt := range []struct {
			runtime Runtime
			bound   string
			sets    []string
			flight  func(c *Config) Time // the shortest flight that the condition allows
			late    Time                 // how much later than the closed form the program ends if the flight is 1 fs shorter
		}{
			{AICPUBuildGraph, "building", building, built(AICPUBuildGraph), 1},
			{TensorMapAndRingBuffer, "building", building, built(TensorMapAndRingBuffer), 0}, // the control cores that read ends do not build
			{HostBuildGraph, "dispatching", dispatching, dispatched, 1},
			{AICPUBuildGraph, "dispatching", dispatching, dispatched, 1},
			{TensorMapAndRingBuffer, "dispatching", dispatching, dispatched, 1},
		} {
			for beyond := range Time(2) {
				c := loadConfig(t, tt.sets...)
				c.Control.ToCompute = tt.flight(c) - beyond - d
				name := fmt.Sprintf("%s under %s, %v beyond the bound of %s", shape.name, tt.runtime, beyond, tt.bound)
				if got, want := shape.holds(c, tt.runtime, n, d), beyond == 0; got != want {
					t.Errorf("%s: the conditions hold: %v, want %v", name, got, want)
				}
				got, err := Run(r, Options{Runtime: tt.runtime, Config: c, Devices: []int{0}}, shape.program(n, ops))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if want := shape.time(c, tt.runtime, n, 0, d) + beyond*tt.late; got.Makespan != want {
					t.Errorf("%s: makespan %v, want %v", name, got.Makespan, want)
				}
			}
		}
	}
}

// TestBuildingOverlaps checks that the two runtimes that build tasks on the device do so
// while other tasks run, and that host_build_graph does not. Under
// tensormap_and_ringbuffer, and under no other runtime, building must overlap with the
// scheduling of another control core.
func TestBuildingOverlaps(t *testing.T) {
	for _, r := range Runtimes {
		self := newSystem(t, "default", torch.Options{NoData: true})
		got, err := Run(self, Options{Runtime: r, Devices: []int{0}}, chain(16, 700))
		if err != nil {
			t.Fatal(err)
		}
		first := got.Spans[0].Begin
		var running, scheduling Time
		for _, w := range got.Control {
			if w.Kind != Building {
				continue
			}
			if w.To > first {
				running += w.To - max(w.From, first)
			}
			for _, v := range got.Control {
				if v.Kind != Building {
					scheduling += max(0, min(w.To, v.To)-max(w.From, v.From))
				}
			}
		}
		if overlaps := running > 0; overlaps != (r != HostBuildGraph) {
			t.Errorf("%s built for %v after the first task had begun", r, running)
		}
		if overlaps := scheduling > 0; overlaps != (r == TensorMapAndRingBuffer) {
			t.Errorf("%s built for %v while it scheduled", r, scheduling)
		}
	}
}
