package tp_test

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
	"github.com/kernbench/kernbench/tp"
)

const ranks, tokens, hidden, ffn = 2, 4, 64, 256

// wave returns n numbers between -scale and scale: a sine wave.
func wave(n int, scale float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(scale * math.Sin(float64(i)))
	}
	return x
}

// mlp runs a rank's part of an MLP (a column-parallel layer, GELU and a row-parallel
// layer), and prints an element of the result.
func mlp(r *torch.Rank) error {
	r.SetDevice(r.Rank())
	torch.OK(dist.InitProcessGroup(r, "ahbm"))
	torch.OK(tp.InitializeModelParallel(r, ranks, 1, 1, 1, ""))
	fc1 := torch.Must(tp.NewColumnParallelLinear(r, "fc1", hidden, ffn, tp.Options{Bias: true}))
	fc2 := torch.Must(tp.NewRowParallelLinear(r, "fc2", ffn, hidden, tp.Options{Bias: true, InputIsParallel: true}))
	torch.OK(fc1.Load(wave(hidden*ffn, 0.2), wave(ffn, 1)))
	torch.OK(fc2.Load(wave(ffn*hidden, 0.1), wave(hidden, 1)))
	x := torch.Must(r.FromSlice(wave(tokens*hidden, 1), torch.F16, torch.Shape{tokens, hidden}, tp.Spread))
	h, _, err := fc1.Forward(x)
	torch.OK(err)
	g := torch.Must(tp.GELU(r, "gelu", h))
	y, _, err := fc2.Forward(g)
	torch.OK(err)
	fmt.Printf("rank %d of %d: y[0, 1] is %.4f\n", tp.Group(r, tp.Tensor).Rank(), ranks, torch.Must(y.At(0, 1)))
	tp.DestroyModelParallel(r)
	return dist.DestroyProcessGroup(r)
}

// step runs a column-parallel and a row-parallel layer forward and backward on a rank, and
// prints an element of each gradient.
func step(r *torch.Rank) error {
	r.SetDevice(r.Rank())
	torch.OK(dist.InitProcessGroup(r, "ahbm"))
	torch.OK(tp.InitializeModelParallel(r, ranks, 1, 1, 1, ""))
	fc1 := torch.Must(tp.NewColumnParallelLinear(r, "fc1", hidden, ffn, tp.Options{Bias: true}))
	fc2 := torch.Must(tp.NewRowParallelLinear(r, "fc2", ffn, hidden, tp.Options{Bias: true, InputIsParallel: true}))
	torch.OK(fc1.Load(wave(hidden*ffn, 0.2), wave(ffn, 1)))
	torch.OK(fc2.Load(wave(ffn*hidden, 0.1), wave(hidden, 1)))
	x := torch.Must(r.FromSlice(wave(tokens*hidden, 1), torch.F16, torch.Shape{tokens / 2, 2, hidden}, tp.Spread)) // [s, b, h]
	h, _, err := fc1.Forward(x)
	torch.OK(err)
	y, _, err := fc2.Forward(h)
	torch.OK(err)
	dy := torch.Must(r.Full(1, torch.F16, y.Shape(), tp.Spread)) // gradient of the sum of y
	dh := torch.Must(fc2.Backward(h, dy))
	dx := torch.Must(fc1.Backward(x, dh))
	dw, db := torch.Must(fc2.WeightGrad[0].At(0, 1)), torch.Must(fc2.BiasGrad.At(1))
	fmt.Printf("rank %d of %d: dx[0, 1, 1] is %.4f, dw[0, 1] %.4f and db[1] %.0f\n", r.Rank(), ranks, torch.Must(dx.At(0, 1, 1)), dw, db)
	return errors.Join(fc1.ZeroGrad(), fc2.ZeroGrad())
}

func Example() {
	r := torch.Must(torch.New(context.Background(), torch.Options{})).Main()
	defer r.Close()
	torch.OK(r.Spawn(mlp, ranks))
	// Output:
	// rank 0 of 2: y[0, 1] is 0.7437
	// rank 1 of 2: y[0, 1] is 0.7437
}

func ExampleRowParallelLinear_Backward() {
	r := torch.Must(torch.New(context.Background(), torch.Options{})).Main()
	defer r.Close()
	torch.OK(r.Spawn(step, ranks))
	// Output:
	// rank 0 of 2: dx[0, 1, 1] is -0.0261, dw[0, 1] -0.1423 and db[1] 4
	// rank 1 of 2: dx[0, 1, 1] is -0.0261, dw[0, 1] 3.2480 and db[1] 4
}
