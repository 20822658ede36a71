package tl_test

import (
	"slices"
	"testing"

	"github.com/kernbench/kernbench/tl"
)

// tensor is a stand-in for the tensor type of a launch.
type tensor string

// TestBind checks that Bind returns the tensors, and that Call passes the converted
// arguments to the kernel.
func TestBind(t *testing.T) {
	var got []any
	kernel := func(pe *tl.PE, n int, x tl.Ptr, scale float32, y tl.Ptr) {
		got = []any{pe.Rank(), n, x.Addr, scale, y.Addr}
	}
	b, tensors, err := tl.Bind[tensor]("k", kernel, []any{int64(7), tensor("a"), 0.5, tensor("b")})
	if err != nil {
		t.Fatal(err)
	}
	if want := []tensor{"a", "b"}; !slices.Equal(tensors, want) {
		t.Errorf("tensors %v, want %v", tensors, want)
	}
	b.Call(newEager(2).pe(1, "k"), tl.Ptr{Addr: 100}, tl.Ptr{Addr: 200})
	if want := []any{1, 7, int64(100), float32(0.5), int64(200)}; !slices.Equal(got, want) {
		t.Errorf("the kernel got %v, want %v", got, want)
	}
}

func TestBindErrors(t *testing.T) {
	for _, c := range []struct {
		kernel any
		args   []any
		want   string
	}{
		{nil, nil, "k: the kernel is nil"},
		{(func(*tl.PE))(nil), nil, "k: the kernel is nil"},
		{7, nil, "k is a int: a kernel is a func(*tl.PE, ...) without results"},
		{func(*tl.PE) int { return 0 }, nil, "k is a func(*tl.PE) int: a kernel is a func(*tl.PE, ...) without results"},
		{func(*tl.PE, ...int) {}, nil, "k is a func(*tl.PE, ...int): a kernel is a func(*tl.PE, ...) without results"},
		{func(*tl.PE, int) {}, nil, "k takes 1 arguments after the PE, and 0 are given"},
		{func(*tl.PE, int) {}, []any{tensor("a")}, "argument 1 of k is a int, and a tensor is given, which is a tl.Ptr"},
		{func(*tl.PE, int) {}, []any{0.5}, "argument 1 of k is a int, and 0.5, a float64, is given"},
		{func(*tl.PE, uint8) {}, []any{-1}, "argument 1 of k is a uint8, and -1, a int, is given"},
		{func(*tl.PE, int) {}, []any{nil}, "argument 1 of k is a int, and <nil>, a <nil>, is given"},
	} {
		if _, _, err := tl.Bind[tensor]("k", c.kernel, c.args); err == nil || err.Error() != c.want {
			t.Errorf("error %v\nwant  %s", err, c.want)
		}
	}
}
