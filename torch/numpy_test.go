package torch_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestFromNumpyOfAnArray checks that FromNumpy accepts an *Array, and that later changes of
// the array do not change the tensor. It also checks the errors for arguments of another
// type and for invalid arrays.
func TestFromNumpyOfAnArray(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	a := torch.Must(l.Ints(lists.Count(-3, 15), torch.I16, torch.On(0), 5, 3).Numpy())
	x := torch.Must(l.FromNumpy(a, torch.DPPolicy{PE: torch.ColumnWise}, torch.Named("table")))
	clear(a.Bytes)
	if x.Shape().String() != "[5 3]" || x.DType() != torch.I16 || x.Name() != "table" || len(x.Shards()) != 8 {
		t.Errorf("%s %v %v in %d shards", x.Name(), x.Shape(), x.DType(), len(x.Shards()))
	}
	l.Holds("x", x, lists.Count(-3, 15))
	for what, src := range map[string]any{
		"torch: FromNumpy: int is no *torch.Array, and no name of a file: for a slice there is FromSlice":       3,
		"torch: FromNumpy: []float32 is no *torch.Array, and no name of a file: for a slice there is FromSlice": []float32{1},
		"torch: FromNumpy: an array of bools has dtype f32: set u8":                                             &torch.Array{Shape: torch.Shape{1}, DType: torch.F32, Bytes: make([]byte, 4), Bool: true},
		"torch: FromNumpy: a nil array":                               (*torch.Array)(nil),
		"torch: FromNumpy: an array [3] f32 of 8 bytes, want 12":      &torch.Array{Shape: torch.Shape{3}, DType: torch.F32, Bytes: make([]byte, 8)},
		"torch: FromNumpy: no such dtype: use torch.F16 to torch.U64": &torch.Array{Shape: torch.Shape{3}},
	} {
		err := hostedtest.Misuse(func() { l.FromNumpy(src) })
		if err == nil || err.Error() != what {
			t.Errorf("got  %v\nwant %s", err, what)
		}
	}
	_, err := l.FromNumpy(&torch.Array{Shape: torch.Shape{-1}, DType: torch.F32})
	hostedtest.Says(t, "negative", err, "FromNumpy: shape [-1] has a negative extent")
}

// TestFromNumpyWithoutValues checks that in a run without values an array for FromNumpy
// needs only a shape and a dtype, no bytes.
func TestFromNumpyWithoutValues(t *testing.T) {
	l := hostedtest.New(t, torch.Options{NoData: true})
	x := torch.Must(l.FromNumpy(&torch.Array{Shape: torch.Shape{3, 5}, DType: torch.F16}))
	if got, want := x.String(), "tensor(shape=[3 5], dtype=f16, device=sip0)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestBoolArrays checks the values of a mask that is copied from a slice of bools to the
// device, from there to a file of bools, and from the file back to the device. An array
// with the value 2 must not be saved as bools.
func TestBoolArrays(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	name := filepath.Join(t.TempDir(), "mask.npy")
	mask := []bool{true, false, false, true, true, false, true}
	x := torch.Must(l.FromSlice(mask, torch.U8, torch.Shape{7}, torch.On(0, 1, 2)))
	l.Holds("bools", x, []int{1, 0, 0, 1, 1, 0, 1})
	a := torch.Must(x.Numpy())
	if got, want := a.String(), "[1, 0, 0, 1, 1, 0, 1]"; a.Bool || got != want {
		t.Errorf("u8 array: got %s, bools %v, want %s", got, a.Bool, want)
	}
	a.Bool = true
	torch.OK(a.Save(name))
	b := torch.Must(torch.LoadNumpy(name))
	if got, want := b.String(), "[True, False, False, True, True, False, True]"; !b.Bool || b.DType != torch.U8 || got != want {
		t.Errorf("from the file: %s, %v, bools %v, want %s", got, b.DType, b.Bool, want)
	}
	if i := b.Wrong(mask); i >= 0 {
		t.Errorf("element %d is wrong", i)
	}
	y := torch.Must(l.FromNumpy(name))
	if y.DType() != torch.U8 {
		t.Errorf("a tensor of bools is of %v, want u8", y.DType())
	}
	torch.OK(errors.Join(l.Check("array", y, b), l.Check("slice", y, mask), y.CopyFrom([]bool{false, true, true, false, false, false, true}), l.Check("copied", y, []int{0, 1, 1, 0, 0, 0, 1})))
	if !l.Checks().OK() {
		t.Errorf("checks %+v", l.Checks())
	}
	l.MustLaunch("two", func(t *tl.PE, x tl.Ptr) { t.Store(x.Add(2), t.Full(tl.Shape{1}, tl.U8, 2)) }, y)
	c := torch.Must(y.Numpy())
	c.Bool = true
	hostedtest.Says(t, "two", c.Save(name), name+": npy: element 2 of an array of bools is 2: set it to 0 or 1")
}

// TestTensorsOfManyAxes checks the values of tensors of up to eight axes with several
// placements: after a copy from a slice, to a file and back, and from tensor to tensor. A
// tensor of nine axes must be refused.
func TestTensorsOfManyAxes(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	for _, shape := range []torch.Shape{{2, 3, 1, 2, 5}, {3, 1, 2, 2, 1, 3}, {2, 1, 2, 1, 2, 1, 2, 3}, {1, 0, 2, 3, 4}} {
		n := elems(shape)
		for _, on := range []torch.Placement{
			torch.On(2), torch.On(0, 1, 2), torch.OnEach(1, 5), torch.DPPolicy{Cube: torch.RowWise, PE: torch.ColumnWise, NumPEs: 2},
			torch.DPPolicy{Cube: torch.Partial, PE: torch.ColumnWise, NumPEs: 3}, torch.DPPolicy{SIP: torch.RowWise, PE: torch.ColumnWise},
		} {
			x := l.Ints(lists.Count(0, n), torch.I32, on, shape...)
			torch.OK(l.Check(fmt.Sprint(shape, on), x, lists.Count(0, n)))
			if n == 0 {
				continue
			}
			last := make([]int, len(shape))
			for axis := range last {
				last[axis] = shape[axis] - 1
			}
			if got := torch.Must(x.At(last...)); got != float64(n-1) {
				t.Errorf("%v on %v: the last element is %v, want %d", shape, on, got, n-1)
			}
			name := filepath.Join(t.TempDir(), "x.npy")
			torch.OK(torch.Must(x.Numpy()).Save(name))
			y := torch.Must(l.FromNumpy(name, on))
			torch.OK(errors.Join(l.Check("from the file", y, lists.Count(0, n)), x.CopyFrom(lists.Count(7, n)), y.CopyFrom(x), l.Check("copied", y, lists.Count(7, n))))
			if !slices.Equal(y.Shape(), shape) {
				t.Errorf("from the file: %v, want %v", y.Shape(), shape)
			}
		}
	}
	if !l.Checks().OK() {
		t.Errorf("checks %+v", l.Checks())
	}
	x := l.Ints(lists.Count(0, 8), torch.I32, torch.On(0, 1), 2, 1, 2, 1, 2)
	if got, want := x.String(), "tensor([[[[[0, 1]], [[2, 3]]]], [[[[4, 5]], [[6, 7]]]]], dtype=i32, device=sip0)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	err := hostedtest.Misuse(func() { l.Zeros(torch.F32, torch.Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}) })
	hostedtest.Says(t, "nine", err, "torch: Zeros: shape [1 1 1 1 1 1 1 1 1] has 9 axes, and a tensor has at most 8: merge some of them")
}

// TestPointersToManyAxes checks that a kernel sees the leading axes of a tensor of more
// than four axes as one axis.
func TestPointersToManyAxes(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	x := l.Ints(lists.Count(0, 2*3*2*2*5), torch.I32, torch.DPPolicy{PE: torch.ColumnWise, NumCubes: 1, NumPEs: 2}, 2, 3, 2, 2, 5)
	var dims [2][4]int
	l.MustLaunch("minus", func(t *tl.PE, x tl.Ptr) {
		for axis := range 4 {
			dims[t.Rank()][axis] = x.Dim(axis)
		}
		shape := tl.Shape(dims[t.Rank()][:])
		t.Store(x, t.Load(x, shape, tl.I32).Neg())
		// [1, 2, 1, 0] of the first three axes merged is [1*3+2, 1, 0].
		at := x.At(5, 1, 0)
		t.Store(at, t.Full(tl.Shape{1}, tl.I32, 1000))
	}, x)
	if want := [2][4]int{{6, 2, 2, 3}, {6, 2, 2, 2}}; dims != want {
		t.Errorf("dims %v, want %v", dims, want)
	}
	want := make([]int, 2*3*2*2*5)
	for i := range want {
		want[i] = -i
	}
	row := (((1*3+2)*2 + 1) * 2) * 5
	want[row], want[row+3] = 1000, 1000
	l.Holds("x", x, want)
}

// TestCollectivesOfManyAxes checks an all-reduce and an all-gather of tensors with five
// axes.
func TestCollectivesOfManyAxes(t *testing.T) {
	shape := torch.Shape{3, 1, 2, 1, 5}
	l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		for _, on := range []torch.Placement{torch.On(r.PE(r.Rank(), 0, 1)), torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 2}, torch.DPPolicy{Cube: torch.ColumnWise, NumCubes: 2, NumPEs: 1}} {
			x := torch.Must(r.FromSlice(lists.Count(r.Rank(), 30), torch.I32, shape, on))
			y := torch.Must(r.Zeros(torch.I32, torch.Shape{9, 1, 2, 1, 5}, on))
			want := make([]int, 30)
			for i := range want {
				want[i] = 3*i + 3
			}
			torch.OK(errors.Join(dist.AllGatherIntoTensor(r, y, x), r.Check("gathered", y, slices.Concat(lists.Count(0, 30), lists.Count(1, 30), lists.Count(2, 30)))))
			torch.OK(errors.Join(dist.AllReduce(r, x, dist.SUM), r.Check("sum", x, want)))
		}
		return nil
	})
	if err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}
