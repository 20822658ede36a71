package attention

import (
	"math"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// stateOf runs a kernel on one PE. The kernel returns a state with 2 rows of 2 elements.
// stateOf returns the elements o, m and l of this state, followed by the attention.
func stateOf(t *testing.T, kernel func(t *tl.PE, q, k, v tl.Tile) *Running) []float64 {
	t.Helper()
	self := newContext(t, torch.Options{})
	x := torch.Must(self.FromSlice([]float32{1, 0, 0, 2, 3, 0, 1, 1, 10, 20, 30, 40}, tl.F32, torch.Shape{6, 2}))
	out := torch.Must(self.Zeros(tl.F32, torch.Shape{StateElems(2, 2) + 4}))
	torch.Must(self.Launch("state", func(t *tl.PE, x, out tl.Ptr) {
		load := func(row int) tl.Tile { return t.Load(x.At(row), tl.Shape{2, 2}, tl.F32) }
		r := kernel(t, load(0), load(2), load(4))
		r.Store(out)
		t.Store(out.At(StateElems(2, 2)), r.Out())
	}, x, out))
	return torch.Must(out.Numpy()).Float64s()
}

// The scores of the query (1 0) with the keys (3 0) and (1 1) are 3 and 1; those of the
// query (0 2) are 0 and 2. The values are (10 20) and (30 40). Numbers are rounded to f32.
var (
	e2   = float64(float32(math.Exp(-2)))
	inf  = math.Inf(-1)
	full = []float64{ // state with both keys
		f32(10 + f32(e2*30)), f32(20 + f32(e2*40)), f32(f32(e2*10) + 30), f32(f32(e2*20) + 40),
		3, 2,
		f32(1 + e2), f32(e2 + 1),
	}
)

func f32(x float64) float64 { return float64(float32(x)) }

// TestRunning checks the elements of states that have seen no keys, hidden keys or all
// keys, and of merged states.
func TestRunning(t *testing.T) {
	quotient := func(s []float64) []float64 { // appends o times 1/l, as Out computes it
		a, b := f32(1/s[6]), f32(1/s[7])
		return append(s, f32(s[0]*a), f32(s[1]*a), f32(s[2]*b), f32(s[3]*b))
	}
	whole := quotient(slices.Clone(full))
	empty := []float64{0, 0, 0, 0, inf, inf, 0, 0, 0, 0, 0, 0}
	second := []float64{0, 0, 10, 20, inf, 0, 0, 1, 0, 0, 10, 20} // only query 1 sees key 0
	for _, test := range []struct {
		name   string
		kernel func(t *tl.PE, q, k, v tl.Tile) *Running
		want   []float64
	}{
		{"no keys", func(t *tl.PE, q, k, v tl.Tile) *Running { return New(t, 2, 2) }, empty},
		{"all keys", func(t *tl.PE, q, k, v tl.Tile) *Running {
			r := New(t, 2, 2)
			r.Add(q, k, v, 1, Mask{})
			return r
		}, whole},
		{"scores made before", func(t *tl.PE, q, k, v tl.Tile) *Running {
			r := New(t, 2, 2)
			r.Step(q.Dot(k.Trans()), v, 1, Mask{})
			return r
		}, whole},
		{"keys of the future", func(t *tl.PE, q, k, v tl.Tile) *Running {
			r := New(t, 2, 2)
			r.Add(q, k, v, 1, Causal(-2, 1))
			return r
		}, empty},
		{"one row sees a key", func(t *tl.PE, q, k, v tl.Tile) *Running {
			r := New(t, 2, 2)
			r.Add(q, k, v, 1, Causal(-1, 1))
			return r
		}, second},
		{"one row, then both", func(t *tl.PE, q, k, v tl.Tile) *Running {
			r := New(t, 2, 2)
			r.Step(t.Full(tl.Shape{2, 2}, tl.F32, inf), v, 1, Mask{})
			r.Add(q, k, v, 1, Mask{})
			return r
		}, whole},
		{"a state without keys merged in", func(t *tl.PE, q, k, v tl.Tile) *Running {
			r, none := New(t, 2, 2), New(t, 2, 2)
			r.Add(q, k, v, 1, Mask{})
			none.initialize()
			r.Merge(none)
			r.Merge(New(t, 2, 2))
			return r
		}, whole},
		{"merged into a state without keys", func(t *tl.PE, q, k, v tl.Tile) *Running {
			r, none := New(t, 2, 2), New(t, 2, 2)
			r.Add(q, k, v, 1, Mask{})
			none.initialize()
			none.Merge(r)
			first := New(t, 2, 2)
			first.Merge(none)
			return first
		}, whole},
		{"states without keys merged", func(t *tl.PE, q, k, v tl.Tile) *Running {
			r, none := New(t, 2, 2), New(t, 2, 2)
			r.initialize()
			none.initialize()
			r.Merge(none)
			return r
		}, empty},
	} {
		if got := stateOf(t, test.kernel); !slices.Equal(got, test.want) {
			t.Errorf("%s: o, m, l and out: got\n%v, want\n%v", test.name, got, test.want)
		}
	}
}

// TestScale checks that a negative scale is an error. With a negative scale the largest
// score would not stay the largest.
func TestScale(t *testing.T) {
	r := newContext(t, torch.Options{NoData: true})
	x := torch.Must(r.Zeros(tl.F32, torch.Shape{2, 2}))
	l := torch.Must(r.Launch("negative", func(t *tl.PE, x tl.Ptr) {
		tile := t.Load(x, tl.Shape{2, 2}, tl.F32)
		New(t, 2, 2).Add(tile, tile, tile, -1, Mask{})
	}, x))
	if err := l.Wait(); err == nil {
		t.Error("a scale of -1 is no error")
	}
}

// TestMask checks that masks over 3 keys hide exactly the keys that the documentation of
// Causal says.
func TestMask(t *testing.T) {
	const keys = 3
	for group := 1; group <= 2; group++ {
		for offset := -4; offset <= 4; offset++ {
			rows := 2 * group
			seen := 0
			var want []float64
			for r := range rows {
				for j := range keys {
					if j <= r/group+offset {
						seen++
						want = append(want, 1)
					} else {
						want = append(want, inf)
					}
				}
			}
			mask := Causal(offset, group)
			if got := mask.Hides(rows); got != (seen == 0) {
				t.Errorf("offset %d, group %d: hides all is %v, and %d are seen", offset, group, got, seen)
			}
			if got := mask.hidesSome(keys); got != (seen < rows*keys) {
				t.Errorf("offset %d, group %d: hides some is %v, and %d of %d are seen", offset, group, got, seen, rows*keys)
			}
			self := newContext(t, torch.Options{})
			x := torch.Must(self.Zeros(tl.F32, torch.Shape{rows, keys}))
			torch.Must(self.Launch("mask", func(t *tl.PE, x tl.Ptr) {
				t.Store(x, mask.apply(t, t.Full(tl.Shape{rows, keys}, tl.F32, 1)))
			}, x))
			if got := torch.Must(x.Numpy()).Float64s(); !slices.Equal(got, want) {
				t.Errorf("offset %d, group %d: got %v, want %v", offset, group, got, want)
			}
		}
	}
	if (Mask{}).Hides(1) || (Mask{}).hidesSome(1<<20) {
		t.Error("the zero mask hides something")
	}
}

// TestPipeline checks that a pipeline which adds blocks to two states in turn gives the
// same bits as adding the blocks one by one.
func TestPipeline(t *testing.T) {
	const rows, d, keys, blocks = 4, 8, 5, 7
	n := StateElems(rows, d)
	self := newContext(t, torch.Options{})
	x := torch.Must(self.FromSlice(numbers(blocks*keys*d, 7), tl.F16, torch.Shape{blocks * keys, d}))
	out := torch.Must(self.Zeros(tl.F32, torch.Shape{4 * n}))
	torch.Must(self.Launch("pipeline", func(t *tl.PE, x, out tl.Ptr) {
		var p Pipeline
		q := t.Load(x, tl.Shape{rows, d}, tl.F16)
		load := func(i int) tl.Tile { return t.Load(x.At(i*keys), tl.Shape{keys, d}, tl.F16) }
		var rs [4]*Running // two without and two with the pipeline
		for i := range rs {
			rs[i] = New(t, rows, d)
		}
		for i := range blocks {
			mask := Causal(4*i-8, 1)
			rs[i%2].Add(q, load(i), load(i), 0.5, mask)
			p.Add(rs[2+i%2], q, load(i), load(i), 0.5, mask)
		}
		p.Flush()
		for i, r := range rs {
			r.Store(out.At(i * n))
		}
	}, x, out))
	got := torch.Must(out.Numpy()).Float64s()
	if !slices.Equal(got[2*n:], got[:2*n]) {
		t.Errorf("through a pipeline %v, want %v", got[2*n:], got[:2*n])
	}
}
