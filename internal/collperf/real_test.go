package collperf

import (
	"bytes"
	gocmp "cmp"
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/coll"
	"github.com/kernbench/kernbench/comm/launch"
	"github.com/kernbench/kernbench/internal/host/hosttest"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// Jobs in which rank 1 fails in some way.
const (
	planted = "collperf with a wrong element"
	flipped = "collperf with a bit that differs"
	killed  = "collperf with a rank that dies"
)

func init() {
	launch.Register(planted, brokenJob(func(g *coll.Group, d numeric.DType, dst []byte) {
		if len(dst) > 0 {
			numeric.Set(d, dst, len(dst)/d.Size()-1, 99)
		}
	}))
	launch.Register(flipped, brokenJob(func(g *coll.Group, d numeric.DType, dst []byte) { dst[len(dst)-d.Size()] ^= 1 }))
	launch.Register(killed, brokenJob(func(*coll.Group, numeric.DType, []byte) {
		syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	}))
}

// brokenJob returns a job in which rank 1 calls the function `how` after each collective.
func brokenJob(how func(g *coll.Group, d numeric.DType, dst []byte)) launch.Job {
	return func(ctx context.Context, c *comm.Comm, arg []byte) ([]byte, error) {
		return measureRank(ctx, c, arg, func(g *coll.Group, k coll.Kind, d numeric.DType, op coll.Op, root int, dst, src []byte) error {
			err := g.Do(k, d, op, root, dst, src)
			if c.Rank() == 1 {
				how(g, d, dst)
			}
			return err
		})
	}
}

// realRows measures the rows of o on real ranks. It checks that each row has a time above
// 0, no bound and no wrong value.
func realRows(t *testing.T, o Options) []Row {
	t.Helper()
	rows, sum, err := Run(t.Context(), o, nil)
	if err != nil {
		t.Fatalf("%v of %d ranks (%s): %v", o.Collective, o.NRanks, o.Backend, err)
	}
	for _, r := range rows {
		if *r.TimeUS <= 0 || r.BoundShare != nil || r.BoundUS != 0 || r.BoundKind != "none" {
			t.Errorf("%v of %d ranks (%s): %+v: want some time and no bound", o.Collective, o.NRanks, o.Backend, r)
		}
		if o.checks() != (r.Wrong != nil) || r.Wrong != nil && *r.Wrong != 0 {
			t.Errorf("%v of %d ranks (%s, window %v): %+v: want 0 wrong, or null if values are not checked", o.Collective, o.NRanks, o.Backend, o.Window, r)
		}
	}
	if sum.Ranks != o.NRanks || sum.Wrong != 0 {
		t.Errorf("%v: summary %+v, want %d ranks and 0 wrong", o.Collective, sum, o.NRanks)
	}
	return rows
}

// realRankCollectives returns the collectives that real ranks support.
func realRankCollectives(t *testing.T) (list []ccl.Collective) {
	t.Helper()
	for _, name := range realCollectives() {
		c, err := ccl.ParseCollective(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// TestRealValues checks the values of all collectives, dtypes, reductions and algorithms,
// with private buffers and in windows.
func TestRealValues(t *testing.T) {
	for _, c := range realRankCollectives(t) {
		want := 6 // number of dtypes
		switch {
		case c == ccl.Barrier:
			want = 1
		case c.Reduces():
			want *= 5
		}
		for _, ranks := range []int{1, 2, 3, 5} {
			for values, window := range map[Values]bool{Integers: false, Reals: true} {
				o := Options{
					Backend: Goroutines, Collective: c, NRanks: ranks, Window: window, Values: values, Root: ranks - 1, Algorithm: AllAlgorithms,
					DTypes: numeric.DTypes, Reductions: ccl.Reductions()[:8], Min: 2049, Max: 2049, Iters: 1,
				}
				if rows := len(realRows(t, o)); rows != want*len(o.algorithms()) {
					t.Errorf("%v of %d ranks: %d rows, want %d by each of %v", c, ranks, rows, want, o.algorithms())
				}
			}
		}
	}
}

// TestRealAverages checks that averages of integers are rounded towards zero. Some averages
// are negative and not whole, so that rounding down would be detected.
func TestRealAverages(t *testing.T) {
	for _, d := range []tl.DType{tl.I32, tl.I64} {
		p := &problem{series: series{dtype: d, reduction: ccl.Avg}, collective: ccl.AllReduce, ranks: 3, addends: 1, count: 100}
		drawValues(p)
		distinctive := 0
		for i := range p.count {
			var sum int64
			for _, in := range p.inputs {
				sum += int64(numeric.Get(d, in, i))
			}
			if got, want := int64(numeric.Get(d, p.result.bits, i)), sum/3; got != want {
				t.Errorf("%v: element %d, a third of %d, is %d, want %d", d, i, sum, got, want)
			}
			if sum < 0 && sum%3 != 0 {
				distinctive++
			}
		}
		if distinctive == 0 {
			t.Errorf("%v: no average is negative and not whole, want some", d)
		}
	}
}

// TestRealSizes checks the values of real ranks for several sizes, with several iterations.
// The smallest size is 0. The largest has more elements than the period after which values
// repeat.
func TestRealSizes(t *testing.T) {
	for _, c := range realRankCollectives(t) {
		for values, window := range map[Values]bool{Integers: true, Reals: false} {
			const most = 3*4*period + 1
			o := Options{
				Backend: Goroutines, Collective: c, NRanks: 2, Window: window, Values: values, DTypes: []tl.DType{tl.F32},
				Min: 0, Max: most, StepBytes: most / 3, Iters: 3, Warmups: 1,
			}
			realRows(t, o)
		}
	}
}

// TestRealRoots checks that every rank can be the root.
func TestRealRoots(t *testing.T) {
	for _, c := range realRankCollectives(t) {
		if !c.Rooted() {
			continue
		}
		o := Options{Backend: Goroutines, Collective: c, NRanks: 5, Root: AllRoots, Min: 100, Max: 100, Iters: 1}
		for i, r := range realRows(t, o) {
			if r.Root != i {
				t.Errorf("%v: root of row %d is %d, want %d", c, i, r.Root, i)
			}
		}
	}
}

// TestProcesses checks that rows measured with processes as ranks equal rows measured with
// goroutines, except for the time.
func TestProcesses(t *testing.T) {
	for _, tt := range []Options{
		{Collective: ccl.AllReduce, NRanks: 2, Algorithm: AllAlgorithms, DTypes: []tl.DType{tl.F16}, Reductions: []ccl.Reduction{ccl.Sum}},
		{Collective: ccl.Reduce, NRanks: 3, Root: 2, Window: true, Values: Reals, DTypes: []tl.DType{tl.F32}},
		{Collective: ccl.AllToAll, NRanks: 3, Window: true, DTypes: []tl.DType{tl.I64}},
		{Collective: ccl.Barrier, NRanks: 2},
		{Collective: ccl.Broadcast, NRanks: 2, Root: 1, NoCheck: true, DTypes: []tl.DType{tl.BF16}},
	} {
		tt.Min, tt.Max, tt.StepFactor, tt.Iters = 8, 1<<15, 64, 3
		tt.Backend = Goroutines
		want := realRows(t, tt)
		tt.Backend = Processes
		got := realRows(t, tt)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Measured{}, "TimeUS", "AlgBW", "BusBW"), cmpopts.IgnoreFields(Comparison{}, "Best")); diff != "" {
			t.Errorf("%v of %d ranks (-goroutines +processes):\n%s", tt.Collective, tt.NRanks, diff)
		}
	}
}

// TestRealRow checks the time and the wrong elements of a row. An iteration takes as long
// as its slowest rank, and the time of the row is the average over the iterations. The row
// must count the wrong elements of all ranks.
func TestRealRow(t *testing.T) {
	o := Options{Backend: Processes, Collective: ccl.AllGather, Iters: 2, DTypes: []tl.DType{tl.F32}}
	p := newProblem(&o, series{dtype: tl.F32}, 2, 4003)
	got := o.realRow(p, "", [][]rankResult{
		{{}, {Times: []time.Duration{1000, 5000}, Wrong: 3}},
		{{}, {Times: []time.Duration{3000, 2000}, Wrong: 4}},
	}, 1)
	wrong := 7
	want := Row{Case: Case{Size: 4000, Count: 500, Type: "f32", RedOp: "none", Root: -1}, Measured: Measured{
		TimeUS: number(4), AlgBW: number(1), BusBW: number(0.5), Wrong: &wrong,
		Algorithm: "direct", BoundKind: "none",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

// TestRealWrong plants one wrong element at one rank in every iteration. It checks that a
// row counts all these elements.
func TestRealWrong(t *testing.T) {
	for _, backend := range []Backend{Goroutines, Processes} {
		for _, values := range []Values{Integers, Reals} {
			for _, c := range []ccl.Collective{ccl.AllReduce, ccl.AllGather, ccl.ReduceScatter, ccl.AllToAll, ccl.Broadcast, ccl.Scatter} {
				if backend == Processes && (c != ccl.AllReduce || values != Integers) {
					continue // one case is enough for processes
				}
				o := Options{Backend: backend, Collective: c, NRanks: 3, Min: 600, Max: 600, Iters: 4, DTypes: []tl.DType{tl.F32}, Values: values}
				tally := &tally{sum: Summary{Ranks: 3}}
				if err := o.launch(t.Context(), planted, tally); err != nil {
					t.Fatal(err)
				}
				if tally.sum.Wrong != 4 || *tally.rows[0].Wrong != 4 {
					t.Errorf("%v of %s (%s): %d wrong, want the 4 that were planted", c, values, backend, tally.sum.Wrong)
				}
			}
		}
	}
}

// TestRealRanksDiffer checks that an element whose bits differ from those of rank 0 counts
// as wrong, even if it is within the rounding tolerance.
func TestRealRanksDiffer(t *testing.T) {
	o := Options{Backend: Goroutines, Collective: ccl.AllReduce, NRanks: 3, Min: 600, Max: 600, Iters: 4, DTypes: []tl.DType{tl.F32}, Values: Reals}
	tally := &tally{sum: Summary{Ranks: 3}}
	if err := o.launch(t.Context(), flipped, tally); err != nil {
		t.Fatal(err)
	}
	if tally.sum.Wrong != 4 {
		t.Errorf("%d wrong, want the 4 whose last bit differs", tally.sum.Wrong)
	}
}

// TestRealFails checks the error if a rank is killed: it names the killed rank, and the
// other rank that failed in consequence. It also checks the error of a canceled context.
func TestRealFails(t *testing.T) {
	var output bytes.Buffer
	o := Options{Backend: Processes, Collective: ccl.AllReduce, NRanks: 2, Min: 8, Max: 8, Iters: 2, Output: &output}
	err := o.launch(t.Context(), killed, &tally{sum: Summary{Ranks: 2}})
	if want := "rank 1: killed by SIGKILL\nrank 0 failed in consequence"; err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if output.Len() > 0 {
		t.Errorf("ranks write %q, want nothing", output.String())
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("no more time")
	cancel(reason)
	if _, _, err := Run(ctx, o, nil); !errors.Is(err, reason) {
		t.Errorf("interrupted: got %v, want %v", err, reason)
	}
}

// TestValidateReal checks the errors for invalid options of real ranks, and for options
// that real ranks do not support.
func TestValidateReal(t *testing.T) {
	hosttest.SetMemory(t, 2000)
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{NRanks: -1}, "--nranks -1: write 1 to 1024"},
		{Options{NRanks: 1025}, "--nranks 1025: write 1 to 1024"},
		{Options{Warmups: -1}, "--warmup-iters -1: write 0 to 1000000"},
		{Options{Min: 9, Max: 8}, "the smallest size, 9 bytes, is more than the largest, 8"},
		{Options{Collective: ccl.Reduce, Root: 2}, "no rank 2 to be the root: there are 0 to 1"},
		{Options{Collective: ccl.SendRecv}, "there is no sendrecv between real ranks: use one of all_reduce, reduce, broadcast, all_gather, reduce_scatter, all_to_all, gather, scatter, barrier"},
		{Options{Algorithm: "ring"}, `no algorithm "ring": of all_reduce between real ranks there are direct_one_phase, direct, auto, all; ring is a kernel for the queues of the simulated machine, --on sim`},
		{Options{Algorithm: "rong"}, `no algorithm "rong": of all_reduce between real ranks there are direct_one_phase, direct, auto, all`},
		{Options{Collective: ccl.Scatter, Algorithm: "direct_one_phase"}, `no algorithm "direct_one_phase": of scatter between real ranks there are direct, auto, all`},
		{Options{Window: true, Algorithm: "direct_one_phase"}, `no algorithm "direct_one_phase": of all_reduce in windows there are direct, auto, all`},
		{Options{Reductions: []ccl.Reduction{ccl.BXor}, DTypes: []tl.DType{tl.I32}},
			"there is no bxor of i32 between real ranks: use sum, prod, min, max or avg of f16, bf16, f32, f64, i32 or i64"},
		{Options{Collective: ccl.AllGather, DTypes: []tl.DType{tl.U8}}, "there is no u8 between real ranks: use f16, bf16, f32, f64, i32 or i64"},
		{Options{NRanks: 1024, Max: maxSize},
			"the buffers of 1024 ranks: 1.13e+06 GB of memory are needed, and 2 GB are free of the 16 GB that this computer has: take smaller sizes, fewer ranks or fewer iterations"},
		{Options{Max: 1 << 30},
			"the buffers of 2 ranks: 2.16 GB of memory are needed, and 2 GB are free of the 16 GB that this computer has: take smaller sizes, fewer ranks or fewer iterations"},
		{Options{Collective: ccl.AllGather, Max: 1 << 29, Min: 1 << 29},
			"the buffers of 2 ranks: 2.16 GB of memory are needed, and 2 GB are free of the 16 GB that this computer has: take smaller sizes, fewer ranks or fewer iterations"},
		{Options{NRanks: 1024, Max: 8},
			"the buffers of 1024 ranks: 4.93 GB of memory are needed, and 2 GB are free of the 16 GB that this computer has: take smaller sizes, fewer ranks or fewer iterations"},
		{Options{Iters: 1 << 32}, "4294967296 iterations: write 1 to 1000000"},
		{Options{Max: 8, Iters: 1_000_000, DTypes: numeric.DTypes, Reductions: ccl.Reductions()},
			"the buffers of 2 ranks: 5.78 GB of memory are needed, and 2 GB are free of the 16 GB that this computer has: take smaller sizes, fewer ranks or fewer iterations"},
	} {
		tt.o.Backend, tt.o.NRanks = Processes, gocmp.Or(tt.o.NRanks, 2)
		if _, _, err := Run(t.Context(), tt.o, nil); err == nil || err.Error() != tt.want {
			t.Errorf("%+v: got %v, want %s", tt.o, err, tt.want)
		}
	}
}

// BenchmarkReal runs all-reduces of 64 KiB between goroutines, including launch and values:
//
//	go test ./internal/collperf -run '^$' -bench Real
func BenchmarkReal(b *testing.B) {
	o := Options{Backend: Goroutines, NRanks: 2, Collective: ccl.AllReduce, Min: 1 << 16, Max: 1 << 16, Iters: 20, DTypes: []tl.DType{tl.F32}}
	for b.Loop() {
		if rows := measure(b, o); *rows[0].Wrong != 0 {
			b.Fatalf("%d wrong, want 0", *rows[0].Wrong)
		}
	}
}
