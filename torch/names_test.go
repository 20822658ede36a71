package torch_test

import (
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestNamesInErrors checks that errors contain the name that the program gave to a tensor,
// including errors of the call that makes the tensor.
func TestNamesInErrors(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	_, err := l.Empty(torch.U8, torch.Shape{7 << 30}, torch.Named("cache"), torch.On(3))
	if err == nil || !strings.HasPrefix(err.Error(), "Empty: cache (tensor 1) [7516192768] u8: sip0.cube0.hbm3: out of memory: asked 7GiB") {
		t.Errorf("got %v", err)
	}
	// Options may be in any order. If there are several names, the last one counts.
	a := torch.Must(l.Zeros(torch.F32, torch.Shape{8}, torch.Named("w"), torch.On(5)))
	b := torch.Must(l.FromSlice(lists.Count(0, 8), torch.F32, torch.Shape{8}, torch.On(5), torch.Named("v"), torch.Named("w")))
	plain := torch.Must(l.Full(1, torch.F32, torch.Shape{8}, nil, torch.Named("")))
	if a.Name() != "w" || b.Name() != "w" || plain.Name() != "" || a.Shards()[0].PE != 1 || a.Shards()[0].Cube != 1 {
		t.Errorf("names %q, %q and %q, %+v", a.Name(), b.Name(), plain.Name(), a.Shards())
	}
	torch.OK(l.Check("", a, hostedtest.Fill(0, 8)))
	if got, want := l.Checks()[0].Name, "w (tensor 2) [8] f32"; got != want {
		t.Errorf("the check is called %q, want %q", got, want)
	}
	big := torch.Must(l.Empty(torch.U8, torch.Shape{4 << 30}))
	if _, err := l.EmptyLike(big, torch.Named("copy")); err == nil || !strings.HasPrefix(err.Error(), "EmptyLike: copy (tensor 6) [4294967296] u8: sip0.cube0.hbm0: out of memory") {
		t.Errorf("got %v", err)
	}
	if y := torch.Must(l.EmptyLike(plain, torch.Named("y"), torch.I8)); y.Name() != "y" || y.DType() != torch.I8 {
		t.Errorf("%s of %v, want y of i8", y.Name(), y.DType())
	}
	hostedtest.Says(t, "option", hostedtest.Misuse(func() { l.EmptyLike(plain, torch.On(0)) }), "torch: EmptyLike: torch.pesPlacement is no option: give a DType or Named, since the tensor is laid out as tensor 4 [8] f32")
	beyond := func(t *tl.PE, x tl.Ptr) { t.Load(x.Add(1), tl.Shape{8}, tl.F32) }
	for _, c := range []struct {
		got  func() error
		want string
	}{
		{func() error { return hostedtest.Misuse(func() { a.At(8) }) }, "torch: At: index [8] of w (tensor 2) [8] f32: axis 0 has 0 to 7"},
		{func() error { return hostedtest.Misuse(func() { b.At(9) }) }, "torch: At: index [9] of w (tensor 3) [8] f32: axis 0 has 0 to 7"},
		{func() error { return hostedtest.Misuse(func() { plain.At(9) }) }, "torch: At: index [9] of tensor 4 [8] f32: axis 0 has 0 to 7"},
		{func() error { return a.CopyFrom(&torch.Array{Shape: torch.Shape{2}, DType: torch.F32}) }, "torch: CopyFrom: [2] f32 into w (tensor 2) [8] f32: shape and dtype must be the same"},
		{func() error { return l.Check("sum", a, &torch.Array{Shape: torch.Shape{2}, DType: torch.F32}) }, "torch: Check: sum: [2] f32 is wanted of w (tensor 2) [8] f32: shape and dtype must be the same"},
		{func() error {
			return hostedtest.Misuse(func() { l.Zeros(torch.F32, torch.Shape{8}, torch.On(1), torch.Named("x"), torch.On(2)) })
		}, "torch: Zeros: 2 placements: give one"},
		{func() error { b.SetName("bias"); return hostedtest.Misuse(func() { b.At(9) }) }, "torch: At: index [9] of bias (tensor 3) [8] f32: axis 0 has 0 to 7"},
		{func() error { b.SetName(""); return hostedtest.Misuse(func() { b.At(9) }) }, "torch: At: index [9] of tensor 3 [8] f32: axis 0 has 0 to 7"},
		{func() error { a.Free(); return hostedtest.Misuse(func() { a.Numpy() }) }, "torch: Numpy: w (tensor 2) [8] f32 has been freed"},
	} {
		hostedtest.Says(t, "named", c.got(), c.want)
	}
	w := torch.Must(l.Zeros(torch.F32, torch.Shape{8}, torch.Named("w")))
	if err := try(l, "beyond", beyond, w); err == nil || !strings.Contains(err.Error(), "elements 1 to 8 are not all in this PE's shard [0:8] of w (tensor 8) [8] f32, which has 8") {
		t.Errorf("got %v", err)
	}
}
