// Package hostedtest has helpers for the tests of packages torch and torch/dist: programs
// that each run on a new machine, and comparisons of their results.
package hostedtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// Second returns err, the second result of a call whose first result is not needed.
func Second[T any](_ T, err error) error { return err }

// Says checks that err has exactly the text `want`. `what` names the case in messages.
func Says(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("%s:\ngot  %v\nwant %s", what, err, want)
	}
}

// ok ends the test if err is not nil.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Lab is the main rank of a new machine. Its methods end the test at an error, so that a
// test needs no error handling.
type Lab struct {
	*torch.Rank
	T *testing.T
}

// New returns a Lab with a new machine that o describes.
func New(t *testing.T, o torch.Options) *Lab {
	t.Helper()
	ctx, err := torch.New(context.Background(), o)
	ok(t, err)
	t.Cleanup(ctx.Close)
	return &Lab{ctx.Main(), t}
}

// Ints returns a tensor with the elements of `data`. Without a shape, the tensor has one
// axis.
func (l *Lab) Ints(data []int, dtype torch.DType, on torch.Placement, shape ...int) *torch.Tensor {
	l.T.Helper()
	if shape == nil {
		shape = []int{len(data)}
	}
	x, err := l.FromSlice(data, dtype, shape, on)
	ok(l.T, err)
	return x
}

// MustZeros returns a tensor of zeros. An error ends the test.
func (l *Lab) MustZeros(dtype torch.DType, on torch.Placement, shape ...int) *torch.Tensor {
	l.T.Helper()
	x, err := l.Zeros(dtype, shape, on)
	ok(l.T, err)
	return x
}

// MustLaunch launches a kernel and waits until the kernel has ended. An error ends the
// test.
func (l *Lab) MustLaunch(name string, kernel any, args ...any) *torch.Launched {
	l.T.Helper()
	r, err := l.Launch(name, kernel, args...)
	if err == nil {
		err = r.Wait()
	}
	ok(l.T, err)
	return r
}

// Holds checks that x has the elements in `want`. `what` names the case in messages.
func (l *Lab) Holds(what string, x *torch.Tensor, want []int) {
	l.T.Helper()
	a, err := x.Numpy()
	ok(l.T, err)
	if i := a.Wrong(want); i >= 0 {
		l.T.Errorf("%s: element %d of %v is %v, want %v", what, i, a.Shape, a.At(i), want[i])
	}
}

// Fill returns a slice of n elements that are all v.
func Fill(v, n int) []int { return slices.Repeat([]int{v}, n) }

// Misuse calls f and returns the *torch.Error that f panics with, or nil if f does not
// panic. It does not recover from other panics.
func Misuse(f func()) (err *torch.Error) {
	defer func() {
		if v := recover(); v != nil && !errors.As(v.(error), &err) {
			panic(v)
		}
	}()
	f()
	return nil
}

// Nothing is a kernel that does nothing.
func Nothing(*tl.PE, tl.Ptr) {}

// System loads the topology with the given name, applies the settings in `sets`, such as
// "system.sips.count=2", and returns the compiled topology.
func System(t testing.TB, name string, sets ...string) *topology.Graph {
	t.Helper()
	spec, err := topology.Load(t.Context(), name, sets...)
	ok(t, err)
	g, err := topology.Compile(spec)
	ok(t, err)
	return g
}

// Spawn calls the function `run` for n workers on a new machine of n SIPs. Each worker has
// initialized the default process group before. Spawn returns the Lab of the machine and
// the error of Context.Spawn.
func Spawn(t *testing.T, n int, run func(r *torch.Rank) error) (*Lab, error) {
	t.Helper()
	l := New(t, torch.Options{Topology: System(t, "ring6", fmt.Sprintf("system.sips.count=%d", n))})
	return l, l.Spawn(func(r *torch.Rank) error {
		torch.OK(dist.InitProcessGroup(r, "ahbm"))
		return run(r)
	}, n)
}

// Full returns a tensor of n f32 elements that are all v, on one PE of the rank's device.
func Full(r *torch.Rank, v, n int) *torch.Tensor {
	return torch.Must(r.Full(float64(v), torch.F32, torch.Shape{n}))
}

// Blames checks that err is a *torch.SpawnError with exactly the given ranks, and that the
// error contains each of the given texts.
func Blames(t *testing.T, err error, ranks []int, texts ...string) {
	t.Helper()
	var failed *torch.SpawnError
	if !errors.As(err, &failed) {
		t.Fatalf("error %v, want a *SpawnError", err)
	}
	var got []int
	for _, r := range failed.Ranks {
		got = append(got, r.Rank)
	}
	if fmt.Sprint(got) != fmt.Sprint(ranks) {
		t.Errorf("the error names ranks %v, want %v: %v", got, ranks, err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q, want one with %q", err, text)
		}
	}
}

// Far returns the options of a system with the given number of SIPs and a latency of 10 µs
// between host and devices.
func Far(t *testing.T, sips int) torch.Options {
	t.Helper()
	return torch.Options{Topology: System(t, "ring6", fmt.Sprintf("system.sips.count=%d", sips), "host.pcie.latency=10us")}
}

// Options returns the options of a small system with the given number of SIPs. Each SIP has
// two cubes of four PEs.
func Options(t testing.TB, sips int) torch.Options {
	t.Helper()
	return torch.Options{Topology: System(t, "ring6", fmt.Sprintf("system.sips.count=%d", sips),
		"sip.cube_mesh.w=2", "sip.cube_mesh.h=1", "cube.pe_layout.pe_per_corner=1"), Threads: 1}
}

// PEs returns a Lab on a small system. The ranks of its default process group are the first
// PEs of the system; `world` is their number.
func PEs(t *testing.T, world int, opts ...dist.GroupOption) *Lab {
	t.Helper()
	l := New(t, Options(t, 3))
	opts = append([]dist.GroupOption{func(o *dist.GroupOptions) { o.WorldSize = world }}, opts...)
	ok(t, dist.InitProcessGroup(l.Rank, "ahbm", opts...))
	return l
}
