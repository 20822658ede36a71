package builtin

import (
	"fmt"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

func init() {
	bench.Register(bench.Bench{
		Name:    "data_parallel",
		Uses:    bench.UsesCollectives,
		Summary: "data-parallel training of a vector on all SIPs: broadcast, gradient, all-reduce, SGD step",
		Doc: `Each SIP is a rank of a process group and has a copy of 4096 weights, divided
over its PEs. In each of 4 steps every rank has its own data and computes the
gradient of half the squared distance to it; all ranks average their gradients,
and each moves its weights by half of the average. The weights on every rank are
compared with those of a plain computation. docs/write/host-api.md explains the
program.`,
		Metrics: dataParallelMetrics{},
		Run: func(b *bench.B) error {
			ranks := b.Topology().Spec().System.SIPs.Count
			b.Metrics(dataParallelMetrics{ranks, steps})
			return b.Spawn(train, ranks)
		},
	})
}

type dataParallelMetrics struct {
	Ranks int `json:"ranks" table:",setting"`
	Steps int `json:"steps" table:",setting"`
}

const (
	weights = 4096
	steps   = 4
	rate    = 0.5
)

// train runs the training on one rank: in each step, it computes a gradient, averages the
// gradient over all ranks and updates the weights.
func train(r *torch.Rank) error {
	r.SetDevice(r.Rank())
	torch.OK(dist.InitProcessGroup(r, "ahbm"))
	spread := torch.DPPolicy{Cube: torch.RowWise, PE: torch.RowWise}
	w := torch.Must(r.Full(float64(r.Rank()), torch.F32, torch.Shape{weights}, spread))
	torch.OK(dist.Broadcast(r, w, 0))
	grad := torch.Must(r.Empty(torch.F32, torch.Shape{weights}, spread))
	for step := range steps {
		x := torch.Must(r.FromSlice(batch(r.Rank(), step, dist.GetWorldSize(r)), torch.F32, torch.Shape{weights}, spread))
		torch.Must(r.Launch("gradient", gradient, grad, w, x))
		torch.OK(dist.AllReduce(r, grad, dist.AVG))
		torch.Must(r.Launch("sgd", sgd, w, grad, rate))
		torch.OK(x.Free())
	}
	torch.OK(r.Check(fmt.Sprintf("weights of rank %d", r.Rank()), w, trained()))
	return dist.DestroyProcessGroup(r)
}

// gradient computes the gradient of half the squared distance between w and x.
func gradient(t *tl.PE, grad, w, x tl.Ptr) {
	own := tl.Shape{w.Dim(0)}
	t.Store(grad, t.Load(w, own, tl.F32).Sub(t.Load(x, own, tl.F32)))
}

// sgd updates the weights: w -= rate × grad.
func sgd(t *tl.PE, w, grad tl.Ptr, rate float64) {
	own := tl.Shape{w.Dim(0)}
	t.Store(w, t.Load(w, own, tl.F32).Sub(t.Load(grad, own, tl.F32).Mul(rate)))
}

// batch returns the data of a rank in a step. The data are whole numbers whose mean over
// all ranks is whole too, so that every result is exact.
func batch(rank, step, ranks int) []float32 {
	data := make([]float32, weights)
	for i := range data {
		data[i] = float32(target(i, step) + 2*rank - (ranks - 1))
	}
	return data
}

// target returns element i of the mean of all ranks' data in a step.
func target(i, step int) int { return i%17 + 4*step }

// trained returns the weights that are expected after all steps of the training.
func trained() []float32 {
	w := make([]float32, weights)
	for i := range w {
		for step := range steps {
			w[i] -= rate * (w[i] - float32(target(i, step)))
		}
	}
	return w
}
