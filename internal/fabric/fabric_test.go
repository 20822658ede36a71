package fabric

import (
	"context"
	"fmt"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

const (
	ns       = simtime.Nanosecond
	flitSize = Bytes(256)
)

// hops is a network, given by the costs of its links.
type hops []Hop

func (h hops) NumLinks() int              { return len(h) }
func (h hops) Hop(id topology.LinkID) Hop { return h[id] }

// path returns the path over the links with the given numbers.
func path(ids ...int) (p []topology.LinkID) {
	for _, id := range ids {
		p = append(p, topology.LinkID(id))
	}
	return p
}

// all returns the path over all links of h in order.
func (h hops) all() (p []topology.LinkID) {
	for i := range h {
		p = append(p, topology.LinkID(i))
	}
	return p
}

var hbm8 = memory.HBM{Channels: 8, Burst: 256, BurstTime: 8 * ns}

var fidelities = []Fidelity{Train, Flit}

func (f Fidelity) String() string { return [...]string{"train", "flit"}[f] }

// flow is a transfer with its start time.
type flow struct {
	at Time
	Transfer
}

// world is a fabric with flows that are scheduled to start, and the end time of each flow.
type world struct {
	*Fabric
	eng   *sim.Engine
	flows []flow
	done  []Time
}

const (
	worldStart sim.Kind = iota
	worldDone
	worldLeft
)

func (w *world) Handle(kind sim.Kind, arg uint64) {
	if kind == worldStart {
		w.Send(&w.flows[arg].Transfer)
		return
	}
	if w.done[arg] >= 0 {
		panic(fmt.Sprintf("flow %d ends twice, at %v and %v", arg, w.done[arg], w.eng.Now()))
	}
	w.done[arg] = w.eng.Now()
}

// run runs the given flows on a new fabric until all have ended, and checks that each ends
// once.
func run(t tester, net Network, cfg Config, flows ...flow) *world {
	t.Helper()
	w := newWorld(net, cfg, flows...)
	w.run(t)
	return w
}

// newWorld returns a new fabric on which the given flows are scheduled but not yet run.
func newWorld(net Network, cfg Config, flows ...flow) *world {
	if cfg.Flit == 0 {
		cfg.Flit = flitSize
	}
	eng := sim.New()
	w := &world{Fabric: New(eng, net, cfg), eng: eng, flows: flows, done: make([]Time, len(flows))}
	target := eng.Register(w)
	for i := range flows {
		w.done[i] = -1
		flows[i].Done = sim.Event{Target: target, Kind: worldDone, Arg: uint64(i)}
		eng.At(flows[i].at, target, worldStart, uint64(i))
	}
	return w
}

// run runs the scheduled flows and checks that each of them ends once.
func (w *world) run(t tester) {
	t.Helper()
	if err := w.eng.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i, at := range w.done {
		if at < 0 {
			t.Fatalf("%v: flow %d of %v never arrived", w.cfg.Fidelity, i, w.flows[i].Bytes)
		}
	}
	if n := w.messages.Len(); n > 0 {
		t.Fatalf("%v: %d messages not returned", w.cfg.Fidelity, n)
	}
}

// makespan returns the end time of the flow that ends last.
func (w *world) makespan() (last Time) {
	for _, at := range w.done {
		last = max(last, at)
	}
	return last
}

var anyBandwidth = rapid.Custom(func(t *rapid.T) topology.BytesPerSec {
	if rapid.IntRange(0, 9).Draw(t, "unlimited") == 0 {
		return topology.Unlimited
	}
	return topology.BytesPerSec(rapid.Int64Range(1e9, 2e12).Draw(t, "bytes per second"))
})

var anyPath = rapid.Custom(func(t *rapid.T) hops {
	h := make(hops, rapid.IntRange(1, 8).Draw(t, "hops"))
	for i := range h {
		h[i] = Hop{anyBandwidth.Draw(t, "bandwidth"), Time(rapid.Int64Range(0, 200e6).Draw(t, "latency"))}
	}
	return h
})

// anySize draws sizes from 1 B to 16 MiB, uniformly in their logarithm. Some are multiples
// of a flit and some are not.
var anySize = rapid.Custom(func(t *rapid.T) Bytes {
	n := Bytes(1) << rapid.IntRange(0, 24).Draw(t, "log size")
	switch rapid.IntRange(0, 2).Draw(t, "kind of size") {
	case 0:
		return n
	case 1:
		return max(1, n-Bytes(rapid.Int64Range(0, 600).Draw(t, "less")))
	}
	return Bytes(rapid.Int64Range(1, int64(n)).Draw(t, "up to"))
})

// TestUncontendedEqualsFormula checks that a transfer without other traffic takes exactly
// the time of Uncontended in both models, for random paths and sizes.
func TestUncontendedEqualsFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		net := anyPath.Draw(t, "path")
		n := anySize.Draw(t, "bytes")
		at := Time(rapid.Int64Range(0, 1e9).Draw(t, "start"))
		want := at + Uncontended(net, n, flitSize)
		for _, fid := range fidelities {
			if fid == Flit && n > 1<<20 && rapid.IntRange(0, 7).Draw(t, "reference") != 0 {
				continue // half a million events: test only one in eight
			}
			w := run(t, net, Config{Fidelity: fid}, flow{at, Transfer{Path: net.all(), Bytes: n}})
			if got := w.done[0]; got != want {
				t.Fatalf("%v: %v over %v takes %v, want %v", fid, n, net, got-at, want-at)
			}
			for i, hop := range net {
				got := w.Stats(topology.LinkID(i))
				busy := Time(n/flitSize)*hop.Bandwidth.Serialize(flitSize) + hop.Bandwidth.Serialize(n%flitSize)
				if got.Bytes != n || got.Busy != busy {
					t.Fatalf("%v: link %d carried %v, busy %v, want %v and %v", fid, i, got.Bytes, got.Busy, n, busy)
				}
			}
		}
	})
}

// TestQueuedAddsUp checks Stats.Queued of a slow link that follows a fast link, in both
// fidelities. Flit k waits there for k times the difference between the serialization times
// of the two links.
func TestQueuedAddsUp(t *testing.T) {
	fast, slow := Hop{256 * topology.GBps, ns}, Hop{64 * topology.GBps, ns} // 1 and 4 ns a flit
	net := hops{fast, slow}
	const flits = 1000
	for _, fid := range fidelities {
		w := run(t, net, Config{Fidelity: fid}, flow{0, Transfer{Path: net.all(), Bytes: flits * flitSize}})
		if got, want := w.Stats(1).Queued, Time(flits-1)*3*ns/2; got != want {
			t.Errorf("%v: flits queued for %v on average, want %v", fid, got, want)
		}
		if got := w.Stats(0).Queued; got != 0 {
			t.Errorf("%v: flits queued for %v at their source, want none", fid, got)
		}
	}
	// The sum over the flits of two large transfers exceeds 64 bits.
	merge := hops{fast, fast, slow}
	w := run(t, merge, Config{},
		flow{0, Transfer{Path: path(0, 2), Bytes: 1 << 30}}, flow{0, Transfer{Path: path(1, 2), Bytes: 1 << 30}})
	if got := w.Stats(2).Queued; got < 10*simtime.Millisecond || got > 20*simtime.Millisecond {
		t.Errorf("flits of 1 GiB queued for %v on average, want about 15 ms", got)
	}
}

// TestSlowLinkIsChargedOnce checks that 16 MiB over a path with one slow link take the same
// time whether the slow link is the first, the middle or the last one.
func TestSlowLinkIsChargedOnce(t *testing.T) {
	fast, slow := Hop{128 * topology.GBps, 3 * ns}, Hop{64 * topology.GBps, 5 * ns}
	const n = 16 << 20
	for _, net := range []hops{{slow, fast, fast}, {fast, slow, fast}, {fast, fast, slow}} {
		want := (3+3+5)*ns + (2+2+4)*ns + (n/256-1)*4*ns
		if got := Uncontended(net, n, flitSize); got != want {
			t.Errorf("formula over %v: %v, want %v", net, got, want)
		}
		for _, fid := range fidelities {
			w := run(t, net, Config{Fidelity: fid}, flow{0, Transfer{Path: net.all(), Bytes: n}})
			if w.done[0] != want {
				t.Errorf("%v over %v: %v, want %v", fid, net, w.done[0], want)
			}
		}
	}
}

// TestNoBytesTakeTheLatency checks that a transfer of 0 bytes takes the sum of the
// latencies on its path.
func TestNoBytesTakeTheLatency(t *testing.T) {
	net := hops{{topology.GBps, 3 * ns}, {topology.GBps, 4 * ns}}
	for _, fid := range fidelities {
		if w := run(t, net, Config{Fidelity: fid}, flow{0, Transfer{Path: net.all()}}); w.done[0] != 7*ns {
			t.Errorf("%v: %v, want 7ns", fid, w.done[0])
		}
	}
}

// TestEventsDoNotGrowWithBytes checks that the number of events of an uncontended transfer
// depends on its path and not on its size: one event for each hop and one for the start. A
// transfer from HBM may be two trains if the links are faster than the channels. Links of
// unlimited bandwidth take no events.
func TestEventsDoNotGrowWithBytes(t *testing.T) {
	const nhops, start = 6, 1
	slow, fast, unlimited := make(hops, nhops), make(hops, nhops), make(hops, nhops)
	for i := range slow {
		slow[i], fast[i], unlimited[i] = Hop{100 * topology.GBps, ns}, Hop{100_000 * topology.GBps, ns}, Hop{topology.Unlimited, ns}
	}
	for _, c := range []struct {
		name        string
		net         hops
		read, write SliceID
		want        uint64
	}{
		{"links", slow, 0, 0, start + nhops},
		{"from HBM", slow, 1, 0, start + nhops + 1},
		{"to HBM", slow, 0, 1, start + nhops + 1},
		{"from HBM to HBM", slow, 1, 2, start + nhops + 2},
		{"links faster than the HBM", fast, 1, 2, start + 2*(nhops+1) + 1},
		{"unlimited links", unlimited, 0, 0, start + 1},
		{"unlimited links and HBM", unlimited, 1, 2, start + 2 + 1},
	} {
		for _, n := range []Bytes{1, 4 << 10, 1 << 20, 1 << 30} {
			tr := Transfer{Path: c.net.all(), Bytes: n}
			if c.read != 0 {
				tr.Read = Bank{c.read, memory.Contiguous(0, n)}
			}
			if c.write != 0 {
				tr.Write = Bank{c.write, memory.Contiguous(0, n)}
			}
			got := run(t, c.net, Config{HBM: hbm8}, flow{0, tr}).eng.Events()
			if small := n < 4<<10; got != c.want && !(small && got <= start+nhops+2) {
				t.Errorf("%s: %v take %d events, want %d", c.name, n, got, c.want)
			}
		}
	}
}

var anyRegion = rapid.Custom(func(t *rapid.T) memory.Region {
	r := memory.Region{
		Addr:     memory.Addr(rapid.Int64Range(0, 9000).Draw(t, "addr")),
		Rows:     rapid.Int64Range(1, 12).Draw(t, "rows"),
		RowBytes: Bytes(rapid.Int64Range(1, 20000).Draw(t, "row bytes")),
	}
	r.Stride = r.RowBytes + Bytes(rapid.Int64Range(0, 9000).Draw(t, "pad"))
	return r
})

// TestUncontendedHBMAgrees checks that both models give the same time for a transfer
// without other traffic whose source, destination or both are in HBM, for random regions.
func TestUncontendedHBMAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		net := anyPath.Draw(t, "path")
		tr := Transfer{Path: net.all()}
		r := anyRegion.Draw(t, "region")
		tr.Bytes = r.Bytes()
		if rapid.Bool().Draw(t, "read") {
			tr.Read = Bank{1, r}
		}
		if rapid.Bool().Draw(t, "write") {
			r.Addr += 1 << 20
			tr.Write = Bank{2, r}
		}
		hbm := hbm8
		hbm.Channels = 1 << rapid.IntRange(0, 5).Draw(t, "log channels")
		hbm.Turnaround = Time(rapid.Int64Range(0, 1).Draw(t, "turnaround")) * 3 * ns
		got := map[Fidelity]Time{}
		for _, fid := range fidelities {
			got[fid] = run(t, net, Config{Fidelity: fid, HBM: hbm}, flow{5, tr}).done[0]
		}
		if got[Train] != got[Flit] {
			t.Fatalf("%+v over %v: train %v, flit %v", r, net, got[Train], got[Flit])
		}
	})
}

// TestUncontendedHBMEqualsFormula checks that a sequential transfer from or to HBM takes
// exactly the time of UncontendedHBM in both models. The transfers start at the first burst
// of a group, a group being one burst per channel.
func TestUncontendedHBMEqualsFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		net := anyPath.Draw(t, "path")
		hbm := hbm8
		hbm.Channels = 1 << rapid.IntRange(0, 4).Draw(t, "log channels")
		group := int64(hbm.Channels) * 256
		n := Bytes(rapid.Int64Range(1, 64).Draw(t, "groups") * group)
		whole := true
		switch rapid.IntRange(0, 2).Draw(t, "kind of size") {
		case 1:
			n = Bytes(rapid.Int64Range(0, group).Draw(t, "less than a group"))
		case 2:
			n, whole = max(1, n-Bytes(rapid.Int64Range(1, group).Draw(t, "less"))), false
		}
		r := memory.Contiguous(memory.Addr(rapid.Int64Range(0, 99).Draw(t, "group")*group), n)
		read := Transfer{Path: net.all(), Bytes: n, Read: Bank{1, r}}
		write := Transfer{Path: net.all(), Bytes: n, Write: Bank{1, r}}
		for _, fid := range fidelities {
			cfg := Config{Fidelity: fid, HBM: hbm}
			want, ok := UncontendedHBM(net, hbm, memory.Read, n, flitSize)
			if got := run(t, net, cfg, flow{0, read}).done[0]; !ok || got != want {
				t.Fatalf("%v: read of %v over %v with %d channels: %v, want %v", fid, n, net, hbm.Channels, got, want)
			}
			want, ok = UncontendedHBM(net, hbm, memory.Write, n, flitSize)
			if whole && !ok {
				t.Fatalf("no formula for a write of %v", n)
			}
			if got := run(t, net, cfg, flow{0, write}).done[0]; ok && got != want {
				t.Fatalf("%v: write of %v over %v with %d channels: %v, want %v", fid, n, net, hbm.Channels, got, want)
			}
		}
	})
}

func ExampleUncontended() {
	path := []Hop{{256 * topology.GBps, 1 * ns}, {128 * topology.GBps, 16 * ns}}
	fmt.Println(Uncontended(path, 4096, 256))
	// Output: 50ns
}

// tester has the methods of *testing.T, *testing.B and *rapid.T that run needs.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }
