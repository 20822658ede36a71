package main

import (
	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// hello passes the n elements of rank 0 to rank 1.
func hello(t *tl.PE, x tl.Ptr, n int) {
	if t.Rank() == 0 {
		t.Send(tl.East, t.Load(x, tl.Shape{n}, tl.I32))
	} else {
		t.Store(x, t.Recv(tl.West, tl.Shape{n}, tl.I32))
	}
}

func runHello(b *bench.B) error {
	pes := b.CubePEs(0, 0)[:2]
	x := torch.Must(b.FromSlice([]int{1, 2, 3, 4, 0, 0, 0, 0}, torch.I32, torch.Shape{8}, torch.On(pes...)))
	torch.Must(b.Launch("hello", hello, x, 4, torch.Neighbors(torch.Line(pes...))))
	return b.Check("x", x, []int{1, 2, 3, 4, 1, 2, 3, 4})
}
