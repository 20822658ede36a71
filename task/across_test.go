package task

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// chainAcross returns an orchestration of all ranks: a chain of n tasks that alternate
// between two ranks. Each kernel has `ops` operations.
func chainAcross(n, ops int) func(b *Builder) {
	return func(b *Builder) {
		var last []ID
		for i := range n {
			last = []ID{b.Submit("link", count, Args{Scalar("n", ops)}, OnRank(i%2), After(last...))}
		}
	}
}

// fanOutAcross returns an orchestration of all ranks: n tasks on rank 1 wait for one task
// on rank 0. If `withSink` is set, one more task on rank 0 waits for all of the n tasks.
// Each kernel has `ops` operations.
func fanOutAcross(n, ops int, withSink bool) func(b *Builder) {
	return func(b *Builder) {
		args := Args{Scalar("n", ops)}
		source := b.Submit("source", count, args, OnRank(0))
		var all []ID
		for range n {
			all = append(all, b.Submit("leaf", count, args, OnRank(1), After(source)))
		}
		if withSink {
			b.Submit("sink", count, args, OnRank(0), After(all...))
		}
	}
}

// messageTime computes two times by the closed form of the fabric: m, how long a message
// takes from SIP `from` to SIP `to`, and gap, how long the message occupies the narrowest
// link between the two SIPs.
func messageTime(t *testing.T, g *topology.Graph, from, to int) (m, gap Time) {
	t.Helper()
	path, err := g.Route(nil, g.PENode(from, 0, 0, topology.KindTCM), g.PENode(to, 0, 0, topology.KindTCM))
	if err != nil {
		t.Fatal(err)
	}
	n := g.Spec().PE.IPCQ.CreditBytes
	var hops []fabric.Hop
	for _, id := range path {
		l := g.Link(id)
		hops = append(hops, fabric.Hop{Bandwidth: l.Bandwidth, Latency: l.Latency + g.Node(l.To).Overhead})
		gap = max(gap, l.Bandwidth.Serialize(n))
	}
	return fabric.Uncontended(hops, n, g.Spec().System.Flit), gap
}

// TestFormulasAcrossRanks checks that the makespans of chains, fan-outs and diamonds across
// two ranks equal the closed forms, for neighbouring and for distant SIPs.
func TestFormulasAcrossRanks(t *testing.T) {
	self := newSystem(t, "ring6", torch.Options{NoData: true}, "sip.cube_mesh.w=1", "sip.cube_mesh.h=1")
	operations := []int{1, 700, 3000}
	var kernels []Time
	for _, ops := range operations {
		kernels = append(kernels, kernelTime(t, self, ops))
	}
	held := map[string]int{}
	for _, devices := range [][]int{{0, 1}, {4, 1}} {
		m, gap := messageTime(t, self.Topology(), devices[0], devices[1])
		for _, sets := range [][]string{
			nil,
			{"tensormap_and_ringbuffer.schedulers=1", "control.register_read=7ns", "control.posted_write=11ns"},
			{"tensormap_and_ringbuffer.schedulers=8", "aicpu_build_graph.per_task=1us"},
			{"control.to_compute=0ns", "control.core_switch=0ns", "host_build_graph.fixed=0ns"},
		} {
			c := loadConfig(t, sets...)
			for _, r := range Runtimes {
				for _, n := range []int{1, 2, 7} {
					for i, d := range kernels {
						b := func(edges int) Time {
							if r == HostBuildGraph {
								return 0
							}
							return c.submitTime(r, edges, 0)
						}
						flight, w := c.Control.flightTime(d), c.Control.PostedWrite
						arrives := b(0) + c.Control.handlingTime(d) + w + m
						fans := Time(n)*b(1) <= arrives && Time(n)*w <= w+flight
						for _, p := range []struct {
							name    string
							program func(b *Builder)
							holds   bool
							want    Time
							tasks   int
						}{
							{"chain", chainAcross(n, operations[i]), Time((n+1)/2-1)*b(1) <= flight && Time(n/2)*b(1) <= arrives, c.ChainAcrossTime(r, n, 0, d, m), n},
							{"fan-out", fanOutAcross(n, operations[i], false), fans, c.FanOutAcrossTime(r, n, 0, d, m), n + 1},
							{"diamond", fanOutAcross(n, operations[i], true), fans && b(n) <= flight, c.DiamondAcrossTime(r, n, 0, d, m, gap), n + 2},
						} {
							if !p.holds {
								continue
							}
							held[p.name+string(r)]++
							name := fmt.Sprintf("%s of %d on SIPs %v under %s with %v, kernels of %v", p.name, n, devices, r, sets, d)
							got, err := Run(self, Options{Runtime: r, Config: c, Devices: devices, Single: true}, p.program)
							if err != nil {
								t.Fatalf("%s: %v", name, err)
							}
							if got.Makespan != p.want {
								t.Errorf("%s: makespan %v, want %v", name, got.Makespan, p.want)
							}
							if p := got.Critical; p.Build+p.Stall+p.Wait+p.Schedule+p.Compute+p.Communicate != got.Makespan {
								t.Errorf("%s: the critical path %+v does not add up to %v", name, p, got.Makespan)
							}
							if got.Tasks != p.tasks || got.Compute != Time(p.tasks)*d {
								t.Errorf("%s: %d tasks compute for %v, want %d for %v", name, got.Tasks, got.Compute, p.tasks, Time(p.tasks)*d)
							}
						}
					}
				}
			}
		}
	}
	for _, shape := range []string{"chain", "fan-out", "diamond"} {
		for _, r := range Runtimes {
			if held[shape+string(r)] < 20 {
				t.Errorf("the conditions of the %s hold in %d cases under %s, want 20", shape, held[shape+string(r)], r)
			}
		}
	}
}

// TestMistakesOfOneOrchestration checks the errors for mistakes in an orchestration of all
// ranks. It also checks the errors for functions that an orchestration of one rank must not
// call.
func TestMistakesOfOneOrchestration(t *testing.T) {
	nothing := func(*tl.PE) {}
	for _, c := range []struct {
		name   string
		single bool
		submit func(b *Builder, x func(rank int) *Tensor)
		want   string
	}{
		{"no rank", true, func(b *Builder, _ func(int) *Tensor) { b.Submit("a", nothing, nil) },
			": Submit at L: task 0 (a): it is for no rank: the orchestration is for all ranks, so say which with task.OnRank"},
		{"no such rank", true, func(b *Builder, _ func(int) *Tensor) { b.Submit("a", nothing, nil, OnRank(2)) }, ": Submit at L: no rank 2: there are 0 to 1"},
		{"memory of another rank", true, func(b *Builder, x func(int) *Tensor) {
			b.Submit("a", fill, Args{Out("x", x(1)), Scalar("c", 1)}, OnRank(0))
		}, ": Submit at L: task 0 (a): argument x is a region of x [4] i32, which is memory of rank 1, and the task runs on rank 0: a kernel reaches other ranks with Put and Get, so name the region with task.Puts, task.Gets or task.AtPeers"},
		{"no part of its own", true, func(b *Builder, x func(int) *Tensor) {
			b.Submit("a", fill, Args{Puts("x", x(1)), Scalar("c", 1)}, OnRank(0))
		}, ": Submit at L: task 0 (a): argument x is a region of x [4] i32 of rank 1, and rank 0 has no part of that: declare it there as well"},
		{"after a later one", true, func(b *Builder, _ func(int) *Tensor) {
			b.Submit("a", nothing, nil, OnRank(0))
			b.Submit("b", nothing, nil, OnRank(1), After(1))
		}, ": Submit at L: task 1 (b): it is to be after task 1, and there are 1 tasks so far, counted from 0"},
		{"the rank's own tensor", true, func(b *Builder, _ func(int) *Tensor) { b.Tensor(nil) }, ": Tensor at L: the orchestration is for all ranks: say of which one, with TensorOn"},
		{"memory of its own", true, func(b *Builder, _ func(int) *Tensor) { b.Declare(Tensor{}) }, ": Declare at L: the orchestration is for all ranks: say of which one, with DeclareOn"},
		{"another rank", false, func(b *Builder, _ func(int) *Tensor) { b.Submit("a", nothing, nil, OnRank(0)) },
			" of rank 1: Submit at L: rank 0 in the orchestration of rank 1, which is for that rank alone: run one orchestration for all ranks, with Options.Single"},
	} {
		part := func(b *Builder) func(rank int) *Tensor {
			return func(rank int) *Tensor { return b.DeclareOn(rank, Tensor{Name: "x", DType: tl.I32, Shape: tl.Shape{4}}) }
		}
		var err error
		if c.single {
			_, err = BuildAll(t.Context(), 2, func(b *Builder) { c.submit(b, part(b)) })
		} else {
			_, err = Build(t.Context(), 1, 2, func(b *Builder) { c.submit(b, part(b)) })
		}
		if got, want := replaceLines(fmt.Sprint(err)), "the orchestration"+c.want; got != want {
			t.Errorf("%s: got\n     %s\nwant %s", c.name, got, want)
		}
	}
	if _, err := BuildAll(t.Context(), 3, func(b *Builder) {
		if b.Rank() != -1 || b.NumRanks() != 3 {
			t.Errorf("rank %d of %d, want -1 of 3", b.Rank(), b.NumRanks())
		}
	}); err != nil {
		t.Error(err)
	}
}

// TestConflictsAcrossRanks checks conflicts between tasks of different ranks. The tasks
// declare which regions of other ranks they access. Runtimes that infer edges must order
// the conflicts. Under aicpu_build_graph the race check must report the conflicts.
func TestConflictsAcrossRanks(t *testing.T) {
	for _, arg := range []func(string, Area) Arg{Puts, AtPeers} {
		j := &job{ranks: 2, arrays: []array{{shape: tl.Shape{4}, init: func(rank, i int) int32 { return int32(10*rank + i) }}}, submitAll: func(b *Builder, x [][]*Tensor) {
			first, second := x[0][0], x[1][0]
			b.Submit("give", give, Args{In("x", first.Rows(0, 3)), arg("there", second.Rows(1, 3)), Scalar("peer", 1)}, OnRank(0))
			b.Submit("affine", affine, Args{InOut("x", second), Scalar("c", 1)}, OnRank(1))
			b.Submit("take", take, Args{InOut("x", first.Rows(0, 1)), Gets("there", second.Rows(3, 1)), Scalar("peer", 1)}, OnRank(0))
		}}
		want := contents{{{7, 1, 2, 3}, {31, 1, 4, 7}}}
		for _, r := range Runtimes {
			o := Options{Runtime: r, Config: Default()}
			out := j.mustRunSimulated(t, o, torch.Options{Race: true, KeepLog: true})
			var missing []string
			for _, race := range out.races {
				if strings.Contains(race, "no edge orders them") {
					missing = append(missing, replaceLines(race))
				}
			}
			if r.infers() {
				if out.checkEqual(t, string(r), want); len(out.races) > 0 {
					t.Errorf("%s: races %q", r, out.races)
				}
				got, errs := j.runReal(o)
				commtest.Succeed(t, errs)
				got.checkEqual(t, string(r)+", on real ranks", want)
				continue
			}
			const text = " conflict in tensor0[%s], and no edge orders them: submit the second with task.After"
			want := []string{
				"rank 1: affine (task 1), submitted at L, and rank 0's take (task 2), at L," + fmt.Sprintf(text, "3:4"),
				"rank 0: give (task 0), submitted at L, and take (task 2), at L," + fmt.Sprintf(text, "0:1"),
				"rank 0: give (task 0), submitted at L, and rank 1's affine (task 1), at L," + fmt.Sprintf(text, "0:4"),
			}
			slices.Sort(missing)
			slices.Sort(want)
			if !slices.Equal(missing, want) {
				t.Errorf("%s: got\n     %q\nwant %q", r, missing, want)
			}
		}
	}
}

// TestUnorderedAcrossRanks checks that a path of edges through other ranks orders a
// conflict, and that Unordered reports the conflict if there is no such path.
func TestUnorderedAcrossRanks(t *testing.T) {
	for _, back := range []bool{false, true} {
		programs, err := BuildAll(t.Context(), 3, func(b *Builder) {
			x := b.DeclareOn(1, Tensor{Name: "x", DType: tl.I32, Shape: tl.Shape{4}})
			touch := func(name string, after ...ID) ID {
				return b.Submit(name, affine, Args{InOut("x", x), Scalar("c", 1)}, OnRank(1), After(after...))
			}
			first := touch("first")
			there := b.Submit("there", func(*tl.PE) {}, nil, OnRank(2), After(first))
			other := b.Submit("other", func(*tl.PE) {}, nil, OnRank(0), After(there))
			if !back {
				other = b.Submit("else", func(*tl.PE) {}, nil, OnRank(0))
			}
			touch("last", other)
		})
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if !back {
			want = "rank 1: first (task 0), submitted at L, and last (task 4), at L, conflict in x[0:4], and no edge orders them: submit the second with task.After"
		}
		got := ""
		for _, p := range programs {
			for _, u := range p.Unordered() {
				got += replaceLines(u.String())
			}
		}
		if got != want {
			t.Errorf("with an edge back %v: got\n     %s\nwant %s", back, got, want)
		}
	}
}
