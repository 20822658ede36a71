package task

import (
	"github.com/kernbench/kernbench/topology"
)

// This file has closed forms of the makespan of three small programs on an otherwise idle
// rank. Tests and tables use the formulas; the model of the control cores never calls
// them. In the formulas
//
//	w  is a posted write
//	F  is the flight of a task: the way to a compute core, its switch, and the kernel
//	R  is a register read
//	b  is the time to submit a task while others run: 0 under host_build_graph
//
// The formulas assume that storage has space for all tasks.

// flightTime returns F: the time from the end of a task's dispatch to the end of its
// kernel. F consists of the way to the compute core, the switch of the core, and d, the
// time of the kernel.
func (c *Control) flightTime(d topology.Time) topology.Time { return c.ToCompute + c.CoreSwitch + d }

// handlingTime returns w + F + R: the time from the start of a task's dispatch until the
// end of the task is known. The kernel of the task takes d. w is a posted write, F the
// flight of the task, and R a register read.
func (c *Control) handlingTime(d topology.Time) topology.Time {
	return c.PostedWrite + c.flightTime(d) + c.RegisterRead
}

// submission returns b, the time to submit a task with the given number of explicit edges
// and regions while other tasks run.
func (c *Config) submission(r Runtime, edges, tensors int) topology.Time {
	if r == AICPUBuildGraph {
		return c.AICPU.PerTask + topology.Time(edges)*c.AICPU.PerEdge
	}
	return c.TensorMap.PerTask + topology.Time(edges)*c.TensorMap.PerEdge + topology.Time(tensors)*c.TensorMap.PerTensor
}

// firstEndTime returns the time from the start of the program until the end of the first of
// its n tasks is known. Under host_build_graph this includes building the graph of all n
// tasks. Under the other runtimes it includes submitting only the first task.
func (c *Config) firstEndTime(r Runtime, n, tensors int, d topology.Time) topology.Time {
	if r == HostBuildGraph {
		return c.Host.Fixed + topology.Time(n)*c.Host.PerTask + c.Control.handlingTime(d)
	}
	return c.submission(r, 0, tensors) + c.Control.handlingTime(d)
}

// ChainTime returns the makespan of a chain of n tasks. Each task waits for the previous
// one by an explicit edge and has the given number of regions. Each kernel takes d:
//
//	host_build_graph          fixed + n·per_task + n·(w + F + R)
//	aicpu_build_graph         b₀ + n·(w + F + R) + ⌊(n-1)/k⌋·(k·b - F), k = ⌈F/b⌉
//	tensormap_and_ringbuffer  b₀ + n·(w + F + R), or b₀ + (n-1)·b + (w + F + R) if b > w + F + R
//
// w is a posted write, F the flight of a task (flightTime), and R a register read. b₀ is
// the time to submit the first task, and b the time to submit each further task.
//
// Under aicpu_build_graph one control core builds and schedules. It builds k tasks during a
// flight, and is still busy with the last of them when the flight ends, so it reads the end
// late. The orchestrator of tensormap_and_ringbuffer delays no other control core.
func (c *Config) ChainTime(r Runtime, n, tensors int, d topology.Time) topology.Time {
	each, b, rest := c.Control.handlingTime(d), c.submission(r, 1, tensors), topology.Time(n-1)
	took := c.firstEndTime(r, n, tensors, d) + rest*each
	switch flight := c.Control.flightTime(d); {
	case r == AICPUBuildGraph && b > 0:
		k := max(1, (flight+b-1)/b)
		took += rest / k * (k*b - flight)
	case r == TensorMapAndRingBuffer:
		took += rest * max(0, b-each)
	}
	return took
}

// FanOutTime returns the makespan of n tasks that all wait for one earlier task by an
// explicit edge. Every kernel takes d:
//
//	firstEndTime + F + max(w + q·R, q·w + R), q = ⌈n / schedulers⌉
//
// w is a posted write, F the flight of a task (flightTime), R a register read, and b the
// time to submit a task. There must be a compute core for each of the n tasks. All tasks
// must have been submitted by the time the first task ends (n·b ≤ F). All of the n tasks
// must have been dispatched by the time one of them ends (n·w ≤ w + F). If R > w, the
// control cores that read the ends one after another are the bottleneck.
func (c *Config) FanOutTime(r Runtime, n, tensors int, d topology.Time) topology.Time {
	return c.firstEndTime(r, n+1, tensors, d) + c.burstTime(r, n, d)
}

// DiamondTime returns the makespan of the program of FanOutTime with one more task that
// waits for all of the n tasks. This last task, too, must have been submitted by the time
// the first task ends: n·b + bₗ ≤ F, where b is the time to submit one of the n tasks, bₗ
// the time to submit a task with n edges, and F the flight of a task.
func (c *Config) DiamondTime(r Runtime, n, tensors int, d topology.Time) topology.Time {
	return c.firstEndTime(r, n+2, tensors, d) + c.burstTime(r, n, d) + c.Control.handlingTime(d)
}

// burstTime returns the time from the moment when n tasks are ready until the end of the
// last of them is known. Each kernel takes d.
func (c *Config) burstTime(r Runtime, n int, d topology.Time) topology.Time {
	s := c.schedulers(r)
	q := topology.Time((n + s - 1) / s)
	w, read := c.Control.PostedWrite, c.Control.RegisterRead
	return c.Control.flightTime(d) + max(w+q*read, q*w+read)
}

// The following formulas are for the same programs across two ranks of one orchestration
// (Options.Single). m is the time of a message from one rank to the other: the fabric's
// time for credit_bytes from the TCM of the first PE of one SIP to that of the other SIP.

// edgeTime returns w + m + R: the time from when the end of a task is known at the task's
// rank until it is known at another rank. w is a posted write, m the time of a message, and
// R a register read.
func (c *Control) edgeTime(m topology.Time) topology.Time { return c.PostedWrite + m + c.RegisterRead }

// ChainAcrossTime returns the makespan of a chain of n tasks that alternate between two
// ranks. Every kernel takes d, and a message between the ranks takes m:
//
//	firstEndTime + (n-1)·(w + m + R + w + F + R)
//
// The letters are those of ChainTime. The tasks of the first rank must have been submitted
// by the time the first of them ends: (⌈n/2⌉-1)·b ≤ F. The tasks of the second rank must
// have been submitted by the time the first message arrives there:
// ⌊n/2⌋·b ≤ b₀ + w + F + R + w + m.
func (c *Config) ChainAcrossTime(r Runtime, n, tensors int, d, m topology.Time) topology.Time {
	return c.firstEndTime(r, n, tensors, d) + topology.Time(n-1)*(c.Control.edgeTime(m)+c.Control.handlingTime(d))
}

// FanOutAcrossTime returns the makespan of n tasks of one rank that all wait for a task of
// another rank. Every kernel takes d, and a message between the ranks takes m. One message
// makes all n tasks ready at once:
//
//	firstEndTime + w + m + R + F + max(w + q·R, q·w + R), q = ⌈n / schedulers⌉
//
// The letters are those of ChainTime, and the conditions those of FanOutTime, with one
// exception: it is enough if the n tasks have been submitted by the time the message
// arrives (n·b ≤ b₀ + w + F + R + w + m).
func (c *Config) FanOutAcrossTime(r Runtime, n, tensors int, d, m topology.Time) topology.Time {
	return c.firstEndTime(r, n+1, tensors, d) + c.Control.edgeTime(m) + c.burstTime(r, n, d)
}

// DiamondAcrossTime returns the makespan of the program of FanOutAcrossTime with one more
// task on the first rank. This last task waits for all of the n tasks, and therefore for n
// messages:
//
//	firstEndTime + w + m + R + F + w + q·(R + w) + m + ((n-1) mod schedulers)·gap + R + (w + F + R)
//
// The letters are those of FanOutAcrossTime. Each control core reads an end and then posts
// a message, so each control core sends one message every R + w. Messages that leave at the
// same instant arrive one gap apart. The gap is the time of a message on the narrowest link
// of the path. The last task must have been submitted by the time the first task ends: bₗ ≤
// F, where bₗ is the time to submit a task with n edges.
func (c *Config) DiamondAcrossTime(r Runtime, n, tensors int, d, m, gap topology.Time) topology.Time {
	control := &c.Control
	s := c.schedulers(r)
	q := topology.Time((n + s - 1) / s)
	leaves := control.flightTime(d) + control.PostedWrite + q*(control.RegisterRead+control.PostedWrite)
	last := m + topology.Time((n-1)%s)*gap + control.RegisterRead
	return c.firstEndTime(r, n+2, tensors, d) + control.edgeTime(m) + leaves + last + control.handlingTime(d)
}
