package torch

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/kernbench/kernbench/numeric"
)

// Check is a comparison of values with a reference, or of something else that has to
// hold, such as of times with a bound.
type Check struct {
	Name  string
	Elems int    // of tensors that were compared; 0 if the check is not of values
	Wrong string // the first difference; empty if there is none
}

// Checks is a list of checks.
type Checks []Check

// OK reports whether no check found a difference.
func (cs Checks) OK() bool {
	return !slices.ContainsFunc(cs, func(c Check) bool { return c.Wrong != "" })
}

// Check compares a tensor with a slice of numbers, rounded to its dtype, or with an *Array,
// element by element and bit for bit, and adds the result to Checks, under the name of the
// tensor if none is given: a bench with a wrong value fails. An *Array of another shape or
// dtype is an error, since it may come from a file. Without values Check does nothing.
func (r *Rank) Check(name string, x *Tensor, want any) error {
	if !r.HasData() {
		return nil
	}
	right := Array{Shape: x.shape, DType: x.dtype}
	switch want := want.(type) {
	case *Array:
		if want.DType != x.dtype || want.Shape.String() != x.shape.String() {
			return misuse("Check", "%s: %v %v is wanted of %s: shape and dtype must be the same", name, want.Shape, want.DType, x.name)
		}
		right.Bytes = want.Bytes
	default:
		checkNumbers("Check", want, x.name, x.Numel())
		right.Bytes = encode(want, x.dtype)
	}
	return r.check("Check", name, x, func(got *Array, which string) string {
		i := numeric.Equal(x.dtype, got.Bytes, right.Bytes)
		if i < 0 {
			return ""
		}
		return fmt.Sprintf("element %d%s is %s, want %s", i, which, got.text(i), right.text(i))
	})
}

// CheckFunc is Check with the elements that a function returns for their numbers in
// row-major order. The function is not called in a run without values.
func (r *Rank) CheckFunc(name string, x *Tensor, want func(i int) float64) error {
	if !r.HasData() {
		return nil
	}
	right := Array{Shape: Shape{1}, DType: x.dtype, Bytes: make([]byte, x.dtype.Size())}
	return r.check("CheckFunc", name, x, func(got *Array, which string) string {
		size := x.dtype.Size()
		for i := range got.Len() {
			numeric.Set(x.dtype, right.Bytes, 0, want(i))
			if numeric.Equal(x.dtype, got.Bytes[i*size:(i+1)*size], right.Bytes) >= 0 {
				return fmt.Sprintf("element %d%s is %s, want %s", i, which, got.text(i), right.text(0))
			}
		}
		return ""
	})
}

// CheckWithin compares a tensor with numbers, element by element, each of which may be
// off by as much as its tolerance, and adds the result to Checks. NaN
// is right where NaN is wanted, and nowhere else, and so is an infinity.
func (r *Rank) CheckWithin(name string, x *Tensor, want, tolerance []float64) error {
	if !r.HasData() {
		return nil
	}
	checkNumbers("CheckWithin", want, x.name, x.Numel())
	checkNumbers("CheckWithin", tolerance, x.name, x.Numel())
	return r.check("CheckWithin", name, x, func(got *Array, which string) string {
		for i, v := range got.Float64s() {
			if off := math.Abs(v - want[i]); !(off <= tolerance[i] && off < math.Inf(1) || v == want[i] || math.IsNaN(v) && math.IsNaN(want[i])) {
				return fmt.Sprintf("element %d%s is %s, want %g ± %.2g", i, which, got.text(i), want[i], tolerance[i])
			}
		}
		return ""
	})
}

// check compares every copy of a tensor: wrong is the first difference, or nothing, and
// is told which copy it is.
func (r *Rank) check(op, name string, x *Tensor, wrong func(got *Array, which string) string) error {
	check := Check{Name: cmp.Or(name, x.name)}
	_, copies, _ := x.numbers()
	for k := range copies {
		got, err := x.copyOf(r, op, k)
		if err != nil {
			return err
		}
		which := ""
		if copies > 1 {
			which = " of the copy on " + x.where(k)
		}
		check.Elems += got.Len()
		if check.Wrong == "" {
			check.Wrong = wrong(got, which)
		}
	}
	r.checks = append(r.checks, check)
	return nil
}

// Checks returns the results of Check, CheckFunc and CheckWithin so far.
func (c *Context) Checks() Checks { return c.checks }

// where names the PEs that hold copy k.
func (x *Tensor) where(k int) string {
	var pes []int
	for _, s := range x.shards {
		if s.copy == k {
			pes = append(pes, int(s.at))
		}
	}
	if len(pes) == 1 {
		return fmt.Sprintf("PE %d", pes[0])
	}
	return fmt.Sprintf("PEs %v", pes)
}
