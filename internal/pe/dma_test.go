package pe

import (
	"context"
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

const ns = simtime.Nanosecond

// bench is a DMA engine with one link in each direction to a far memory. A link has a
// latency of 100 ns and carries 256 B in 1 ns.
type bench struct {
	eng  *sim.Engine
	fab  *fabric.Fabric
	dma  DMA
	ends []string // the number and the time of each request that has ended
}

type oneLinkEachWay struct{}

func (oneLinkEachWay) NumLinks() int { return 2 }
func (oneLinkEachWay) Hop(topology.LinkID) fabric.Hop {
	return fabric.Hop{Bandwidth: 256 * topology.GBps, Latency: 100 * ns}
}

func newBench(outstanding int) *bench {
	b := &bench{eng: sim.New()}
	b.fab = fabric.New(b.eng, oneLinkEachWay{}, fabric.Config{Flit: 256})
	b.dma.Init(b.eng, b.fab, &topology.DMA{Setup: 4 * ns, Outstanding: outstanding}, &topology.TCM{}, nil)
	return b
}

var (
	far = memory.ID{Kind: oplog.SRAM}
	tcm = memory.ID{Kind: oplog.TCM}
)

// load returns a request that moves n bytes from far address a to TCM address t.
func load(a, t memory.Addr, n memory.Bytes) Request {
	return Request{
		Op: memory.Read, Class: fabric.Compute, Path: []topology.LinkID{0},
		From: Access{Memory: far, Region: memory.Contiguous(a, n)}, To: Access{Memory: tcm, Region: memory.Contiguous(t, n)},
	}
}

// store returns a request that moves n bytes from TCM address t to far address a.
func store(t, a memory.Addr, n memory.Bytes) Request {
	r := load(a, t, n)
	r.Op, r.Path, r.From, r.To = memory.Write, []topology.LinkID{1}, r.To, r.From
	return r
}

// tile returns a request that stores a box of four rows of 256 B into a matrix with rows of
// 1 KiB. The box starts at column col.
func tile(col memory.Addr) Request {
	r := store(16*col, col, 1024)
	r.To.Region = memory.Region{Addr: col, Rows: 4, RowBytes: 256, Stride: 1024}
	return r
}

// Handle records the end of request arg.
func (b *bench) Handle(_ sim.Kind, arg uint64) {
	b.ends = append(b.ends, fmt.Sprintf("%d@%v", arg, b.eng.Now()))
}

// run submits all requests at the same time. It returns the number and the end of each
// request as text, in order of time.
func (b *bench) run(t *testing.T, requests ...Request) string {
	t.Helper()
	target := b.eng.Register(b)
	for i, r := range requests {
		r.Done = sim.Event{Target: target, Arg: uint64(i)}
		b.dma.Submit(&r)
	}
	if err := b.eng.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(b.dma.program) != 0 || b.dma.inFlight != 0 {
		t.Errorf("%d accesses left over, %d requests in flight", len(b.dma.program), b.dma.inFlight)
	}
	return fmt.Sprint(b.ends)
}

func ptr(r Request) *Request { return &r }

// comm returns a copy of r in traffic class comm.
func comm(r Request) Request {
	r.Class = fabric.Comm
	return r
}

// TestDMA checks the end times of requests that are submitted together. These times depend
// on set-up, link, channel capacity, class and overlapping memory.
func TestDMA(t *testing.T) {
	for _, c := range []struct {
		name        string
		outstanding int
		requests    []Request
		want        string
	}{
		{
			// 4 ns of set-up, 16 flits of 1 ns, 100 ns of latency.
			"one", 8,
			[]Request{load(0, 0, 4096)},
			"[0@120ns]",
		},
		{
			// Set-ups run in parallel; the link serves one request after the other.
			"two overlap", 8,
			[]Request{load(0, 0, 256), load(4096, 4096, 256)},
			"[0@105ns 1@106ns]",
		},
		{
			"one at a time", 1,
			[]Request{load(0, 0, 256), load(4096, 4096, 256)},
			"[0@105ns 1@206ns]",
		},
		{
			"two at a time", 2,
			[]Request{load(0, 0, 256), load(4096, 4096, 256), load(8192, 8192, 256)},
			"[0@105ns 1@106ns 2@206ns]",
		},
		{
			"reads and writes are apart", 1,
			[]Request{load(0, 0, 256), store(4096, 4096, 256)},
			"[0@105ns 1@105ns]",
		},
		{
			"comm goes first", 1,
			[]Request{load(0, 0, 256), load(256, 256, 256), comm(load(512, 512, 256))},
			"[0@105ns 2@206ns 1@307ns]",
		},
		{
			"a store follows the load it depends on", 8,
			[]Request{load(0, 0, 256), store(128, 8192, 128)},
			"[0@105ns 1@205.5ns]",
		},
		{
			"a load follows the store over what it reads", 8,
			[]Request{store(0, 0, 256), load(0, 4096, 256)},
			"[0@105ns 1@206ns]",
		},
		{
			"a load does not overwrite what is being stored", 8,
			[]Request{store(0, 0, 256), load(4096, 0, 256)},
			"[0@105ns 1@206ns]",
		},
		{
			"two stores to one place keep their order", 8,
			[]Request{store(0, 0, 256), store(256, 0, 256)},
			"[0@105ns 1@206ns]",
		},
		{
			"tiles side by side do not depend on each other", 8,
			[]Request{tile(0), tile(256)},
			"[0@108ns 1@112ns]",
		},
		{
			"a stalled request does not delay other requests", 8,
			[]Request{store(0, 0, 256), load(0, 4096, 256), load(8192, 8192, 256), comm(load(9000, 9000, 256))},
			"[0@105ns 2@105ns 3@106ns 1@206ns]",
		},
		{
			"a request of class comm follows what it depends on", 8,
			[]Request{store(0, 0, 256), comm(load(0, 4096, 256))},
			"[0@105ns 1@206ns]",
		},
		{
			"the ninth waits for the first", 8,
			[]Request{
				load(0, 0, 256), load(256, 256, 256), load(512, 512, 256), load(768, 768, 256), load(1024, 1024, 256),
				load(1280, 1280, 256), load(1536, 1536, 256), load(1792, 1792, 256), load(2048, 2048, 256),
			},
			"[0@105ns 1@106ns 2@107ns 3@108ns 4@109ns 5@110ns 6@111ns 7@112ns 8@206ns]",
		},
		{
			"two loads of one place overlap", 8,
			[]Request{load(0, 0, 256), load(0, 4096, 256)},
			"[0@105ns 1@106ns]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := newBench(c.outstanding).run(t, c.requests...); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestBusyCountsDataBeats checks that the busy time of a link counts only the time in which
// it carries data, not the time in which requests wait.
func TestBusyCountsDataBeats(t *testing.T) {
	b := newBench(8)
	b.run(t, load(0, 0, 4096), load(4096, 4096, 4096), store(8192, 8192, 512))
	for id, want := range []fabric.Stats{{Bytes: 8192, Busy: 32 * ns}, {Bytes: 512, Busy: 2 * ns}} {
		got := b.fab.Stats(topology.LinkID(id))
		if got.Bytes != want.Bytes || got.Busy != want.Busy {
			t.Errorf("link %d: %v bytes, busy %v, want %v and %v", id, got.Bytes, got.Busy, want.Bytes, want.Busy)
		}
	}
}

func TestDrainWaits(t *testing.T) {
	b := newBench(8)
	var ends []simtime.Time
	b.eng.Go("kernel", func(p *sim.Proc) {
		b.dma.Submit(ptr(load(0, 0, 256)))
		b.dma.Drain(p)
		ends = append(ends, p.Now())
		b.dma.Submit(ptr(store(0, 0, 256)))
		b.dma.Drain(p)
		ends = append(ends, p.Now())
	})
	if err := b.eng.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if want := "[105ns 210ns]"; fmt.Sprint(ends) != want {
		t.Errorf("ends %v, want %s", ends, want)
	}
}

func TestDrainWaitsForAll(t *testing.T) {
	b := newBench(1)
	var drained []simtime.Time
	b.eng.Go("kernel", func(p *sim.Proc) {
		b.dma.Drain(p) // nothing to wait for
		drained = append(drained, p.Now())
		b.dma.Submit(ptr(load(0, 0, 256)))
		b.dma.Submit(ptr(load(4096, 4096, 256)))
		b.dma.Drain(p)
		drained = append(drained, p.Now())
	})
	if err := b.eng.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if want := "[0ns 206ns]"; fmt.Sprint(drained) != want {
		t.Errorf("drained at %v, want %s", drained, want)
	}
}

func TestRequestsAllocateNothing(t *testing.T) {
	b := newBench(4)
	ctx := context.Background()
	requests := []Request{load(0, 0, 4096), load(4096, 4096, 4096), store(0, 8192, 4096), comm(load(9000, 9000, 512))}
	once := func() {
		for _, r := range requests {
			b.dma.Submit(&r)
		}
		if err := b.eng.Run(ctx); err != nil {
			t.Fatal(err)
		}
	}
	once()
	if got := testing.AllocsPerRun(100, once); got != 0 {
		t.Errorf("%v allocations per %d requests, want 0", got, len(requests))
	}
}
