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

// shape is a program that has a closed form.
type shape struct {
	name    string
	program func(n, ops int) func(b *Builder)
	time    func(c *Config, r Runtime, n, tensors int, d topology.Time) topology.Time
	tasks   func(n int) int
	built   func(c *Config, r Runtime, n int) Time // how long it takes to submit what has to be when the first task ends
}

var (
	chained = shape{
		"chain", chain, (*Config).ChainTime, func(n int) int { return n }, nil,
	}
	fannedOut = shape{
		"fan-out", func(n, ops int) func(*Builder) { return fanOut(n, ops, false) }, (*Config).fanOutTime, func(n int) int { return n + 1 },
		func(c *Config, r Runtime, n int) Time { return Time(n) * c.submit(r, 1, 0) },
	}
	diamond = shape{
		"diamond", func(n, ops int) func(*Builder) { return fanOut(n, ops, true) }, (*Config).diamondTime, func(n int) int { return n + 2 },
		func(c *Config, r Runtime, n int) Time { return Time(n)*c.submit(r, 1, 0) + c.submit(r, n, 0) },
	}
)

// holds reports whether the conditions are met that the closed form states.
func (s *shape) holds(c *Config, r Runtime, n int, d Time) bool {
	if s.built == nil {
		return true
	}
	flight, w := c.Control.flight(d), c.Control.PostedWrite
	return (r == HostBuildGraph || s.built(c, r, n) <= flight) && Time(n)*w <= w+flight
}

func TestFormulas(t *testing.T) {
	self := system(t, "default", torch.Options{NoData: true})
	operations := []int{1, 700, 12000}
	var kernels []Time
	for _, ops := range operations {
		kernels = append(kernels, alone(t, self, ops))
	}
	for _, sets := range [][]string{
		nil,
		{"tensormap_and_ringbuffer.schedulers=1", "control.register_read=7ns", "control.posted_write=11ns"},
		{"tensormap_and_ringbuffer.per_task=9us", "tensormap_and_ringbuffer.schedulers=8", "aicpu_build_graph.per_task=1us"},
		{"control.register_read=0ns", "control.posted_write=0ns", "control.to_compute=0ns", "control.core_switch=0ns", "host_build_graph.fixed=0ns"},
	} {
		c := configured(t, sets...)
		for _, shape := range []shape{chained, fannedOut, diamond} {
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

// TestFormulaBounds takes the conditions of the closed forms to where they just hold, and a
// femtosecond further: a control core that is still busy then sees an end so much later.
func TestFormulaBounds(t *testing.T) {
	const n, ops = 8, 1
	r := system(t, "default", torch.Options{NoData: true})
	d := alone(t, r, ops)
	building := []string{"control.core_switch=0ns"}
	dispatching := []string{
		"control.core_switch=0ns", "control.posted_write=200ns", "control.register_read=300ns", "aicpu_build_graph.per_task=1ns", "aicpu_build_graph.per_edge=1ns",
		"tensormap_and_ringbuffer.schedulers=1", "tensormap_and_ringbuffer.per_task=1ns", "tensormap_and_ringbuffer.per_edge=1ns",
	}
	for _, shape := range []shape{fannedOut, diamond} {
		built := func(r Runtime) func(c *Config) Time { return func(c *Config) Time { return shape.built(c, r, n) } }
		dispatched := func(c *Config) Time { return (n - 1) * c.Control.PostedWrite }
		for _, tt := range []struct {
			runtime Runtime
			bound   string
			sets    []string
			flight  func(c *Config) Time // the shortest that the condition allows
			late    Time                 // what the form does not know of if it is 1 fs shorter
		}{
			{AICPUBuildGraph, "building", building, built(AICPUBuildGraph), 1},
			{TensorMapAndRingBuffer, "building", building, built(TensorMapAndRingBuffer), 0}, // who sees ends does not build
			{HostBuildGraph, "dispatching", dispatching, dispatched, 1},
			{AICPUBuildGraph, "dispatching", dispatching, dispatched, 1},
			{TensorMapAndRingBuffer, "dispatching", dispatching, dispatched, 1},
		} {
			for beyond := range Time(2) {
				c := configured(t, tt.sets...)
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

// TestBuildingOverlaps: who builds on the device does so while tasks run, the host does
// not; and only the orchestrator does it beside the scheduling.
func TestBuildingOverlaps(t *testing.T) {
	for _, r := range Runtimes {
		self := system(t, "default", torch.Options{NoData: true})
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

// fanOutTime returns how long n tasks take that all wait for one before them, by an explicit
// edge, if there is a compute core for each, every kernel takes d, all tasks are submitted
// when the first ends (n·b ≤ F), and all of the n are dispatched when one of them ends
// (n·w ≤ w + F):
//
//	the first + F + max(w + q·R, q·w + R), q = ⌈n / schedulers⌉
//
// With R > w the control cores that read the ends one after the other are what takes the
// time.
func (c *Config) fanOutTime(r Runtime, n, tensors int, d topology.Time) topology.Time {
	return c.head(r, n+1, tensors, d) + c.burst(r, n, d)
}

// diamondTime returns how long it takes with one more task that waits for all of the n, and is
// submitted when the first ends as well: n·b + bₗ ≤ F, where bₗ is that of a task with n
// edges.
func (c *Config) diamondTime(r Runtime, n, tensors int, d topology.Time) topology.Time {
	return c.head(r, n+2, tensors, d) + c.burst(r, n, d) + c.Control.handling(d)
}

// burst returns the time from when n tasks are ready to when the end of the last is known.
func (c *Config) burst(r Runtime, n int, d topology.Time) topology.Time {
	s := c.schedulers(r)
	q := topology.Time((n + s - 1) / s)
	w, read := c.Control.PostedWrite, c.Control.RegisterRead
	return c.Control.flight(d) + max(w+q*read, q*w+read)
}

// The same programs across two ranks of one orchestration (Options.Single). m is how long a
// message takes from one to the other: what the fabric takes for credit_bytes from the TCM
// of the first PE of one SIP to that of the other.

// edge returns the time from when the end of a task is known at its rank to when it is known
// at the other: w + m + R.
func (c *Control) edge(m topology.Time) topology.Time { return c.PostedWrite + m + c.RegisterRead }

// chainAcrossTime returns how long n tasks take of which each waits for the one before, on the
// other rank:
//
//	the first + (n-1)·(w + m + R + w + F + R)
//
// The tasks of the first rank are submitted when the first of them ends,
// (⌈n/2⌉-1)·b ≤ F, and those of the second when the first message arrives there,
// ⌊n/2⌋·b ≤ b₀ + w + F + R + w + m.
func (c *Config) chainAcrossTime(r Runtime, n, tensors int, d, m topology.Time) topology.Time {
	return c.head(r, n, tensors, d) + topology.Time(n-1)*(c.Control.edge(m)+c.Control.handling(d))
}

// fanOutAcrossTime returns how long n tasks of a rank take that all wait for one of the other
// rank: one message, after which they are ready at once. The conditions are those of
// fanOutTime, but the n need not be submitted before the message arrives:
// n·b ≤ b₀ + w + F + R + w + m.
//
//	the first + w + m + R + F + max(w + q·R, q·w + R), q = ⌈n / schedulers⌉
func (c *Config) fanOutAcrossTime(r Runtime, n, tensors int, d, m topology.Time) topology.Time {
	return c.head(r, n+1, tensors, d) + c.Control.edge(m) + c.burst(r, n, d)
}

// diamondAcrossTime returns how long it takes with one more task on the rank of the first, which
// waits for all of the n: for n messages. Control cores read an end and then post a message
// of it, so that every R + w as many messages leave as there are control cores. Those that
// leave at one instant arrive gap apart: what the narrowest link of their way takes for a
// message. The last task is submitted when the first ends, bₗ ≤ F.
//
//	the first + w + m + R + F + w + q·(R + w) + m + ((n-1) mod schedulers)·gap + R + (w + F + R)
func (c *Config) diamondAcrossTime(r Runtime, n, tensors int, d, m, gap topology.Time) topology.Time {
	control := &c.Control
	s := c.schedulers(r)
	q := topology.Time((n + s - 1) / s)
	leaves := control.flight(d) + control.PostedWrite + q*(control.RegisterRead+control.PostedWrite)
	last := m + topology.Time((n-1)%s)*gap + control.RegisterRead
	return c.head(r, n+2, tensors, d) + control.edge(m) + leaves + last + control.handling(d)
}
