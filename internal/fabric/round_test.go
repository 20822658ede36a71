package fabric

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/topology"
)

// fedSlices is a network in which slice i+1 feeds link i, for i below the given number.
type fedSlices struct {
	hops
	fed topology.LinkID
}

func (n fedSlices) FedBySlice(id topology.LinkID) bool { return id < n.fed }

// readers returns k reads of n bytes each from slice 1, which start 2 ns apart. Every read
// leaves the slice over link 0 and arrives over a link of its own.
func readers(k int, n Bytes) (fedSlices, []flow) {
	net := fedSlices{hops{{256 * topology.GBps, ns}, {256 * topology.GBps, ns}}, 1}
	var flows []flow
	for i := range k {
		net.hops = append(net.hops, Hop{256 * topology.GBps, ns})
		flows = append(flows, flow{Time(i) * 2 * ns, Transfer{
			Path: path(0, 1, 2+i), Bytes: n, Class: Compute, Read: Bank{1, memory.Contiguous(memory.Addr(i)<<40, n)},
		}})
	}
	return net, flows
}

// TestReadsOfOneSliceTakeFewEvents checks that k long reads of one slice take at most 7·k
// events, whatever their size, because the slice serves them in rounds. It also checks that
// each read ends within 3 % of its time in the Flit model, and the last one exactly then.
func TestReadsOfOneSliceTakeFewEvents(t *testing.T) {
	for _, k := range []int{2, 4, 8} {
		for _, n := range []Bytes{128 << 10, 1 << 20, 64 << 20} {
			net, flows := readers(k, n)
			w := run(t, net, Config{HBM: hbm8}, flows...)
			if got, most := w.eng.Events(), uint64(7*k); got > most {
				t.Errorf("%d reads of %v take %d events, want at most %d", k, n, got, most)
			}
			if n > 1<<20 {
				continue // the Flit model would take long
			}
			reference := run(t, net, Config{Fidelity: Flit, HBM: hbm8}, flows...)
			for i, want := range reference.done {
				if got := w.done[i]; got > want || want-got > want*3/100 || i == k-1 && got != want {
					t.Errorf("%d reads of %v: read %d ends at %v, want %v as flit by flit", k, n, i, got, want)
				}
			}
		}
	}
}

// TestFedLinksOfSlices runs random reads from two slices that feed their links. It checks
// that every link carries the same bytes in the same busy time as in the Flit model. A read
// without other traffic must also end at the same time, and take fewer events than without
// fed links.
func TestFedLinksOfSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		net := fedSlices{hops{{256 * topology.GBps, 2 * ns}, {512 * topology.GBps, 0}}, 2}
		for range 3 {
			net.hops = append(net.hops, Hop{[]topology.BytesPerSec{64, 128, 256, 512}[r.IntN(4)] * topology.GBps, Time(r.IntN(20)) * ns})
		}
		var flows []flow
		for i := range 1 + r.IntN(8) {
			n := 1 + Bytes(r.Int64N(1<<(4+r.IntN(15))))
			slice := r.IntN(2)
			flows = append(flows, flow{Time(r.IntN(1000)) * ns, Transfer{
				Path: path(slice, 2, 3+r.IntN(2)), Bytes: n, Class: Class(r.IntN(2)),
				Read: Bank{SliceID(1 + slice), memory.Contiguous(memory.Addr(i)<<30+memory.Addr(r.IntN(1<<12)), n)},
			}})
		}
		cfg := Config{HBM: hbm8}
		fed, plain := run(t, net, cfg, flows...), run(t, net.hops, cfg, flows...)
		cfg.Fidelity = Flit
		reference := run(t, net, cfg, flows...)
		for id := range net.hops {
			got, want := fed.Stats(topology.LinkID(id)), reference.Stats(topology.LinkID(id))
			if got.Bytes != want.Bytes || got.Busy != want.Busy {
				t.Fatalf("link %d carried %v in %v, want %v in %v", id, got.Bytes, got.Busy, want.Bytes, want.Busy)
			}
		}
		if len(flows) == 1 {
			if fed.done[0] != reference.done[0] {
				t.Fatalf("%v read by %v, want %v as flit by flit", flows[0].Bytes, fed.done[0], reference.done[0])
			}
			if fed.eng.Events() >= plain.eng.Events() {
				t.Fatalf("%d events, want fewer than the %d without fed links", fed.eng.Events(), plain.eng.Events())
			}
		}
	})
}

// TestReadsStayInOrderOnFedLinks runs two reads of a slice that feeds its link. The last flits
// of the shorter read are read in a round while the link still has earlier flits to send. They
// must not pass these: a server drops flits that it seems to have served.
func TestReadsStayInOrderOnFedLinks(t *testing.T) {
	net := fedSlices{hops{{256 * topology.GBps, 2 * ns}, {512 * topology.GBps, 14 * ns}, {256 * topology.GBps, 18 * ns}}, 1}
	read := func(at Time, n Bytes, from memory.Addr) flow {
		return flow{at, Transfer{Path: path(0, 1, 2), Bytes: n, Read: Bank{1, memory.Contiguous(from, n)}}}
	}
	w := run(t, net, Config{HBM: hbm8}, read(924*ns, 83392, 0x80000d23), read(903*ns, 19054, 0x100000a06))
	for id := range net.hops {
		if got := w.Stats(topology.LinkID(id)).Bytes; got != 83392+19054 {
			t.Errorf("link %d carried %v, want %v", id, got, 83392+19054)
		}
	}
}
