package tp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/torch"
)

// normal returns n normally distributed numbers with the given mean, for a seed.
func normal(n int, seed uint64, mean float64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 7))
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(rng.NormFloat64() + mean)
	}
	return list
}

// TestNorms compares norms of ragged matrices with the dense reference, in all placements
// and on each of two ranks. The mean is large compared with the variance. So the variance
// would be wrong if it were computed as the mean of the squares minus the square of the
// mean.
func TestNorms(t *testing.T) {
	const eps = 1e-3
	for _, dtype := range []torch.DType{torch.F16, torch.F32} {
		for _, shape := range []torch.Shape{{5, 13}, {1, 2}, {12, 96}} {
			self := newSystem(t, 2)
			spawn(t, self, 2, 1, func(self *torch.Rank) error {
				rows, cols := shape[0], shape[1]
				values, gain, bias := normal(rows*cols, uint64(self.Rank()), 1000), normal(cols, 2, 0), normal(cols, 3, 0)
				toDense := func(rows int, values []float32) *dense.Matrix { return dense.New(rows, cols, values, dtype) }
				rms := dense.RMSNorm(toDense(rows, values), toDense(1, gain), eps, torch.F32).Round(dtype)
				layer := layerNorm(toDense(rows, values), toDense(1, gain), toDense(1, bias), eps, torch.F32).Round(dtype)
				for _, on := range layouts {
					x := torch.Must(self.FromSlice(values, dtype, shape, on))
					r := torch.Must(NewRMSNorm(self, "r", cols, eps, Options{DType: dtype, Output: &on}))
					l := torch.Must(NewLayerNorm(self, "l", cols, eps, Options{DType: dtype, Output: &Spread}))
					torch.OK(errors.Join(r.Load(gain), l.Load(gain, bias)))
					for _, c := range []struct {
						name string
						y    *torch.Tensor
						want *dense.Matrix
					}{{r.Name, torch.Must(r.Forward(x)), rms}, {l.Name, torch.Must(l.Forward(x)), layer}} {
						name := fmt.Sprintf("%s of %v %v, %v, rank %d", c.name, dtype, shape, on, self.Rank())
						torch.OK(self.CheckWithin(name, c.y, c.want.V, c.want.Tolerances()))
						if !reflect.DeepEqual(layoutOf(c.y), layoutOf(x)) {
							t.Errorf("%s: placed at\n%v, want\n%v", name, layoutOf(c.y), layoutOf(x))
						}
						torch.OK(c.y.Free())
					}
					torch.OK(errors.Join(x.Free(), r.Free(), l.Free()))
				}
				return nil
			})
			requireChecks(t, self)
			if n := usedHBM(self); n > 0 {
				t.Errorf("%v are not freed", n)
			}
		}
	}
}

// TestNormsLargerThanTCM checks norms of shards that are larger than TCM. A norm with its
// initial gain maps elements of ±2 to exactly ±1.
func TestNormsLargerThanTCM(t *testing.T) {
	self := newSystem(t, 1, "sip.cube_mesh.w=2", "sip.cube_mesh.h=1", "cube.pe_layout.corners=2", "cube.pe_layout.pe_per_corner=1", "pe.tcm.size=256 KiB")
	shape := torch.Shape{8, 80_000}
	values := make([]int, shape[0]*shape[1])
	want := make([]int, len(values))
	for i := range values {
		want[i] = i%2*2 - 1
		values[i] = 2 * want[i]
	}
	x := torch.Must(self.FromSlice(values, torch.F16, shape, Spread))
	if held, room := x.Shards()[0].Bytes, int64(tcmBytes(self)); held <= room {
		t.Fatalf("a shard of %d bytes, want more than the %d of TCM", held, room)
	}
	r := torch.Must(NewRMSNorm(self, "r", shape[1], 0, Options{}))
	l := torch.Must(NewLayerNorm(self, "l", shape[1], 0, Options{}))
	torch.OK(self.Check(r.Name, torch.Must(r.Forward(x)), want))
	torch.OK(self.Check(l.Name, torch.Must(l.Forward(x)), want))
	requireChecks(t, self)
}

// TestNormMisuse checks the errors of norms for wrong arguments, and that a norm of no rows
// is allowed.
func TestNormMisuse(t *testing.T) {
	self := newSystem(t, 1)
	r := torch.Must(NewRMSNorm(self, "in", 8, 0, Options{}))
	l := torch.Must(NewLayerNorm(self, "out", 8, 0, Options{DType: torch.F32}))
	x := torch.Must(self.Zeros(torch.F16, torch.Shape{2, 8}, Spread))
	for _, c := range []struct {
		err  error
		want string
	}{
		{errorOf(NewRMSNorm(self, "in", 0, 0, Options{})), "RMSNorm in: 0 hidden features: there has to be one"},
		{r.Load(make([]float32, 7)), "RMSNorm in: a gain of 7 elements, and rows have 8"},
		{l.Load(make([]float32, 8), nil), "LayerNorm out: a bias of 0 elements, and rows have 8"},
		{errorOf(l.Forward(x)), "LayerNorm out: input f16 [2 8]: want [tokens 8] or [s b 8], f32"},
		{errorOf(r.Forward(r.Weight)), "RMSNorm in: input f16 [8]: want [tokens 8] or [s b 8], f16"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", c.err, c.want)
		}
	}
	if y := torch.Must(r.Forward(torch.Must(self.Zeros(torch.F16, torch.Shape{0, 8}, Spread)))); y.Shape().String() != "[0 8]" {
		t.Errorf("the norm of no rows has shape %v", y.Shape())
	}
}

// TestLaunchNames checks that the launches of a layer have the layer's name, which profiles
// show, and that layers run without values.
func TestLaunchNames(t *testing.T) {
	c, err := torch.New(context.Background(), torch.Options{NoData: true})
	if err != nil {
		t.Fatal(err)
	}
	self := c.Main()
	defer self.Close()
	spawn(t, self, 2, 1, func(self *torch.Rank) error {
		e := torch.Must(NewVocabParallelEmbedding(self, "wte", 32, 16, Options{}))
		r := torch.Must(NewRMSNorm(self, "r", 16, 0, Options{}))
		l := torch.Must(NewLayerNorm(self, "l", 16, 0, Options{}))
		p := torch.Must(self.Profile())
		y := torch.Must(l.Forward(torch.Must(r.Forward(torch.Must(e.Forward([]int{1, 2, 3}))))))
		torch.Must(torch.Must(VocabParallelCrossEntropy(self, y, []int{1, 2, 3}, 0)).Backward(nil))
		var names []string
		for _, phase := range torch.Must(p.Stop()) {
			names = append(names, phase.Name)
		}
		want := []string{
			"VocabParallelEmbedding wte", "RMSNorm r squares", "RMSNorm r scale", "LayerNorm l mean", "LayerNorm l variance", "LayerNorm l scale",
			"VocabParallelCrossEntropy max", "VocabParallelCrossEntropy sum", "VocabParallelCrossEntropy loss", "VocabParallelCrossEntropy gradient",
		}
		if !slices.Equal(names, want) {
			t.Errorf("got  %q\nwant %q", names, want)
		}
		return nil
	})
}
