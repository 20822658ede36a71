package runner

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/internal/numeric"
	"github.com/kernbench/kernbench/scenario"
)

// chunk is how many elements are compared before looking whether the context has ended.
const chunk = 1 << 16

// compare adds to a report what is wrong with an output. 0 equals -0, and any NaN any
// other. The error is the cause of a context that has ended.
func (r *Report) compare(ctx context.Context, o *scenario.Output, rank, round int, got, want []byte) error {
	d, n := o.DType, o.Elems()
	r.Compared += n
	var open *Mismatch // the span that the element before is in
	end := func() {
		if open == nil {
			return
		}
		open.Got, open.Want = text(d, got, open.Worst), text(d, want, open.Worst)
		if r.Spans++; r.Spans <= MaxMismatches {
			r.Mismatches = append(r.Mismatches, *open)
		}
		open = nil
	}
	for from := 0; from < n; from += chunk {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		to := min(n, from+chunk)
		if size := d.Size(); bytes.Equal(got[from*size:to*size], want[from*size:to*size]) {
			end()
			continue
		}
		for i := from; i < to; i++ {
			if within(o, got, want, i) {
				end()
				continue
			}
			off := ulps(d, got, want, i)
			r.Wrong++
			if open == nil {
				open = &Mismatch{Rank: rank, Round: round, Buffer: o.Name, First: i, Worst: i}
			}
			open.Last = i
			if off > open.ULP {
				open.Worst, open.ULP = i, off
			}
		}
	}
	end()
	return nil
}

// add joins what was found elsewhere.
func (r *Report) add(o Report) {
	r.Compared += o.Compared
	r.Wrong += o.Wrong
	r.Spans += o.Spans
	r.Mismatches = append(r.Mismatches, o.Mismatches...)
	r.Mismatches = r.Mismatches[:min(len(r.Mismatches), MaxMismatches)]
}

// settle puts the spans in order, in a list even if there are none, which it reports.
func (r *Report) settle() (ok bool) {
	r.Mismatches = append([]Mismatch{}, r.Mismatches...)
	slices.SortStableFunc(r.Mismatches, func(a, b Mismatch) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Round, b.Round))
	})
	return r.Wrong == 0
}

// within reports whether element i of an output is what is wanted, or differs by no more than
// the output allows. An infinity is near to itself alone.
func within(o *scenario.Output, got, want []byte, i int) bool {
	off := ulps(o.DType, got, want, i)
	if off == 0 || o.Relative == 0 && o.Absolute == 0 {
		return off == 0
	}
	w := numeric.Get(o.DType, want, i)
	difference := float64(off) // of whole numbers
	if o.DType.IsFloat() {
		difference = math.Abs(numeric.Get(o.DType, got, i) - w)
	}
	return !math.IsInf(difference, 0) && difference <= o.Absolute+o.Relative*math.Abs(w)
}

// ulps is how many values of the dtype lie between two elements.
func ulps(d numeric.DType, a, b []byte, i int) uint64 {
	if !d.IsFloat() {
		x, y := numeric.GetInt(d, a, i), numeric.GetInt(d, b, i)
		if less := x < y; less != (d == numeric.U64 && (x < 0) != (y < 0)) {
			x, y = y, x
		}
		return uint64(x) - uint64(y)
	}
	if x, y := numeric.Get(d, a, i), numeric.Get(d, b, i); math.IsNaN(x) || math.IsNaN(y) {
		if math.IsNaN(x) && math.IsNaN(y) {
			return 0
		}
		return math.MaxUint64
	}
	x, y := ordered(d, a, i), ordered(d, b, i)
	if x < y {
		x, y = y, x
	}
	return uint64(x) - uint64(y)
}

// ordered numbers the values of a float dtype from the lowest to the highest; both
// zeros are 0.
func ordered(d numeric.DType, buf []byte, i int) int64 {
	as := [...]numeric.DType{2: numeric.I16, 4: numeric.I32, 8: numeric.I64}[d.Size()]
	bits := numeric.GetInt(as, buf, i)
	if bits >= 0 {
		return bits
	}
	return -(bits &^ (-1 << (8*d.Size() - 1))) // without the sign
}

// text is an element in as many digits as tell it from others.
func text(d numeric.DType, buf []byte, i int) string {
	switch {
	case d == numeric.U64:
		return strconv.FormatUint(uint64(numeric.GetInt(d, buf, i)), 10)
	case !d.IsFloat():
		return strconv.FormatInt(numeric.GetInt(d, buf, i), 10)
	case d == numeric.F64:
		return fmt.Sprint(numeric.Get(d, buf, i))
	}
	return fmt.Sprint(float32(numeric.Get(d, buf, i)))
}
