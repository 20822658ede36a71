package tp

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestMappingsThreeAxes checks that mappings of [s, b, h] give the same elements, bit for
// bit, as mappings of the matrix with s·b rows.
func TestMappingsThreeAxes(t *testing.T) {
	const world, b, h = 4, 3, 20
	for _, n := range []int{1, 2, 4} {
		for _, algorithm := range []string{"auto", "ring"} {
			r := newSystem(t, world)
			err := r.Spawn(func(r *torch.Rank) error {
				rank := r.Rank()
				torch.OK(dist.InitProcessGroup(r, "ahbm"))
				torch.OK(InitializeModelParallel(r, n, 1, 1, 1, "", dist.Algorithm(algorithm)))
				in, out := []int{12}, []int{12}
				if n > 1 {
					in, out = slices.Repeat([]int{0}, n), slices.Repeat([]int{0}, n)
					in[(rank+1)%n], out[(rank+n-1)%n] = 5, 5
					in[rank%n], out[rank%n] = 7, 7
				}
				times := func(list []int) (rows []int) {
					for _, k := range list {
						rows = append(rows, k*b)
					}
					return rows
				}
				for _, c := range []struct{ three, two Mapping }{
					{CopyToTensorModelParallelRegion, CopyToTensorModelParallelRegion},
					{ReduceFromTensorModelParallelRegion, ReduceFromTensorModelParallelRegion},
					{ScatterToTensorModelParallelRegion, ScatterToTensorModelParallelRegion},
					{GatherFromTensorModelParallelRegion, GatherFromTensorModelParallelRegion},
					{ScatterToSequenceParallelRegion, ScatterToSequenceParallelRegion},
					{GatherFromSequenceParallelRegion, GatherFromSequenceParallelRegion},
					{GatherFromSequenceParallelRegionSplitGrad, GatherFromSequenceParallelRegionSplitGrad},
					{ReduceScatterToSequenceParallelRegion, ReduceScatterToSequenceParallelRegion},
					{AllGatherLastDimFromTensorParallelRegion, AllGatherLastDimFromTensorParallelRegion},
					{ReduceScatterLastDimToTensorParallelRegion, ReduceScatterLastDimToTensorParallelRegion},
					{AllToAll(nil, nil, nil), AllToAll(nil, nil, nil)},
					{AllToAll(nil, out, in), AllToAll(nil, times(out), times(in))},
					{AllToAllSP2HP, AllToAllSP2HP},
					{AllToAllHP2SP, AllToAllHP2SP},
				} {
					for way, do := range [][2]func(*torch.Rank, *torch.Tensor) (*torch.Tensor, error){
						{c.three.Forward, c.two.Forward}, {c.three.Backward, c.two.Backward},
					} {
						name := fmt.Sprintf("%s %s over %d, %s, rank %d", c.three.Name, []string{"forward", "backward"}[way], n, algorithm, rank)
						s := 12
						// In a ring the order of a sum depends on the place of an element.
						if algorithm == "auto" && (c.three.Name == "CopyToTensorModelParallelRegion" || c.three.Name == "ReduceFromTensorModelParallelRegion") {
							s = 7 // nothing is divided
						}
						values := random(s*b*h, rank+1)
						x3 := torch.Must(r.FromSlice(values, torch.F16, torch.Shape{s, b, h}, Spread))
						x2 := torch.Must(r.FromSlice(values, torch.F16, torch.Shape{s * b, h}, Spread))
						y3, y2 := torch.Must(do[0](r, x3)), torch.Must(do[1](r, x2))
						sameElements(t, name, y3, y2, b)
						torch.OK(errors.Join(x3.Free(), x2.Free()))
						if y3 != x3 {
							torch.OK(errors.Join(y3.Free(), y2.Free()))
						}
					}
				}
				return nil
			}, world)
			if err != nil {
				t.Fatal(err)
			}
			if n := usedHBM(r); n > 0 {
				t.Errorf("%v are not freed", n)
			}
		}
	}
}

// TestLayersThreeAxes compares layers whose tensors are [s, b, h] with layers whose tensors
// are matrices with s·b rows. It checks that Forward and Backward give the same elements,
// bit for bit, with two reduction algorithms.
func TestLayersThreeAxes(t *testing.T) {
	const ranks, b = 4, 3
	for _, algorithm := range []string{"auto", "ring"} {
		for _, rows := range []bool{false, true} {
			options, in, out := columnOptions, 13, 48
			if rows {
				options, in, out = rowOptions, 20, 13
			}
			var cases [][2]*gradients
			for _, o := range options {
				s := 7
				if o.SequenceParallel {
					s = 3 * ranks
				}
				cases = append(cases, [2]*gradients{newGradients(rows, o, 1, s, b, in, out, ranks, random), newGradients(rows, o, 1, s*b, 0, in, out, ranks, random)})
			}
			r := newSystem(t, ranks)
			err := r.Spawn(func(r *torch.Rank) error {
				rank := r.Rank()
				torch.OK(dist.InitProcessGroup(r, "ahbm"))
				torch.OK(InitializeModelParallel(r, ranks, 1, 1, 1, "", dist.Algorithm(algorithm)))
				for i, o := range options {
					three, two := cases[i][0].prepare(r, rank, ranks, cases[i][0]), cases[i][1].prepare(r, rank, ranks, cases[i][1])
					name := fmt.Sprintf("rows %t, %+v, %s, rank %d: ", rows, o, algorithm, rank)
					y3, _, err := three.Forward(three.x)
					torch.OK(err)
					y2, _, err := two.Forward(two.x)
					torch.OK(err)
					sameElements(t, name+"y", y3, y2, b)
					dx3, dx2 := torch.Must(three.Backward(three.x, three.dy)), torch.Must(two.Backward(two.x, two.dy))
					sameElements(t, name+"dx", dx3, dx2, b)
					for i, x := range three.l.WeightGrad {
						sameBytes(t, name+"dw", x, two.l.WeightGrad[i])
					}
					if o.Bias {
						sameBytes(t, name+"dbias", three.l.BiasGrad, two.l.BiasGrad)
					}
					torch.OK(stack{y3, y2, dx3, dx2, three.x, two.x, three.dy, two.dy}.free())
					torch.OK(errors.Join(three.Free(), two.Free()))
				}
				return nil
			}, ranks)
			if err != nil {
				t.Fatal(err)
			}
			if n := usedHBM(r); n > 0 {
				t.Errorf("%v are not freed", n)
			}
		}
	}
}

// TestOtherOperationsThreeAxes checks that norms, activations, sums, the gradient of an
// embedding, and the cross entropy with its gradient give the same elements, bit for bit,
// for [s, b, h] as for the matrix with s·b rows.
func TestOtherOperationsThreeAxes(t *testing.T) {
	const ranks, s, b, h = 2, 7, 3, 32
	r := newSystem(t, ranks)
	spawn(t, r, ranks, ranks, func(r *torch.Rank) error {
		values, ids := random(s*b*h, 1), make([]int, s*b)
		for i := range ids {
			ids[i] = i * 5 % (2 * h)
		}
		gate := torch.Must(NewColumnParallelLinear(r, "gate", h, 32, Options{Gated: true}))
		table := torch.Must(NewVocabParallelEmbedding(r, "wte", 2*h, h, Options{}))
		rms, layer := torch.Must(NewRMSNorm(r, "r", h, 1e-5, Options{})), torch.Must(NewLayerNorm(r, "l", h, 1e-5, Options{}))
		torch.OK(gate.Load(random(h*32, 2), nil))
		results := func(shape torch.Shape) (list []*torch.Tensor) {
			x := torch.Must(r.FromSlice(values, torch.F16, shape, Spread))
			up, _, err := gate.Forward(x)
			torch.OK(err)
			loss := torch.Must(VocabParallelCrossEntropy(r, x, ids, 0.1))
			torch.OK(table.Backward(ids, x))
			list = append(list, torch.Must(GELU(r, "gelu", x)), torch.Must(Add(r, "residual", x, x)), torch.Must(SwiGLU("act", gate, up)),
				torch.Must(rms.Forward(x)), torch.Must(layer.Forward(x)), torch.Must(loss.Backward(nil)), loss.Loss, table.WeightGrad)
			table.WeightGrad = nil
			return list
		}
		three, two := results(torch.Shape{s, b, h}), results(torch.Shape{s * b, h})
		for i, what := range []string{"GELU", "Add", "SwiGLU", "RMSNorm", "LayerNorm", "gradient of the loss"} {
			sameElements(t, fmt.Sprintf("%s, rank %d", what, r.Rank()), three[i], two[i], b)
		}
		sameBytes(t, "loss", three[6], two[6])
		sameBytes(t, "gradient of the table", three[7], two[7])
		return nil
	})
}

// sameElements fails the test unless the elements of a tensor [s, b, h] equal those of a
// matrix with s·b rows, bit for bit.
func sameElements(t *testing.T, name string, three, two *torch.Tensor, b int) {
	t.Helper()
	rows := two.Shape()[0]
	if want := (torch.Shape{rows / b, b, two.Shape()[1]}); !slices.Equal(three.Shape(), want) {
		t.Errorf("%s: shape %v, want %v", name, three.Shape(), want)
	}
	sameBytes(t, name, three, two)
}

// sameBytes fails the test unless the elements of two tensors are equal, bit for bit.
func sameBytes(t *testing.T, name string, a, b *torch.Tensor) {
	t.Helper()
	if !bytes.Equal(torch.Must(a.Numpy()).Bytes, torch.Must(b.Numpy()).Bytes) {
		t.Errorf("%s: the elements of %v differ from those of %v", name, a.Shape(), b.Shape())
	}
}
