package task

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/internal/exec"
	"github.com/kernbench/kernbench/internal/procpe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// member returns the number of the calling member and the number of members. `launched` is
// 1 if the kernel runs in a launch instead of a task.
func member(t *tl.PE, launched int) (me, all int) {
	if launched == 1 {
		return t.Rank(), t.NumRanks()
	}
	return t.ProgramID(0), t.NumPrograms(0)
}

// prefix adds all earlier rows to each row of x. Each member has one row of n elements, and
// members are connected in a line.
func prefix(t *tl.PE, x tl.Ptr, n, launched int) {
	me, all := member(t, launched)
	v := t.Load(x.At(me), tl.Shape{n}, tl.I32)
	if me > 0 {
		v = v.Add(t.Recv(tl.West, tl.Shape{n}, tl.I32))
	}
	if me < all-1 {
		t.Send(tl.East, v)
	}
	t.Store(x.At(me), v)
}

// rotate sets each row of x to the sum of all rows. Each member has one row of n elements,
// and members are connected in a ring.
func rotate(t *tl.PE, x tl.Ptr, n, launched int) {
	me, all := member(t, launched)
	v := t.Load(x.At(me), tl.Shape{n}, tl.I32)
	sum := v
	for range all - 1 {
		r := t.RecvAsync(tl.West, tl.Shape{n}, tl.I32)
		t.Send(tl.East, v)
		v = r.Wait()
		sum = sum.Add(v)
	}
	t.Store(x.At(me), sum)
}

// gather adds to each row of x all other rows, each multiplied by its row number plus 2.
// Each member has one row of n elements, and all pairs of members are connected.
func gather(t *tl.PE, x tl.Ptr, n, launched int) {
	me, all := member(t, launched)
	s, others := tl.Shape{n}, make([]tl.Case, 0, all)
	v := t.Load(x.At(me), s, tl.I32)
	box := t.Scratch(s, tl.I32)
	for other := range all {
		if other != me {
			t.Send(tl.Numbered(other), t.Ref(x.At(me), s, tl.I32))
			others = append(others, tl.CanRecv(tl.Numbered(other)))
		}
	}
	if len(others) > 0 { // receive the first message into memory, the others in the order of arrival
		first := others[t.Select(others...)].Port
		t.RecvInto(first, box, s, tl.I32)
		v = v.Add(t.Load(box, s, tl.I32).Mul(int(first-tl.Numbered(0)) + 2))
	}
	for i := 1; i < len(others); i++ {
		got, from := t.RecvAny(s, tl.I32)
		v = v.Add(got.Mul(int(from-tl.Numbered(0)) + 2))
	}
	t.Store(x.At(me), v)
}

// messageKernel is a kernel whose members exchange messages, with the neighbour table that
// connects them and a function that computes the expected rows of x.
type messageKernel struct {
	name   string
	kernel any
	table  func(members ...int) []torch.Connection
	apply  func(x [][]int32)
}

var messageKernels = []messageKernel{
	{"prefix", prefix, torch.Line, func(x [][]int32) {
		for me := 1; me < len(x); me++ {
			for i := range x[me] {
				x[me][i] += x[me-1][i]
			}
		}
	}},
	{"rotate", rotate, torch.Ring, func(x [][]int32) {
		for i := range x[0] {
			sum := int32(0)
			for me := range x {
				sum += x[me][i]
			}
			for me := range x {
				x[me][i] = sum
			}
		}
	}},
	{"gather", gather, torch.AllPairs, func(x [][]int32) {
		for i := range x[0] {
			sum := int32(0)
			for me := range x {
				sum += int32(me+2) * x[me][i]
			}
			for me := range x {
				x[me][i] = sum - int32(me+1)*x[me][i]
			}
		}
	}},
}

// TestGroupTakesAsLongAsALaunch checks the times of the members of a task group that
// exchange messages. Each member must take exactly as long as in a launch of the same
// kernel on the same PEs, wherever the PEs are and whatever ran there before. A second
// group on the same PEs must take as long as the first.
func TestGroupTakesAsLongAsALaunch(t *testing.T) {
	for kind, sets := range map[topology.BufferKind][]string{
		"": nil, topology.BufferSRAM: nil, topology.BufferTCM: {"pe.ipcq.buffer_kind=sram"}, topology.BufferHBM: {"pe.ipcq.backpressure=poll"},
	} {
		r := newSystem(t, "ring6", torch.Options{NoData: true}, append(sets, "sip.cube_mesh.w=2", "sip.cube_mesh.h=1")...)
		c := loadConfig(t, "control.compute_cores=11")
		for i, k := range messageKernels {
			for _, members := range []int{1, 2, 3, 5, 7} {
				n := []int{37, 1031, 1733}[(i+members)%3] // messages have up to two fragments
				busy := members % 4
				x := torch.Must(r.Zeros(torch.I32, torch.Shape{members, n}, torch.On(0)))
				name := fmt.Sprintf("%s of %d with %d elements, slots in %q, %v", k.name, members, n, kind, sets)
				result, err := Run(r, Options{Runtime: Runtimes[i], Config: c, Devices: []int{0}}, func(b *Builder) {
					own := b.Tensor(x)
					for range busy {
						b.Submit("busy", count, Args{Scalar("n", 30000)})
					}
					args := Args{InOut("x", own), Scalar("n", n), Scalar("launched", 0)}
					first := b.Submit(k.name, k.kernel, args, Group(members, k.table), Buffers(kind))
					b.Submit(k.name, k.kernel, args, Group(members, k.table), Buffers(kind), After(first))
				})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				pes, took := make([]int, members), [2][]Time{make([]Time, members), make([]Time, members)}
				for _, s := range result.Spans {
					if s.Name == k.name {
						pes[s.Member] = s.Core
						took[int(s.Task)-busy][s.Member] = s.End - s.Begin
					}
				}
				if pes[0] != busy {
					t.Fatalf("%s ran on the cores %v, want them from %d on", name, pes, busy)
				}
				l := torch.Must(r.Launch(k.name, k.kernel, x, n, 1, torch.PEs(pes...), torch.Neighbors(k.table(pes...)), torch.Buffers(kind)))
				want := l.Exec()
				for round := range took {
					if !slices.Equal(took[round], want) {
						t.Errorf("%s, round %d: members took %v, want %v", name, round, took[round], want)
					}
				}
			}
		}
	}
}

// TestGroupMakespan checks that the makespan of a chain of task groups equals the closed
// form of a chain. In the closed form, the kernel takes as long as in a launch on the same
// PEs, and a dispatch takes one posted write for each member.
func TestGroupMakespan(t *testing.T) {
	const n = 301
	self := newSystem(t, "ring6", torch.Options{NoData: true})
	for _, members := range []int{2, 5, 7} {
		x := torch.Must(self.Zeros(torch.I32, torch.Shape{members, n}, torch.On(0)))
		pes := make([]int, members)
		for i := range pes {
			pes[i] = i
		}
		l := torch.Must(self.Launch("prefix", prefix, x, n, 1, torch.PEs(pes...), torch.Neighbors(torch.Line(pes...))))
		ends := l.Exec()
		for _, r := range Runtimes {
			for _, tasks := range []int{1, 4} {
				// Reading the end of a member must finish before the next member ends.
				c := loadConfig(t, "control.register_read=1ns", "aicpu_build_graph.per_task=0ns", "aicpu_build_graph.per_edge=0ns")
				for i := 1; i < members; i++ {
					if ends[i]-ends[i-1] < c.Control.RegisterRead {
						t.Fatalf("%d members end at %v, want them further apart", members, ends)
					}
				}
				form := *c
				form.Control.PostedWrite *= Time(members)
				result, err := Run(self, Options{Runtime: r, Config: c, Devices: []int{0}}, func(b *Builder) {
					own := b.Tensor(x)
					var last []ID
					for range tasks {
						args := Args{InOut("x", own), Scalar("n", n), Scalar("launched", 0)}
						last = []ID{b.Submit("prefix", prefix, args, Group(members, torch.Line), After(last...))}
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				if want := form.ChainTime(r, tasks, 1, ends[members-1]); result.Makespan != want {
					t.Errorf("%d groups of %d under %s: makespan %v, want %v", tasks, members, r, result.Makespan, want)
				}
			}
		}
	}
}

// exchange is a random program of task groups whose members exchange messages, mixed with
// tasks of one member.
type exchange struct {
	rows, n int
	cores   int
	tasks   []exchangeTask
}

// exchangeTask is a task of an exchange.
type exchangeTask struct {
	kernel  int // index in messageKernels; len(messageKernels) for affine on one row
	first   int // the first row
	members int
}

func drawExchange(t *rapid.T) *exchange {
	c := &exchange{
		rows: rapid.IntRange(7, 12).Draw(t, "rows"), n: rapid.SampledFrom([]int{1, 5, 37, 1025, 4099}).Draw(t, "n"),
		cores: rapid.IntRange(1, 8).Draw(t, "cores"), tasks: make([]exchangeTask, rapid.IntRange(1, 12).Draw(t, "tasks")),
	}
	for i := range c.tasks {
		x := &c.tasks[i]
		x.kernel, x.members = rapid.IntRange(0, len(messageKernels)).Draw(t, "talk"), 1
		if x.kernel < len(messageKernels) {
			x.members = min(c.cores, rapid.SampledFrom([]int{1, 2, 3, 5, 7}).Draw(t, "members"))
		}
		if x.kernel == 2 && c.n == 4099 {
			x.kernel = 1 // in gather every member sends before it receives, and such messages do not fit into the queues
		}
		x.first = rapid.IntRange(0, c.rows-x.members).Draw(t, "first")
	}
	return c
}

// job returns the program as a job, with an edge for each conflict.
func (c *exchange) job() *job {
	a := array{shape: tl.Shape{c.rows, c.n}, init: func(_, i int) int32 { return int32(i*i%1009 - 500) }}
	return &job{ranks: 1, arrays: []array{a}, submit: func(b *Builder, x []*Tensor) {
		for i, task := range c.tasks {
			var after []ID
			for k, earlier := range c.tasks[:i] {
				if earlier.first < task.first+task.members && task.first < earlier.first+earlier.members {
					after = append(after, ID(k))
				}
			}
			args := Args{InOut("x", x[0].Rows(task.first, task.members))}
			if task.kernel == len(messageKernels) {
				b.Submit("affine", affine, append(args, Scalar("c", i)), After(after...))
				continue
			}
			k := &messageKernels[task.kernel]
			b.Submit(k.name, k.kernel, append(args, Scalar("n", c.n), Scalar("launched", 0)), Group(task.members, k.table), After(after...))
		}
	}}
}

// expected returns the values of the array after the tasks have run one by one.
func (c *exchange) expected() contents {
	all := c.job().initialContents()
	for i, task := range c.tasks {
		var rows [][]int32
		for row := range task.members {
			rows = append(rows, all[0][0][(task.first+row)*c.n:][:c.n])
		}
		if task.kernel < len(messageKernels) {
			messageKernels[task.kernel].apply(rows)
			continue
		}
		for k := range rows[0] {
			rows[0][k] = 3*rows[0][k] + int32(i)
		}
	}
	return all
}

// TestExchanges checks that task groups whose members exchange messages compute the same
// values as if their tasks ran one by one. Several groups run at once, wait for cores, or
// follow each other on the same PEs with different partners. The test runs them under every
// runtime, simulated, replayed and on real ranks. It also checks that messages order the
// accesses of members.
func TestExchanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawExchange(t)
		j, want := c.job(), c.expected()
		for _, r := range Runtimes {
			o := Options{Runtime: r, Config: Default()}
			o.Config.Control.ComputeCores = c.cores
			out := j.mustRunSimulated(t, o, torch.Options{Race: true})
			out.checkEqual(t, string(r), want)
			if len(out.races) > 0 {
				t.Errorf("%s: races %q, want none", r, out.races)
			}
			if again, err := exec.Replay(context.Background(), out.log, 2); err != nil || again.Reads != 1 || again.Unknown+len(again.Mismatched) > 0 {
				t.Errorf("%s: a replay gives %+v, %v, want the bytes that were read", r, again, err)
			}
			got, errs := j.runReal(o)
			if err := errors.Join(errs...); err != nil {
				t.Fatalf("%s: real rank: %v", r, err)
			}
			got.checkEqual(t, "real rank, "+string(r), want)
		}
	})
}

// TestMessagesThatFail checks the errors for kernels that use messages wrongly. The errors
// must name the line and a remedy, and must be the same on simulated and on real ranks
// except for the names of PEs.
func TestMessagesThatFail(t *testing.T) {
	s, five := tl.Shape{5}, func(t *tl.PE) tl.Tile { return t.Full(tl.Shape{5}, tl.I32, 7) }
	first := func(t *tl.PE) bool { return t.ProgramID(0) == 0 }
	const none = "no port east: the task has no neighbour table; give its group one, as in task.Group(4, torch.Ring), and pass data to other tasks by regions"
	for i, c := range []struct {
		name   string
		group  Option
		kernel any
		want   string
	}{
		{"no group", nil, func(t *tl.PE, x tl.Ptr) { t.Send(tl.East, five(t)) }, "kernel talk (task 0) on PE0: Send(east, [5] i32) at L: " + none},
		{"a group without neighbours", Group(2), func(t *tl.PE, x tl.Ptr) {
			if first(t) {
				t.Recv(tl.East, s, tl.I32)
			}
		}, "kernel talk (task 0) on PE0: Recv(east, [5] i32) at L: " + none},
		{"any port of none", Group(1, torch.Line), func(t *tl.PE, x tl.Ptr) { t.RecvAny(s, tl.I32) },
			"kernel talk (task 0) on PE0: RecvAny(any, [5] i32) at L: no port any: the task has no neighbour table; give its group one, as in task.Group(4, torch.Ring), and pass data to other tasks by regions"},
		{"another port", Group(3, torch.Line), func(t *tl.PE, x tl.Ptr) {
			if t.ProgramID(0) == 1 {
				t.Send(tl.North, five(t))
			}
		}, "kernel talk (task 0) on PE1: Send(north, [5] i32) at L: no port north: member 1 has west, east"},
		{"a choice of another port", Group(2, torch.Line), func(t *tl.PE, x tl.Ptr) {
			if !first(t) {
				t.Select(tl.CanSignal(0, tl.EQ, 0), tl.CanSend(tl.East, s, tl.I32))
			}
		}, "kernel talk (task 0) on PE1: Select(CanSignal(0, EQ, 0), CanSend(east, 20 bytes)) at L: no port east: member 1 has west"},
		{"a member alone", Group(3, func(m ...int) []torch.Connection { return torch.Line(m[1:]...) }), func(t *tl.PE, x tl.Ptr) {
			if first(t) {
				t.Send(tl.East, five(t))
			}
		}, "kernel talk (task 0) on PE0: Send(east, [5] i32) at L: no port east: the neighbour table does not name member 0"},
		{"another size", Group(2, torch.Line), func(t *tl.PE, x tl.Ptr) {
			if first(t) {
				t.Send(tl.East, five(t))
			} else {
				t.Recv(tl.West, tl.Shape{2, 3}, tl.I32)
			}
		}, "kernel talk (task 0) on PE1: Recv(west, [2 3] i32) at L: the message from END0 east is [5] i32, and [2 3] i32 was asked for: send and receive must agree on dtype and size"},
		{"a message for nobody", Group(3, torch.Ring), func(t *tl.PE, x tl.Ptr) {
			if t.ProgramID(0) == 2 {
				t.Send(tl.East, five(t))
				t.Send(tl.East, t.Zeros(tl.Shape{1025}, tl.I32))
			} else if first(t) {
				t.Recv(tl.West, s, tl.I32)
			}
		}, "kernel talk (task 0)REAL: ended with 2 slots in use of the queue END2 east -> END0 west, by messages that were not received"},
		{"a message of no bytes for who has ended", Group(2, torch.Line), func(t *tl.PE, x tl.Ptr) {
			if !first(t) {
				count(t, 5000)
				t.Send(tl.West, t.Zeros(tl.Shape{0}, tl.I32))
			}
		}, "kernel talk (task 0)REAL: ended with 1 slots in use of the queue END1 west -> END0 east, by messages that were not received"},
		{"a receive that is not waited for", Group(2, torch.Line), func(t *tl.PE, x tl.Ptr) {
			if !first(t) {
				t.RecvAsync(tl.West, s, tl.I32)
			}
		}, "kernel talk (task 0) on PE1: RecvAsync(west): the kernel ended without having waited for the message"},
		{"memory beside its region", Group(2, torch.Line), func(t *tl.PE, x tl.Ptr) {
			if first(t) {
				t.Send(tl.East, t.Ref(x.At(1), s, tl.I32))
			}
		}, "kernel talk (task 0) on PE0: Send(east, ref [5] i32) at L: a block [5] that begins at element [1 0] of tensor0 is in no region that the task reads: x tensor0[0:1, 0:5]; give the task the region it needs"},
		{"into memory beside its region", Group(2, torch.Line), func(t *tl.PE, x tl.Ptr) {
			if first(t) {
				t.Send(tl.East, five(t))
			} else {
				t.RecvInto(tl.West, x.At(1), s, tl.I32)
			}
		}, "kernel talk (task 0) on PE1: RecvInto(west, [5] i32) at L: a block [5] that begins at element [1 0] of tensor0 is in no region that the task writes: x tensor0[0:1, 0:5]; give the task the region it needs"},
	} {
		j := &job{ranks: 1, arrays: []array{{shape: []int{2, 5}}}, submit: func(b *Builder, x []*Tensor) {
			b.Submit("talk", c.kernel, Args{InOut("x", x[0].Rows(0, 1))}, c.group)
		}}
		for where, err := range j.runBoth(t, Options{Runtime: Runtimes[i%len(Runtimes)], Config: Default()}) {
			pe, member, want := "sip0.cube0.pe$1", "sip0.cube0.pe$1 $2 (member $1)", "launch tasks: "+strings.ReplaceAll(c.want, "REAL", "")
			if where == "real" {
				pe, member, want = "rank 0", "member $1 $2", strings.ReplaceAll(c.want, "REAL", " on rank 0")
			}
			want = regexp.MustCompile(`END(\d) (\w+)`).ReplaceAllString(want, member)
			want = regexp.MustCompile(`PE(\d)`).ReplaceAllString(want, pe)
			if got := kernelLines.ReplaceAllString(fmt.Sprint(err), " at L"); got != want {
				t.Errorf("%s, %s: got\n     %s\nwant %s", c.name, where, got, want)
			}
		}
	}
}

var kernelLines = regexp.MustCompile(` at neighbors_test\.go:\d+`)

// TestDeadlockOfMembers checks the error for members that wait for each other. It must name
// what each member waits for, and on which line.
func TestDeadlockOfMembers(t *testing.T) {
	s := tl.Shape{5}
	for i, c := range []struct {
		name   string
		kernel func(t *tl.PE)
		sim    string
		real   string
	}{
		{"all receive", func(t *tl.PE) {
			got := t.Recv(tl.West, s, tl.I32)
			t.Send(tl.East, got)
		}, `
  talk (task 0)@sip0.cube0.pe0 waits for a message [5] i32 on the queue sip0.cube0.pe2 east (member 2) -> sip0.cube0.pe0 west (member 0) since T at L
  talk (task 0)@sip0.cube0.pe1 waits for a message [5] i32 on the queue sip0.cube0.pe0 east (member 0) -> sip0.cube0.pe1 west (member 1) since T at L
  talk (task 0)@sip0.cube0.pe2 waits for a message [5] i32 on the queue sip0.cube0.pe1 east (member 1) -> sip0.cube0.pe2 west (member 2) since T at L
  cycle: talk (task 0)@sip0.cube0.pe0 -> talk (task 0)@sip0.cube0.pe2 -> talk (task 0)@sip0.cube0.pe1 -> talk (task 0)@sip0.cube0.pe0`,
			"talk (task 0) waits for a message [5] i32 on the queue member 2 east -> member 0 west, talk (task 0) waits for a message [5] i32 on the queue member 0 east -> member 1 west, talk (task 0) waits for a message [5] i32 on the queue member 1 east -> member 2 west"},
		{"all send more than there is room for", func(t *tl.PE) {
			for range 5 {
				t.Send(tl.East, t.Zeros(s, tl.I32))
			}
			for range 5 {
				t.Recv(tl.West, s, tl.I32)
			}
		}, `
  talk (task 0)@sip0.cube0.pe0 waits for a free slot of the queue sip0.cube0.pe0 east (member 0) -> sip0.cube0.pe1 west (member 1) since T at L
  talk (task 0)@sip0.cube0.pe1 waits for a free slot of the queue sip0.cube0.pe1 east (member 1) -> sip0.cube0.pe2 west (member 2) since T at L
  talk (task 0)@sip0.cube0.pe2 waits for a free slot of the queue sip0.cube0.pe2 east (member 2) -> sip0.cube0.pe0 west (member 0) since T at L
  cycle: talk (task 0)@sip0.cube0.pe0 -> talk (task 0)@sip0.cube0.pe1 -> talk (task 0)@sip0.cube0.pe2 -> talk (task 0)@sip0.cube0.pe0`,
			"talk (task 0) waits for a free slot of the queue member 0 east -> member 1 west, talk (task 0) waits for a free slot of the queue member 1 east -> member 2 west, talk (task 0) waits for a free slot of the queue member 2 east -> member 0 west"},
		{"the sender has ended", func(t *tl.PE) {
			if t.ProgramID(0) == 1 {
				count(t, 5000)
				t.Recv(tl.West, s, tl.I32)
			}
		}, `
  talk (task 0)@sip0.cube0.pe1 waits for a message [5] i32 on the queue sip0.cube0.pe0 east (member 0) -> sip0.cube0.pe1 west (member 1) since T at L: talk (task 0)@sip0.cube0.pe0 has ended`,
			"talk (task 0) waits for a message [5] i32 on the queue member 0 east -> member 1 west (member 0 has ended)"},
		{"a choice", func(t *tl.PE) {
			if t.ProgramID(0) == 2 {
				t.Select(tl.CanRecv(tl.West), tl.CanRecv(tl.East))
			}
		}, `
  talk (task 0)@sip0.cube0.pe2 waits for a message on the queue sip0.cube0.pe1 east (member 1) -> sip0.cube0.pe2 west (member 2), or a message on the queue sip0.cube0.pe0 west (member 0) -> sip0.cube0.pe2 east (member 2) since T at L: talk (task 0)@sip0.cube0.pe0 has ended`,
			"talk (task 0) waits for a message on the queue member 1 east -> member 2 west (member 1 has ended) or a message on the queue member 0 west -> member 2 east (member 0 has ended)"},
	} {
		j := &job{ranks: 1, submit: func(b *Builder, _ []*Tensor) {
			b.Submit("talk", c.kernel, nil, Group(3, torch.Ring))
			b.Submit("later", count, Args{Scalar("n", 1)}, After(0))
		}}
		o := Options{Runtime: Runtimes[i%len(Runtimes)], Config: Default()}
		_, err := j.runSimulated(t, o, torch.Options{})
		var stuck *sim.Deadlock
		if !errors.As(err, &stuck) {
			t.Fatalf("%s: got %v, want a deadlock", c.name, err)
		}
		got := regexp.MustCompile(`since \S+ at`).ReplaceAllString(kernelLines.ReplaceAllString(stuck.Error(), " at L"), "since T at")
		if _, waits, _ := strings.Cut(got, "can wake them"); !strings.HasSuffix(got, c.sim) || waits != "" && waits != c.sim {
			t.Errorf("%s: got %s\nwant it to end in %s", c.name, got, c.sim)
		}
		_, errs := j.runReal(o)
		want := "0 of 2 tasks have ended, 0 are ready: tasks on rank 0, where " + c.real + ": a deadlock, no kernel of the rank can continue"
		if !errors.Is(errs[0], procpe.ErrDeadlock) || errs[0].Error() != want {
			t.Errorf("%s: real rank: got\n     %v\nwant %s", c.name, errs[0], want)
		}
	}
}

// TestMemberThatEndsEarly checks that a member that has ended occupies nothing on its PE
// while other members of its group still run: the next task on the PE has all of TCM, and
// its own queues.
func TestMemberThatEndsEarly(t *testing.T) {
	r := newSystem(t, "ring6", torch.Options{NoData: true})
	size := int(r.Topology().Spec().PE.TCM.Size)
	var began, ended Time
	result, err := Run(r, Options{Runtime: HostBuildGraph, Config: loadConfig(t, "control.compute_cores=3"), Devices: []int{0}}, func(b *Builder) {
		b.Submit("long", func(t *tl.PE) {
			switch t.ProgramID(0) {
			case 0:
				t.Send(tl.East, t.Zeros(tl.Shape{5}, tl.I32))
			case 1:
				t.Recv(tl.West, tl.Shape{5}, tl.I32)
				count(t, 90000)
				t.Send(tl.East, t.Zeros(tl.Shape{5}, tl.I32))
			case 2:
				t.Recv(tl.West, tl.Shape{5}, tl.I32)
			}
		}, nil, Group(3, torch.Line))
		b.Submit("all of TCM", func(t *tl.PE) { t.Scratch(tl.Shape{size}, tl.I8) }, nil)
		b.Submit("alone", func(t *tl.PE) {
			t.Send(tl.East, t.Zeros(tl.Shape{7}, tl.I32))
			t.Recv(tl.West, tl.Shape{7}, tl.I32)
		}, nil, Group(1, torch.Ring))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range result.Spans {
		switch {
		case s.Name == "long":
			ended = max(ended, s.End)
		case s.Core != 0:
			t.Errorf("%s ran on core %d, want the one whose member ended first", s.Name, s.Core)
		default:
			began = max(began, s.Begin)
		}
	}
	if began >= ended {
		t.Errorf("the last task begins at %v, want it before the group ends at %v", began, ended)
	}
}

// TestTooManyPorts checks that a task group whose members need more ports than a PE has is
// refused before anything runs.
func TestTooManyPorts(t *testing.T) {
	for members, want := range map[int]string{
		9: "<nil>", 10: "rank 0: task 1 (wide) at L: the neighbour table gives member 0 more than 8 ports: use Put and Notify instead, or raise pe.ipcq.max_ports",
	} {
		r, ran := newSystem(t, "ring6", torch.Options{NoData: true}), 0
		_, err := Run(r, Options{Runtime: HostBuildGraph, Devices: []int{0}}, func(b *Builder) {
			b.Submit("first", func(*tl.PE) { ran++ }, nil)
			b.Submit("wide", func(*tl.PE) {}, nil, Group(members, torch.AllPairs))
		})
		if got := kernelLines.ReplaceAllString(fmt.Sprint(err), " at L"); got != want || (ran == 0) != (members == 10) {
			t.Errorf("%d members: got\n     %s\nwant %s; tasks ran: %d", members, got, want, ran)
		}
	}
}

// TestMessagesOrderMembers checks that a message orders two members: the accesses of the
// sender before the Send come before the accesses of the receiver after the Recv. Signals
// of the rank must order members in the same way. Members that access the same bytes
// without a message or a signal must race.
func TestMessagesOrderMembers(t *testing.T) {
	row := tl.Shape{1, 5}
	for i, c := range []struct {
		name    string
		sync    func(t *tl.PE, last bool) // called between the writes and the reads
		ordered bool
	}{
		{"a message along the line", func(t *tl.PE, last bool) {
			if t.ProgramID(0) > 0 {
				t.Recv(tl.West, tl.Shape{0}, tl.I8)
			}
			if !last {
				t.Send(tl.East, t.Zeros(tl.Shape{0}, tl.I8))
			}
		}, true},
		{"signals of the rank", func(t *tl.PE, last bool) {
			t.Notify(t.Rank(), 7, tl.Add, 1)
			t.WaitSignal(7, tl.GE, t.NumPrograms(0))
		}, true},
		{"nothing", func(t *tl.PE, last bool) { count(t, 5000) }, false},
	} {
		j := &job{ranks: 1, arrays: []array{{shape: []int{3, 5}}, {shape: []int{1, 5}}}, submit: func(b *Builder, x []*Tensor) {
			b.Submit("order", func(t *tl.PE, x, y tl.Ptr) {
				me, all := t.ProgramID(0), t.NumPrograms(0)
				t.Store(x.At(me), t.Full(row, tl.I32, float64(10+me)))
				c.sync(t, me == all-1)
				if me == all-1 {
					sum := t.Load(x, row, tl.I32)
					for other := 1; other < all; other++ {
						sum = sum.Add(t.Load(x.At(other), row, tl.I32))
					}
					t.Store(y, sum)
				}
			}, Args{InOut("x", x[0]), Out("y", x[1])}, Group(3, torch.Line))
		}}
		o := Options{Runtime: Runtimes[i%len(Runtimes)], Config: Default()}
		out := j.mustRunSimulated(t, o, torch.Options{Race: true})
		if raced := len(out.races) > 0; raced == c.ordered {
			t.Errorf("%s: races %q, want some: %v", c.name, out.races, !c.ordered)
		}
		if !c.ordered {
			continue
		}
		got, errs := j.runReal(o)
		commtest.Succeed(t, errs)
		for where, y := range map[string][]int32{"simulated": out.contents[1][0], "real": got[1][0]} {
			if want := slices.Repeat([]int32{33}, 5); !slices.Equal(y, want) {
				t.Errorf("%s, %s: got %v, want %v", c.name, where, y, want)
			}
		}
	}
}

// TestMembersAndRanks checks that members can wait for each other while one of them waits
// for another rank, and that other tasks run in the meantime.
func TestMembersAndRanks(t *testing.T) {
	const ranks, members, n = 3, 3, 7
	s := tl.Shape{n}
	relay := func(t *tl.PE, x, box tl.Ptr) {
		me, rank := t.ProgramID(0), t.Rank()
		var v tl.Tile
		switch {
		case me > 0:
			v = t.Recv(tl.West, s, tl.I32).Add(1)
		case rank > 0:
			t.WaitSignal(2, tl.EQ, 1)
			v = t.Load(x, s, tl.I32).Add(t.Load(box, s, tl.I32))
		default:
			v = t.Load(x, s, tl.I32)
		}
		switch {
		case me < members-1:
			t.Send(tl.East, v)
		case rank < ranks-1:
			t.Put(rank+1, box, v)
			t.Notify(rank+1, 2, tl.Set, 1)
		default:
			t.Store(box, v)
		}
	}
	j := &job{ranks: ranks, arrays: []array{{shape: []int{n}, init: func(rank, i int) int32 { return int32(100*rank + i) }}, {shape: []int{n}}, {shape: []int{1}}}}
	j.submit = func(b *Builder, x []*Tensor) {
		b.Submit("relay", relay, Args{In("x", x[0]), InOut("box", x[1])}, Group(members, torch.Line))
		for range 5 {
			b.Submit("affine", affine, Args{InOut("x", x[2]), Scalar("c", 1)}, After(ID(max(0, len(b.program.Tasks)-1))))
		}
	}
	want := make([]int32, n)
	for i := range want {
		want[i] = int32(0+100+200) + ranks*int32(i) + ranks*(members-1)
	}
	for _, r := range Runtimes {
		o := Options{Runtime: r, Config: loadConfig(t, "control.compute_cores=5")}
		out := j.mustRunSimulated(t, o, torch.Options{Race: true})
		if len(out.races) > 0 {
			t.Errorf("%s: races %q, want none", r, out.races)
		}
		got, errs := j.runReal(o)
		commtest.Succeed(t, errs)
		for where, c := range map[string]contents{"simulated": out.contents, "real": got} {
			if !slices.Equal(c[1][ranks-1], want) {
				t.Errorf("%s, %s: got %v, want %v", r, where, c[1][ranks-1], want)
			}
		}
	}
}

// TestNoMemoryForSlots checks that a run fails at the start of a task group if there is no
// memory for the queues of the group.
func TestNoMemoryForSlots(t *testing.T) {
	r := newSystem(t, "ring6", torch.Options{NoData: true}, "cube.sram.size=16KiB")
	_, err := Run(r, Options{Runtime: AICPUBuildGraph, Devices: []int{0}}, func(b *Builder) {
		b.Submit("talk", func(t *tl.PE) { t.Recv(tl.East, tl.Shape{1}, tl.I8) }, nil, Group(2, torch.Line), Buffers(topology.BufferSRAM))
	})
	want := "launch tasks: kernel talk (task 0): slots of the queue sip0.cube0.pe1 west (member 1) -> sip0.cube0.pe0 east (member 0): "
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestGroupsAfterValues checks task groups that are submitted after a call of Value and
// after tasks of other ranks. Their members must be able to exchange messages. It also
// checks the error for such a group that needs too many ports.
func TestGroupsAfterValues(t *testing.T) {
	for _, runtime := range Runtimes {
		r := newSystem(t, "ring6", torch.Options{})
		halves := torch.On(r.PE(0, 0, 0), r.PE(1, 0, 0))
		x := torch.Must(r.FromSlice([]int{1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60}, torch.I32, torch.Shape{6, 2}, halves)) // three rows on each rank
		orchestration := func(b *Builder) {
			n, own := Scalar("n", 2), Scalar("launched", 0)
			group := func(rank, members int, after ...ID) ID {
				return b.Submit("rotate", rotate, Args{InOut("x", b.TensorOn(rank, x)), n, own}, OnRank(rank), Group(members, torch.Ring), After(after...))
			}
			first := group(0, 3)
			b.TensorOn(1, x)
			if b.Value(first, b.TensorOn(0, x), 2, 1) == 2+4+6 {
				second := group(1, 3, first)
				group(0, 2, second)
			}
		}
		if _, err := Run(r, Options{Runtime: runtime, Devices: []int{0, 1}, Single: true}, orchestration); err != nil {
			t.Fatal(err)
		}
		want := []int{18, 24, 18, 24, 9, 12, 90, 120, 90, 120, 90, 120}
		if a := torch.Must(x.Numpy()); a.Wrong(want) >= 0 {
			t.Errorf("%v: got %v, want %v", runtime, a, want)
		}
		_, err := Run(r, Options{Runtime: runtime, Devices: []int{0, 1}, Single: true}, func(b *Builder) {
			first := b.Submit("first", func(*tl.PE, tl.Ptr) {}, Args{In("x", b.TensorOn(0, x))}, OnRank(0))
			b.Value(first, b.TensorOn(0, x), 0, 0)
			b.Submit("wide", func(*tl.PE) {}, nil, OnRank(1), Group(10, torch.AllPairs))
		})
		if err == nil || !strings.Contains(err.Error(), "rank 1: task 1 (wide) at neighbors_test.go") || !strings.Contains(err.Error(), "more than 8 ports") {
			t.Errorf("%v: got %v, want that task 1 has too many ports", runtime, err)
		}
	}
}
