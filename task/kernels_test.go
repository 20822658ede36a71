package task

import "github.com/kernbench/kernbench/tl"

// rows calls f with the rows of a region that are a member's, if there are any, and the
// shape of the block that they are.
func rows(t *tl.PE, x tl.Ptr, f func(first int, s tl.Shape)) {
	var s tl.Shape
	for axis := range int(x.Rank) {
		s = append(s, x.Dim(axis))
	}
	each := tl.CDiv(s[0], t.NumPrograms(0))
	first := each * t.ProgramID(0)
	s[0] = min(each, s[0]-first)
	for _, n := range s {
		if n <= 0 {
			return
		}
	}
	f(first, s)
}

// fill is x = c.
func fill(t *tl.PE, x tl.Ptr, c int) {
	rows(t, x, func(first int, s tl.Shape) { t.Store(x.At(first), t.Full(s, tl.I32, float64(c))) })
}

// affine is x = 3 x + c.
func affine(t *tl.PE, x tl.Ptr, c int) {
	rows(t, x, func(first int, s tl.Shape) {
		t.Store(x.At(first), t.Load(x.At(first), s, tl.I32).Mul(3).Add(c))
	})
}

// mix is z = x - 2 y + c.
func mix(t *tl.PE, x, y, z tl.Ptr, c int) {
	rows(t, z, func(first int, s tl.Shape) {
		a, b := t.Load(x.At(first), s, tl.I32), t.Load(y.At(first), s, tl.I32)
		t.Store(z.At(first), a.Sub(b.Mul(2)).Add(c))
	})
}
