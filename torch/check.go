package torch

import "fmt"

// Check compares a tensor with a slice of numbers, rounded to its dtype, element by
// element and bit for bit, and adds the result to the report: a bench with a wrong
// value fails. Without values it does nothing.
func (c *Context) Check(name string, x *Tensor, want any) error {
	if !c.HasData() {
		return nil
	}
	got, err := x.Numpy()
	if err != nil {
		return err
	}
	check := Check{Name: name, Elems: got.Len()}
	if i := got.Wrong(want); i >= 0 {
		right := Array{Shape: got.Shape, DType: got.DType}
		right.Bytes = encode(want, got.DType)
		check.Wrong = fmt.Sprintf("element %d is %v, want %v", i, got.At(i), right.At(i))
	}
	c.Report.Checks = append(c.Report.Checks, check)
	return nil
}

// OK reports whether no check found a difference.
func (r *Report) OK() bool {
	for _, c := range r.Checks {
		if c.Wrong != "" {
			return false
		}
	}
	return true
}
