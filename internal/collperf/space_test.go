package collperf

import (
	"flag"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

var whole = flag.Bool("whole", false, "in TestWholeSpace, go through all of it; see there")

// The space of test cases. Counts are numbers of elements of the whole tensor, or of a
// block.
var (
	worlds = []int{1, 2, 3, 4, 6, 7, 8, 12, 16, 200}
	counts = []int{0, 1, 5, 8, 16, 64, 1000, 4099}
	dtypes = []tl.DType{tl.F16, tl.BF16, tl.F32, tl.I32}
)

// point is one combination of settings from the space of test cases.
type point struct {
	collective ccl.Collective
	algorithm  *ccl.Algorithm
	per        RanksPer
	world      int
	count      int
	dtype      tl.DType
}

func (p point) String() string {
	return fmt.Sprintf("%v by %s, %d ranks per %s, %d of %v", p.collective, p.algorithm.Name, p.world, p.per, p.count, p.dtype)
}

// messages estimates how many messages the collective of the point sends.
func (p point) messages() int {
	n := p.world
	chunks := func(elems int) int { return tl.CDiv(elems*p.dtype.Size(), 4096) }
	switch c, name := p.collective, p.algorithm.Name; {
	case c == ccl.AllReduce && name == "tree":
		return 2 * n * chunks(p.count)
	case c == ccl.AllReduce: // a block is one rank's share
		return 2 * n * min(n, p.count) * chunks(tl.CDiv(p.count, n))
	case c == ccl.AllToAll && name == "ring":
		return n * n * n / 2 * chunks(p.count)
	case c == ccl.Gather || c == ccl.Scatter:
		return n * n / 2 * chunks(p.count)
	case c == ccl.AllGather || c == ccl.ReduceScatter || c == ccl.AllToAll:
		return n * n * chunks(p.count)
	}
	return n * chunks(p.count)
}

// check measures the point on one of the two systems: `pes` if ranks are PEs, `sips` if
// ranks are SIPs. It checks that the row has no wrong value and is not faster than its
// bound.
func (p point) check(t *testing.T, pes, sips *topology.Graph) {
	t.Helper()
	in, out := blocks(p.collective, p.world)
	size := topology.Bytes(max(in, out) * p.count * p.dtype.Size())
	o := Options{
		Collective: p.collective, Algorithm: p.algorithm.Name, RanksPer: p.per, World: p.world, Topology: pes,
		DTypes: []tl.DType{p.dtype}, Root: p.world / 2, Min: size, Max: size, Threads: 1,
	}
	if p.per == PerSIP {
		o.Topology = sips
	}
	rows := measure(t, o)
	checkRows(t, o, rows)
	if len(rows) != 1 || p.collective != ccl.Barrier && rows[0].Count != p.count {
		t.Errorf("%v: rows %+v", p, rows)
	}
}

// meaningful reports whether the point can be measured: sendrecv needs two ranks, and the
// system has only 16 SIPs.
func (p point) meaningful() bool {
	return !(p.collective == ccl.SendRecv && p.world == 1) && !(p.per == PerSIP && p.world > 16)
}

// TestWholeSpace checks random points. A point is a combination of collective, algorithm,
// kind and number of ranks, number of elements and dtype. The test skips points that send
// more than 20,000 messages. With -whole the test takes half an hour and checks all points
// except those that send more than two million messages:
//
//	go test ./internal/collperf -run WholeSpace -whole -timeout 2h
func TestWholeSpace(t *testing.T) {
	pes := system(t, "default")
	sips := system(t, "default", "system.sips.count=16", "sip.cube_mesh.w=1", "sip.cube_mesh.h=1")
	var all []point
	for _, c := range ccl.Collectives() {
		for _, a := range ccl.Algorithms(c) {
			for _, per := range []RanksPer{PerPE, PerSIP} {
				for _, world := range worlds {
					// Counts also include the number of cubes, of PEs of a SIP, of PEs, and
					// of ranks.
					for _, count := range append(counts, 16, 128, 256, world) {
						for _, d := range dtypes {
							if p := (point{c, a, per, world, count, d}); p.meaningful() {
								all = append(all, p)
							}
						}
					}
				}
			}
		}
	}
	if *whole {
		omitted := 0
		for i, p := range all {
			if p.messages() > 2_000_000 {
				omitted++
				continue
			}
			if i%500 == 0 {
				t.Logf("%d of %d: %v", i, len(all), p)
			}
			p.check(t, pes, sips)
		}
		t.Logf("%d points, of which %d are too large", len(all), omitted)
		return
	}
	rapid.Check(t, func(r *rapid.T) {
		if p := rapid.SampledFrom(all).Draw(r, "point"); p.messages() <= 20_000 {
			p.check(t, pes, sips)
		}
	})
}
