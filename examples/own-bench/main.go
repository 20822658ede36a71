// Command ownbench is kernbench with an additional bench: the sum of the tiles of all PEs
// of a cube, which the PEs pass around a ring.
//
//	go run . list
//	go run . run ring_sum
//	go run . run ring_sum --topology torus2x3 --check=race --format json
package main

import (
	"github.com/kernbench/kernbench"
	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

func main() {
	bench.Register(bench.Bench{
		Name:    "ring_sum",
		Summary: "sum over the PEs of a cube, on a ring",
		Doc: `Each PE sends its tile east and adds what comes from the west, passing it on, until
it has seen the tiles of all. step_ns is how much of the time each step round the ring has,
the load before the first and the store after the last included.`,
		Metrics: metrics{},
		Run:     runRingSum,
	})
	kernbench.Main()
}

// metrics is what the bench reports. Less step_ns is better.
type metrics struct {
	PEs  int        `json:"pes" table:",setting,PEs"`
	Step torch.Time `json:"step_ns" table:"ns,lower"`
}

// ringSum replaces each PE's tile by the sum of all tiles. In each step a PE forwards the
// tile that it received in the step before. It does not need the sum for that, so the ring
// does not wait for the arithmetic.
func ringSum(t *tl.PE, x tl.Ptr, n int) {
	tile := t.Load(x, tl.Shape{n}, tl.I32)
	sum := tile
	for range t.NumRanks() - 1 {
		t.Send(tl.East, tile)
		tile = t.Recv(tl.West, tl.Shape{n}, tl.I32)
		sum = sum.Add(tile)
	}
	t.Store(x, sum)
}

func runRingSum(b *bench.B) error {
	const n = 256
	pes := b.CubePEs(0, 0)
	data, sums := make([]int, n*len(pes)), make([]int, n)
	for i := range data {
		data[i] = i * i
		sums[i%n] += data[i]
	}
	x := torch.Must(b.FromSlice(data, torch.I32, torch.Shape{len(data)}, torch.On(pes...)))
	l := torch.Must(b.Launch("ring_sum", ringSum, x, n, torch.Neighbors(torch.Ring(pes...))))
	b.Metrics(metrics{PEs: len(pes), Step: l.Crit() / torch.Time(len(pes)-1)})
	var want []int
	for range pes {
		want = append(want, sums...)
	}
	return b.Check("x", x, want)
}
