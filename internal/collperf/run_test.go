package collperf

import (
	gocmp "cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// system returns the compiled topology with the given name. `sets` holds settings KEY=VALUE
// that change the topology.
func system(t testing.TB, name string, sets ...string) *topology.Graph {
	t.Helper()
	spec, err := topology.Load(t.Context(), name, sets...)
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// measure runs the measurement and returns its rows. An error of the measurement ends the
// test.
func measure(t testing.TB, o Options) []Row {
	t.Helper()
	rows, _, err := Run(t.Context(), o, nil)
	if err != nil {
		t.Fatalf("%v by %q, %d ranks per %s: %v", o.Collective, o.Algorithm, o.World, o.RanksPer, err)
	}
	return rows
}

// number returns a pointer to x, because the numbers in rows are pointers.
func number(x float64) *float64 { return &x }

// checkRows checks that no row has a wrong value or is faster than its bound, and that
// every row that moves data between ranks has a bound.
func checkRows(t *testing.T, o Options, rows []Row) {
	t.Helper()
	for _, r := range rows {
		if r.Wrong != nil && *r.Wrong != 0 || r.Wrong == nil && o.checks() {
			t.Errorf("%v, %d ranks per %s: %+v: wrong values", o.Collective, o.World, o.RanksPer, r)
		}
		if moves := r.Count > 0 || o.Collective == ccl.Barrier; moves && o.World > 1 && r.BoundShare == nil {
			t.Errorf("%v, %d ranks per %s: %+v: no bound", o.Collective, o.World, o.RanksPer, r)
		}
		if r.BoundShare != nil && (*r.BoundShare <= 0 || *r.BoundShare > 100) {
			t.Errorf("%v, %d ranks per %s: %+v: %v %% of the bound, want more than 0 and at most 100", o.Collective, o.World, o.RanksPer, r, *r.BoundShare)
		}
	}
}

// TestEverything checks the values, the bound and the reported name of each algorithm for
// each of its collectives, with ranks that are PEs and with ranks that are SIPs.
func TestEverything(t *testing.T) {
	cube := system(t, "default", "system.sips.count=1", "sip.cube_mesh.w=1", "sip.cube_mesh.h=1")
	line := system(t, "default", "system.sips.count=8", "system.sips.topology=line", "sip.cube_mesh.w=1", "sip.cube_mesh.h=1")
	for _, c := range ccl.Collectives() {
		for _, a := range ccl.Algorithms(c) {
			for _, world := range []int{1, 2, 3, 7, 8} {
				for _, per := range []RanksPer{PerPE, PerSIP} {
					o := Options{Collective: c, Algorithm: a.Name, Topology: cube, RanksPer: per, World: world, Root: world - 1, Min: 0, Max: 21000, StepBytes: 700 * 15}
					if per == PerSIP {
						o.Topology = line
					}
					if c == ccl.SendRecv && world == 1 {
						continue
					}
					rows := measure(t, o)
					checkRows(t, o, rows)
					if rows[0].Algorithm != a.Name {
						t.Errorf("%v by %s was done by %s", c, a.Name, rows[0].Algorithm)
					}
				}
			}
		}
	}
}

// TestEveryType checks the values of four collectives with every reduction, dtype and root,
// for whole numbers and for real numbers. It also checks that there is one row for each
// combination that is supported.
func TestEveryType(t *testing.T) {
	g := system(t, "ring6")
	for _, c := range []ccl.Collective{ccl.AllReduce, ccl.Reduce, ccl.ReduceScatter, ccl.AllToAll} {
		for _, v := range []Values{Integers, Reals} {
			o := Options{
				Collective: c, Topology: g, RanksPer: PerSIP, World: 3, Root: AllRoots, Min: 96, Max: 96, Values: v,
				DTypes: numeric.DTypes, Reductions: ccl.Reductions()[:8],
			}
			rows := measure(t, o)
			checkRows(t, o, rows)
			// There are 4 floats with 5 reductions each, and 8 integers with 7 each.
			want := map[ccl.Collective]int{ccl.AllReduce: 76, ccl.Reduce: 3 * 76, ccl.ReduceScatter: 76, ccl.AllToAll: 12}[c]
			if len(rows) != want {
				t.Errorf("%v: %d rows, want %d", c, len(rows), want)
			}
		}
	}
}

// TestRows checks that every number in the rows of the preset alpha_beta equals the result
// of a formula to the last digit. On this preset, a message of n bytes takes 150 ns + n/100
// ns. An all-reduce on a ring of 4 has 6 steps of a quarter of the data each.
func TestRows(t *testing.T) {
	g := system(t, "alpha_beta")
	zero, slot := 0, 4096
	for _, tt := range []struct {
		collective ccl.Collective
		want       Row
	}{
		{ccl.AllReduce, Row{Case: Case{Size: 4000, Count: 2000, Type: "f16", RedOp: "sum", Root: -1}, Measured: Measured{
			TimeUS: number(0.96), AlgBW: number(4000 / 960.0), BusBW: number(4000 / 960.0 * 1.5),
			Wrong: &zero, Algorithm: "ring", Chunk: &slot, BoundUS: 0.3, BoundShare: number(100 * 300 / 960.0),
			BoundKind: "latency", Bound: "the way from sip0.cube0.pe0 to sip2.cube0.pe0 takes 300ns",
		}}},
		{ccl.AllGather, Row{Case: Case{Size: 4000, Count: 500, Type: "f16", RedOp: "none", Root: -1}, Measured: Measured{
			TimeUS: number(0.48), AlgBW: number(4000 / 480.0), BusBW: number(4000 / 480.0 * 0.75),
			Wrong: &zero, Algorithm: "ring", Chunk: &slot, BoundUS: 0.3, BoundShare: number(100 * 300 / 480.0),
			BoundKind: "latency", Bound: "the way from sip0.cube0.pe0 to sip2.cube0.pe0 takes 300ns",
		}}},
	} {
		o := Options{Topology: g, Collective: tt.collective, Min: 4000, Max: 4000, RanksPer: PerSIP}
		for name, change := range map[string]func(*Options){
			"once": func(*Options) {}, "three times": func(o *Options) { o.Iters = 3 },
			"ranks that are PEs": func(o *Options) { o.RanksPer = PerPE }, "flit by flit": func(o *Options) { o.Flit = true },
		} {
			o := o
			change(&o)
			if diff := cmp.Diff([]Row{tt.want}, measure(t, o)); diff != "" {
				t.Errorf("%v, %s (-want +got):\n%s", tt.collective, name, diff)
			}
		}
		o.NoCheck = true
		tt.want.Wrong = nil
		if diff := cmp.Diff([]Row{tt.want}, measure(t, o)); diff != "" {
			t.Errorf("%v without values (-want +got):\n%s", tt.collective, diff)
		}
	}
}

// TestAllAlgorithms checks that a comparison has the same rows as separate measurements of
// each algorithm, size by size, and that the fastest rows are marked as best.
func TestAllAlgorithms(t *testing.T) {
	o := Options{Topology: system(t, "ring6"), Algorithm: AllAlgorithms, Min: 64, Max: 1 << 16, StepFactor: 32, RanksPer: PerSIP}
	rows, sum, err := Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := o.algorithms()
	want := make([]Row, 3*len(names))
	for i, name := range names {
		one := o
		one.Algorithm = name
		for j, r := range measure(t, one) {
			want[j*len(names)+i] = r
		}
	}
	count := map[string]int{}
	for j := range 3 {
		group := want[j*len(names) : (j+1)*len(names)]
		least := slices.MinFunc(group, func(a, b Row) int { return gocmp.Compare(*a.TimeUS, *b.TimeUS) })
		for i := range group {
			best := *group[i].TimeUS == *least.TimeUS
			if group[i].Best = &best; best {
				count[group[i].Algorithm]++
			}
		}
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-one by one +together):\n%s", diff)
	}
	last := len(rows)
	for _, w := range sum.Wins {
		if w.Sizes != count[w.Algorithm] || w.Sizes > last {
			t.Errorf("wins %+v, want those of %v, the most first", sum.Wins, count)
		}
		last = w.Sizes
	}
	if len(sum.Wins) != len(names) {
		t.Errorf("wins %+v, want one for each of %v", sum.Wins, names)
	}
}

// TestThreads checks that the results do not depend on how many rows run at the same time.
func TestThreads(t *testing.T) {
	o := Options{Topology: system(t, "default"), Algorithm: AllAlgorithms, Min: 8, Max: 1 << 12, World: 4, Threads: 1}
	want := measure(t, o)
	o.Threads = 8
	if diff := cmp.Diff(want, measure(t, o)); diff != "" {
		t.Errorf("rows (-one at a time +eight):\n%s", diff)
	}
}

// TestSummary checks that Run calls onRow with each row, and that the summary has the
// average bus bandwidth.
func TestSummary(t *testing.T) {
	var seen []Row
	o := Options{Topology: system(t, "alpha_beta"), Min: 8, Max: 64, StepFactor: 8}
	rows, sum, err := Run(t.Context(), o, func(r Row) { seen = append(seen, r) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows, seen); diff != "" || len(rows) != 2 {
		t.Errorf("rows one by one (-all +seen):\n%s", diff)
	}
	want := Summary{Ranks: 4, AvgBusBW: (*rows[0].BusBW + *rows[1].BusBW) / 2}
	if diff := cmp.Diff(want, sum); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

// TestValidate checks the errors for wrong options of simulated ranks.
func TestValidate(t *testing.T) {
	g := system(t, "default")
	rooted, err := ccl.Load(t.Context(), "default", "defaults.root_cube=16")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Min: 9, Max: 8}, "the smallest size, 9 bytes, is more than the largest, 8"},
		{Options{Max: 1 << 41}, "sizes from 0 to 2199023255552 bytes: write 0 to 1099511627776"},
		{Options{StepFactor: 1}, "a step factor of 1: write 2 or more"},
		{Options{StepBytes: -1}, "steps of -1 bytes: write 1 or more"},
		{Options{Iters: -1}, "-1 iterations: write 1 to 1000000"},
		{Options{Iters: 1 << 32}, "4294967296 iterations: write 1 to 1000000"},
		{Options{Warmups: 1 << 62}, "--warmup-iters 4611686018427387904: write 0 to 1000000"},
		{Options{Min: 8, Max: 8 << 30, StepBytes: 8},
			"1073741824 sizes make 1073741824 rows, and there are at most 100000: take larger steps (-i or -f), or fewer sizes, types, reductions and roots"},
		{Options{Max: maxSize, StepBytes: 1, Algorithm: AllAlgorithms, DTypes: numeric.DTypes, Reductions: ccl.Reductions()},
			"1099511627777 sizes make 967570232443760 rows, and there are at most 100000: take"},
		{Options{Min: 8, Max: 80_008, StepBytes: 1, Collective: ccl.Reduce, Root: AllRoots, World: 2},
			"80001 sizes make 160002 rows, and there are at most 100000: take"},
		{Options{World: 257}, "a world of 257 ranks: the system has 256 PEs"},
		{Options{World: 3, RanksPer: PerSIP}, "a world of 3 ranks: the system has 2 SIPs, and a rank is one"},
		{Options{Collective: ccl.Reduce, Root: 8, World: 8}, "no rank 8 to be the root: there are 0 to 7"},
		{Options{Collective: ccl.SendRecv, RanksPer: PerSIP, World: 1}, "sendrecv needs two ranks"},
		{Options{Collective: ccl.Broadcast, Algorithm: "ring"}, "algorithm ring does no broadcast: use one of"},
		{Options{Algorithm: "wheel"}, `no algorithm "wheel": of all_reduce there are`},
		{Options{Collective: ccl.Scatter, Algorithm: "Auto"}, `no algorithm "Auto": of scatter there are chain, direct, tree, auto, all; did you mean auto?`},
		{Options{CCL: rooted}, "root_cube 16: the last cube of a SIP is 15"},
		{Options{Partial: true}, "partial tensors need ranks that are SIPs"},
		{Options{Partial: true, RanksPer: PerSIP, Collective: ccl.Reduce}, "reduce of partial tensors: only all_reduce makes sense"},
		{Options{Partial: true, RanksPer: PerSIP, Reductions: []ccl.Reduction{ccl.Max}}, "max of partial tensors, which are the sums of their addends"},
		{Options{Reductions: []ccl.Reduction{ccl.BXor}}, "there is no bxor of f16"},
		{Options{Reductions: []ccl.Reduction{ccl.Avg}, DTypes: []tl.DType{tl.I32}}, "there is no avg of i32"},
	} {
		tt.o.Topology = g
		_, _, err := Run(t.Context(), tt.o, nil)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %s", tt.o, err, tt.want)
		}
	}
}

// TestWordsForAlgorithms checks that every collective accepts "", Auto and AllAlgorithms as
// its algorithm.
func TestWordsForAlgorithms(t *testing.T) {
	g := system(t, "default")
	for _, c := range ccl.Collectives() {
		for _, word := range []string{"", Auto, AllAlgorithms} {
			o := Options{Topology: g, Collective: c, Algorithm: word}
			if err := o.Validate(); err != nil {
				t.Errorf("%v by %q: %v", c, word, err)
			}
		}
	}
}

// TestFailures checks that failures of a run are errors, not panics.
func TestFailures(t *testing.T) {
	for _, per := range []RanksPer{PerPE, PerSIP} {
		o := Options{Topology: system(t, "default"), RanksPer: per, World: 2, Min: 1 << 34, Max: 1 << 34, NoCheck: true}
		_, _, err := Run(t.Context(), o, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "all_reduce of 17179869184 bytes: ") {
			t.Errorf("a tensor larger than memory, ranks per %s: got %v", per, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Run(ctx, Options{Topology: system(t, "default"), World: 2, Min: 8, Max: 8}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: got %v, want %v", err, context.Canceled)
	}
}

// BenchmarkAllReduce256 runs an all-reduce over all 256 PEs of the default system, 32
// elements each, by ring, with values checked:
//
//	go test ./internal/collperf -run '^$' -bench AllReduce256 -cpu 1
func BenchmarkAllReduce256(b *testing.B) {
	o := Options{Topology: system(b, "default"), Algorithm: "ring", Min: 64, Max: 64}
	for b.Loop() {
		if rows := measure(b, o); *rows[0].Wrong != 0 {
			b.Fatalf("%d wrong, want 0", *rows[0].Wrong)
		}
	}
}
