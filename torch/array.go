package torch

import (
	"bytes"
	"context"
	"fmt"
	"reflect"

	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/npy"
	"github.com/kernbench/kernbench/numeric"
)

// Array is the values of a tensor on the host, in row-major order.
type Array struct {
	Shape Shape
	DType DType
	Bytes []byte // little-endian
	// Bool says that the elements are bools, 0 and 1 of dtype U8: those of a file of bools
	// are. Save then writes bools, and String shows True and False. Tensors have no such
	// dtype: FromNumpy makes one of U8, and Numpy does not set Bool.
	Bool bool
}

// maxNumpyBytes is the limit on the size of a .npy file.
const maxNumpyBytes = 64 << 30

// LoadNumpy reads a .npy file.
func LoadNumpy(name string) (*Array, error) { return loadNumpy(context.Background(), name) }

// loadNumpy reads a .npy file, until ctx ends.
func loadNumpy(ctx context.Context, name string) (*Array, error) {
	f, err := file.Open(ctx, name, maxNumpyBytes)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := npy.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Array{a.Shape, a.DType, a.Bytes, a.Bool}, nil
}

// Save writes the array to a .npy file. bf16, which NumPy does not have, is written
// as two-byte items without a type ('V2'). Bools other than 0 and 1 are an error.
func (a *Array) Save(name string) error {
	var data bytes.Buffer
	if err := npy.Write(&data, &npy.Array{Shape: a.Shape, DType: a.DType, Bytes: a.Bytes, Bool: a.Bool}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return file.Write(name, data.Bytes())
}

// Len returns the number of elements.
func (a *Array) Len() int { return elems(a.Shape) }

// At returns one element, by its index in row-major order.
func (a *Array) At(i int) float64 { return numeric.Get(a.DType, a.Bytes, i) }

// Float64s is all elements.
func (a *Array) Float64s() []float64 {
	return lists.Make(a.Len(), a.At)
}

// Wrong returns the index of the first element that is not what a slice of numbers,
// rounded to the dtype, says, and -1 if all are. Any NaN equals any NaN.
func (a *Array) Wrong(want any) int {
	n, ok := numbers(want)
	refuse(!ok || n != a.Len(), "Wrong", "%T of %d elements for an array of %d", want, n, a.Len())
	return numeric.Equal(a.DType, a.Bytes, encode(want, a.DType))
}

// numbers returns the length of a slice of numbers, or of bools, if data is one.
func numbers(data any) (n int, ok bool) {
	v := reflect.ValueOf(data)
	if v.Kind() != reflect.Slice {
		return 0, false
	}
	kind := v.Type().Elem().Kind()
	return v.Len(), kind >= reflect.Bool && kind <= reflect.Float64 && kind != reflect.Uintptr && kind != reflect.Uint
}

// encode returns a slice of numbers, or of bools, which are 0 and 1, as bytes of a dtype.
func encode(data any, d DType) []byte {
	v := reflect.ValueOf(data)
	out := make([]byte, v.Len()*d.Size())
	switch numbers := data.(type) { // the usual inputs, without reflection
	case []int:
		return encodeAll(out, numbers, d)
	case []float32:
		return encodeAll(out, numbers, d)
	case []float64:
		return encodeAll(out, numbers, d)
	}
	for i := range v.Len() {
		whole, number := int64(0), 0.0 // beyond 2^53 a float64 would not do for integers
		switch x := v.Index(i); {
		case x.CanFloat():
			numeric.Set(d, out, i, x.Float())
			continue
		case x.CanInt():
			whole, number = x.Int(), float64(x.Int())
		case x.CanUint():
			whole, number = int64(x.Uint()), float64(x.Uint())
		case x.Bool():
			whole, number = 1, 1
		}
		if d.IsFloat() {
			numeric.Set(d, out, i, number)
		} else {
			numeric.SetInt(d, out, i, whole)
		}
	}
	return out
}

// encodeAll writes numbers to out as elements of a dtype.
func encodeAll[T int | float32 | float64](out []byte, numbers []T, d DType) []byte {
	half := 0.5
	whole := T(half) == 0 && !d.IsFloat() // beyond 2^53 a float64 would not do
	for i, x := range numbers {
		if whole {
			numeric.SetInt(d, out, i, int64(x))
		} else {
			numeric.Set(d, out, i, float64(x))
		}
	}
	return out
}
