package tp

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// measure returns the simulated times of Forward and of Backward of a layer with `in` input
// features and `out` output features. The layer is a RowParallelLinear if `rows` is true,
// and otherwise a ColumnParallelLinear.
func measure(r *torch.Rank, rows bool, o Options, tokens, in, out int) (forward, backward torch.Time) {
	var l layer
	if rows {
		o.InputIsParallel = true
		row := torch.Must(NewRowParallelLinear(r, "fc", in, out, o))
		l, in = row, row.InFeaturesPerPartition()
	} else {
		l = torch.Must(NewColumnParallelLinear(r, "fc", in, out, o))
	}
	x := torch.Must(r.Zeros(torch.F16, torch.Shape{tokens, in}, Activations(o.weight())))
	torch.OK(r.Synchronize())
	start := r.Now()
	y, _, err := l.Forward(x)
	torch.OK(errors.Join(err, r.Synchronize()))
	between := r.Now()
	dx := torch.Must(l.Backward(x, y)) // the time does not depend on the gradient
	torch.OK(r.Synchronize())
	forward, backward = between-start, r.Now()-between
	torch.OK(errors.Join(x.Free(), y.Free(), dx.Free(), l.Free()))
	return forward, backward
}

// TestBackwardTime checks that Forward and Backward take exactly the recorded times. In the
// recorded times, Backward takes about twice as long as Forward, and Backward on four PEs
// takes less than half of the time on one PE.
func TestBackwardTime(t *testing.T) {
	for _, c := range []struct {
		rows              bool
		weight            torch.DPPolicy
		forward, backward torch.Time
	}{
		{false, Spread, 3972241483, 8431718273},
		{true, Spread, 4136275223, 8431718273},
		{false, ByTokens, 3960151483, 8744438963},
		{true, ByTokens, 4120275223, 8744438963},
		{false, torch.DPPolicy{NumCubes: 1, NumPEs: 1}, 13390056483, 21501623963},
		{true, torch.DPPolicy{NumCubes: 1, NumPEs: 1}, 13179090223, 21501623963},
	} {
		r := newSystem(t, 1)
		spawn(t, r, 1, 1, func(r *torch.Rank) error {
			forward, backward := measure(r, c.rows, Options{Weight: &c.weight, Bias: true}, 128, 256, 512)
			if forward != c.forward || backward != c.backward {
				t.Errorf("rows %t, %v: forward takes %d fs and backward %d fs, want %d and %d", c.rows, c.weight, forward, backward, c.forward, c.backward)
			}
			return nil
		})
	}
}

// BenchmarkBackward measures the simulation of Forward and Backward for 512 tokens: a
// column-parallel layer from 2048 to 8192 features, and a row-parallel layer from 8192 to
// 2048 features.
func BenchmarkBackward(b *testing.B) {
	for _, ranks := range []int{1, 8} {
		for name, weight := range map[string]*torch.DPPolicy{"Spread": &Spread, "ByTokens": &ByTokens} {
			for _, rows := range []bool{false, true} {
				b.Run(fmt.Sprintf("tp=%d/%s/rows=%t", ranks, name, rows), func(b *testing.B) {
					g, err := topology.Compile(torch.Must(topology.Load(context.Background(), "ring6", fmt.Sprintf("system.sips.count=%d", ranks))))
					if err != nil {
						b.Fatal(err)
					}
					r := torch.Must(torch.New(context.Background(), torch.Options{Topology: g, NoData: true})).Main()
					defer r.Close()
					spawn(b, r, ranks, ranks, func(r *torch.Rank) error {
						in, out := 2048, 8192
						if rows {
							in, out = out, in
						}
						for range b.N {
							forward, backward := measure(r, rows, Options{Weight: weight, Bias: true}, 512, in, out)
							if r.Rank() == 0 {
								b.ReportMetric(forward.NS(), "forward-ns")
								b.ReportMetric(backward.NS(), "backward-ns")
							}
						}
						return nil
					})
				})
			}
		}
	}
}
