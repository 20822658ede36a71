package torch

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/numeric"
)

// Check compares a tensor with a slice of numbers, rounded to its dtype, element by
// element and bit for bit, and adds the result to the report: a bench with a wrong
// value fails. Without values it does nothing.
func (c *Context) Check(name string, x *Tensor, want any) error {
	if !c.HasData() {
		return nil
	}
	if n, ok := numbers(want); !ok || n != elems(x.shape) {
		panic(misuse("Check", "%s: %T of %d elements for a tensor of %v", name, want, n, x.shape))
	}
	check := Check{Name: name}
	copies := 1
	if x.copies {
		copies = len(x.shards)
	}
	right := Array{Shape: x.shape, DType: x.dtype, Bytes: encode(want, x.dtype)}
	for k := range copies {
		got, err := x.Numpy()
		which := ""
		if x.copies {
			got, err = x.copyOf(k)
			which = fmt.Sprintf(" of the copy on PE %d", x.shards[k].pe)
		}
		if err != nil {
			return err
		}
		check.Elems += got.Len()
		if i := got.Wrong(want); i >= 0 && check.Wrong == "" {
			check.Wrong = fmt.Sprintf("element %d%s is %s, want %s", i, which, got.text(i), right.text(i))
		}
	}
	c.Report.Checks = append(c.Report.Checks, check)
	return nil
}

// text is one element to the last digit.
func (a *Array) text(i int) string {
	if a.DType.IsFloat() {
		return fmt.Sprint(a.At(i))
	}
	n := numeric.GetInt(a.DType, a.Bytes, i)
	if a.DType.IsSigned() {
		return fmt.Sprint(n)
	}
	return fmt.Sprint(uint64(n))
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
