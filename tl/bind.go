package tl

import (
	"errors"
	"fmt"
	"math"
	"reflect"
)

// Binding is a kernel with the arguments of a launch. Launches make it; a kernel is
// given what is in it.
type Binding struct {
	fn   reflect.Value
	args []reflect.Value // without the PE; those of tensors are filled in by Call
	at   []int           // which argument each tensor is
}

var (
	peType  = reflect.TypeFor[*PE]()
	ptrType = reflect.TypeFor[Ptr]()
)

// Bind checks that a kernel takes the arguments, of which those of type T are
// tensors: they go to parameters of type Ptr, numbers to parameters of their kind.
// The tensors come back in order.
func Bind[T any](name string, kernel any, args []any) (*Binding, []T, error) {
	b := &Binding{fn: reflect.ValueOf(kernel)}
	if kernel == nil || b.fn.Kind() == reflect.Func && b.fn.IsNil() {
		return nil, nil, errors.New(name + ": the kernel is nil")
	}
	t := b.fn.Type()
	if t.Kind() != reflect.Func || t.NumIn() == 0 || t.In(0) != peType || t.NumOut() > 0 || t.IsVariadic() {
		return nil, nil, fmt.Errorf("%s is a %v: a kernel is a func(*tl.PE, ...) without results", name, t)
	}
	if t.NumIn()-1 != len(args) {
		return nil, nil, fmt.Errorf("%s takes %d arguments after the PE, and %d are given", name, t.NumIn()-1, len(args))
	}
	var tensors []T
	for i, a := range args {
		want := t.In(i + 1)
		if x, ok := a.(T); ok {
			if want != ptrType {
				return nil, nil, fmt.Errorf("argument %d of %s is a %v, and a tensor is given, which is a tl.Ptr", i+1, name, want)
			}
			tensors, b.at = append(tensors, x), append(b.at, i)
			b.args = append(b.args, reflect.Value{})
			continue
		}
		v, ok := convert(a, want)
		if !ok {
			return nil, nil, fmt.Errorf("argument %d of %s is a %v, and %v, a %T, is given", i+1, name, want, a, a)
		}
		b.args = append(b.args, v)
	}
	return b, tensors, nil
}

// convert is a value as a parameter's type: the same, or a number that does not
// change by it.
func convert(a any, want reflect.Type) (reflect.Value, bool) {
	v := reflect.ValueOf(a)
	if !v.IsValid() {
		return v, false
	}
	if v.Type().AssignableTo(want) {
		return v, true
	}
	isNumber := func(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 }
	if !isNumber(v.Type()) || !isNumber(want) {
		return v, false
	}
	out := v.Convert(want)
	back := out.Convert(v.Type())
	negative := func(v reflect.Value) bool { return v.CanInt() && v.Int() < 0 || v.CanFloat() && v.Float() < 0 }
	same := back.Equal(v) && negative(v) == negative(out) && (out.CanFloat() || !v.CanFloat() || v.Float() == math.Trunc(v.Float()))
	return out, same
}

// Call runs the kernel on a PE, with a pointer for each tensor.
func (b *Binding) Call(t *PE, tensors ...Ptr) {
	in := make([]reflect.Value, 0, 1+len(b.args))
	in = append(in, reflect.ValueOf(t))
	in = append(in, b.args...)
	for i, p := range tensors {
		in[1+b.at[i]] = reflect.ValueOf(p)
	}
	b.fn.Call(in)
}
