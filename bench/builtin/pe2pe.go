package builtin

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "pe2pe",
		Uses:    bench.UsesNothing,
		Summary: "latency between two PEs by distance and size, through queues and with raw DMA",
		Doc: `Two PEs send a tile back and forth. A latency is half of the second round trip,
which leaves out everything before the first send. The second PE is the next PE
of the cube, its last PE, or a PE of the next cube or of the next device, if the
machine has them. The column hops is the number of links between the two. The
columns tcm_ns, sram_ns and hbm_ns are for queues with slots in that memory of
the receiver. The column put_ns is for raw DMA: a Put into the receiver's HBM, a
Notify, and the receiver's Load.`,
		Row: pe2peRow{},
		Run: runPE2PE,
	})
}

// pingPongQueue sends a tile from rank 0 to rank 1 and back through queues, `rounds` times.
// At the end both ranks store the tile.
func pingPongQueue(t *tl.PE, x tl.Ptr, n, rounds int) {
	tile, port := tl.Tile{}, tl.West
	if t.Rank() == 0 {
		tile, port = t.Load(x, tl.Shape{n}, tl.F16), tl.East
	}
	for turn := range 2 * rounds {
		if turn%2 == t.Rank() {
			t.Send(port, tile)
		} else {
			tile = t.Recv(port, tl.Shape{n}, tl.F16)
		}
	}
	t.Store(x, tile)
}

// pingPongPut sends a tile from rank 0 to rank 1 and back, `rounds` times. Unlike
// pingPongQueue, it writes the tile directly into the memory of the receiver.
func pingPongPut(t *tl.PE, x tl.Ptr, n, rounds int) {
	tile, peer := tl.Tile{}, 1-t.Rank()
	if t.Rank() == 0 {
		tile = t.Load(x, tl.Shape{n}, tl.F16)
	}
	for turn := range 2 * rounds {
		if turn%2 == t.Rank() {
			t.Put(peer, x, tile)
			t.Notify(peer, 0, tl.Set, turn+1)
		} else {
			t.WaitSignal(0, tl.EQ, turn+1)
			tile = t.Load(x, tl.Shape{n}, tl.F16)
		}
	}
}

type pe2peRow struct {
	To    string     `json:"to" table:",setting"`
	Hops  int        `json:"hops" table:",setting"`
	Bytes int        `json:"bytes" table:"B,setting,size"`
	TCM   torch.Time `json:"tcm_ns" table:"ns,lower,TCM"`
	SRAM  torch.Time `json:"sram_ns" table:"ns,lower,SRAM"`
	HBM   torch.Time `json:"hbm_ns" table:"ns,lower,HBM"`
	Put   torch.Time `json:"put_ns" table:"ns,lower"`
}

// runPE2PE measures the latency between PE 0 and each peer for several sizes, through
// queues in each memory and with direct writes. It adds a row for each peer and size.
func runPE2PE(b *bench.B) error {
	peers := findPeers(b.Rank)
	if len(peers) == 0 {
		return errors.New("pe2pe needs two PEs: take a larger system")
	}
	for _, to := range peers {
		for _, bytes := range []int{128, 512, 2048, 4096, 10240} {
			row := pe2peRow{To: to.name, Hops: to.hops, Bytes: bytes}
			for _, way := range []struct {
				name   string
				kernel any
				kind   topology.BufferKind
				took   *torch.Time
			}{
				{"tcm", pingPongQueue, topology.BufferTCM, &row.TCM}, {"sram", pingPongQueue, topology.BufferSRAM, &row.SRAM},
				{"hbm", pingPongQueue, topology.BufferHBM, &row.HBM}, {"put", pingPongPut, "", &row.Put},
			} {
				took, err := attempt(func() torch.Time { return latency(b.Rank, way.kernel, way.kind, to.pe, bytes) })
				if err != nil {
					return fmt.Errorf("%s to %s, %d bytes: %w", way.name, to.name, bytes, err)
				}
				*way.took = took
			}
			b.Row(row)
		}
	}
	return nil
}

// farPeer is a PE that exchanges tiles with PE 0.
type farPeer struct {
	name     string
	pe, hops int
}

// findPeers returns PEs at increasing distances from PE 0: in the same cube, in the next
// cube and in the next SIP. It leaves out PEs that the system does not have or that PE 0
// cannot reach.
func findPeers(r *torch.Rank) (peers []farPeer) {
	g := r.Topology()
	last := g.Spec().PEsPerCube() - 1
	from := g.PENode(0, 0, 0, topology.KindTCM)
	for _, e := range []struct {
		name          string
		sip, cube, pe int
		exists        bool
	}{
		{"next_pe", 0, 0, 1, last > 0},
		{"last_pe", 0, 0, last, last > 1},
		{"next_cube", 0, 1, 0, g.Spec().CubesPerSIP() > 1},
		{"next_sip", 1, 0, 0, g.Spec().System.SIPs.Count > 1},
	} {
		if !e.exists {
			continue
		}
		path, err := g.Route(nil, from, g.PENode(e.sip, e.cube, e.pe, topology.KindTCM))
		if err != nil {
			continue // an override removed the links to this PE
		}
		peers = append(peers, farPeer{e.name, r.PE(e.sip, e.cube, e.pe), len(path)})
	}
	return peers
}

// latency returns half of the time of a round trip between PE 0 and the PE with the number
// `to`. It runs the kernel with one and with two round trips, and uses the difference of
// the times.
func latency(r *torch.Rank, kernel any, kind topology.BufferKind, to, bytes int) torch.Time {
	var took [2]torch.Time
	n := bytes / torch.F16.Size()
	data := values(n, 7)
	for i := range took {
		x := torch.Must(r.FromSlice(append(data, make([]float32, n)...), torch.F16, torch.Shape{2 * n}, torch.On(0, to)))
		l := torch.Must(r.Launch("throw", kernel, x, n, i+1, torch.Neighbors(torch.Line(0, to)), torch.Buffers(kind)))
		took[i] = l.Exec()[0]
		torch.OK(r.Check("x", x, append(data, data...)))
		torch.OK(x.Free())
	}
	return (took[1] - took[0]) / 2
}
