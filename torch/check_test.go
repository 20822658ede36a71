package torch_test

import (
	"math"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestCheckWithin checks which differences between an element and its reference CheckWithin
// accepts, including NaN and infinities.
func TestCheckWithin(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name      string
		got       float64
		want      float64
		tolerance float64
		wrong     string
	}{
		{"the same", 1.5, 1.5, 0, ""},
		{"within", 1.5, 1.25, 0.25, ""},
		{"within, below", 1.25, 1.5, 0.25, ""},
		{"just outside", 1.5, 1.25, math.Nextafter(0.25, 0), "element 1 is 1.5, want 1.25 ± 0.25"},
		{"of the other sign", -1, 1, 1.5, "element 1 is -1, want 1 ± 1.5"},
		{"NaN that is wanted", nan, nan, 0, ""},
		{"NaN that is not", nan, 1, 1e9, "element 1 is NaN, want 1 ± 1e+09"},
		{"a number for NaN", 1, nan, inf, "element 1 is 1, want NaN ± +Inf"},
		{"infinity that is wanted", inf, inf, 0, ""},
		{"infinity that is not", inf, 1, 1e300, "element 1 is +Inf, want 1 ± 1e+300"},
		{"infinity for any number", inf, 1, inf, "element 1 is +Inf, want 1 ± +Inf"},
		{"the other infinity", -inf, inf, 1, "element 1 is -Inf, want +Inf ± 1"},
		{"a number for infinity", 1, inf, 1, "element 1 is 1, want +Inf ± 1"},
		{"a tolerance that is NaN", 1, 2, nan, "element 1 is 1, want 2 ± NaN"},
		{"right without a tolerance", 2, 2, nan, ""},
	} {
		l := hostedtest.New(t, hostedtest.Options(t, 3))
		x, err := l.FromSlice([]float64{0, c.got, 0}, torch.F64, torch.Shape{3})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.CheckWithin("x", x, []float64{0, c.want, 0}, []float64{0, c.tolerance, 0}); err != nil {
			t.Fatal(err)
		}
		want := torch.Check{Name: "x", Elems: 3, Wrong: c.wrong}
		if got := l.Checks(); len(got) != 1 || got[0] != want || l.Checks().OK() != (c.wrong == "") {
			t.Errorf("%s: checks %+v, want %+v", c.name, got, want)
		}
	}
}

// TestCheckWithinLooksAtEveryCopy checks that CheckWithin compares every copy of a tensor
// and names the first wrong copy.
func TestCheckWithinLooksAtEveryCopy(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	x := l.Ints(lists.Count(0, 4), torch.F32, torch.OnEach(0, 1, 2))
	l.MustLaunch("spoil", func(t *tl.PE, x tl.Ptr) {
		t.Store(x.At(2), t.Full(tl.Shape{1}, tl.F32, 2+0.25*float64(t.Rank())))
	}, x)
	right := []float64{0, 1, 2, 3}
	for _, tolerance := range []float64{0.5, 0.25} {
		if err := l.CheckWithin("x", x, right, []float64{0, 0, tolerance, 0}); err != nil {
			t.Fatal(err)
		}
	}
	want := []torch.Check{{Name: "x", Elems: 12}, {Name: "x", Elems: 12, Wrong: "element 2 of the copy on PE 2 is 2.5, want 2 ± 0.25"}}
	if got := l.Checks(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("checks %+v, want %+v", got, want)
	}
}

// TestCheckWithinWithoutValues checks that CheckWithin does nothing in a run without
// values, even if the slices of numbers have the wrong length.
func TestCheckWithinWithoutValues(t *testing.T) {
	o := hostedtest.Options(t, 3)
	o.NoData = true
	l := hostedtest.New(t, o)
	x := l.MustZeros(torch.F32, torch.On(0), 4)
	if err := l.CheckWithin("x", x, []float64{1}, nil); err != nil || len(l.Checks()) != 0 {
		t.Errorf("error %v, checks %+v, want none", err, l.Checks())
	}
}

// TestCheckWithinMisuse checks the error for slices of the wrong length.
func TestCheckWithinMisuse(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	x := l.MustZeros(torch.F32, torch.On(0), 4)
	four, three := make([]float64, 4), make([]float64, 3)
	for _, f := range []func(){func() { l.CheckWithin("x", x, three, four) }, func() { l.CheckWithin("x", x, four, three) }} {
		if err, want := hostedtest.Misuse(f), "torch: CheckWithin: 3 elements for tensor 1 [4] f32, which has 4"; err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
