package torch_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// viewModel is a view with a list of indices. For each element of the view, in row-major
// order, the list has the index of this element in the original tensor.
type viewModel struct {
	*torch.Tensor
	indices []int
	shape   []int
}

// selectRange selects the elements start to start+length-1 along axis dim, as NumPy would
// do. It returns their indices in the original tensor.
func (v viewModel) selectRange(dim, start, length int) (indices []int) {
	inner := elems(v.shape[dim+1:])
	for i, e := range v.indices {
		if at := i / max(inner, 1) % max(v.shape[dim], 1); at >= start && at < start+length {
			indices = append(indices, e)
		}
	}
	return indices
}

// drawView returns a random view of v.
func (v viewModel) drawView(t *rapid.T) viewModel {
	w := viewModel{shape: slices.Clone(v.shape)}
	dims := len(v.shape)
	kind := rapid.SampledFrom([]string{"narrow", "select", "view", "chunk"}).Draw(t, "kind")
	if dims == 0 {
		kind = "view"
	}
	dim := rapid.IntRange(-dims, max(dims-1, 0)).Draw(t, "dim")
	axis := dim
	if axis < 0 {
		axis += dims
	}
	switch {
	case kind == "narrow" || kind == "select" && v.shape[axis] == 0:
		start := rapid.IntRange(0, v.shape[axis]).Draw(t, "start")
		length := rapid.IntRange(0, v.shape[axis]-start).Draw(t, "length")
		w.indices, w.shape[axis] = v.selectRange(axis, start, length), length
		if start > 0 && rapid.Bool().Draw(t, "negative") {
			start -= v.shape[axis]
		}
		if start == -v.shape[axis] {
			start = 0
		}
		w.Tensor = v.Narrow(dim, start, length)
	case kind == "select":
		i := rapid.IntRange(0, v.shape[axis]-1).Draw(t, "index")
		w.indices, w.shape = v.selectRange(axis, i, 1), slices.Delete(w.shape, axis, axis+1)
		w.Tensor = v.Select(dim, i-v.shape[axis]*rapid.IntRange(0, 1).Draw(t, "negative"))
	case kind == "chunk":
		n := rapid.IntRange(1, 4).Draw(t, "chunks")
		list := v.Chunk(n, dim)
		i := rapid.IntRange(0, len(list)-1).Draw(t, "chunk")
		per := (v.shape[axis] + n - 1) / n
		w.shape[axis] = min(per, v.shape[axis]-i*per)
		w.indices, w.Tensor = v.selectRange(axis, i*per, w.shape[axis]), list[i]
	default:
		w.indices, w.shape = v.indices, nil
		left := len(v.indices)
		for left > 1 && len(w.shape) < 5 {
			n := rapid.SampledFrom(divisors(left)).Draw(t, "extent")
			w.shape, left = append(w.shape, n), left/n
		}
		if left != 1 {
			w.shape = append(w.shape, left)
		}
		text := hostedtest.Misuse(func() { w.Tensor = v.View(w.shape...) })
		if text != nil { // the shards are no boxes of the shape, which other tests check
			return v
		}
	}
	if !slices.Equal(w.Shape(), w.shape) {
		t.Fatalf("%s of %v has shape %v, want %v", kind, v.shape, w.Shape(), w.shape)
	}
	return w
}

// divisors returns the divisors of n.
func divisors(n int) (list []int) {
	for d := 1; d <= n; d++ {
		if n%d == 0 {
			list = append(list, d)
		}
	}
	return list
}

// addTen adds 10 to each element of the PE's shard. The tensor has up to four axes.
func addTen(t *tl.PE, x tl.Ptr, axes int) {
	shape := make(tl.Shape, axes)
	for axis := range shape {
		shape[axis] = x.Dim(axis)
		if shape[axis] == 0 {
			return
		}
	}
	if x.Shard.Part == nil { // the PE holds no shard
		return
	}
	t.Store(x, t.Load(x, shape, tl.I32).Add(10))
}

// checkPieces makes a kernel read a random box of v through Pieces, and checks the values.
// v has one or two axes. `values` lists the elements of the original tensor.
func (v viewModel) checkPieces(r *rapid.T, l *hostedtest.Lab, values []int) {
	height, width := 1, v.shape[len(v.shape)-1]
	if len(v.shape) == 2 {
		height = v.shape[0]
	}
	row, col := rapid.IntRange(0, height).Draw(r, "row"), rapid.IntRange(0, width).Draw(r, "column")
	rows, cols := rapid.IntRange(0, height-row).Draw(r, "rows"), rapid.IntRange(0, width-col).Draw(r, "columns")
	pe := rapid.IntRange(0, 23).Draw(r, "PE")
	out := l.MustZeros(torch.I32, torch.On(pe), max(rows, 1), max(cols, 1))
	torch.Must(l.Launch("read", func(t *tl.PE, out tl.Ptr) {
		for _, p := range v.Pieces(row, col, rows, cols, pe) {
			t.Store(out.At(p.Row-row, p.Col-col), t.Load(p.Ptr, tl.Shape{p.Rows, p.Cols}, tl.I32))
		}
	}, out, torch.Using(v.Tensor)))
	got := torch.Must(out.Numpy())
	for i := range rows {
		for j := range cols {
			if want := values[v.indices[(row+i)*width+col+j]]; got.At(i*cols+j) != float64(want) {
				r.Fatalf("row %d, column %d of %v on PE %d is %v, want %d", row+i, col+j, v.shape, pe, got.At(i*cols+j), want)
			}
		}
	}
	torch.OK(out.Free())
}

// TestAnyView checks that views of views have the same elements as in NumPy, for any layout
// of the tensor. It also checks that the host and kernels read and write the same memory
// through all views.
func TestAnyView(t *testing.T) {
	options := hostedtest.Options(t, 3)
	split := rapid.SampledFrom([]torch.Split{torch.Replicate, torch.ColumnWise, torch.RowWise})
	rapid.Check(t, func(r *rapid.T) {
		l := hostedtest.New(t, options)
		defer l.Close()
		shape := make(torch.Shape, rapid.IntRange(1, 5).Draw(r, "axes"))
		for axis := range shape {
			shape[axis] = rapid.SampledFrom([]int{4, 1, 2, 3, 5, 6, 0}).Draw(r, "extent")
		}
		n := elems(shape)
		on := torch.DPPolicy{
			SIP: split.Draw(r, "SIP"), NumSIPs: rapid.IntRange(0, 2).Draw(r, "NumSIPs"),
			Cube: split.Draw(r, "Cube"), PE: split.Draw(r, "PE"), NumCubes: rapid.IntRange(1, 2).Draw(r, "NumCubes"), NumPEs: rapid.IntRange(1, 3).Draw(r, "NumPEs"),
		}
		base := l.Ints(lists.Count(0, n), torch.I32, on, shape...)
		values := lists.Count(0, n)
		views := []viewModel{{base, lists.Count(0, n), shape}}
		for range rapid.IntRange(1, 5).Draw(r, "views") {
			views = append(views, rapid.SampledFrom(views).Draw(r, "of").drawView(r))
		}
		check := func(what string, v viewModel) {
			want := make([]int, len(v.indices))
			for i, e := range v.indices {
				want[i] = values[e]
			}
			torch.OK(l.Check(what, v.Tensor, want))
			if !l.Checks().OK() {
				r.Fatalf("%v %v, on %v: %s: %+v", shape, v.shape, on, what, l.Checks()[len(l.Checks())-1])
			}
		}
		for i := range rapid.IntRange(1, 6).Draw(r, "operations") {
			v := rapid.SampledFrom(views).Draw(r, "view")
			switch kind := rapid.SampledFrom([]string{"copy", "kernel", "clone", "at"}).Draw(r, "operation"); {
			case kind == "copy":
				torch.OK(v.CopyFrom(lists.Count(1000*i, len(v.indices))))
				for j, e := range v.indices {
					values[e] = 1000*i + j
				}
			case kind == "kernel" && len(v.shape) > 0 && len(v.shape) <= 4:
				torch.Must(l.Launch("tens", addTen, v.Tensor, len(v.shape)))
				for _, e := range v.indices {
					values[e] += 10
				}
			case kind == "clone":
				y := torch.Must(v.Clone())
				if !y.IsContiguous() {
					r.Fatalf("a clone is not contiguous")
				}
				check("clone", viewModel{y, v.indices, v.shape})
				torch.OK(y.Free())
			case kind == "at" && len(v.indices) > 0:
				j := rapid.IntRange(0, len(v.indices)-1).Draw(r, "element")
				index, rest := make([]int, len(v.shape)), j
				for axis := len(v.shape) - 1; axis >= 0; axis-- {
					index[axis], rest = rest%v.shape[axis], rest/v.shape[axis]
				}
				if got, want := torch.Must(v.At(index...)), values[v.indices[j]]; got != float64(want) {
					r.Fatalf("element %v is %v, want %d", index, got, want)
				}
			}
			if s := v.Shards(); len(v.shape) > 0 {
				j := rapid.IntRange(0, len(s)-1).Draw(r, "shard")
				part := v
				for axis, n := range s[j].Extent {
					if part.indices = part.selectRange(axis, s[j].Start[axis], n); n == 0 {
						part.indices = nil
					}
					part.shape = slices.Clone(part.shape)
					part.shape[axis] = n
				}
				want := make([]int, len(part.indices))
				for k, e := range part.indices {
					want[k] = values[e]
				}
				a := torch.Must(v.Data(j))
				if !slices.Equal(a.Shape, s[j].Extent) || a.Wrong(want) >= 0 {
					r.Fatalf("shard %d of %v, on %v, is %v %v, want %v %v", j, v.shape, on, a.Shape, a, s[j].Extent, want)
				}
			}
			if axes := len(v.shape); axes == 1 || axes == 2 {
				v.checkPieces(r, l, values)
			}
			check(fmt.Sprint("operation ", i), rapid.SampledFrom(views).Draw(r, "read"))
		}
		for _, v := range views {
			check("end", v)
		}
	})
}
