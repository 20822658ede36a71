package tp

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/dense"
	"github.com/kernbench/kernbench/torch"
)

// loadedLayer is a linear layer of either kind that can load its weight.
type loadedLayer interface {
	layer
	Load(weight, bias []float32) error
}

// gradients is a test case: a linear layer, its operands, and its expected gradients.
type gradients struct {
	rows            bool // a RowParallelLinear
	o               Options
	tokens, batch   int // batch is the extent of the second of three axes, or 0 for matrices
	in, out         int
	times           int // number of calls of Backward
	x, w, bias, dy  []float32
	dx, dw, dbias   *dense.Matrix
	onX, onGradient torch.DPPolicy
}

func (g *gradients) String() string {
	kind := "column"
	if g.rows {
		kind = "row"
	}
	weight := *g.o.Weight
	o := g.o
	o.Weight, o.Output = nil, nil
	return fmt.Sprintf("%s, tokens %d×%d, weight %v, %+v", kind, g.tokens, g.batch, weight, o)
}

// reference computes the gradients that the layer must have if it is divided over the given
// number of ranks.
func (g *gradients) reference(ranks int) {
	d := g.o.dtype()
	toDense := func(rows, cols int, data []float32) *dense.Matrix { return dense.New(rows, cols, data, d) }
	parts := ranks // each rank has some columns
	if g.rows {
		parts = 1
	}
	tokens := g.tokens * max(1, g.batch)
	x, w, dy := toDense(tokens, g.in, g.x), toDense(g.in, g.out, g.w), toDense(tokens, g.out, g.dy)
	g.dx, _, _ = linearBackward(x, w, dy, parts, d)
	_, g.dw, g.dbias = linearBackward(x, w, dy, parts, g.o.gradDType())
	_, dw, dbias := linearBackward(x, w, dy, parts, torch.F32)
	for range g.times - 1 { // each call adds in f32
		g.dw = dense.Add(g.dw, dw, torch.F32).Round(g.o.gradDType())
		g.dbias = dense.Add(g.dbias, dbias, torch.F32).Round(g.o.gradDType())
	}
}

// tensor creates a tensor from a box of the matrix `values`, which has `width` columns. If
// the test case has a batch, the tensor has three axes.
func (g *gradients) tensor(r *torch.Rank, values []float32, width, row, col, rows, cols int, on torch.DPPolicy) *torch.Tensor {
	shape := torch.Shape{rows, cols}
	if g.batch > 0 {
		shape = torch.Shape{rows / g.batch, g.batch, cols}
	}
	return torch.Must(r.FromSlice(boxElements(values, width, row, col, rows, cols), g.o.dtype(), shape, on))
}

// results holds a rank's layer, its operands, and the gradient that Backward returned.
type results struct {
	loadedLayer
	x, dy, dx  *torch.Tensor
	l          *Linear
	row, rows  int // rows of dx in the whole gradient
	col, first int // first column of dx in the whole gradient, and first feature of the rank
}

// prepare creates a rank's layer and its operands. It takes the values of the operands from
// `own`, which may differ from g.
func (g *gradients) prepare(self *torch.Rank, rank, ranks int, own *gradients) (r results) {
	tokens := g.tokens * max(1, g.batch)
	xRows, xRow, xCols, xCol := tokens, 0, g.in, 0
	yRows, yRow, yCols, yCol := tokens, 0, g.out, 0
	if g.rows {
		row := torch.Must(NewRowParallelLinear(self, "fc", g.in, g.out, g.o))
		r.loadedLayer, r.l = row, &row.Linear
		r.first = rank * g.in / ranks
		if g.o.InputIsParallel {
			xCols, xCol = g.in/ranks, r.first
		}
		if g.o.SequenceParallel {
			yRows = tokens / ranks
			yRow = rank * yRows
		}
	} else {
		column := torch.Must(NewColumnParallelLinear(self, "fc", g.in, g.out, g.o))
		r.loadedLayer, r.l = column, &column.Linear
		r.first = rank * g.out / ranks
		if g.o.SequenceParallel {
			xRows = tokens / ranks
			xRow = rank * xRows
		}
		if !g.o.GatherOutput {
			yCols, yCol = g.out/ranks, r.first
		}
	}
	r.row, r.rows, r.col = xRow, xRows, xCol
	torch.OK(r.Load(own.w, own.bias))
	r.x = g.tensor(self, own.x, g.in, xRow, xCol, xRows, xCols, g.onX)
	r.dy = g.tensor(self, own.dy, g.out, yRow, yCol, yRows, yCols, g.onGradient)
	if g.o.Gated { // in the layer's order of columns
		values := make([]float32, 0, tokens*yCols)
		for i := range tokens {
			for _, col := range r.l.columns[0] {
				values = append(values, own.dy[i*g.out+col])
			}
		}
		torch.OK(r.dy.CopyFrom(values))
	}
	return r
}

// run prepares a rank's layer with the values of `own`, and calls Backward g.times times.
// The second result, free, frees the tensors of the first result.
func (g *gradients) run(self *torch.Rank, rank, ranks int, own *gradients) (r results, free func()) {
	r = g.prepare(self, rank, ranks, own)
	for i := range g.times {
		if i > 0 {
			torch.OK(r.dx.Free())
		}
		r.dx = torch.Must(r.Backward(r.x, r.dy))
	}
	return r, func() { torch.OK(errors.Join(r.x.Free(), r.dy.Free(), r.dx.Free(), r.Free())) }
}

// check compares a rank's gradients with the reference. It panics if a gradient does not
// have the placement that the documentation promises.
func (g *gradients) check(self *torch.Rank, name string, r results) {
	checkLayout := func(what string, x *torch.Tensor) {
		if got, want := layoutOf(x), self.Layout(x.Shape(), Activations(*g.o.Weight)); !reflect.DeepEqual(got, want) {
			panic(fmt.Errorf("%s of %s is placed at\n%v, want\n%v", what, name, got, want))
		}
	}
	checkLayout("dx", r.dx)
	for _, x := range r.l.WeightGrad {
		checkLayout("dw", x)
	}
	within := func(what string, x *torch.Tensor, want *dense.Matrix) {
		torch.OK(self.CheckWithin(what+" of "+name, x, want.V, want.Tolerances()))
	}
	within("dx", r.dx, g.dx.Slice(r.row, r.col, r.rows, colsOf(r.dx)))
	for i, columns := range r.l.columns {
		var list []*dense.Matrix
		for _, col := range columns {
			switch {
			case col < 0:
				list = append(list, dense.New(r.l.rows, 1, make([]float32, r.l.rows), torch.F32))
			default:
				list = append(list, g.dw.Slice(r.l.firstRow, col, r.l.rows, 1))
			}
		}
		within("dw", r.l.WeightGrad[i], dense.Beside(list...))
	}
	if g.o.Bias {
		var list []*dense.Matrix
		for _, col := range r.l.biasColumns {
			list = append(list, g.dbias.Slice(0, col, 1, 1))
		}
		within("dbias", r.l.BiasGrad, dense.Beside(list...))
	}
}

// newGradients creates a test case and computes its reference. The function `values`
// returns n numbers for a seed.
func newGradients(rows bool, o Options, times, tokens, batch, in, out, ranks int, values func(n, seed int) []float32) *gradients {
	if o.Weight == nil {
		o.Weight = &Spread
	}
	g := &gradients{rows: rows, o: o, times: times, tokens: tokens, batch: batch, in: in, out: out, onX: Activations(*o.Weight), onGradient: Activations(*o.Weight)}
	tokens *= max(1, batch)
	g.x, g.w, g.dy = values(tokens*in, 3), values(in*out, 5), values(tokens*out, 4)
	if o.Bias {
		g.bias = values(out, 7)
	}
	g.reference(ranks)
	return g
}

// columnOptions and rowOptions list the options with which each kind of layer is tested.
var (
	columnOptions = []Options{
		{}, {Bias: true}, {Bias: true, SkipBiasAdd: true}, {Bias: true, GatherOutput: true}, {Bias: true, SequenceParallel: true},
		{Bias: true, Gated: true}, {Gated: true, SequenceParallel: true},
		{Bias: true, Weight: &torch.DPPolicy{Cube: torch.ColumnWise, PE: torch.ColumnWise}},
		{Bias: true, Weight: &ByTokens}, {SequenceParallel: true, Weight: &ByTokens},
		{Weight: &torch.DPPolicy{Cube: torch.RowWise, PE: torch.RowWise}, Output: &torch.DPPolicy{PE: torch.RowWise}},
	}
	rowOptions = []Options{
		{InputIsParallel: true}, {Bias: true}, {Bias: true, InputIsParallel: true, SkipBiasAdd: true},
		{Bias: true, InputIsParallel: true, SequenceParallel: true}, {Bias: true, InputIsParallel: true, Overlap: 3},
		{Bias: true, InputIsParallel: true, Overlap: 5, SequenceParallel: true},
		{Bias: true, Weight: &ByTokens}, {Bias: true, InputIsParallel: true, SequenceParallel: true, Weight: &ByTokens},
		{InputIsParallel: true, Overlap: 2, SequenceParallel: true, Weight: &torch.DPPolicy{Cube: torch.RowWise, PE: torch.RowWise}},
	}
)

// TestBackward runs both linear layers with every option on 4 ranks, with tensor parallel
// sizes of 1, 2 and 4. It calls Backward twice on integers and checks that the gradients
// are exact and accumulate.
func TestBackward(t *testing.T) {
	for _, tp := range []int{1, 2, 4} {
		for _, rows := range []bool{false, true} {
			options, out := columnOptions, 48
			if rows {
				options, out = rowOptions, 49 // so that pieces are ragged
			}
			self := newSystem(t, 4)
			spawn(t, self, 4, tp, func(self *torch.Rank) error {
				for i, o := range options {
					o.DType = torch.F32
					g := newGradients(rows, o, 2, 12, 0, 20, out, tp, integers)
					g.onX, g.onGradient = layouts[i%len(layouts)], layouts[(i+1)%len(layouts)]
					r, free := g.run(self, self.Rank()%tp, tp, g)
					for _, m := range []*dense.Matrix{g.dx, g.dw, g.dbias} {
						clear(m.Var)
					}
					g.check(self, fmt.Sprintf("%v, tp %d, rank %d", g, tp, self.Rank()), r)
					free()
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

// TestZeroGrad checks that a layer has no gradients after ZeroGrad, and after another
// Backward only the gradients of that call.
func TestZeroGrad(t *testing.T) {
	self := newSystem(t, 1)
	spawn(t, self, 1, 1, func(self *torch.Rank) error {
		g := newGradients(true, Options{DType: torch.F32, Bias: true}, 1, 5, 0, 6, 7, 1, integers)
		r := g.prepare(self, 0, 1, g)
		first := torch.Must(r.Backward(r.x, r.dy))
		table := torch.Must(NewVocabParallelEmbedding(self, "wte", 3, 7, Options{DType: torch.F32}))
		torch.OK(table.Backward([]int{1, 1, 0, 2, 1}, r.dy))
		torch.OK(errors.Join(r.ZeroGrad(), table.ZeroGrad()))
		if r.l.WeightGrad != nil || r.l.BiasGrad != nil || table.WeightGrad != nil {
			t.Errorf("gradients %v, %v and %v after ZeroGrad, want none", r.l.WeightGrad, r.l.BiasGrad, table.WeightGrad)
		}
		torch.OK(errors.Join(r.ZeroGrad(), table.ZeroGrad())) // there is nothing to free
		again := torch.Must(r.Backward(r.x, r.dy))
		torch.OK(table.Backward([]int{2, 2, 2, 2, 2}, r.dy))
		torch.OK(self.Check("dw", r.l.WeightGrad[0], multiply(transposed(g.x, 5, 6), g.dy, nil, 6, 5, 7)))
		sums := multiply([]float32{1, 1, 1, 1, 1}, g.dy, nil, 1, 5, 7)
		torch.OK(self.Check("dbias", r.l.BiasGrad, sums))
		torch.OK(self.Check("table", table.WeightGrad, slices.Concat(make([]float32, 14), sums)))
		return errors.Join(stack{first, again, r.x, r.dy}.free(), r.Free(), table.Free())
	})
	requireChecks(t, self)
	if n := usedHBM(self); n > 0 {
		t.Errorf("%v are not freed", n)
	}
}

// random returns n normally distributed numbers for a seed.
func random(n, seed int) []float32 { return gaussian(n, 1, uint64(seed)) }

// TestGradients compares the gradients of both linear layers with a dense reference.
func TestGradients(t *testing.T) {
	for _, ranks := range []int{1, 2, 4, 8} {
		var cases []*gradients
		for i, dtype := range []torch.DType{torch.F16, torch.BF16, torch.F32} {
			for _, weight := range []*torch.DPPolicy{&Spread, &ByTokens} {
				for _, sequence := range []bool{false, true} {
					for _, rows := range []bool{false, true} {
						o := Options{DType: dtype, Weight: weight, Bias: true, SequenceParallel: sequence, InputIsParallel: rows}
						tokens, times := 7, 1
						if i == 0 {
							times = 2
							if sequence {
								o.GradDType = torch.F32
							}
						}
						if sequence {
							tokens = 3 * ranks
						}
						cases = append(cases, newGradients(rows, o, times, tokens, 0, 5*ranks, 7*ranks, ranks, random))
					}
				}
			}
		}
		cases = append(cases, newGradients(true, Options{Bias: true}, 1, 7, 0, 24, 13, ranks, random),
			newGradients(false, Options{Bias: true, GatherOutput: true}, 1, 7, 0, 13, 24, ranks, random))
		self := newSystem(t, ranks)
		spawn(t, self, ranks, ranks, func(self *torch.Rank) error {
			for _, g := range cases {
				r, free := g.run(self, self.Rank(), ranks, g)
				g.check(self, fmt.Sprintf("%v, tp %d, rank %d", g, ranks, self.Rank()), r)
				free()
			}
			return nil
		})
		requireChecks(t, self)
		if n := usedHBM(self); n > 0 {
			t.Errorf("tp %d: %v are not freed", ranks, n)
		}
	}
}

// TestGradientsDetectErrors checks that the comparisons of TestGradients fail for gradients
// that are computed from wrong operands. It uses the dtype with the largest tolerance.
func TestGradientsDetectErrors(t *testing.T) {
	const ranks, tokens, in, out = 2, 14, 10, 14
	for what, c := range map[string]struct {
		wrong func(g *gradients, rank int)
		found string
	}{
		"a token missing in x":  {func(g *gradients, _ int) { clear(g.x[5*in : 6*in]) }, "dw"},
		"a token missing in dy": {func(g *gradients, _ int) { clear(g.dy[5*out : 6*out]) }, "dx dw dbias"},
		"a column of dy counted twice": {func(g *gradients, _ int) {
			for i := range tokens {
				g.dy[i*out+3] *= 2
			}
		}, "dx dw dbias"},
		"a rank without its weight": {func(g *gradients, rank int) {
			if rank == 1 {
				clear(g.w)
			}
		}, "dx"},
		"a term missing on a rank": {func(g *gradients, rank int) {
			if rank == 1 {
				for i := range in { // rank 1 has elements of this column in both divisions, by columns and by rows
					g.w[i*out+11] = 0
				}
			}
		}, "dx"},
		"two rows of the weight exchanged": {func(g *gradients, _ int) {
			for i := range out {
				g.w[i], g.w[out+i] = g.w[out+i], g.w[i]
			}
		}, "dx"},
	} {
		for _, sequence := range []bool{false, true} {
			for _, rows := range []bool{false, true} {
				g := newGradients(rows, Options{DType: torch.BF16, Bias: true, SequenceParallel: sequence, InputIsParallel: rows}, 1, tokens, 0, in, out, ranks, random)
				self := newSystem(t, ranks)
				spawn(t, self, ranks, ranks, func(self *torch.Rank) error {
					rank := self.Rank()
					own := *g
					for _, list := range []*[]float32{&own.x, &own.w, &own.dy} {
						*list = slices.Clone(*list)
					}
					c.wrong(&own, rank)
					r, free := g.run(self, rank, ranks, &own)
					g.check(self, fmt.Sprintf("rank %d", rank), r)
					free()
					return nil
				})
				for _, kind := range []string{"dx", "dw", "dbias"} {
					found := slices.ContainsFunc(self.Checks(), func(c torch.Check) bool { return c.Wrong != "" && strings.HasPrefix(c.Name, kind+" ") })
					if want := slices.Contains(strings.Fields(c.found), kind); found != want {
						t.Errorf("%s, rows %t, sequence %t: error of %s detected: %t, want %t", what, rows, sequence, kind, found, want)
					}
				}
			}
		}
	}
}
