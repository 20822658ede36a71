package builtin

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
		Summary: "every PE of the machine sends a tile to its east neighbour, on a ring",
		Doc: `A ring of all PEs, in the order of their numbers. Each PE loads a tile of 64
f16, sends it east and stores the tile from the west. Most neighbours are in the
same cube; the slowest hops are between devices.`,
		Metrics: helloMetrics{},
		Run:     runHelloSend,
	})
}

// helloSend passes each PE's tile to its east neighbour.
func helloSend(t *tl.PE, x tl.Ptr, n int) {
	t.Send(tl.East, t.Load(x, tl.Shape{n}, tl.F16))
	t.Store(x, t.Recv(tl.West, tl.Shape{n}, tl.F16))
}

type helloMetrics struct {
	PEs     int        `json:"pes" table:",setting,PEs"`
	Bytes   int        `json:"bytes_per_pe" table:"B,setting"`
	Fastest torch.Time `json:"fastest_pe_ns" table:"ns,lower,fastest PE"`
}

func runHelloSend(b *bench.B) error {
	const n = 64
	pes := b.AllPEs()
	input := func(i int) float64 { return valueAt(i, 7) }
	x := torch.Must(b.FromFunc(input, torch.F16, torch.Shape{n * len(pes)}, torch.On(pes...)))
	l := torch.Must(b.Launch("hello_send", helloSend, x, n, torch.Neighbors(torch.Ring(pes...))))
	b.Metrics(helloMetrics{len(pes), n * torch.F16.Size(), slices.Min(l.Exec())})
	return b.CheckFunc("x", x, func(i int) float64 { return input((i - n + x.Numel()) % x.Numel()) })
}
