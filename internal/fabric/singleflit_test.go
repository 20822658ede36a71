package fabric

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/topology"
)

// The links of PE i start at number peLinks·i.
const (
	tcmToDMA = iota
	dmaToRouter
	routerToDMA
	dmaToTCM
	routerUp   // to the next router
	routerDown // from the next router
	peLinks
)

// The network of these tests is a line of routers with a PE at each router:
//
//	tcm -> dma -> router <-> router <-> ...
//	tcm <- dma <- router

// pathBetween returns the path from the TCM of PE a to the TCM of PE b.
func pathBetween(a, b int) (p []topology.LinkID) {
	link := func(pe, kind int) { p = append(p, topology.LinkID(peLinks*pe+kind)) }
	link(a, tcmToDMA)
	link(a, dmaToRouter)
	for at := a; at < b; at++ {
		link(at, routerUp)
	}
	for at := a; at > b; at-- {
		link(at-1, routerDown)
	}
	link(b, routerToDMA)
	link(b, dmaToTCM)
	return p
}

// traffic is a set of messages between PEs on a line. Some of them start or end at a router
// instead of a PE.
type traffic struct {
	net   hops
	flows []flow
}

// anyTraffic draws messages of 1 to `most` bytes in the first `classes` classes, which start
// not later than the time `window`. The times of links and starts differ such that no two
// messages arrive at a link at one instant, or hardly ever.
func anyTraffic(most Bytes, window Time, classes int) *rapid.Generator[traffic] {
	return rapid.Custom(func(t *rapid.T) traffic {
		n := rapid.IntRange(2, 5).Draw(t, "PEs")
		x := traffic{net: make(hops, peLinks*n)}
		for i := range x.net {
			x.net[i] = Hop{
				rapid.SampledFrom([]topology.BytesPerSec{64, 128, 256, 500, 0}).Draw(t, "bandwidth") * topology.GBps,
				Time(rapid.IntRange(0, 20).Draw(t, "latency"))*ns + Time(7919*i+13),
			}
		}
		for i := range rapid.IntRange(1, 40).Draw(t, "messages") {
			a, b := rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-2).Draw(t, "to")
			if b >= a {
				b++
			}
			f := flow{at: 5000*Time(rapid.Int64Range(0, int64(window/5000)).Draw(t, "at")) + Time(101*i), Transfer: Transfer{
				Path: pathBetween(a, b), Bytes: Bytes(rapid.Int64Range(1, int64(most)).Draw(t, "bytes")),
				Class: Class(rapid.IntRange(0, classes-1).Draw(t, "class")),
			}}
			switch rapid.IntRange(0, 5).Draw(t, "way") {
			case 0: // from another node at the router
				f.Path = f.Path[2:]
			case 1: // to another node at the router
				f.Path = f.Path[:len(f.Path)-2]
			case 2: // within a PE
				f.Path = f.Path[:1]
			}
			x.flows = append(x.flows, f)
		}
		return x
	})
}

// TestReservationsChangeNothing runs the same traffic with and without reservations. It
// checks that all end times and counters are equal, for small and large messages, sparse or
// dense, and that reservations save events.
func TestReservationsChangeNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		most   Bytes
		window Time
	}{
		{"sparse small messages", 256, 20_000 * ns},
		{"dense small messages", 256, 300 * ns},
		{"one instant", 256, 2 * ns},
		{"small and large messages", 9000, 1000 * ns},
	} {
		t.Run(c.name, func(t *testing.T) {
			var events, stepwise uint64
			rapid.Check(t, func(t *rapid.T) {
				x := anyTraffic(c.most, c.window, 2).Draw(t, "traffic")
				want := run(t, x.net, Config{stepwise: true}, x.flows...)
				got := run(t, x.net, Config{}, x.flows...)
				for i, f := range x.flows {
					if got.done[i] != want.done[i] {
						t.Fatalf("message %d of %v over %v from %v on ends at %v, want %v as without reservations", i, f.Bytes, f.Path, f.at, got.done[i], want.done[i])
					}
				}
				for i := range x.net {
					if got, want := got.Stats(topology.LinkID(i)), want.Stats(topology.LinkID(i)); got != want {
						t.Fatalf("link %d: %+v, want %+v as without reservations", i, got, want)
					}
				}
				events, stepwise = events+got.eng.Events(), stepwise+want.eng.Events()
			})
			t.Logf("%d events, %d without reservations", events, stepwise)
			if events > stepwise {
				t.Errorf("%d events, want at most the %d without reservations", events, stepwise)
			}
		})
	}
}

// TestSingleFlitMessagesEqualFlits checks that single-flit messages of one class end at the
// same time in the Train model and in the Flit model, also if they share links.
func TestSingleFlitMessagesEqualFlits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyTraffic(256, 2000*ns, 1).Draw(t, "traffic")
		got := run(t, x.net, Config{}, x.flows...)
		reference := run(t, x.net, Config{Fidelity: Flit}, x.flows...)
		for i, f := range x.flows {
			if got.done[i] != reference.done[i] {
				t.Fatalf("message %d of %v over %v from %v on ends at %v, want %v by flits", i, f.Bytes, f.Path, f.at, got.done[i], reference.done[i])
			}
		}
	})
}

// TestMessagesTakeTheFormula checks that a message without other traffic takes exactly the
// time of Uncontended, for any size.
func TestMessagesTakeTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyTraffic(9000, 1000*ns, 2).Draw(t, "traffic")
		f := x.flows[0]
		var hops []Hop
		for _, id := range f.Path {
			hops = append(hops, x.net[id])
		}
		if got, want := run(t, x.net, Config{}, f).done[0], f.at+Uncontended(hops, f.Bytes, flitSize); got != want {
			t.Fatalf("%v over %v ends at %v, want %v", f.Bytes, f.Path, got, want)
		}
	})
}

// TestReservationsSaveEvents checks that a single-flit message takes one event for its whole
// path while the links are idle, and that a message that needs a reserved link earlier takes
// the link: the first message then arrives there with an event.
func TestReservationsSaveEvents(t *testing.T) {
	net := make(hops, 2*peLinks)
	for i := range net {
		net[i] = Hop{256 * topology.GBps, ns}
	}
	message := func(at Time, path []topology.LinkID) flow { return flow{at, Transfer{Path: path, Bytes: 128}} }
	path := pathBetween(0, 1)
	for _, c := range []struct {
		name   string
		flows  []flow
		events uint64
	}{
		// The events are the start of each message, its end, and its arrivals at links.
		{"alone", []flow{message(ns, path)}, 2},
		{"one after another", []flow{message(ns, path), message(20*ns, path)}, 4},
		// The second message takes the link router->dma, which the first has reserved.
		{"earlier", []flow{message(ns, path), message(2*ns, path[3:])}, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := run(t, net, Config{}, c.flows...)
			want := run(t, net, Config{stepwise: true}, c.flows...)
			if n := got.eng.Events(); n != c.events {
				t.Errorf("%d events, want %d", n, c.events)
			}
			if !slices.Equal(got.done, want.done) {
				t.Errorf("messages end at %v, want %v as without reservations", got.done, want.done)
			}
		})
	}
}

// TestReservationsKeepTheOrderOfAnInstant sends two messages in the same instant over links
// that take no time, as most links of the preset alpha_beta do. It checks that neither
// message overtakes the other.
func TestReservationsKeepTheOrderOfAnInstant(t *testing.T) {
	net := make(hops, 2*peLinks)
	net[dmaToRouter] = Hop{256 * topology.GBps, ns}
	flows := []flow{{0, Transfer{Path: pathBetween(0, 1), Bytes: 512}}, {0, Transfer{Path: pathBetween(0, 1), Bytes: 16}}}
	got, want := run(t, net, Config{}, flows...), run(t, net, Config{stepwise: true}, flows...)
	if !slices.Equal(got.done, want.done) {
		t.Errorf("messages end at %v, want %v as without reservations", got.done, want.done)
	}
}
