package torch

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/kernbench/kernbench/numeric"
)

// Check is the result of a comparison of values with a reference, or of another condition,
// such as an upper bound on a time.
type Check struct {
	Name  string
	Elems int    // number of compared elements; 0 if no values were compared
	Wrong string // the first difference; "" if there is none
}

// Checks is a list of checks.
type Checks []Check

// OK reports whether none of the checks has found a difference.
func (cs Checks) OK() bool {
	return !slices.ContainsFunc(cs, func(c Check) bool { return c.Wrong != "" })
}

// Check compares x with want, bit for bit, and adds the result to Checks. want is a slice
// of numbers, which are rounded to the dtype of x, or an *Array of the same shape and
// dtype. For an *Array of another shape or dtype, Check returns an error and does not
// panic, because the *Array may come from a file. name is the name of the result; if it is
// "", the result has the name of x. A bench fails if one of its checks finds a difference.
// In a run without values, Check does nothing.
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

// CheckFunc compares x with the results of the function `want`, bit for bit, and adds the
// result to Checks. Element i of x, in row-major order, must be want(i), rounded to the
// dtype of x. `name` has the same meaning as in Check. In a run without values, CheckFunc
// does not call `want`.
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

// CheckWithin compares x with want and adds the result to Checks. Element i of x, in
// row-major order, may differ from want[i] by at most tolerance[i]. NaN and infinities
// match only themselves.
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

// check compares the copies of x and adds the result to Checks. The function `wrong`
// receives the values of one copy and a text that says which copy it is, and returns the
// first difference as text, or "". check calls `wrong` for one copy after another until it
// finds a difference.
func (r *Rank) check(op, name string, x *Tensor, wrong func(got *Array, which string) string) error {
	check := Check{Name: cmp.Or(name, x.name)}
	_, copies, _ := x.countParts()
	for k := range copies {
		got, err := x.copyOf(r, op, k)
		if err != nil {
			return err
		}
		which := ""
		if copies > 1 {
			which = " of the copy on " + x.copyHolders(k)
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

// copyHolders returns a text with the PEs that hold copy number k of the tensor: "PE 3", or
// "PEs [3 4]".
func (x *Tensor) copyHolders(k int) string {
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
