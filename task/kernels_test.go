package task

import "github.com/kernbench/kernbench/tl"

// forRows divides the rows of region x over the members of the task. It calls f with the
// first row and the shape of this member's share, if the share is not empty.
func forRows(t *tl.PE, x tl.Ptr, f func(first int, s tl.Shape)) {
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

// fill sets every element of x to c.
func fill(t *tl.PE, x tl.Ptr, c int) {
	forRows(t, x, func(first int, s tl.Shape) { t.Store(x.At(first), t.Full(s, tl.I32, float64(c))) })
}

// affine computes x = 3 x + c.
func affine(t *tl.PE, x tl.Ptr, c int) {
	forRows(t, x, func(first int, s tl.Shape) {
		t.Store(x.At(first), t.Load(x.At(first), s, tl.I32).Mul(3).Add(c))
	})
}

// mix computes z = x - 2 y + c.
func mix(t *tl.PE, x, y, z tl.Ptr, c int) {
	forRows(t, z, func(first int, s tl.Shape) {
		a, b := t.Load(x.At(first), s, tl.I32), t.Load(y.At(first), s, tl.I32)
		t.Store(z.At(first), a.Sub(b.Mul(2)).Add(c))
	})
}
