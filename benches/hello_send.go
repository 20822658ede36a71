package benches

import (
	"slices"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "hello_send",
		Uses:    bench.UsesNothing,
		Summary: "every PE of the system passes a tile to its east neighbour, on a ring",
		Doc: `A ring of all PEs, in order of their numbers. Each loads a tile of 64 f16, sends it
east and stores what comes from the west. Most neighbours are in the same cube;
the slowest hops are those between devices.`,
		Run: runHelloSend,
	})
}

// helloSend passes each PE's tile to its east neighbour.
func helloSend(t *tl.PE, x tl.Ptr, n int) {
	t.Send(tl.East, t.Load(x, tl.Shape{n}, tl.F16))
	t.Store(x, t.Recv(tl.West, tl.Shape{n}, tl.F16))
}

func runHelloSend(ctx *torch.Context) error {
	const n = 64
	pes := ctx.AllPEs()
	input := func(i int) float64 { return valueAt(i, 7) }
	x, err := ctx.FromFunc(input, torch.F16, torch.Shape{n * len(pes)}, torch.On(pes...))
	if err != nil {
		return err
	}
	l, err := ctx.Launch("hello_send", helloSend, x, n, torch.Neighbors(torch.Ring(pes...)))
	if err != nil {
		return err
	}
	ctx.Metric("pes", len(pes))
	ctx.Metric("bytes_per_pe", n*torch.F16.Size())
	ctx.Metric("fastest_pe_ns", slices.Min(l.Exec()))
	return ctx.CheckFunc("x", x, func(i int) float64 { return input((i - n + x.Numel()) % x.Numel()) })
}
