package fabric

import (
	"context"
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
)

// pump keeps a fabric busy. Whenever a message ends, it sends the next message on the same
// path.
type pump struct {
	*Fabric
	target sim.Target
	paths  [][]topology.LinkID
	bytes  Bytes
	hbm    bool // whether both ends are in HBM
	left   int  // messages to send
}

func (p *pump) Handle(_ sim.Kind, arg uint64) {
	if p.left == 0 {
		return
	}
	p.left--
	t := Transfer{
		Path: p.paths[arg], Bytes: p.bytes, Class: Compute,
		Done: sim.Event{Target: p.target, Arg: arg},
	}
	if p.hbm {
		t.Read, t.Write = Bank{1, memory.Contiguous(0, p.bytes)}, Bank{2, memory.Contiguous(0, p.bytes)}
	}
	p.Send(&t)
}

// newPump returns a pump that keeps one message in flight on each path.
func newPump(net Network, cfg Config, bytes Bytes, paths ...[]topology.LinkID) (*sim.Engine, *pump) {
	eng := sim.New()
	cfg.Flit = flitSize
	p := &pump{Fabric: New(eng, net, cfg), paths: paths, bytes: bytes}
	p.target = eng.Register(p)
	return eng, p
}

// run sends the given number of messages and waits until all of them have ended.
func (p *pump) run(t tester, eng *sim.Engine, messages int) {
	p.left = messages
	for i := range p.paths {
		eng.At(eng.Now(), p.target, 0, uint64(i))
	}
	if err := eng.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// makePaths returns a network and k paths of n hops each through it. If shared is true, all
// k paths use the same n links. If it is false, no two paths have a link in common.
func makePaths(k, n int, shared bool) (net hops, paths [][]topology.LinkID) {
	for i := range k {
		if i == 0 || !shared {
			for range n {
				net = append(net, Hop{128 * topology.GBps, 16 * ns})
			}
		}
		paths = append(paths, net[len(net)-n:].from(len(net)-n))
	}
	return net, paths
}

// from returns the path over len(h) links with consecutive numbers. The number of the first
// link is `first`.
func (h hops) from(first int) (p []topology.LinkID) {
	for i := range h {
		p = append(p, topology.LinkID(first+i))
	}
	return p
}

// BenchmarkMessages measures messages per second of wall time in both fidelities, for
// messages on disjoint paths and for eight messages at a time on one path.
func BenchmarkMessages(b *testing.B) {
	const k, nhops = 8, 6
	for _, c := range []struct {
		fid    Fidelity
		bytes  Bytes
		shared bool
	}{
		{Train, 4 << 10, false},
		{Train, 4 << 10, true},
		{Train, 1 << 20, false},
		{Train, 1 << 20, true},
		{Train, 1 << 30, false},
		{Flit, 4 << 10, false},
		{Flit, 1 << 20, false},
	} {
		how := "alone"
		if c.shared {
			how = fmt.Sprintf("%d-share", k)
		}
		b.Run(fmt.Sprintf("%v/%v/%s/hops=%d", c.fid, c.bytes, how, nhops), func(b *testing.B) {
			net, paths := makePaths(k, nhops, c.shared)
			eng, p := newPump(net, Config{Fidelity: c.fid}, c.bytes, paths...)
			p.run(b, eng, k)
			b.ReportAllocs()
			before := eng.Events()
			b.ResetTimer()
			p.run(b, eng, b.N)
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
			b.ReportMetric(float64(b.N*nhops)/b.Elapsed().Seconds(), "hops/s")
			b.ReportMetric(float64(eng.Events()-before)/float64(b.N), "events/message")
		})
	}
}

// TestTransfersAllocateNothing checks that a transfer on a fabric that is already in use
// allocates no memory.
func TestTransfersAllocateNothing(t *testing.T) {
	for _, c := range []struct{ shared, hbm bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		net, paths := makePaths(4, 3, c.shared)
		eng, p := newPump(net, Config{HBM: hbm8}, 100_000, paths...)
		p.hbm = c.hbm
		p.run(t, eng, 200)
		if got := testing.AllocsPerRun(20, func() { p.run(t, eng, 20) }); got != 0 {
			t.Errorf("%+v: %v allocations per 20 messages, want 0", c, got)
		}
	}
}
