package task

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// chain is n tasks, each after the one before.
func chain(n, ops int) func(b *Builder) {
	return func(b *Builder) {
		var last []ID
		for range n {
			last = []ID{b.Submit("link", count, Args{Scalar("n", ops)}, After(last...))}
		}
	}
}

// fanOut is n tasks after one, and one after all of them if it closes.
func fanOut(n, ops int, closes bool) func(b *Builder) {
	return func(b *Builder) {
		args := Args{Scalar("n", ops)}
		source := b.Submit("source", count, args)
		var all []ID
		for range n {
			all = append(all, b.Submit("leaf", count, args, After(source)))
		}
		if closes {
			b.Submit("sink", count, args, After(all...))
		}
	}
}

func TestFormulas(t *testing.T) {
	type shape struct {
		name    string
		program func(n, ops int) func(b *Builder)
		time    func(c *Config, r Runtime, n, tensors int, d topology.Time) topology.Time
		tasks   func(n int) int
	}
	shapes := []shape{
		{"chain", chain, (*Config).ChainTime, func(n int) int { return n }},
		{"fan-out", func(n, ops int) func(*Builder) { return fanOut(n, ops, false) }, (*Config).FanOutTime, func(n int) int { return n + 1 }},
		{"diamond", func(n, ops int) func(*Builder) { return fanOut(n, ops, true) }, (*Config).DiamondTime, func(n int) int { return n + 2 }},
	}
	for _, sets := range [][]string{
		nil,
		{"tensormap_and_ringbuffer.schedulers=1", "control.register_read=7ns", "control.posted_write=11ns"},
		{"tensormap_and_ringbuffer.per_task=9us", "tensormap_and_ringbuffer.schedulers=8", "aicpu_build_graph.per_task=1us"},
		{"control.register_read=0ns", "control.posted_write=0ns", "control.to_compute=0ns", "control.core_switch=0ns", "host_build_graph.fixed=0ns"},
	} {
		c := configured(t, sets...)
		for _, shape := range shapes {
			for _, r := range Runtimes {
				for _, n := range []int{1, 2, 7, 24} {
					for _, ops := range []int{1, 700, 12000} {
						ctx := system(t, "default", torch.Options{NoData: true})
						d := alone(t, ctx, ops)
						b := c.submit(r, 1, 0)
						if flight := c.Control.flight(d); shape.name != "chain" && (r != HostBuildGraph && Time(n)*b+c.submit(r, n, 0) > flight || Time(n-1)*c.Control.PostedWrite > flight) {
							continue // outside of what the form is for
						}
						name := fmt.Sprintf("%s of %d under %s with %v, kernels of %v", shape.name, n, r, sets, d)
						got, err := Run(ctx, Options{Runtime: r, Config: c, Devices: []int{0}}, shape.program(n, ops))
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

// TestBuildingOverlaps: who builds on the device does so while tasks run, the host does
// not; and only the orchestrator does it beside the scheduling.
func TestBuildingOverlaps(t *testing.T) {
	for _, r := range Runtimes {
		ctx := system(t, "default", torch.Options{NoData: true})
		got, err := Run(ctx, Options{Runtime: r, Devices: []int{0}}, chain(16, 700))
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
