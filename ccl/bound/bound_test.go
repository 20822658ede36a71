package bound

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

// graph returns the compiled graph of a preset with the given settings, such as
// "key=value".
func graph(t testing.TB, preset string, sets ...string) *topology.Graph {
	t.Helper()
	spec, err := topology.Load(t.Context(), preset, sets...)
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// shift returns one message per rank: rank i sends `count` elements to rank i+1, and the
// last rank sends to rank 0.
func shift(ranks, count int) (list []ccl.Message) {
	for from := range ranks {
		list = append(list, ccl.Message{From: from, To: (from + 1) % ranks, Count: count})
	}
	return list
}

// firstPEs returns the numbers of the first n PEs of a system.
func firstPEs(n int) []int {
	pes := make([]int, n)
	for i := range pes {
		pes[i] = i
	}
	return pes
}

// allReduce returns a plan for an all-reduce of a tensor with the given number of bytes.
func allReduce(bytes int) *ccl.Plan {
	return &ccl.Plan{Collective: ccl.AllReduce, DType: tl.U8, Counts: []int{bytes}}
}

// TestBoundIsTheOptimumOfFabrics checks that the bound of a large all-reduce between SIPs
// with one PE each equals the exact optimum, which is known from linear programming. An
// optimum is in units of the message size divided by the bandwidth of a link, to three
// digits. The volume term gives these bounds. For one byte, the bound must be the latency
// of the longest path.
func TestBoundIsTheOptimumOfFabrics(t *testing.T) {
	for _, c := range []struct {
		shape        string
		sips         int
		optimum      float64
		times, links int64 // numerator and denominator of the optimum
		diameter     simtime.Time
	}{
		{"ring_1d", 6, 0.833, 10, 12, 3},
		{"torus_2d 2x3", 6, 0.556, 10, 18, 2},
		{"mesh_2d_no_wrap 2x3", 6, 0.714, 10, 14, 3},
		{"mesh_2d_no_wrap 4x4", 16, 0.625, 30, 48, 6},
		{"torus_2d 4x4", 16, 0.469, 30, 64, 4},
		{"line", 4, 1.0, 6, 6, 3},
	} {
		shape, grid, _ := strings.Cut(c.shape, " ")
		sets := []string{"system.sips.topology=" + shape, fmt.Sprintf("system.sips.count=%d", c.sips)}
		if w, h, ok := strings.Cut(grid, "x"); ok {
			sets = append(sets, "system.sips.w="+w, "system.sips.h="+h)
		}
		g := graph(t, "alpha_beta", sets...)
		const one = gib * 10_000 * simtime.Femtosecond // time of the data on a link, at 100 GB/s
		got := Compute(g, firstPEs(c.sips), allReduce(gib))
		if want := one * simtime.Time(c.times) / simtime.Time(c.links); got.Time != want {
			t.Errorf("%s: got %+v, want %v", c.shape, got, want)
		}
		if share := float64(got.Time) / float64(one); share > c.optimum+0.0005 {
			t.Errorf("%s: got %.4f, more than the optimum, %.3f", c.shape, share, c.optimum)
		}
		small := Compute(g, firstPEs(c.sips), allReduce(1))
		if want := c.diameter * 150 * simtime.Nanosecond; small.Time != want || small.Kind != Latency {
			t.Errorf("%s: a byte takes %+v, want %v by latency", c.shape, small, want)
		}
	}
}

// slow returns a setting that limits each of the given links to 1 GB/s.
func slow(links ...string) string {
	for i, l := range links {
		links[i] = "{link: " + l + ", bandwidth: 1 GB/s}"
	}
	return "overrides=[" + strings.Join(links, ", ") + "]"
}

// TestBoundTerms checks the time and the reason of the bound for an all-reduce of 1 MiB,
// for systems in which different regions or paths determine the bound.
func TestBoundTerms(t *testing.T) {
	// rate returns how long `times` MiB take at gbps GB/s, rounded down.
	rate := func(times, gbps int64) simtime.Time { return simtime.Time(mib * 1_000_000 * times / gbps) }
	for _, c := range []struct {
		preset string
		sets   []string
		pes    []int
		want   simtime.Time
		why    string
	}{
		{"default", nil, firstPEs(256), rate(1, 100), "SIP 0 sends everything over its links, 100 GB/s"},
		{"default", []string{"system.sips.link.links=2"}, firstPEs(256), rate(1, 200), "SIP 0 sends everything over its links, 200 GB/s"},
		{"default", []string{"overrides=[{link: sip0.io.switch->sip1.io.switch, bandwidth: 50 GB/s}]"}, firstPEs(256), rate(1, 50), "SIP 0 sends everything over its links, 50 GB/s"},
		{"default", []string{"overrides=[{link: sip1.io.switch->sip0.io.switch, bandwidth: 50 GB/s}]"}, firstPEs(256), rate(1, 50), "SIP 0 receives everything over its links, 50 GB/s"},
		{"default", []string{"system.sips.link.bandwidth=unlimited"}, []int{0, 128}, rate(1, 384), "cube 0 of SIP 0 sends everything over its links, 384 GB/s"},
		{"default", nil, firstPEs(128), rate(30, 6656), "16 cubes receive 30 times the data over their links, 6656 GB/s together"},
		{"default", nil, firstPEs(8), rate(14, 4096), "8 PEs receive 14 times the data over their links, 4096 GB/s together"},
		{"default", nil, []int{9, 10}, rate(1, 512), "PE 1 of cube 1 of SIP 0 sends everything over its links, 512 GB/s"},
		{"default", nil, []int{9, 10, 9, 10}, rate(1, 512), "PE 1 of cube 1 of SIP 0 sends everything over its links, 512 GB/s"},
		{"default", []string{slow("sip0.cube4.ucie_s<->sip0.cube8.ucie_n", "sip0.cube5.ucie_s<->sip0.cube9.ucie_n",
			"sip0.cube6.ucie_s<->sip0.cube10.ucie_n", "sip0.cube7.ucie_s<->sip0.cube11.ucie_n")}, firstPEs(128),
			rate(1, 4), "cube rows 2 to 3 of SIP 0 send everything over their links, 4 GB/s"},
		{"default", []string{"system.sips.count=1", slow("sip0.cube1.ucie_e<->sip0.cube2.ucie_w", "sip0.cube5.ucie_e<->sip0.cube6.ucie_w",
			"sip0.cube9.ucie_e<->sip0.cube10.ucie_w", "sip0.cube13.ucie_e<->sip0.cube14.ucie_w",
			"sip0.io.ucie2<->sip0.cube2.ucie_n", "sip0.io.ucie3<->sip0.cube3.ucie_n")}, firstPEs(128),
			rate(1, 6), "cube columns 2 to 3 of SIP 0 send everything over their links, 6 GB/s"},
		{"ring6", []string{slow("sip1.io.switch<->sip2.io.switch", "sip4.io.switch<->sip5.io.switch")}, firstPEs(768),
			rate(1, 2), "SIPs 2 to 4 send everything over their links, 2 GB/s"},
		{"mesh2x3", []string{slow("sip0.io.switch<->sip1.io.switch", "sip2.io.switch<->sip3.io.switch", "sip4.io.switch<->sip5.io.switch")}, firstPEs(768),
			rate(1, 3), "SIP column 0 sends everything over its links, 3 GB/s"},
		{"mesh2x3", []string{slow("sip2.io.switch<->sip4.io.switch", "sip3.io.switch<->sip5.io.switch")}, firstPEs(768),
			rate(1, 2), "SIP rows 0 to 1 send everything over their links, 2 GB/s"},
		{"alpha_beta", []string{"system.sips.topology=switch"}, firstPEs(4), rate(6, 400), "4 SIPs receive 6 times the data over their links, 400 GB/s together"},
		{"alpha_beta", []string{"system.sips.topology=fully_connected"}, firstPEs(4), rate(6, 1200), "4 SIPs receive 6 times the data over their links, 1200 GB/s together"},
		{"alpha_beta", []string{"system.sips.link.latency=1 ms"}, firstPEs(4), 2 * simtime.Millisecond, "the way from sip0.cube0.pe0 to sip2.cube0.pe0 takes 2000000ns"},
		{"alpha_beta", []string{"system.sips.link.bandwidth=unlimited", "system.sips.link.latency=0 ns"}, firstPEs(4), 0, "nothing that has to move takes time"},
		{"default", nil, []int{7}, 0, "nothing has to move"},
		{"default", nil, nil, 0, "nothing has to move"},
	} {
		got := Compute(graph(t, c.preset, c.sets...), c.pes, allReduce(mib))
		if got.Time != c.want || got.Why != c.why {
			t.Errorf("%s %v, %d PEs:\ngot  %+v\nwant %v, %s", c.preset, c.sets, len(c.pes), got, c.want, c.why)
		}
	}
}

// TestBoundOfCollectives checks the bound of each collective on SIPs with one PE each.
// Links have 100 GB/s and 150 ns. Each block is 1 MiB. The root is rank 1. For SendRecv,
// each rank sends one message to the next rank.
func TestBoundOfCollectives(t *testing.T) {
	const link = mib * 10_000 * simtime.Femtosecond // the time of a block on one link
	mesh := []string{"system.sips.topology=mesh_2d_no_wrap", "system.sips.count=6", "system.sips.w=2", "system.sips.h=3"}
	into := func(gbps ...int) []string { // limits the links from a switch to SIPs; links to the switch have 100 GB/s
		var list []string
		for sip, rate := range gbps {
			list = append(list, fmt.Sprintf("{link: switch->sip%d.io.switch, bandwidth: %d GB/s}", sip, rate))
		}
		return []string{"system.sips.topology=switch", "overrides=[" + strings.Join(list, ", ") + "]"}
	}
	for _, c := range []struct {
		collective ccl.Collective
		sets       []string
		want       Limit
	}{
		{ccl.AllReduce, nil, Limit{link * 6 / 8, Volume, "4 SIPs receive 6 times the data over their links, 800 GB/s together"}},
		{ccl.Reduce, nil, Limit{link / 2, Cut, "SIP 0 sends everything over its links, 200 GB/s"}},
		{ccl.Broadcast, nil, Limit{link / 2, Cut, "SIP 0 receives everything over its links, 200 GB/s"}},
		{ccl.AllGather, nil, Limit{link * 3 / 2, Cut, "SIP 0 receives 3 blocks over its links, 200 GB/s"}},
		{ccl.ReduceScatter, nil, Limit{link * 3 / 2, Cut, "SIP 0 sends 3 blocks over its links, 200 GB/s"}},
		{ccl.AllToAll, nil, Limit{link * 4 / 2, Cut, "SIPs 0 to 1 send 4 blocks over their links, 200 GB/s"}},
		{ccl.Gather, nil, Limit{link * 3 / 2, Cut, "SIP 1 receives 3 blocks over its links, 200 GB/s"}},
		{ccl.Scatter, nil, Limit{link * 3 / 2, Cut, "SIP 1 sends 3 blocks over its links, 200 GB/s"}},
		{ccl.SendRecv, nil, Limit{link / 2, Cut, "SIP 0 sends 1 message over its links, 200 GB/s"}},
		{ccl.Barrier, nil, Limit{300 * simtime.Nanosecond, Latency, "the way from sip0.cube0.pe0 to sip2.cube0.pe0 takes 300ns"}},

		{ccl.Reduce, []string{"system.sips.topology=line"}, Limit{link, Cut, "SIP 0 sends everything over its links, 100 GB/s"}},
		{ccl.AllGather, []string{"system.sips.topology=line"}, Limit{link * 3, Cut, "SIP 0 receives 3 blocks over its links, 100 GB/s"}},
		{ccl.AllToAll, []string{"system.sips.topology=line"}, Limit{link * 4, Cut, "SIPs 0 to 1 send 4 blocks over their links, 100 GB/s"}},
		{ccl.Gather, []string{"system.sips.topology=line"}, Limit{link * 2, Cut, "SIPs 0 to 1 receive 2 blocks over their links, 100 GB/s"}},
		{ccl.SendRecv, []string{"system.sips.topology=line"}, Limit{link, Cut, "SIP 0 sends 1 message over its links, 100 GB/s"}},
		{ccl.ReduceScatter, mesh, Limit{link * 5 / 2, Cut, "SIP 0 sends 5 blocks over its links, 200 GB/s"}},
		{ccl.AllToAll, mesh, Limit{link * 8 / 2, Cut, "SIP row 0 sends 8 blocks over its links, 200 GB/s"}},
		{ccl.SendRecv, mesh, Limit{link, Cut, "SIP column 0 sends 3 messages over its links, 300 GB/s"}},
		{ccl.ReduceScatter, into(50, 50, 50, 50), Limit{link * 12 / 2, Volume, "4 SIPs receive 12 blocks over their links, 200 GB/s together"}},
		{ccl.Reduce, into(20, 100, 20, 20), Limit{link * 3 * 10 / 16, Volume, "4 SIPs receive 3 times the data over their links, 160 GB/s together"}},
	} {
		g := graph(t, "alpha_beta", c.sets...)
		ranks := g.Spec().System.SIPs.Count
		p := &ccl.Plan{Collective: c.collective, Root: 1, DType: tl.U8, Counts: []int{mib}, Messages: shift(ranks, mib)}
		if got := Compute(g, firstPEs(ranks), p); got != c.want {
			t.Errorf("%v on %v:\ngot  %+v\nwant %+v", c.collective, c.sets, got, c.want)
		}
	}
}

// TestBoundOfUnevenBlocks checks the bound for blocks of different sizes, on a ring of 4
// SIPs with links of 100 GB/s.
func TestBoundOfUnevenBlocks(t *testing.T) {
	g := graph(t, "alpha_beta")
	us := simtime.Microsecond // time of 100,000 bytes on a link
	for _, c := range []struct {
		collective ccl.Collective
		counts     []int
		want       Limit
	}{
		{ccl.AllGather, []int{800_000, 0, 0, 200_000}, Limit{5 * us, Cut, "SIP 1 receives 1000000 elements over its links, 200 GB/s"}},
		{ccl.ReduceScatter, []int{800_000, 0, 0, 200_000}, Limit{5 * us, Cut, "SIP 1 sends 1000000 elements over its links, 200 GB/s"}},
		{ccl.Gather, []int{800_000, 0, 0, 200_000}, Limit{5 * us, Cut, "SIP 1 receives 1000000 elements over its links, 200 GB/s"}},
		{ccl.Scatter, []int{800_000, 0, 0, 200_000}, Limit{5 * us, Cut, "SIP 1 sends 1000000 elements over its links, 200 GB/s"}},
		{ccl.AllToAll, []int{0, 0, 100_000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}, Limit{us/2 + 5*simtime.Picosecond, Cut, "SIPs 1 to 2 receive 100001 elements over their links, 200 GB/s"}},
		// Data moves only from rank 3 to rank 1.
		{ccl.AllToAll, []int{9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}, Limit{300 * simtime.Nanosecond, Latency, "the way from sip3.cube0.pe0 to sip1.cube0.pe0 takes 300ns"}},
		{ccl.Scatter, []int{1, 1, 0, 0}, Limit{150 * simtime.Nanosecond, Latency, "the way from sip1.cube0.pe0 to sip0.cube0.pe0 takes 150ns"}},
		{ccl.Gather, []int{0, 1, 1, 0}, Limit{150 * simtime.Nanosecond, Latency, "the way from sip2.cube0.pe0 to sip1.cube0.pe0 takes 150ns"}},
	} {
		p := &ccl.Plan{Collective: c.collective, Ranks: 4, Root: 1, DType: tl.U8, Counts: c.counts}
		if got := Compute(g, firstPEs(4), p); got != c.want {
			t.Errorf("%v of %v:\ngot  %+v\nwant %+v", c.collective, c.counts, got, c.want)
		}
	}
}

// TestBoundOfNothingAndTooMuch checks for all collectives but the barrier that the bound is
// 0 if no data has to move, and Never if the number of bytes overflows. It also checks that
// one rank and a SendRecv without messages move nothing.
func TestBoundOfNothingAndTooMuch(t *testing.T) {
	g := graph(t, "default")
	for _, c := range ccl.Collectives() {
		p := &ccl.Plan{Collective: c, DType: tl.U8, Counts: []int{0}, Messages: shift(256, 0)}
		if got := Compute(g, firstPEs(256), p); got.Time != 0 && c != ccl.Barrier {
			t.Errorf("%v of nothing: got %+v, want 0", c, got)
		}
		p = &ccl.Plan{Collective: c, DType: tl.F64, Counts: []int{1<<63 - 1}, Messages: shift(256, 1<<63-1)}
		if got := Compute(g, firstPEs(256), p); got.Time != simtime.Never && c != ccl.Barrier {
			t.Errorf("%v of too much: got %+v, want Never", c, got)
		}
		if got := Compute(g, firstPEs(2), &ccl.Plan{Collective: ccl.SendRecv, DType: tl.U8}); got != (Limit{Why: "nothing has to move"}) {
			t.Errorf("no messages: got %+v, want nothing", got)
		}
		if got := Compute(g, firstPEs(1), p); got != (Limit{Why: "nothing has to move"}) {
			t.Errorf("%v of one rank: got %+v, want nothing", c, got)
		}
	}
}

// TestBoundOfRoundedFlits checks that the bound is at most the time of the flits on a link,
// and at most a billionth below that time. The time of a flit is rounded to whole
// femtoseconds, so a link of 3 GB/s carries slightly more than 3 GB/s.
func TestBoundOfRoundedFlits(t *testing.T) {
	g := graph(t, "alpha_beta", "system.sips.count=2", "system.sips.link.bandwidth=3 GB/s")
	flits := gib / 256 * topology.BytesPerSec(3e9).Serialize(256)
	got := Compute(g, firstPEs(2), allReduce(gib))
	if got.Time > flits || got.Time < flits-flits/1e9 {
		t.Errorf("got %+v; want %v or up to a billionth less", got, flits)
	}
}

// TestBoundOfRingsIsThatOfAllCuts checks that Compute finds the largest bound of an
// all-reduce on a ring or line of SIPs. Compute tries only runs of neighbouring SIPs;
// allCuts tries every subset of the SIPs. Both must return the same bound.
func TestBoundOfRingsIsThatOfAllCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 6).Draw(t, "SIPs")
		ring := rapid.Bool().Draw(t, "ring")
		var overrides []string
		capacity := make([][]int64, n) // GB/s
		latency := make([][]simtime.Time, n)
		for i := range n {
			capacity[i], latency[i] = make([]int64, n), make([]simtime.Time, n)
			for j := range latency[i] {
				latency[i][j] = simtime.Second
			}
		}
		join := func(i, j int) {
			capacity[i][j] = rapid.SampledFrom([]int64{1, 2, 4, 5, 10, 16, 40, 100}).Draw(t, "bandwidth")
			latency[i][j] = simtime.Time(rapid.IntRange(0, 20).Draw(t, "latency")) * simtime.Microsecond
			overrides = append(overrides, fmt.Sprintf("{link: sip%d.io.switch->sip%d.io.switch, bandwidth: %d GB/s, latency: %d us}",
				i, j, capacity[i][j], latency[i][j]/simtime.Microsecond))
		}
		for i := range n {
			if j := (i + 1) % n; j > 0 || ring {
				join(i, j)
				join(j, i)
			}
		}
		shape := topology.Line
		if ring {
			shape = topology.Ring1D
		}
		spec, err := topology.Load(t.Context(), "alpha_beta", fmt.Sprintf("system.sips.count=%d", n), fmt.Sprintf("system.sips.topology=%s", shape),
			"overrides=["+strings.Join(overrides, ", ")+"]")
		if err != nil {
			t.Fatal(err)
		}
		g, err := topology.Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		pes := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 2, n, rapid.ID[int]).Draw(t, "ranks")
		bytes := rapid.IntRange(1, mib).Draw(t, "bytes")
		want := allCuts(capacity, latency, pes, int64(bytes))
		if got := Compute(g, pes, allReduce(bytes)); got.Time != want {
			t.Fatalf("got %+v, want %v", got, want)
		}
	})
}

// allCuts computes the bound of an all-reduce from the capacity and the latency between
// every two SIPs. The bound is the longest of three times: the time of the slowest cut
// between a subset of the SIPs and the other SIPs, the time in which all ranks together can
// receive the data, and the latency of the longest path between two ranks.
func allCuts(capacity [][]int64, latency [][]simtime.Time, pes []int, bytes int64) (most simtime.Time) {
	n := len(capacity)
	ranks := 0
	for _, pe := range pes {
		ranks |= 1 << pe
	}
	cross := func(from int) (sum int64) { // capacity of the links out of a subset
		for i := range n {
			for j := range n {
				if from>>i&1 == 1 && from>>j&1 == 0 {
					sum += capacity[i][j]
				}
			}
		}
		return sum
	}
	everything := 1<<n - 1
	for set := range everything {
		if set&ranks != 0 && set&ranks != ranks {
			most = max(most, simtime.Time(bytes*1_000_000/cross(set)))
		}
	}
	var into int64
	for _, pe := range pes {
		into += cross(everything &^ (1 << pe)) // out of all other SIPs
	}
	most = max(most, simtime.Time(2*int64(len(pes)-1)*bytes*1_000_000/into))
	for k := range n {
		for i := range n {
			for j := range n {
				if i != j {
					latency[i][j] = min(latency[i][j], latency[i][k]+latency[k][j])
				}
			}
		}
	}
	for _, i := range pes {
		for _, j := range pes {
			if i != j {
				most = max(most, latency[i][j])
			}
		}
	}
	return most
}

// TestBoundOfOneByteIsNoLaterThanItsRoute checks that the bound of an all-reduce of one
// byte between two PEs is at most the latency of the route between them, and at least half
// of it.
func TestBoundOfOneByteIsNoLaterThanItsRoute(t *testing.T) {
	g := graph(t, "ring6")
	perCube, cubes := g.Spec().PEsPerCube(), g.Spec().CubesPerSIP()
	tcm := func(pe int) topology.NodeID {
		return g.PENode(pe/perCube/cubes, pe/perCube%cubes, pe%perCube, topology.KindTCM)
	}
	rapid.Check(t, func(t *rapid.T) {
		pes := rapid.SliceOfNDistinct(rapid.IntRange(0, 767), 2, 2, rapid.ID[int]).Draw(t, "ranks")
		got := Compute(g, pes, allReduce(1))
		for i := range pes {
			route, err := g.Route(nil, tcm(pes[i]), tcm(pes[1-i]))
			if err != nil {
				t.Fatal(err)
			}
			if latency := g.Latency(route); got.Time > latency || got.Time < latency/2 {
				t.Fatalf("got %+v, want at most the latency %v, and not far below", got, latency)
			}
		}
	})
}

// BenchmarkBound measures Compute for three systems. The largest has 16,384 ranks on
// 131,072 PEs, one rank on every eighth PE.
func BenchmarkBound(b *testing.B) {
	for _, c := range []struct {
		sips  string
		ranks int
	}{{"count=2", 256}, {"count=128", 16384}, {"{count: 1024, topology: torus_2d, w: 32, h: 32}", 16384}} {
		g := graph(b, "default", "system.sips"+map[bool]string{true: "=", false: "."}[c.sips[0] == '{']+c.sips)
		pes := firstPEs(c.ranks)
		all := g.Spec().System.SIPs.Count * g.Spec().CubesPerSIP() * g.Spec().PEsPerCube()
		for i := range pes {
			pes[i] *= all / c.ranks
		}
		for _, does := range []ccl.Collective{ccl.AllReduce, ccl.AllToAll} {
			b.Run(fmt.Sprintf("%v/sips=%d/ranks=%d", does, g.Spec().System.SIPs.Count, c.ranks), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Compute(g, pes, &ccl.Plan{Collective: does, DType: tl.F16, Counts: []int{mib}})
				}
			})
		}
	}
}
