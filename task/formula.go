package task

import (
	"github.com/kernbench/kernbench/topology"
)

// The closed form of a chain of tasks on an otherwise idle rank. It is for tests and tables: the
// control cores are never asked. In it
//
//	w  is a posted write
//	F  is the flight of a task: the way to a compute core, its switch, and the kernel
//	R  is a register read
//	b  is what it takes to submit a task while others run: 0 under host_build_graph
//
// Storage has room for all tasks.

// flight returns F of a kernel that takes d.
func (c *Control) flight(d topology.Time) topology.Time { return c.ToCompute + c.CoreSwitch + d }

// handling returns the time of a task from when a control core turns to it to when its end is known:
// w + F + R.
func (c *Control) handling(d topology.Time) topology.Time {
	return c.PostedWrite + c.flight(d) + c.RegisterRead
}

// head returns the time from the start to when the end of the first task of n is known: after the host's
// graph, or after the submission of that task alone.
func (c *Config) head(r Runtime, n, tensors int, d topology.Time) topology.Time {
	if r == HostBuildGraph {
		return c.Host.Fixed + topology.Time(n)*c.Host.PerTask + c.Control.handling(d)
	}
	return c.submit(r, 0, tensors) + c.Control.handling(d)
}

// ChainTime returns how long n tasks take of which each waits for the one before by an explicit
// edge, has so many regions and runs for d:
//
//	host_build_graph          fixed + n·per_task + n·(w + F + R)
//	aicpu_build_graph         b₀ + n·(w + F + R) + ⌊(n-1)/k⌋·(k·b - F), k = ⌈F/b⌉
//	tensormap_and_ringbuffer  b₀ + n·(w + F + R), or b₀ + (n-1)·b + (w + F + R) if b > w + F + R
//
// The control core that builds and schedules by turns builds k tasks during a flight, and
// the last of them keeps it from seeing the end at once. An orchestrator disturbs nobody.
func (c *Config) ChainTime(r Runtime, n, tensors int, d topology.Time) topology.Time {
	each, b, rest := c.Control.handling(d), c.submit(r, 1, tensors), topology.Time(n-1)
	took := c.head(r, n, tensors, d) + rest*each
	switch flight := c.Control.flight(d); {
	case r == AICPUBuildGraph && b > 0:
		k := max(1, (flight+b-1)/b)
		took += rest / k * (k*b - flight)
	case r == TensorMapAndRingBuffer:
		took += rest * max(0, b-each)
	}
	return took
}
