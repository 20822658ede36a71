package tp

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/torch"
)

// integers returns n integers for a seed. They are so small that sums of products are exact
// in f32.
func integers(n, seed int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32((i*7+i*i*seed+seed)%11 - 5)
	}
	return list
}

// multiply returns a·b + bias for an m × k matrix a and a k × n matrix b. It is exact for
// integers.
func multiply(a, b, bias []float32, m, k, n int) []float32 {
	c := make([]float32, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				c[i*n+j] += a[i*k+l] * b[l*n+j]
			}
			if bias != nil {
				c[i*n+j] += bias[j]
			}
		}
	}
	return c
}

// boxElements returns the elements of a box of matrix a, which has `width` columns.
func boxElements(a []float32, width, row, col, rows, cols int) (list []float32) {
	for i := range rows {
		list = append(list, a[(row+i)*width+col:(row+i)*width+col+cols]...)
	}
	return list
}

// TestLinear runs both linear layers with every option on 4 ranks, with tensor parallel
// sizes of 1, 2 and 4. The operands are integers, and the results must be exact.
func TestLinear(t *testing.T) {
	const m, k, n = 12, 20, 24
	x, w, bias := integers(m*k, 3), integers(k*n, 5), integers(n, 7)
	for _, tp := range []int{1, 2, 4} {
		for _, o := range []Options{
			{}, {Bias: true}, {Bias: true, SkipBiasAdd: true}, {Bias: true, GatherOutput: true}, {Bias: true, SequenceParallel: true},
			{Bias: true, Weight: &torch.DPPolicy{Cube: torch.ColumnWise, PE: torch.ColumnWise}},
			{Weight: &torch.DPPolicy{Cube: torch.RowWise, PE: torch.RowWise}, Output: &torch.DPPolicy{PE: torch.RowWise}},
		} {
			o.DType = torch.F32
			t.Run(fmt.Sprintf("column tp=%d %+v", tp, o), func(t *testing.T) {
				r := newSystem(t, 4)
				spawn(t, r, 4, tp, func(r *torch.Rank) error {
					at := r.Rank() % tp
					l := torch.Must(NewColumnParallelLinear(r, "fc1", k, n, o))
					b, want := bias, multiply(x, w, nil, m, k, n)
					if !o.Bias {
						b = nil
					} else if !o.SkipBiasAdd {
						want = multiply(x, w, bias, m, k, n)
					}
					torch.OK(l.Load(w, b))
					rows, in := m, x
					if o.SequenceParallel {
						rows = m / tp
						in = boxElements(x, k, at*rows, 0, rows, k)
					}
					y, skipped, err := l.Forward(torch.Must(r.FromSlice(in, torch.F32, torch.Shape{rows, k}, Spread)))
					torch.OK(err)
					if !o.GatherOutput {
						want = boxElements(want, n, 0, at*n/tp, m, n/tp)
					}
					torch.OK(r.Check("y", y, want))
					if (skipped != nil) != o.SkipBiasAdd {
						return fmt.Errorf("skipped bias: %v", skipped)
					}
					if skipped != nil {
						torch.OK(r.Check("bias", skipped, bias[at*n/tp:(at+1)*n/tp]))
					}
					return nil
				})
				requireChecks(t, r)
			})
		}
		for _, o := range []Options{
			{InputIsParallel: true}, {Bias: true}, {Bias: true, InputIsParallel: true, SkipBiasAdd: true},
			{Bias: true, InputIsParallel: true, SequenceParallel: true}, {Bias: true, InputIsParallel: true, Overlap: 3},
			{InputIsParallel: true, Overlap: 4, SequenceParallel: true}, {Bias: true, InputIsParallel: true, Overlap: 5, SequenceParallel: true},
			{InputIsParallel: true, Overlap: 2, Weight: &torch.DPPolicy{Cube: torch.ColumnWise, PE: torch.ColumnWise}},
			{InputIsParallel: true, Overlap: 2, SequenceParallel: true, Weight: &torch.DPPolicy{Cube: torch.RowWise, PE: torch.RowWise}},
		} {
			o.DType = torch.F32
			t.Run(fmt.Sprintf("row tp=%d %+v", tp, o), func(t *testing.T) {
				r := newSystem(t, 4)
				spawn(t, r, 4, tp, func(r *torch.Rank) error {
					at := r.Rank() % tp
					l := torch.Must(NewRowParallelLinear(r, "fc2", k, n, o))
					b, want := bias, multiply(x, w, nil, m, k, n)
					if !o.Bias {
						b = nil
					} else if !o.SkipBiasAdd {
						want = multiply(x, w, bias, m, k, n)
					}
					torch.OK(l.Load(w, b))
					cols, in := k, x
					if o.InputIsParallel {
						cols = k / tp
						in = boxElements(x, k, 0, at*cols, m, cols)
					}
					y, _, err := l.Forward(torch.Must(r.FromSlice(in, torch.F32, torch.Shape{m, cols}, Spread)))
					torch.OK(err)
					if o.SequenceParallel {
						want = boxElements(want, n, at*m/tp, 0, m/tp, n)
					}
					torch.OK(r.Check("y", y, want))
					return nil
				})
				requireChecks(t, r)
			})
		}
	}
}

// TestExtents checks the numbers of features that a layer reports: of the whole layer, and
// of the part of each of 4 ranks.
func TestExtents(t *testing.T) {
	spawn(t, newSystem(t, 4), 4, 4, func(r *torch.Rank) error {
		rank := r.Rank()
		up := torch.Must(NewColumnParallelLinear(r, "up", 6, 32, Options{}))
		gate := torch.Must(NewColumnParallelLinear(r, "gate", 6, 32, Options{Gated: true}))
		down := torch.Must(NewRowParallelLinear(r, "down", 32, 6, Options{}))
		pieces := torch.Must(NewRowParallelLinear(r, "pieces", 32, 7, Options{InputIsParallel: true, Overlap: 2}))
		table := torch.Must(NewVocabParallelEmbedding(r, "wte", 12, 5, Options{}))
		for what, c := range map[string]struct {
			l    *Linear
			want [4]int
		}{
			"column": {&up.Linear, [4]int{6, 32, 6, 8}}, "gated": {&gate.Linear, [4]int{6, 32, 6, 8}},
			"row": {&down.Linear, [4]int{32, 6, 8, 6}}, "row in pieces": {&pieces.Linear, [4]int{32, 7, 8, 7}},
		} {
			got := [4]int{c.l.InFeatures(), c.l.OutFeatures(), c.l.InFeaturesPerPartition(), c.l.OutFeaturesPerPartition()}
			if got != c.want {
				t.Errorf("%s, rank %d: in, out and the rank's of both are %v, want %v", what, rank, got, c.want)
			}
		}
		got, want := [4]int{table.NumEmbeddings(), table.EmbeddingDim(), table.VocabStartIndex(), table.VocabEndIndex()}, [4]int{12, 5, 3 * rank, 3*rank + 3}
		if got != want {
			t.Errorf("embedding, rank %d: rows, columns, first and end are %v, want %v", rank, got, want)
		}
		return nil
	})
}

// requireChecks fails the test if a check of the context failed, or if there was no check.
func requireChecks(t *testing.T, r *torch.Rank) {
	t.Helper()
	if len(r.Checks()) == 0 {
		t.Error("nothing was checked")
	}
	for _, c := range r.Checks() {
		if c.Wrong != "" {
			t.Errorf("%s: %s", c.Name, c.Wrong)
		}
	}
}
