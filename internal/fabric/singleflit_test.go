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

// fedPEs is a line of routers with a PE at each router. It is a Feeder: all traffic that
// leaves a PE starts on tcm->dma, and all traffic that enters its TCM arrives over
// router->dma.
//
//	tcm -> dma -> router <-> router <-> ...
//	tcm <- dma <- router
type fedPEs struct{ hops }

func (fedPEs) FedBy(id topology.LinkID) topology.LinkID {
	switch id % peLinks {
	case dmaToRouter:
		return id - dmaToRouter + tcmToDMA
	case dmaToTCM:
		return id - dmaToTCM + routerToDMA
	}
	return -1
}

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

// anyTraffic draws messages of at most `most` bytes in the first `classes` classes. Each
// message starts at a multiple of the time `grain`, not later than the time `window`.
func anyTraffic(most Bytes, grain, window Time, classes int) *rapid.Generator[traffic] {
	return rapid.Custom(func(t *rapid.T) traffic {
		n := rapid.IntRange(2, 5).Draw(t, "PEs")
		x := traffic{net: make(hops, peLinks*n)}
		for i := range x.net {
			x.net[i] = Hop{
				rapid.SampledFrom([]topology.BytesPerSec{64, 128, 256, 512, 77, 0}).Draw(t, "bandwidth") * topology.GBps,
				Time(rapid.IntRange(0, 20).Draw(t, "latency")) * ns,
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "messages") {
			a, b := rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-2).Draw(t, "to")
			if b >= a {
				b++
			}
			f := flow{at: grain * Time(rapid.Int64Range(0, int64(window/grain)).Draw(t, "at")), Transfer: Transfer{
				Path: pathBetween(a, b), Bytes: Bytes(rapid.Int64Range(0, int64(most)).Draw(t, "bytes")),
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

// TestFedLinksChangeNothing runs the same traffic on a network with and without the FedBy
// method. It checks that all end times and counters are equal, for small and large
// messages, sparse or dense.
func TestFedLinksChangeNothing(t *testing.T) {
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
			rapid.Check(t, func(t *rapid.T) {
				x := anyTraffic(c.most, 1, c.window, 2).Draw(t, "traffic")
				plain := run(t, x.net, Config{}, x.flows...)
				fed := run(t, fedPEs{x.net}, Config{}, x.flows...)
				for i, f := range x.flows {
					if fed.done[i] != plain.done[i] {
						t.Fatalf("message %d of %v over %v from %v on ends at %v, want %v as without fed links", i, f.Bytes, f.Path, f.at, fed.done[i], plain.done[i])
					}
				}
				for i := range x.net {
					if got, want := fed.Stats(topology.LinkID(i)), plain.Stats(topology.LinkID(i)); got != want {
						t.Fatalf("link %d: %+v, want %+v as without fed links", i, got, want)
					}
				}
				if fed.eng.Events() > plain.eng.Events() {
					t.Fatalf("%d events, want at most the %d without fed links", fed.eng.Events(), plain.eng.Events())
				}
			})
		})
	}
}

// TestSingleFlitMessagesEqualFlits checks that single-flit messages of one class end at the
// same time in the Train model and in the Flit model, also if they share links.
func TestSingleFlitMessagesEqualFlits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyTraffic(256, 1, 2000*ns, 1).Draw(t, "traffic")
		fed := run(t, fedPEs{x.net}, Config{}, x.flows...)
		reference := run(t, x.net, Config{Fidelity: Flit}, x.flows...)
		for i, f := range x.flows {
			if fed.done[i] != reference.done[i] {
				t.Fatalf("message %d of %v over %v from %v on ends at %v, want %v by flits", i, f.Bytes, f.Path, f.at, fed.done[i], reference.done[i])
			}
		}
	})
}

// TestFedLinksTakeTheFormula checks that a message without other traffic takes exactly the
// time of Uncontended on a network with fed links, for any size. A fed link is one whose
// traffic all arrives over one other link.
func TestFedLinksTakeTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyTraffic(9000, 1, 1000*ns, 2).Draw(t, "traffic")
		f := x.flows[0]
		var hops []Hop
		for _, id := range f.Path {
			hops = append(hops, x.net[id])
		}
		if got, want := run(t, fedPEs{x.net}, Config{}, f).done[0], f.at+Uncontended(hops, f.Bytes, flitSize); got != want {
			t.Fatalf("%v over %v ends at %v, want %v", f.Bytes, f.Path, got, want)
		}
	})
}

// TestFedLinksSaveEvents checks that a single-flit message takes one event for a link and
// the next link together if all traffic of the next link arrives over the first.
func TestFedLinksSaveEvents(t *testing.T) {
	net := make(hops, 2*peLinks)
	for i := range net {
		net[i] = Hop{256 * topology.GBps, ns}
	}
	message := func() flow { return flow{ns, Transfer{Path: pathBetween(0, 1), Bytes: 128}} }
	plain, fed := run(t, net, Config{}, message()), run(t, fedPEs{net}, Config{}, message())
	// The events are the start, tcm->dma, dma->router, router->router, router->dma,
	// dma->tcm and the end. The first link needs no event of its own.
	if got, want := plain.eng.Events(), uint64(6); got != want {
		t.Errorf("%d events, want %d", got, want)
	}
	if got, want := fed.eng.Events(), uint64(4); got != want {
		t.Errorf("%d events over fed links, want %d", got, want)
	}
}

// TestFedLinksKeepTheOrderOfAnInstant sends two messages in the same instant over links
// that take no time, as most links of the preset alpha_beta do. It checks that neither
// message overtakes the other.
func TestFedLinksKeepTheOrderOfAnInstant(t *testing.T) {
	net := make(hops, 2*peLinks)
	net[dmaToRouter] = Hop{256 * topology.GBps, ns}
	flows := func() []flow {
		return []flow{{0, Transfer{Path: pathBetween(0, 1), Bytes: 512}}, {0, Transfer{Path: pathBetween(0, 1), Bytes: 16}}}
	}
	plain, fed := run(t, net, Config{}, flows()...), run(t, fedPEs{net}, Config{}, flows()...)
	if !slices.Equal(fed.done, plain.done) {
		t.Errorf("messages end at %v, want %v as without fed links", fed.done, plain.done)
	}
}
