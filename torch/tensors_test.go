package torch_test

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// policies returns a policy for every pair of splits, over two cubes of three PEs.
func policies() (all []torch.DPPolicy) {
	for _, cube := range []torch.Split{torch.Replicate, torch.ColumnWise, torch.RowWise, torch.Partial} {
		for _, pe := range []torch.Split{torch.Replicate, torch.ColumnWise, torch.RowWise, torch.Partial} {
			all = append(all, torch.DPPolicy{Cube: cube, PE: pe, NumCubes: 2, NumPEs: 3})
		}
	}
	return all
}

// shapes lists shapes of zero to four axes. Some extents are not multiples of any number of
// PEs, and some shapes have no elements.
var shapes = []torch.Shape{nil, {1}, {7}, {12}, {0}, {4, 6}, {5, 3}, {1, 7}, {0, 4}, {3, 0}, {5, 2, 3}, {2, 0, 5}, {5, 2, 2, 5}, {1, 1, 1, 1}}

// elems returns the number of elements of a tensor with the given shape.
func elems(shape torch.Shape) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// TestTensorsOnEveryPlacement checks the values of tensors that are made by each function
// of the API, for every policy and shape. The dtype changes from case to case.
func TestTensorsOnEveryPlacement(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	made := func(x *torch.Tensor, err error) *torch.Tensor {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	all := policies()
	for i, p := range all {
		for j, shape := range shapes {
			l.SetDevice(j % 3)
			n, dtype := elems(shape), numeric.DTypes[(i+j)%len(numeric.DTypes)]
			what := fmt.Sprintf("%v of %v %v", p, dtype, shape)
			zeros := made(l.Zeros(dtype, shape, p))
			l.Holds(what+": Zeros", zeros, hostedtest.Fill(0, n))
			l.Holds(what+": Full", made(l.Full(3, dtype, shape, p)), hostedtest.Fill(3, n))
			x := made(l.FromSlice(lists.Count(1, n), dtype, shape, p))
			l.Holds(what+": FromSlice", x, lists.Count(1, n))
			if err := zeros.CopyFrom(lists.Count(2, n)); err != nil {
				t.Fatal(err)
			}
			l.Holds(what+": CopyFrom a slice", zeros, lists.Count(2, n))

			l.SetDevice((j + 1) % 3)
			other := made(l.Empty(dtype, shape, all[(3*i+j)%len(all)]))
			if err := other.CopyFrom(x); err != nil {
				t.Fatal(err)
			}
			l.Holds(what+": CopyFrom a tensor", other, lists.Count(1, n))
			a, err := other.Numpy()
			if err != nil || fmt.Sprint(a.Shape) != fmt.Sprint(shape) || a.DType != dtype {
				t.Fatalf("%s: Numpy gives %v %v, %v", what, a.DType, a.Shape, err)
			}
			if err := zeros.CopyFrom(a); err != nil {
				t.Fatal(err)
			}
			clear(a.Bytes) // the caller may change the array after the call
			l.Holds(what+": CopyFrom an array", zeros, lists.Count(1, n))

			index := make([]int, len(shape))
			for k := range n {
				for axis, rest := len(shape)-1, k; axis >= 0; axis-- {
					index[axis], rest = rest%shape[axis], rest/shape[axis]
				}
				if k%5 == 0 || k == n-1 {
					if got, err := x.At(index...); err != nil || got != float64(k+1) {
						t.Errorf("%s: At(%v) is %v, %v, want %d", what, index, got, err, k+1)
					}
				}
			}
			for _, x := range []*torch.Tensor{zeros, x, other} {
				if err := x.Free(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestShards checks the shards of tensors with several placements.
func TestShards(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	l.SetDevice(1)
	for _, c := range []struct {
		shape torch.Shape
		on    torch.Placement
		want  []torch.Shard
	}{
		{torch.Shape{3}, nil, []torch.Shard{
			{SIP: 1, Start: []int{0}, Extent: []int{3}, Bytes: 12},
		}},
		{nil, torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 2}, []torch.Shard{
			{SIP: 1, Start: []int{0}, Extent: []int{1}, Bytes: 4},
			{SIP: 1, PE: 1, Start: []int{1}, Extent: []int{0}, Offset: 4},
		}},
		{torch.Shape{5, 3}, torch.DPPolicy{Cube: torch.RowWise, PE: torch.ColumnWise, NumPEs: 2}, []torch.Shard{
			{SIP: 1, Start: []int{0, 0}, Extent: []int{3, 2}, Bytes: 24},
			{SIP: 1, PE: 1, Start: []int{0, 2}, Extent: []int{3, 1}, Offset: 24, Bytes: 12},
			{SIP: 1, Cube: 1, Start: []int{3, 0}, Extent: []int{2, 2}, Offset: 36, Bytes: 16},
			{SIP: 1, Cube: 1, PE: 1, Start: []int{3, 2}, Extent: []int{2, 1}, Offset: 52, Bytes: 8},
		}},
		{torch.Shape{2}, torch.DPPolicy{Cube: torch.Partial, PE: torch.Replicate, NumPEs: 2}, []torch.Shard{
			{SIP: 1, Start: []int{0}, Extent: []int{2}, Bytes: 8},
			{SIP: 1, PE: 1, Start: []int{0}, Extent: []int{2}, Copy: 1, Offset: 8, Bytes: 8},
			{SIP: 1, Cube: 1, Start: []int{0}, Extent: []int{2}, Addend: 1, Offset: 16, Bytes: 8},
			{SIP: 1, Cube: 1, PE: 1, Start: []int{0}, Extent: []int{2}, Copy: 1, Addend: 1, Offset: 24, Bytes: 8},
		}},
		{torch.Shape{4}, torch.On(23, 0, 9), []torch.Shard{
			{SIP: 2, Cube: 1, PE: 3, Start: []int{0}, Extent: []int{2}, Bytes: 8},
			{Start: []int{2}, Extent: []int{2}, Offset: 8, Bytes: 8},
			{SIP: 1, PE: 1, Start: []int{4}, Extent: []int{0}, Offset: 16},
		}},
	} {
		x := l.MustZeros(torch.F32, c.on, c.shape...)
		if got := x.Shards(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v on %v:\ngot  %+v\nwant %+v", c.shape, c.on, got, c.want)
		}
	}
}

// TestPartialTensors checks that values copied into a partial tensor become its first
// addend, and that a read returns the sum of the addends, computed in the dtype of the
// tensor.
func TestPartialTensors(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	for _, p := range policies() {
		if p.Cube != torch.Partial && p.PE != torch.Partial {
			continue
		}
		x := l.Ints(lists.Count(0, 28), torch.I8, p, 7, 4)
		y, err := l.Full(1, torch.I8, torch.Shape{7, 4}, p)
		if err != nil {
			t.Fatal(err)
		}
		shards := x.Shards()
		addends := 0
		for _, s := range shards {
			addends = max(addends, s.Addend+1)
		}
		l.MustLaunch("add", func(t *tl.PE, x, y tl.Ptr) {
			s := shards[t.Rank()]
			if s.Bytes == 0 {
				return
			}
			for _, p := range []tl.Ptr{x, y} {
				t.Store(p, t.Load(p, s.Extent, tl.I8).Add(10*s.Addend+40))
			}
		}, x, y)
		more := 40*addends + 10*addends*(addends-1)/2 // may wrap around in I8
		l.Holds(fmt.Sprintf("%v: FromSlice", p), x, lists.Count(more, 28))
		l.Holds(fmt.Sprintf("%v: Full", p), y, hostedtest.Fill(1+more, 28))
		if got, err := x.At(6, 3); err != nil || got != float64(int8(27+more)) {
			t.Errorf("%v: At(6, 3) is %v, %v, want %v", p, got, err, int8(27+more))
		}
		if err := x.CopyFrom(hostedtest.Fill(5, 28)); err != nil { // sets the other addends to zero
			t.Fatal(err)
		}
		l.Holds(fmt.Sprintf("%v: CopyFrom", p), x, hostedtest.Fill(5, 28))
	}
}

// TestFullOfPartialTensorBeforeReduce checks that Full writes its value to the first addend
// and zero to the others. Before Full has run, the test calls an all-reduce, which turns
// the addends into copies.
func TestFullOfPartialTensorBeforeReduce(t *testing.T) {
	l := hostedtest.PEs(t, 4)
	x, err := l.Full(3, torch.F32, torch.Shape{4}, torch.DPPolicy{PE: torch.Partial, NumCubes: 1, NumPEs: 4})
	if err != nil {
		t.Fatal(err)
	}
	if err := dist.AllReduce(l.Rank, x, dist.SUM); err != nil {
		t.Fatal(err)
	}
	l.Holds("x", x, hostedtest.Fill(3, 4))
}

// TestKernelsSeeTheirShards checks that the pointer that a kernel gets on a PE has the
// strides of the shard on this PE.
func TestKernelsSeeTheirShards(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	for _, p := range policies() {
		for _, shape := range []torch.Shape{{4, 6}, {5, 3}, {5, 2, 3}, {3, 2, 2, 7}} {
			x := l.MustZeros(torch.I32, p, shape...)
			shards := x.Shards()
			l.MustLaunch("number", func(t *tl.PE, x tl.Ptr) {
				s := shards[t.Rank()]
				if s.Addend > 0 {
					return
				}
				index := make([]int, len(shape))
				for k := range elems(s.Extent) {
					at, rest := 0, k
					for axis := len(shape) - 1; axis >= 0; axis-- {
						index[axis], rest = rest%s.Extent[axis], rest/s.Extent[axis]
					}
					for axis, i := range index {
						at = at*shape[axis] + s.Start[axis] + i
					}
					t.Store(x.At(index...), t.Full(tl.Shape{1, 1, 1, 1}[:len(shape)], tl.I32, float64(at)))
				}
			}, x)
			if err := l.Check(fmt.Sprint(p, shape), x, lists.Count(0, elems(shape))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !l.Checks().OK() {
		t.Errorf("%+v", l.Checks())
	}
}

// TestValuesOfEveryDType checks that numbers are rounded to the dtype only once, that
// integers are exact to the last bit, and that saving and loading a file keeps all bytes.
func TestValuesOfEveryDType(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	for _, c := range []struct {
		dtype torch.DType
		data  any
		want  string
	}{
		{torch.F16, []float64{0.1, 65504, 1e-8, -2049, math.Inf(1)}, "[0.0999755859375, 65504, 0, -2048, +Inf]"},
		{torch.BF16, []float32{0.1, 257, -1, 0, 3e38}, "[0.10009765625, 256, -1, 0, 3.00405527047391e+38]"},
		{torch.F32, []float64{0.1, 16777217, 0, 1, math.NaN()}, "[0.10000000149011612, 1.6777216e+07, 0, 1, NaN]"},
		{torch.F64, []float64{0.1, 1e300, -0.5, 0, 3}, "[0.1, 1e+300, -0.5, 0, 3]"},
		{torch.I8, []int8{-128, 127, 0, 1, -1}, "[-128, 127, 0, 1, -1]"},
		{torch.I16, []int16{-32768, 32767, 0, 1, -1}, "[-32768, 32767, 0, 1, -1]"},
		{torch.I32, []int32{math.MinInt32, math.MaxInt32, 0, 1, -1}, "[-2147483648, 2147483647, 0, 1, -1]"},
		{torch.I64, []int64{math.MinInt64, math.MaxInt64, 1<<53 + 1, 0, -1}, "[-9223372036854775808, 9223372036854775807, 9007199254740993, 0, -1]"},
		{torch.U8, []uint8{255, 0, 1, 2, 3}, "[255, 0, 1, 2, 3]"},
		{torch.U16, []uint16{65535, 0, 1, 2, 3}, "[65535, 0, 1, 2, 3]"},
		{torch.U32, []uint32{math.MaxUint32, 0, 1, 2, 3}, "[4294967295, 0, 1, 2, 3]"},
		{torch.U64, []uint64{math.MaxUint64, 1<<63 + 1, 0, 1, 2}, "[18446744073709551615, 9223372036854775809, 0, 1, 2]"},
	} {
		x, err := l.FromSlice(c.data, c.dtype, torch.Shape{5}, torch.On(0, 9))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := x.String(), fmt.Sprintf("tensor(%s, dtype=%v, device=sip0-1)", c.want, c.dtype); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		a, err := x.Numpy()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "x.npy")
		if err := a.Save(file); err != nil {
			t.Fatal(err)
		}
		y, err := l.FromNumpy(file, torch.DPPolicy{PE: torch.ColumnWise})
		if err != nil {
			t.Fatal(err)
		}
		b, err := y.Numpy()
		if err != nil || !slices.Equal(b.Bytes, a.Bytes) || b.DType != c.dtype || b.Shape.String() != "[5]" {
			t.Errorf("%v: from the file %v, %v, want %v", c.dtype, b, err, a)
		}
	}
}

// TestStringsOfTensors checks the text of small and large tensors.
func TestStringsOfTensors(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	var rows []string
	for _, i := range []int{0, 1, 2, 97, 98, 99} {
		n := 20 * i
		rows = append(rows, fmt.Sprintf("[%d, %d, %d, ..., %d, %d, %d]", n, n+1, n+2, n+17, n+18, n+19))
	}
	for _, c := range []struct {
		shape torch.Shape
		want  string
	}{
		{nil, "0"},
		{torch.Shape{3}, "[0, 1, 2]"},
		{torch.Shape{2, 3}, "[[0, 1, 2], [3, 4, 5]]"},
		{torch.Shape{1, 2, 1, 2}, "[[[[0, 1]], [[2, 3]]]]"},
		{torch.Shape{0}, "[]"},
		{torch.Shape{2, 0}, "[[], []]"},
		{torch.Shape{1001}, "[0, 1, 2, ..., 998, 999, 1000]"},
		{torch.Shape{100, 20}, "[" + strings.Join(rows[:3], ", ") + ", ..., " + strings.Join(rows[3:], ", ") + "]"},
	} {
		x := l.MustZeros(torch.I32, torch.DPPolicy{Cube: torch.ColumnWise, PE: torch.RowWise}, c.shape...)
		if err := x.CopyFrom(lists.Count(0, elems(c.shape))); err != nil {
			t.Fatal(err)
		}
		if got, want := x.String(), "tensor("+c.want+", dtype=i32, device=sip0)"; got != want {
			t.Errorf("%v:\ngot  %s\nwant %s", c.shape, got, want)
		}
	}
	o := hostedtest.Options(t, 3)
	o.NoData = true
	l = hostedtest.New(t, o)
	x := l.MustZeros(torch.F16, torch.On(0, 1), 4)
	if got, want := x.String(), "tensor(shape=[4], dtype=f16, device=sip0)"; got != want {
		t.Errorf("without values: got %s, want %s", got, want)
	}
	_, err := x.Numpy()
	hostedtest.Says(t, "Numpy without values", err, "tensor 1 [4] f16 has no values: this run was made without data")
}

// TestOutOfMemory checks that the error for a device without enough memory names the
// device, the tensor and the free memory.
func TestOutOfMemory(t *testing.T) {
	l := hostedtest.New(t, torch.Options{Topology: hostedtest.System(t, "default", "cube.hbm.slice_size=1MiB")})
	l.SetDevice(1)
	x := l.MustZeros(torch.F32, torch.DPPolicy{NumCubes: 1, NumPEs: 2}, 1<<17)
	_, err := l.FromSlice(make([]float32, 3<<17), torch.F32, torch.Shape{3 << 7, 1 << 10}, torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 2})
	want := "FromSlice: tensor 2 [384 1024] f32: sip1.cube0.hbm0: out of memory: asked 768KiB aligned to 256B, free 512KiB of 1MiB, largest block 512KiB; " +
		"free something, ask for less, or raise cube.hbm.slice_size in the topology"
	hostedtest.Says(t, "error", err, want)
	if err := x.Free(); err != nil {
		t.Fatal(err)
	}
	l.Ints(make([]int, 3<<17), torch.F32, torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 2}, 3<<7, 1<<10)
	err = l.Spawn(func(r *torch.Rank) error {
		_, err := r.Full(1, torch.U8, torch.Shape{1<<20 + r.Rank()})
		return err
	}, 2)
	hostedtest.Says(t, "of a worker", err, "rank 1: Full: tensor 5 [1048577] u8: sip1.cube0.hbm0: out of memory: asked 1048577B aligned to 256B, free 256KiB of 1MiB, largest block 256KiB; "+
		"free something, ask for less, or raise cube.hbm.slice_size in the topology")
}

// TestFreeWhileInUse checks that a freed tensor keeps its memory until the last operation
// that uses it has ended. It also checks the errors for calls with freed tensors and for
// other wrong calls.
func TestFreeWhileInUse(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	x, y := l.Ints(lists.Count(0, 100), torch.I32, torch.On(0)), l.MustZeros(torch.I32, torch.On(0), 100)
	if _, err := l.Launch("copy", func(t *tl.PE, x, y tl.Ptr) {
		t.Store(y, t.Load(x, tl.Shape{100}, tl.I32).Add(1))
	}, x, y); err != nil {
		t.Fatal(err)
	}
	if err := x.Free(); err != nil {
		t.Fatal(err)
	}
	z := l.Ints(hostedtest.Fill(7, 100), torch.I32, torch.On(0)) // not at the address of x
	used := hosted.Scheduler(l.Context).Machine.Memory(hosted.Scheduler(l.Context).Machine.PE(0).Memory(topology.KindHBM)).Allocator.Used
	if got := used(); got != 1200 {
		t.Errorf("%v are in use before the launch, want 1200 B", got)
	}
	l.Holds("y", y, lists.Count(1, 100))
	l.Holds("z", z, hostedtest.Fill(7, 100))
	if got := used(); got != 800 {
		t.Errorf("%v are in use after it, want 800 B", got)
	}
	hostedtest.Says(t, "freed twice", x.Free(), "tensor 1 [100] i32: freed twice")
	for want, f := range map[string]func(){
		"torch: Numpy: tensor 1 [100] i32 has been freed":                                                          func() { x.Numpy() },
		"torch: At: tensor 1 [100] i32 has been freed":                                                             func() { x.At(1) },
		"torch: CopyFrom: tensor 1 [100] i32 has been freed":                                                       func() { y.CopyFrom(x) },
		"torch: Launch: tensor 1 [100] i32 has been freed":                                                         func() { l.Launch("k", hostedtest.Nothing, x) },
		"torch: At: index [100] of tensor 2 [100] i32: axis 0 has 0 to 99":                                         func() { y.At(100) },
		"torch: At: index [-101] of tensor 2 [100] i32: axis 0 has 0 to 99":                                        func() { y.At(-101) },
		"torch: At: 2 indices for tensor 2 [100] i32: write one for each of its 1 axes":                            func() { y.At(0, 0) },
		"torch: CopyFrom: 3 elements for tensor 2 [100] i32, which has 100":                                        func() { y.CopyFrom([]int{1, 2, 3}) },
		"torch: CopyFrom: string is not a slice of numbers: write the elements in one slice, row after row":        func() { y.CopyFrom("x") },
		"torch: SetDevice: no SIP 3: the system has 0 to 2":                                                        func() { l.SetDevice(3) },
		"torch: Zeros: 2 placements: give one":                                                                     func() { l.Zeros(torch.F32, nil, torch.On(0), torch.On(1)) },
		"torch: Zeros: no PEs to hold the tensor":                                                                  func() { l.Zeros(torch.F32, nil, torch.On()) },
		"torch: Zeros: PE 24 of a system that has 0 to 23":                                                         func() { l.Zeros(torch.F32, nil, torch.On(24)) },
		"torch: Zeros: shape [-1] has a negative extent":                                                           func() { l.Zeros(torch.F32, torch.Shape{-1}) },
		"torch: DPPolicy: cube=replicate(3) pe=replicate(all): 3 cubes, and a SIP has 2: use 1 to 2, or 0 for all": func() { l.Zeros(torch.F32, nil, torch.DPPolicy{NumCubes: 3}) },
	} {
		hostedtest.Says(t, "misuse", hostedtest.Misuse(f), want)
	}
}

// TestFilesThatDoNotFitReturnErrors checks that arrays from files with a wrong shape or
// dtype cause errors, not panics, because the content of a file is not a mistake of the
// program.
func TestFilesThatDoNotFitReturnErrors(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	x := l.MustZeros(torch.I32, torch.On(0), 6)
	for name, tt := range map[string]struct {
		shape torch.Shape
		want  string
	}{
		"axes":     {torch.Shape{1, 2, 1, 3, 1, 1, 1, 1, 1}, ": shape [1 2 1 3 1 1 1 1 1] has 9 axes, and a tensor has at most 8: merge some of them"},
		"elements": {torch.Shape{0, 1 << 25, 1 << 25}, ": shape [0 33554432 33554432] has more than 2^48 elements"},
	} {
		file := filepath.Join(t.TempDir(), name+".npy")
		elems := 1
		for _, n := range tt.shape {
			elems *= n
		}
		if err := (&torch.Array{Shape: tt.shape, DType: torch.I32, Bytes: make([]byte, 4*elems)}).Save(file); err != nil {
			t.Fatal(err)
		}
		_, err := l.FromNumpy(file)
		hostedtest.Says(t, name, err, file+tt.want)
		a, err := torch.LoadNumpy(file)
		if err != nil {
			t.Fatal(err)
		}
		hostedtest.Says(t, name, x.CopyFrom(a), fmt.Sprintf("torch: CopyFrom: %v i32 into tensor 1 [6] i32: shape and dtype must be the same", tt.shape))
		hostedtest.Says(t, name, l.Check("x", x, a), fmt.Sprintf("torch: Check: x: %v i32 is wanted of tensor 1 [6] i32: shape and dtype must be the same", tt.shape))
	}
	hostedtest.Says(t, "dtype", x.CopyFrom(&torch.Array{Shape: torch.Shape{6}, DType: torch.F32}), "torch: CopyFrom: [6] f32 into tensor 1 [6] i32: shape and dtype must be the same")
}

// TestKernelsKnowTheirShards checks that Dim in a kernel returns the extents of the shard
// on this PE, and 0 rows if the PE holds no elements.
func TestKernelsKnowTheirShards(t *testing.T) {
	for _, c := range []struct {
		shape torch.Shape
		on    torch.Placement
		want  string
	}{
		{torch.Shape{10, 6}, torch.On(0, 1, 2, 3), "[[3 6] [3 6] [3 6] [1 6]]"},
		{torch.Shape{5, 6}, torch.On(0, 1, 2, 3), "[[2 6] [2 6] [1 6] [0 6]]"},
		{torch.Shape{3, 7}, torch.DPPolicy{PE: torch.ColumnWise, NumCubes: 1, NumPEs: 2}, "[[3 4] [3 3]]"},
		{torch.Shape{3, 7}, torch.OnEach(5, 2), "[[3 7] [3 7]]"},
	} {
		l := hostedtest.New(t, torch.Options{})
		x := l.MustZeros(torch.F32, c.on, c.shape...)
		got := make([][2]int, len(x.Shards()))
		l.MustLaunch("dims", func(t *tl.PE, x tl.Ptr) { got[t.Rank()] = [2]int{x.Dim(0), x.At(0, 0).Dim(-1)} }, x)
		if fmt.Sprint(got) != c.want {
			t.Errorf("%v: parts %v, want %v", c.shape, got, c.want)
		}
		l.MustLaunch("none", func(t *tl.PE, x tl.Ptr) {
			if x.Dim(0) != 0 {
				t.Assert(false, "a PE that holds nothing sees %d rows", x.Dim(0))
			}
		}, x, torch.PEs(9))
	}
}
