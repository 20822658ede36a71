package fabric

import (
	"math/rand/v2"
	"testing"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
)

// unlimitedLinks is a Network in which each link has unlimited bandwidth, except each seventh.
// The latency of a link is its number.
type unlimitedLinks int

func (n unlimitedLinks) NumLinks() int { return int(n) }

func (n unlimitedLinks) Hop(id topology.LinkID) Hop {
	if id%7 == 0 {
		return Hop{topology.GBps, Time(id)}
	}
	return Hop{topology.Unlimited, Time(id)}
}

// TestUnlimitedRuns checks that the bytes of each link and the sums of latencies are exact when
// trains pass runs of unlimited links: while the table of runs grows, when it is full, and
// although all paths use the same memory.
func TestUnlimitedRuns(t *testing.T) {
	const links = 2000
	f := New(sim.New(), unlimitedLinks(links), Config{Flit: 64})
	m := f.model.(*trains)
	want := make([]Bytes, links)
	check := func() {
		t.Helper()
		for id := range want {
			if got := f.Stats(topology.LinkID(id)).Bytes; got != want[id] {
				t.Fatalf("with %d of %d runs: link %d carried %v, want %v", m.usedRuns, len(m.runs), id, got, want[id])
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	path := make([]stage, 0, 16)
	for k := range 600_000 {
		path = path[:0]
		for n := 1 + r.IntN(cap(path)); len(path) < n; {
			path = append(path, stage(r.IntN(links)))
		}
		size := Bytes(1 + r.IntN(1000))
		n, delay := m.passUnlimited(path, size)
		for i, link := range path {
			if link%7 == 0 {
				path = path[:i]
				break
			}
			want[link] += size
			delay -= Time(link)
		}
		if int(n) != len(path) || delay != 0 {
			t.Fatalf("passed %d links of %v, latency wrong by %v", n, path, delay)
		}
		if k&(k-1) == 0 {
			check()
		}
	}
	check()
	if len(m.runs) != maxRunTable || m.usedRuns < maxRunTable/2 {
		t.Errorf("the table has %d runs in %d entries; the test should fill it", m.usedRuns, len(m.runs))
	}
}
