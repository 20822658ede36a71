package torch

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/numeric"
)

// Check compares a tensor with a slice of numbers, rounded to its dtype, or with an
// *Array, element by element and bit for bit, and adds the result to the report: a bench with a wrong
// value fails. Without values it does nothing.
func (c *Context) Check(name string, x *Tensor, want any) error {
	if !c.HasData() {
		return nil
	}
	right := Array{Shape: x.shape, DType: x.dtype}
	switch want := want.(type) {
	case *Array:
		if want.DType != x.dtype || want.Shape.String() != x.shape.String() {
			panic(misuse("Check", "%s: %v %v for %s", name, want.DType, want.Shape, x.name))
		}
		right.Bytes = want.Bytes
	default:
		checkNumbers("Check", want, x.shape)
		right.Bytes = encode(want, x.dtype)
	}
	check := Check{Name: name}
	copies := 0
	for _, s := range x.shards {
		copies = max(copies, s.copy+1)
	}
	for k := range copies {
		got, err := x.copyOf("Check", k)
		if err != nil {
			return err
		}
		which := ""
		if copies > 1 {
			which = " of the copy on " + x.where(k)
		}
		check.Elems += got.Len()
		if i := numeric.Equal(x.dtype, got.Bytes, right.Bytes); i >= 0 && check.Wrong == "" {
			check.Wrong = fmt.Sprintf("element %d%s is %s, want %s", i, which, got.text(i), right.text(i))
		}
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
