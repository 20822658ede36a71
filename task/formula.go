package task

import (
	"github.com/kernbench/kernbench/topology"
)

// The closed forms of three small programs on an otherwise idle rank. They are for tests
// and tables: the control cores are never asked. In them
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

// submission returns b of a task with some explicit edges and regions.
func (c *Config) submission(r Runtime, edges, tensors int) topology.Time {
	if r == AICPUBuildGraph {
		return c.AICPU.PerTask + topology.Time(edges)*c.AICPU.PerEdge
	}
	return c.TensorMap.PerTask + topology.Time(edges)*c.TensorMap.PerEdge + topology.Time(tensors)*c.TensorMap.PerTensor
}

// head returns the time from the start to when the end of the first task of n is known: after the host's
// graph, or after the submission of that task alone.
func (c *Config) head(r Runtime, n, tensors int, d topology.Time) topology.Time {
	if r == HostBuildGraph {
		return c.Host.Fixed + topology.Time(n)*c.Host.PerTask + c.Control.handling(d)
	}
	return c.submission(r, 0, tensors) + c.Control.handling(d)
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
	each, b, rest := c.Control.handling(d), c.submission(r, 1, tensors), topology.Time(n-1)
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

// FanOutTime returns how long n tasks take that all wait for one before them, by an explicit
// edge, if there is a compute core for each, every kernel takes d, all tasks are submitted
// when the first ends (n·b ≤ F), and all of the n are dispatched when one of them ends
// (n·w ≤ w + F):
//
//	the first + F + max(w + q·R, q·w + R), q = ⌈n / schedulers⌉
//
// With R > w the control cores that read the ends one after the other are what takes the
// time.
func (c *Config) FanOutTime(r Runtime, n, tensors int, d topology.Time) topology.Time {
	return c.head(r, n+1, tensors, d) + c.burst(r, n, d)
}

// DiamondTime returns how long it takes with one more task that waits for all of the n, and is
// submitted when the first ends as well: n·b + bₗ ≤ F, where bₗ is that of a task with n
// edges.
func (c *Config) DiamondTime(r Runtime, n, tensors int, d topology.Time) topology.Time {
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

// ChainAcrossTime returns how long n tasks take of which each waits for the one before, on the
// other rank:
//
//	the first + (n-1)·(w + m + R + w + F + R)
//
// The tasks of the first rank are submitted when the first of them ends,
// (⌈n/2⌉-1)·b ≤ F, and those of the second when the first message arrives there,
// ⌊n/2⌋·b ≤ b₀ + w + F + R + w + m.
func (c *Config) ChainAcrossTime(r Runtime, n, tensors int, d, m topology.Time) topology.Time {
	return c.head(r, n, tensors, d) + topology.Time(n-1)*(c.Control.edge(m)+c.Control.handling(d))
}

// FanOutAcrossTime returns how long n tasks of a rank take that all wait for one of the other
// rank: one message, after which they are ready at once. The conditions are those of
// FanOutTime, but the n need not be submitted before the message arrives:
// n·b ≤ b₀ + w + F + R + w + m.
//
//	the first + w + m + R + F + max(w + q·R, q·w + R), q = ⌈n / schedulers⌉
func (c *Config) FanOutAcrossTime(r Runtime, n, tensors int, d, m topology.Time) topology.Time {
	return c.head(r, n+1, tensors, d) + c.Control.edge(m) + c.burst(r, n, d)
}

// DiamondAcrossTime returns how long it takes with one more task on the rank of the first, which
// waits for all of the n: for n messages. Control cores read an end and then post a message
// of it, so that every R + w as many messages leave as there are control cores. Those that
// leave at one instant arrive gap apart: what the narrowest link of their way takes for a
// message. The last task is submitted when the first ends, bₗ ≤ F.
//
//	the first + w + m + R + F + w + q·(R + w) + m + ((n-1) mod schedulers)·gap + R + (w + F + R)
func (c *Config) DiamondAcrossTime(r Runtime, n, tensors int, d, m, gap topology.Time) topology.Time {
	control := &c.Control
	s := c.schedulers(r)
	q := topology.Time((n + s - 1) / s)
	leaves := control.flight(d) + control.PostedWrite + q*(control.RegisterRead+control.PostedWrite)
	last := m + topology.Time((n-1)%s)*gap + control.RegisterRead
	return c.head(r, n+2, tensors, d) + control.edge(m) + leaves + last + control.handling(d)
}
