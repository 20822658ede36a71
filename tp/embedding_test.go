package tp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/torch"
)

// TestEmbedding checks that Forward returns rows of the table bit for bit, including -0, in
// several placements. Every rank gets all rows or, with SequenceParallel, its share of the
// rows.
func TestEmbedding(t *testing.T) {
	const world, vocab, hidden = 4, 24, 13
	table := make([]float32, vocab*hidden)
	for i := range table {
		table[i] = float32(i) / 8
	}
	table[5*hidden+3] = float32(math.Copysign(0, -1))
	table[5*hidden+4] = float32(math.Inf(-1))
	ids := []int{5, 0, 23, 5, 11, 12, 6, 18}
	var want []float32
	for _, id := range ids {
		want = append(want, table[id*hidden:][:hidden]...)
	}
	for _, tp := range []int{1, 2, 4} {
		for _, dtype := range []torch.DType{torch.F16, torch.F32} {
			for _, sequence := range []bool{false, true} {
				tried := layouts[:usualLayouts]
				if tp == 2 && dtype == torch.F16 {
					tried = layouts
				}
				r := newSystem(t, world)
				spawn(t, r, world, tp, func(r *torch.Rank) error {
					rows, first := len(ids), 0
					if sequence {
						rows = len(ids) / tp
						first = r.Rank() % tp * rows
					}
					for i, on := range tried {
						o := Options{DType: dtype, SequenceParallel: sequence, Weight: &layouts[(i+1)%len(layouts)], Output: &on}
						e := torch.Must(NewVocabParallelEmbedding(r, "wte", vocab, hidden, o))
						torch.OK(e.Load(table))
						y := torch.Must(e.Forward(ids))
						name := fmt.Sprintf("%v over %d, %v, sequence parallel %t, rank %d", dtype, tp, on, sequence, r.Rank())
						torch.OK(r.Check(name, y, want[first*hidden:][:rows*hidden]))
						torch.OK(errors.Join(y.Free(), e.Free()))
					}
					return nil
				})
				requireChecks(t, r)
				if n := usedHBM(r); n > 0 {
					t.Errorf("%v are not freed", n)
				}
			}
		}
	}
}

// TestEmbeddingBackward checks that the gradient of a token's row is the sum of the rows of
// dy for that token, and twice that sum after two calls, in several placements. The row of
// a token that does not occur must be zero.
func TestEmbeddingBackward(t *testing.T) {
	const world, vocab, hidden = 8, 24, 13
	ids := []int{5, 0, 23, 5, 11, 12, 6, 18, 5, 5, 23, 2, 9, 5, 17, 17}
	values := random(len(ids)*hidden, 3)
	for _, tp := range []int{1, 2, 4, 8} {
		r := newSystem(t, world)
		spawn(t, r, world, tp, func(r *torch.Rank) error {
			at := r.Rank() % tp
			local := make([]int, len(ids))
			for i, id := range ids {
				local[i] = id - at*vocab/tp
			}
			for i, c := range []Options{
				{}, {DType: torch.BF16}, {DType: torch.F32}, {SequenceParallel: true}, {DType: torch.F32, SequenceParallel: true}, {GradDType: torch.F32},
			} {
				c.Weight = &layouts[i%len(layouts)]
				e := torch.Must(NewVocabParallelEmbedding(r, "wte", vocab, hidden, c))
				rows, first := len(ids), 0
				if c.SequenceParallel {
					rows = len(ids) / tp
					first = at * rows
				}
				dy := torch.Must(r.FromSlice(values[first*hidden:][:rows*hidden], c.dtype(), torch.Shape{rows, hidden}, layouts[(i+1)%len(layouts)]))
				want := embeddingBackward(dense.New(len(ids), hidden, values, c.dtype()), local, vocab/tp, c.gradDType())
				for _, times := range []string{"once", "twice"} {
					torch.OK(e.Backward(ids, dy))
					name := fmt.Sprintf("%+v over %d, rank %d, %s", c, tp, r.Rank(), times)
					torch.OK(r.CheckWithin(name, e.WeightGrad, want.V, want.Tolerances()))
					want = dense.Add(want, want, c.gradDType())
				}
				if got, want := layoutOf(e.WeightGrad), r.Layout(e.WeightGrad.Shape(), Activations(*c.Weight)); !reflect.DeepEqual(got, want) {
					t.Errorf("the gradient of %v is placed at\n%v, want\n%v", *c.Weight, got, want)
				}
				if got := torch.Must(e.WeightGrad.At(1, 2)); tp == 8 && at == 0 && got != 0 {
					t.Errorf("token 1, which does not occur, has a gradient of %v, want 0", got)
				}
				torch.OK(errors.Join(dy.Free(), e.Free()))
			}
			return nil
		})
		requireChecks(t, r)
		if n := usedHBM(r); n > 0 {
			t.Errorf("%v are not freed", n)
		}
	}
}

// TestEmbeddingBackwardDetectsErrors checks that the comparison of TestEmbeddingBackward
// fails for a gradient in which a row is missing or counted twice.
func TestEmbeddingBackwardDetectsErrors(t *testing.T) {
	const vocab, hidden = 8, 13
	ids, values := []int{5, 0, 3, 5, 7, 5}, random(6*hidden, 3)
	want := embeddingBackward(dense.New(len(ids), hidden, values, torch.BF16), ids, vocab, torch.BF16)
	for what, factor := range map[string]float32{"missing": 0, "twice": 2} {
		r := newSystem(t, 1)
		spawn(t, r, 1, 1, func(r *torch.Rank) error {
			own := slices.Clone(values)
			for i := range hidden {
				own[3*hidden+i] *= factor
			}
			e := torch.Must(NewVocabParallelEmbedding(r, "wte", vocab, hidden, Options{DType: torch.BF16}))
			torch.OK(e.Backward(ids, torch.Must(r.FromSlice(own, torch.BF16, torch.Shape{len(ids), hidden}, Spread))))
			return r.CheckWithin("gradient", e.WeightGrad, want.V, want.Tolerances())
		})
		if r.Checks().OK() {
			t.Errorf("a row %s: no error detected", what)
		}
	}
}

// TestEmbeddingLongRows checks Forward for rows that are longer than a tile, on eight
// ranks.
func TestEmbeddingLongRows(t *testing.T) {
	const world, hidden = 8, 40_000
	table := make([]float32, world*hidden)
	for i := range table {
		table[i] = float32(i)
	}
	r := newSystem(t, world)
	var all [world][]byte
	spawn(t, r, world, world, func(r *torch.Rank) error {
		e := torch.Must(NewVocabParallelEmbedding(r, "wte", world, hidden, Options{DType: torch.F32}))
		torch.OK(e.Load(table))
		y := torch.Must(e.Forward([]int{7}))
		torch.OK(r.Check("y", y, table[7*hidden:]))
		all[r.Rank()] = torch.Must(y.Numpy()).Bytes
		return nil
	})
	requireChecks(t, r)
	for rank := range all {
		if !bytes.Equal(all[rank], all[0]) {
			t.Errorf("rank %d has other bits than rank 0", rank)
		}
	}
}

// TestEmbeddingMisuse checks the errors of VocabParallelEmbedding for wrong arguments.
func TestEmbeddingMisuse(t *testing.T) {
	const before = "torch: VocabParallelEmbedding wte: model parallel is not initialised: call tp.InitializeModelParallel first"
	r := newSystem(t, 2)
	if err := panicError(func() { NewVocabParallelEmbedding(r, "wte", 8, 4, Options{}) }); err == nil || err.Error() != before {
		t.Errorf("before initialisation:\ngot  %v\nwant %s", err, before)
	}
	spawn(t, r, 2, 2, func(r *torch.Rank) error {
		e := torch.Must(NewVocabParallelEmbedding(r, "wte", 8, 4, Options{SequenceParallel: true}))
		dy, wide := torch.Must(r.Zeros(torch.F16, torch.Shape{2, 4}, Spread)), torch.Must(r.Zeros(torch.F32, torch.Shape{2, 4}, Spread))
		for _, c := range []struct {
			err  error
			want string
		}{
			{errorOf(NewVocabParallelEmbedding(r, "wte", 9, 4, Options{})), "VocabParallelEmbedding wte: 9 tokens of the vocabulary do not divide by the tensor parallel world size 2: choose a multiple"},
			{errorOf(NewVocabParallelEmbedding(r, "wte", 8, 0, Options{})), "VocabParallelEmbedding wte: 0 hidden features: there has to be one"},
			{e.Load(make([]float32, 16)), "VocabParallelEmbedding wte: a weight of 16 elements, and the table has 8 × 4"},
			{errorOf(e.Forward([]int{1, 2, 8})), "VocabParallelEmbedding wte: id 8 at position 2: the vocabulary has 0 to 7"},
			{errorOf(e.Forward([]int{-1})), "VocabParallelEmbedding wte: id -1 at position 0: the vocabulary has 0 to 7"},
			{e.Backward([]int{1, 8}, dy), "VocabParallelEmbedding wte: id 8 at position 1: the vocabulary has 0 to 7"},
			{e.Backward([]int{1, 2}, dy), "VocabParallelEmbedding wte: gradient f16 [2 4]: want that of the result, [1 4] f16"},
			{e.Backward([]int{1, 2, 3, 4}, wide), "VocabParallelEmbedding wte: gradient f32 [2 4]: want that of the result, [2 4] f16"},
			{errorOf(NewVocabParallelEmbedding(r, "wte", 8, 4, Options{GradDType: torch.BF16})), "VocabParallelEmbedding wte: GradDType bf16 of a layer of f16: gradients are of f16 or f32"},
			{errorOf(e.Forward([]int{1, 2, 3})), "VocabParallelEmbedding wte: 3 tokens do not divide by the tensor parallel world size 2: choose a multiple"},
		} {
			if c.err == nil || c.err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", c.err, c.want)
			}
		}
		return nil
	})
}

// BenchmarkEmbedding measures how long it takes to simulate the lookup of 512 tokens over
// the two SIPs of the default system, including the work of the host API.
func BenchmarkEmbedding(b *testing.B) {
	c, err := torch.New(context.Background(), torch.Options{NoData: true})
	if err != nil {
		b.Fatal(err)
	}
	r := c.Main()
	defer r.Close()
	ids := make([]int, 512)
	for i := range ids {
		ids[i] = i * 7919 % 32000
	}
	spawn(b, r, 2, 2, func(r *torch.Rank) error {
		e := torch.Must(NewVocabParallelEmbedding(r, "wte", 32000, 4096, Options{}))
		start := r.Now()
		for range b.N {
			y := torch.Must(e.Forward(ids))
			torch.OK(errors.Join(y.Free(), r.Synchronize()))
		}
		if r.Rank() == 0 {
			b.ReportMetric((r.Now()-start).NS()/float64(b.N), "simulated-ns/op")
		}
		return nil
	})
}
