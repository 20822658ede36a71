package main

import (
	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// lineSum adds to the n elements of each rank the elements of all earlier ranks.
func lineSum(t *tl.PE, x tl.Ptr, n int) {
	sum := t.Load(x, tl.Shape{n}, tl.I32)
	if t.Rank() > 0 {
		sum = t.Recv(tl.West, tl.Shape{n}, tl.I32).Add(sum)
	}
	if t.Rank() < t.NumRanks()-1 {
		t.Send(tl.East, sum)
	}
	t.Store(x, sum)
}

func runLineSum(b *bench.B) error {
	const n = 4
	pes := b.CubePEs(0, 0)
	data, sums := make([]int, n*len(pes)), make([]int, n*len(pes))
	for i := range data {
		data[i] = i
		if sums[i] = i; i >= n {
			sums[i] += sums[i-n]
		}
	}
	x := torch.Must(b.FromSlice(data, torch.I32, torch.Shape{len(data)}, torch.On(pes...)))
	torch.Must(b.Launch("line_sum", lineSum, x, n, torch.Neighbors(torch.Line(pes...))))
	return b.Check("x", x, sums)
}
