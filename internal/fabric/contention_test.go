package fabric

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/topology"
)

// TestEqualFlowsShareALink checks that k equal flows over one shared link take k times the
// serialization time of one flow. The shared link is at the start of the paths, or later on
// the paths.
func TestEqualFlowsShareALink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 9).Draw(t, "flows")
		n := anySize.Draw(t, "bytes")
		if n > 1<<20 {
			n >>= 4
		}
		const latency = 10 * ns
		shared := Hop{topology.BytesPerSec(rapid.Int64Range(1e9, 1e12).Draw(t, "bandwidth")), latency}
		for _, fid := range fidelities {
			one := run(t, hops{shared}, Config{Fidelity: fid}, flow{0, Transfer{Path: path(0), Bytes: n}}).done[0] - latency
			var atSource, merging []flow
			net := hops{shared}
			for i := range k {
				net = append(net, Hop{topology.Unlimited, latency})
				atSource = append(atSource, flow{0, Transfer{Path: path(0), Bytes: n, Class: Compute}})
				merging = append(merging, flow{0, Transfer{Path: path(i+1, 0), Bytes: n, Class: Compute}})
			}
			if got, want := run(t, net, Config{Fidelity: fid}, atSource...).makespan(), Time(k)*one+latency; got != want {
				t.Fatalf("%v: %d flows of %v from one source: %v, want %v", fid, k, n, got, want)
			}
			if got, want := run(t, net, Config{Fidelity: fid}, merging...).makespan(), Time(k)*one+2*latency; got != want {
				t.Fatalf("%v: %d flows of %v merging: %v, want %v", fid, k, n, got, want)
			}
		}
	})
}

// TestMergingFlowsThatFit sends two flows over links of 64 GB/s that merge into a link of
// 128 GB/s. It checks that the flows delay each other by at most one flit, for random sizes
// and start times.
func TestMergingFlowsThatFit(t *testing.T) {
	slow, fast := Hop{64 * topology.GBps, 3 * ns}, Hop{128 * topology.GBps, 5 * ns}
	net := hops{slow, slow, fast}
	oneFlit := fast.Bandwidth.Serialize(flitSize)
	rapid.Check(t, func(t *rapid.T) {
		n := anySize.Draw(t, "bytes")
		if n > 1<<20 {
			n >>= 3
		}
		n = (n + flitSize - 1) / flitSize * flitSize
		offset := Time(rapid.Int64Range(0, 3000).Draw(t, "offset")) * ns / 7
		for _, fid := range fidelities {
			w := run(t, net, Config{Fidelity: fid},
				flow{0, Transfer{Path: path(0, 2), Bytes: n, Class: Compute}},
				flow{offset, Transfer{Path: path(1, 2), Bytes: n, Class: Compute}})
			alone := Uncontended(hops{slow, fast}, n, flitSize)
			for i, at := range w.done {
				if slowed := at - w.flows[i].at - alone; slowed < 0 || slowed > oneFlit {
					t.Fatalf("%v: flow %d of %v, second starts at %v: slowed by %v, at most %v allowed",
						fid, i, n, offset, slowed, oneFlit)
				}
			}
		}
	})
}

// TestCommIsNotHeldUpByBulk sends a 4 KiB message of class Comm over links that a 16 MiB
// transfer of class Compute also uses. It checks that the message waits at each link for at
// most one flit, and that it delays the transfer by at most its own size.
func TestCommIsNotHeldUpByBulk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		links := rapid.IntRange(1, 6).Draw(t, "links")
		net := make(hops, links)
		var flitEach Time
		for i := range net {
			net[i] = Hop{topology.BytesPerSec(rapid.Int64Range(32, 512).Draw(t, "GB/s")) * topology.GBps, 10 * ns}
			flitEach += net[i].Bandwidth.Serialize(flitSize)
		}
		const bulk, small = 16 << 20, 4 << 10
		smallEach := flitEach * Time(small/flitSize)
		start := Time(rapid.Int64Range(0, int64(Uncontended(net, bulk, flitSize))).Draw(t, "start"))
		alone := Uncontended(net, small, flitSize)
		for _, fid := range fidelities {
			if fid == Flit && rapid.IntRange(0, 9).Draw(t, "reference") != 0 {
				continue
			}
			w := run(t, net, Config{Fidelity: fid},
				flow{0, Transfer{Path: net.all(), Bytes: bulk, Class: Compute}},
				flow{start, Transfer{Path: net.all(), Bytes: small, Class: Comm}})
			if late := w.done[1] - start - alone; late < 0 || late > flitEach {
				t.Fatalf("%v over %v: comm message at %v is %v late, at most %v allowed", fid, net, start, late, flitEach)
			}
			if late := w.done[0] - Uncontended(net, bulk, flitSize); late < 0 || late > smallEach {
				t.Fatalf("%v over %v: the bulk load is %v late, at most %v allowed", fid, net, late, smallEach)
			}
		}
	})
}

// mesh is a w×h mesh of nodes with a link in each direction between neighbours.
type mesh struct {
	w, h int
	hops
	link map[[2]int]int
}

// newMesh draws the size of a mesh and the costs of its links.
func newMesh(t *rapid.T) *mesh {
	m := &mesh{w: rapid.IntRange(1, 5).Draw(t, "w"), h: rapid.IntRange(2, 5).Draw(t, "h"), link: map[[2]int]int{}}
	for a := range m.w * m.h {
		var neighbours []int
		if (a+1)%m.w != 0 {
			neighbours = append(neighbours, a+1)
		}
		if a+m.w < m.w*m.h {
			neighbours = append(neighbours, a+m.w)
		}
		for _, b := range neighbours {
			for _, pair := range [][2]int{{a, b}, {b, a}} {
				m.link[pair] = len(m.hops)
				m.hops = append(m.hops, Hop{
					topology.BytesPerSec(rapid.SampledFrom([]int64{32, 64, 100, 128, 256}).Draw(t, "GB/s")) * topology.GBps,
					Time(rapid.Int64Range(0, 50).Draw(t, "latency")) * ns,
				})
			}
		}
	}
	return m
}

// route returns the path from node a to node b: first along the row of a, then along the
// column of b.
func (m *mesh) route(a, b int) (p []topology.LinkID) {
	for a != b {
		next := a
		switch {
		case a%m.w < b%m.w:
			next++
		case a%m.w > b%m.w:
			next--
		case a < b:
			next += m.w
		default:
			next -= m.w
		}
		p = append(p, topology.LinkID(m.link[[2]int{a, next}]))
		a = next
	}
	return p
}

// TestFidelitiesAgreeUnderContention runs the same random traffic over random meshes in
// both fidelities. It checks that the makespans differ by at most a tolerance. The
// tolerance is the larger of 5 % and the time to serialize 4 KiB on each hop of a path, one
// hop after another, for the slowest of the paths. The bytes and busy times of each link
// must be equal.
func TestFidelitiesAgreeUnderContention(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMesh(t)
		var flows []flow
		var allowed Time
		for range rapid.IntRange(2, 30).Draw(t, "flows") {
			from := rapid.IntRange(0, m.w*m.h-1).Draw(t, "from")
			to := rapid.IntRange(0, m.w*m.h-2).Draw(t, "to")
			if to >= from {
				to++
			}
			f := flow{
				at: Time(rapid.Int64Range(0, 5000).Draw(t, "start")) * ns,
				Transfer: Transfer{
					Path:  m.route(from, to),
					Bytes: Bytes(1) << rapid.IntRange(0, 19).Draw(t, "log size"),
					Class: Class(rapid.IntRange(0, 1).Draw(t, "class")),
				},
			}
			f.Bytes += Bytes(rapid.Int64Range(0, int64(f.Bytes)).Draw(t, "more"))
			flows = append(flows, f)
			var perHop Time
			for _, id := range f.Path {
				perHop += m.Hop(id).Bandwidth.Serialize(turnBytes)
			}
			allowed = max(allowed, perHop)
		}
		train := run(t, m, Config{Fidelity: Train}, flows...)
		reference := run(t, m, Config{Fidelity: Flit}, flows...)
		for i := range m.hops {
			id := topology.LinkID(i)
			got, want := train.Stats(id), reference.Stats(id)
			if got.Bytes != want.Bytes {
				t.Fatalf("link %d: train carried %v, flit %v", i, got.Bytes, want.Bytes)
			}
			if got.Busy != want.Busy {
				t.Fatalf("link %d: train busy %v, flit %v", i, got.Busy, want.Busy)
			}
		}
		allowed = max(allowed, reference.makespan()/20)
		if d := train.makespan() - reference.makespan(); d > allowed || d < -allowed {
			for i, f := range flows {
				t.Logf("flow %d: %v %v %d %v: train %v, flit %v", i, f.at, f.Bytes, f.Class, f.Path, train.done[i], reference.done[i])
			}
			t.Fatalf("makespan: train %v, flit %v: %v apart, at most %v allowed", train.makespan(), reference.makespan(), d, allowed)
		}
	})
}

// TestFidelitiesAgreeOnAHotSlice runs random transfers that all read or write the same HBM
// slice. It checks that the makespans of both fidelities differ by at most 5 % or 32 ns,
// whichever is larger.
func TestFidelitiesAgreeOnAHotSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(2, 6).Draw(t, "flows")
		var net hops
		var flows []flow
		for i := range k {
			net = append(net, Hop{256 * topology.GBps, 2 * ns}, Hop{256 * topology.GBps, 2 * ns})
			r := memory.Contiguous(memory.Addr(i)<<24, Bytes(rapid.Int64Range(1, 64).Draw(t, "KiB"))<<10)
			tr := Transfer{Path: path(2*i, 2*i+1), Bytes: r.Bytes(), Class: Compute}
			if rapid.Bool().Draw(t, "write") {
				tr.Write = Bank{1, r}
			} else {
				tr.Read = Bank{1, r}
			}
			flows = append(flows, flow{Time(rapid.Int64Range(0, 200).Draw(t, "start")) * ns, tr})
		}
		cfg := Config{HBM: hbm8}
		train := run(t, net, cfg, flows...).makespan()
		cfg.Fidelity = Flit
		reference := run(t, net, cfg, flows...).makespan()
		allowed := max(reference/20, 2*16*8*ns/8)
		if d := train - reference; d > allowed || d < -allowed {
			t.Fatalf("train %v, flit %v: at most %v allowed", train, reference, allowed)
		}
	})
}

// TestContentionIsBounded checks that the number of events of k transfers that share two
// links grows with k and not with their size. The parts into which a shared link splits a
// transfer are larger for large transfers.
func TestContentionIsBounded(t *testing.T) {
	net := hops{{100 * topology.GBps, ns}, {100 * topology.GBps, ns}}
	count := func(k int, n Bytes) int {
		flows := make([]flow, k)
		for i := range flows {
			flows[i] = flow{Time(i) * 3 * ns, Transfer{Path: net.all(), Bytes: n, Class: Compute}}
		}
		return int(run(t, net, Config{}, flows...).eng.Events())
	}
	for _, k := range []int{2, 8, 32, 128} {
		for _, n := range []Bytes{1 << 10, 1 << 16, 1 << 20, 1 << 30} {
			if got, most := count(k, n), 6*maxShares*k; got > most {
				t.Errorf("%d transfers of %v take %d events, want at most %d", k, n, got, most)
			}
		}
	}
}

// TestSameBytesTwice checks that two runs of the same transfers give the same end times and
// counters.
func TestSameBytesTwice(t *testing.T) {
	net := hops{{64 * topology.GBps, 3 * ns}, {64 * topology.GBps, 3 * ns}, {100 * topology.GBps, 5 * ns}}
	for _, fid := range fidelities {
		once := func() string {
			var flows []flow
			for i := range 40 {
				flows = append(flows, flow{Time(i%7) * ns, Transfer{
					Path: path(i%2, 2), Bytes: Bytes(1000 * (i + 1)), Class: Class(i % 3 % 2),
				}})
			}
			w := run(t, net, Config{Fidelity: fid}, flows...)
			return fmt.Sprint(w.done, w.Stats(0), w.Stats(1), w.Stats(2), w.eng.Events())
		}
		if a, b := once(), once(); a != b {
			t.Errorf("%v: two runs differ:\n%s\n%s", fid, a, b)
		}
	}
}

// TestCommIsNotHeldUpBySmallerLoads checks that a message of class Comm waits for at most
// one flit of a transfer of class Compute, whatever the size of that transfer. It also
// checks this where the transfer arrives as a rate-limited train.
func TestCommIsNotHeldUpBySmallerLoads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		net := hops{
			{topology.BytesPerSec(rapid.Int64Range(32, 256).Draw(t, "first GB/s")) * topology.GBps, 0},
			{128 * topology.GBps, 0},
		}
		bulk := Bytes(rapid.Int64Range(1, 4<<20).Draw(t, "bulk"))
		small := Bytes(rapid.Int64Range(1, 4<<10).Draw(t, "small"))
		start := Time(rapid.Int64Range(0, int64(Uncontended(net, bulk, flitSize))).Draw(t, "start"))
		w := run(t, net, Config{},
			flow{0, Transfer{Path: path(0, 1), Bytes: bulk, Class: Compute}},
			flow{start, Transfer{Path: path(1), Bytes: small, Class: Comm}})
		most := net[1].Bandwidth.Serialize(flitSize)
		if late := w.done[1] - start - Uncontended(net[1:], small, flitSize); late < 0 || late > most {
			t.Fatalf("comm message of %v at %v is %v late, at most %v allowed", small, start, late, most)
		}
	})
}

// TestContentionRegressions runs traffic for which the fabric once panicked, ended a
// message twice, or never ended a message. It checks that each message ends once.
func TestContentionRegressions(t *testing.T) {
	gbps := func(n int64) topology.BytesPerSec { return topology.BytesPerSec(n) * topology.GBps }
	for name, c := range map[string]struct {
		net   hops
		flows []flow
	}{
		"comm and a rate-limited compute train, then a third": {
			hops{{gbps(21), 0}, {gbps(128), 0}},
			[]flow{
				{0, Transfer{Path: path(0, 1), Bytes: 3268 << 10, Class: Compute}},
				{63 * ns, Transfer{Path: path(1), Bytes: 8164550, Class: Comm}},
				{2424 * ns, Transfer{Path: path(1), Bytes: 1, Class: Comm}},
			},
		},
		"empty reads on a busy link": {
			hops{{gbps(32), 0}},
			[]flow{
				{0, Transfer{Path: path(0), Bytes: 4096, Class: Compute}},
				{0, Transfer{Path: path(0), Read: Bank{1, memory.Region{}}, Class: Compute}},
				{0, Transfer{Path: path(0), Read: Bank{1, memory.Region{}}, Write: Bank{1, memory.Region{}}}},
				{128 * ns, Transfer{Path: path(0), Bytes: 4096}},
			},
		},
	} {
		var bytes [2]Bytes
		for i, fid := range fidelities {
			w := run(t, c.net, Config{Fidelity: fid, HBM: hbm8}, c.flows...) // checks that each ends once
			bytes[i] = w.Stats(topology.LinkID(len(c.net) - 1)).Bytes
		}
		if bytes[0] != bytes[1] {
			t.Errorf("%s: the last link carried %v in train, %v in flit", name, bytes[0], bytes[1])
		}
	}
}

// TestSourcesTakeTurns runs two messages that start at the same link and a third message
// that arrives there over another link. It checks that the shorter of the first two
// messages ends at nearly the same time in both models. Sources delay their trains in
// favour of the third message, but not in favour of each other.
func TestSourcesTakeTurns(t *testing.T) {
	net := hops{{64 * topology.GBps, 0}, {64 * topology.GBps, 0}}
	flows := []flow{
		{0, Transfer{Path: path(1), Bytes: 512 << 10}},
		{0, Transfer{Path: path(0, 1), Bytes: 8 << 10}},
		{0, Transfer{Path: path(1), Bytes: 64 << 10}},
	}
	train := run(t, net, Config{}, flows...).done[2]
	reference := run(t, net, Config{Fidelity: Flit}, flows...).done[2]
	if d := max(train-reference, reference-train); d > 2*net[1].Bandwidth.Serialize(turnBytes) {
		t.Errorf("the shorter source ends at %v, in flit at %v", train, reference)
	}
}
