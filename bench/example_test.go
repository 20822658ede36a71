package bench_test

import (
	"context"
	"os"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// double doubles n elements.
func double(t *tl.PE, x tl.Ptr, n int) {
	t.Store(x, t.Load(x, tl.Shape{n}, tl.F16).Mul(2))
}

// metrics are the metrics that the bench reports.
type metrics struct {
	Elems int        `json:"elems" table:",setting,elements"`
	Time  torch.Time `json:"time_ns" table:"ns,lower"`
}

func Example() {
	scale := bench.Bench{
		Name:    "scale",
		Summary: "doubles a vector on one PE",
		Metrics: metrics{},
		Run: func(b *bench.B) error {
			x, err := b.FromSlice([]float32{1, 2, 3}, torch.F16, torch.Shape{3})
			if err != nil {
				return err
			}
			l, err := b.Launch("double", double, x, 3)
			if err != nil {
				return err
			}
			b.Metrics(metrics{Elems: 3, Time: l.Crit()})
			return b.Check("x", x, []float32{2, 4, 6})
		},
	}
	bench.Register(scale) // for kernbench list and run
	result, err := scale.Execute(context.Background(), bench.Options{})
	if err == nil {
		err = result.WriteText(os.Stdout)
	}
	torch.OK(err)
	// Output:
	// # bench: scale
	// # topology: preset default (hash 379e7405aa5e)
	// # fidelity: train
	//
	// metric            value
	// crit_ns       29.174368
	// makespan_ns  422.953214
	// elems                 3
	// time_ns       29.174368
	//
	// values ok: 3 elements compared in 1 check
}
