package tp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/torch"
)

// smoothedReference computes the loss with label smoothing and its gradient. The variances
// of their errors are the variances without smoothing, plus the variances that the
// roundings of the target probability and of the mean add.
func smoothedReference(logits *dense.Matrix, targets []int, labelSmoothing float64) (loss, gradient *dense.Matrix) {
	loss = crossEntropy(logits, targets, torch.F32)
	gradient = dense.Softmax(logits, dense.NoMask, torch.F32)
	k := float64(logits.Cols)
	s := labelSmoothing * k / (k - 1)
	for i, target := range targets {
		row := logits.V[i*logits.Cols:][:logits.Cols]
		mean := 0.0
		for j, v := range row {
			mean += v / k
			at := i*logits.Cols + j
			should := s / k
			if j == target {
				should += 1 - s
			}
			gradient.V[at] -= should
			gradient.Var[at] += 2 * 0x1p-48 * should * should // should is rounded, and so is the difference
		}
		loss.V[i] += s * (row[target] - mean)
		loss.Var[i] += 0x1p-48 * (row[target]*row[target] + mean*mean) * s * 4
	}
	return loss, gradient
}

// TestCrossEntropy compares the loss and its gradient with the dense reference, in several
// placements. It also checks that all ranks have the same bits of the loss.
func TestCrossEntropy(t *testing.T) {
	type setting struct {
		world, tp int
		dtype     torch.DType
		smoothing float64
	}
	settings := []setting{
		{2, 1, torch.F16, 0}, {2, 1, torch.F32, 0.1}, {4, 2, torch.F16, 0.1}, {4, 2, torch.F32, 0}, {4, 4, torch.F16, 0}, {4, 4, torch.F32, 0.1}, {8, 8, torch.F16, 0.2},
	}
	const tokens, vocab = 7, 40
	targets := []int{0, 39, 17, 17, 20, 9, 10}
	values, grads := normal(tokens*vocab, 1, 2), normal(tokens, 2, 0)
	for i := range values {
		values[i] *= 4
	}
	for _, s := range settings {
		logits := dense.New(tokens, vocab, values, s.dtype)
		loss, gradient := smoothedReference(logits, targets, s.smoothing)
		times := make([]float32, tokens*vocab)
		for i := range times {
			times[i] = grads[i/vocab]
		}
		scaled := dense.Mul(gradient, dense.New(tokens, vocab, times, torch.F32), torch.F32).Round(s.dtype)
		plain := gradient.Round(s.dtype)
		tried := layouts[:usualLayouts]
		if s.tp == 2 && s.dtype == torch.F16 {
			tried = layouts
		}
		r := newSystem(t, s.world)
		bits := make([][][]byte, s.world)
		spawn(t, r, s.world, s.tp, func(r *torch.Rank) error {
			rank := r.Rank()
			mine := vocab / s.tp
			first := rank % s.tp * mine
			for i, on := range tried {
				name := fmt.Sprintf("%+v, %v, rank %d: ", s, on, rank)
				x := torch.Must(r.FromSlice(boxElements(values, vocab, 0, first, tokens, mine), s.dtype, torch.Shape{tokens, mine}, on))
				c := torch.Must(VocabParallelCrossEntropy(r, x, targets, s.smoothing))
				torch.OK(r.CheckWithin(name+"loss", c.Loss, loss.V, loss.Tolerances()))
				bits[rank] = append(bits[rank], torch.Must(c.Loss.Numpy()).Bytes)
				g := torch.Must(r.FromSlice(grads, torch.F32, torch.Shape{tokens, 1}, layouts[(i+1)%len(layouts)]))
				for _, b := range []struct {
					name       string
					gradOutput *torch.Tensor
					want       *dense.Matrix
				}{{"gradient", nil, plain}, {"gradient of the sum", g, scaled}} {
					want := b.want.Slice(0, first, tokens, mine)
					y := torch.Must(c.Backward(b.gradOutput))
					torch.OK(r.CheckWithin(name+b.name, y, want.V, want.Tolerances()))
					torch.OK(y.Free())
				}
				torch.OK(errors.Join(x.Free(), g.Free(), c.Free()))
			}
			return nil
		})
		requireChecks(t, r)
		for rank := range bits {
			for i := range bits[rank] {
				if first := rank / s.tp * s.tp; !bytes.Equal(bits[rank][i], bits[first][i]) {
					t.Errorf("%+v, %v: rank %d has the loss %x, rank %d has %x", s, layouts[i], rank, bits[rank][i], first, bits[first][i])
				}
			}
		}
		if n := usedHBM(r); n > 0 {
			t.Errorf("%v are not freed", n)
		}
	}
}

// TestCrossEntropyLargeLogits checks that the loss and its gradient are exact for logits
// whose exponentials are too large for f32. All logits of a rank have the same value.
// Logits that are 1000 smaller contribute nothing to the sum.
func TestCrossEntropyLargeLogits(t *testing.T) {
	const mine = 16
	for _, c := range []struct {
		logits    [2]float64 // by rank
		losses    []float64  // of targets 0, 15 and 31
		gradients [2]float64
	}{
		{[2]float64{1000, 1000}, []float64{math.Log(32), math.Log(32), math.Log(32)}, [2]float64{1. / 32, 1. / 32}},
		{[2]float64{0, 1000}, []float64{1000 + math.Log(16), 1000 + math.Log(16), math.Log(16)}, [2]float64{0, 1. / 16}},
	} {
		r := newSystem(t, 2)
		spawn(t, r, 2, 2, func(r *torch.Rank) error {
			rank := r.Rank()
			x := torch.Must(r.Full(c.logits[rank], torch.F16, torch.Shape{3, mine}, Spread))
			e := torch.Must(VocabParallelCrossEntropy(r, x, []int{0, 15, 31}, 0))
			torch.OK(r.Check("loss", e.Loss, c.losses))
			want := slices.Repeat([]float64{c.gradients[rank]}, 3*mine)
			if rank == 0 {
				want[0]--
				want[mine+15]--
			} else {
				want[2*mine+15]--
			}
			return r.Check("gradient", torch.Must(e.Backward(nil)), want)
		})
		requireChecks(t, r)
	}
}

// TestCrossEntropyMisuse checks the errors of VocabParallelCrossEntropy and its Backward
// for wrong arguments.
func TestCrossEntropyMisuse(t *testing.T) {
	r := newSystem(t, 2)
	const before = "torch: VocabParallelCrossEntropy: model parallel is not initialised: call tp.InitializeModelParallel first"
	if err := panicError(func() { VocabParallelCrossEntropy(r, nil, nil, 0) }); err == nil || err.Error() != before {
		t.Errorf("before initialisation:\ngot  %v\nwant %s", err, before)
	}
	spawn(t, r, 2, 2, func(r *torch.Rank) error {
		x := torch.Must(r.Zeros(torch.F16, torch.Shape{2, 4}, Spread))
		for _, c := range []struct {
			targets   []int
			smoothing float64
			want      string
		}{
			{[]int{1}, 0, "VocabParallelCrossEntropy: logits of shape [2 4] for 1 targets: want [tokens vocab/tp], with a target for each token"},
			{[]int{1, 8}, 0, "VocabParallelCrossEntropy: target 8 at position 1: the vocabulary has 0 to 7"},
			{[]int{-1, 2}, 0, "VocabParallelCrossEntropy: target -1 at position 0: the vocabulary has 0 to 7"},
			{[]int{1, 2}, 1, "VocabParallelCrossEntropy: label smoothing of 1 with a vocabulary of 8: want 0 to less than 1, and a second token to smooth to"},
		} {
			if _, err := VocabParallelCrossEntropy(r, x, c.targets, c.smoothing); err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		}
		l := torch.Must(VocabParallelCrossEntropy(r, x, []int{1, 2}, 0))
		const want = "VocabParallelCrossEntropy backward: gradient f16 [2 4] of the loss: want f32 [2 1]"
		if _, err := l.Backward(x); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		return nil
	})
}

// BenchmarkCrossEntropy measures how long it takes to simulate the loss and the gradient of
// 512 tokens over the two SIPs of the default system, including the work of the host API.
func BenchmarkCrossEntropy(b *testing.B) {
	c, err := torch.New(context.Background(), torch.Options{NoData: true})
	if err != nil {
		b.Fatal(err)
	}
	r := c.Main()
	defer r.Close()
	targets := make([]int, 512)
	for i := range targets {
		targets[i] = i * 7919 % 32000
	}
	spawn(b, r, 2, 2, func(r *torch.Rank) error {
		x := torch.Must(r.Empty(torch.F16, torch.Shape{len(targets), 16000}, Spread))
		start := r.Now()
		for range b.N {
			c := torch.Must(VocabParallelCrossEntropy(r, x, targets, 0))
			y := torch.Must(c.Backward(nil))
			torch.OK(errors.Join(y.Free(), c.Free(), r.Synchronize()))
		}
		if r.Rank() == 0 {
			b.ReportMetric((r.Now()-start).NS()/float64(b.N), "simulated-ns/op")
		}
		return nil
	})
}
