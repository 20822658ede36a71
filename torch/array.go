package torch

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"

	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/npy"
	"github.com/kernbench/kernbench/numeric"
)

// Array holds the values of a tensor on the host, in row-major order.
type Array struct {
	Shape Shape
	DType DType
	Bytes []byte // little-endian
	// Bool marks an array of bools, stored as 0 and 1 of dtype U8. LoadNumpy sets it for a
	// file of bools. Save then writes bools, and String prints True and False. Tensors have
	// no bool dtype: FromNumpy makes a tensor of U8, and Numpy does not set Bool.
	Bool bool
}

// maxNumpyBytes is the limit on the size of a .npy file.
const maxNumpyBytes = 64 << 30

// LoadNumpy reads a .npy file.
func LoadNumpy(name string) (*Array, error) { return loadNumpy(context.Background(), name) }

// loadNumpy reads the .npy file with the given name. It gives up when ctx is done.
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

// Save writes the array to a .npy file with the given name. NumPy has no bf16, so bf16 is
// written as two-byte items without a type ('V2'). If Bool is set and an element is neither
// 0 nor 1, Save returns an error.
func (a *Array) Save(name string) error {
	var data bytes.Buffer
	if err := npy.Write(&data, &npy.Array{Shape: a.Shape, DType: a.DType, Bytes: a.Bytes, Bool: a.Bool}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return file.Write(name, data.Bytes())
}

// Len returns the number of elements.
func (a *Array) Len() int { return elems(a.Shape) }

// At returns the element with index i in row-major order.
func (a *Array) At(i int) float64 { return numeric.Get(a.DType, a.Bytes, i) }

// Float64s returns all elements as float64, in row-major order.
func (a *Array) Float64s() []float64 {
	return lists.Make(a.Len(), a.At)
}

// Wrong compares the array with want, a slice of numbers, and returns the index of the
// first element that differs. It returns -1 if all are equal. The numbers are first rounded
// to the dtype. NaN equals NaN.
func (a *Array) Wrong(want any) int {
	n, ok := numbersLen(want)
	refuse(!ok || n != a.Len(), "Wrong", "%T of %d elements for an array of %d", want, n, a.Len())
	return numeric.Equal(a.DType, a.Bytes, encode(want, a.DType))
}

// numbersLen returns the length of data if data is a slice. ok reports whether data is a
// slice of numbers or bools; the types uint and uintptr do not count as numbers.
func numbersLen(data any) (n int, ok bool) {
	v := reflect.ValueOf(data)
	if v.Kind() != reflect.Slice {
		return 0, false
	}
	kind := v.Type().Elem().Kind()
	return v.Len(), kind >= reflect.Bool && kind <= reflect.Float64 && kind != reflect.Uintptr && kind != reflect.Uint
}

// encode returns the bytes of data, a slice of numbers or bools, as elements of the dtype
// d. Bools become 0 and 1.
func encode(data any, d DType) []byte {
	v := reflect.ValueOf(data)
	out := make([]byte, v.Len()*d.Size())
	switch numbers := data.(type) { // the usual inputs, without reflection
	case []int:
		return encodeAll(out, numbers, d)
	case []float32:
		if d == F16 || d == BF16 {
			return encodeHalf(out, numbers, d)
		}
		return encodeAll(out, numbers, d)
	case []float64:
		return encodeAll(out, numbers, d)
	}
	for i := range v.Len() {
		whole, number := int64(0), 0.0 // a float64 cannot hold all integers beyond 2^53
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

// encodeHalf does the same as encodeAll for dtypes F16 and BF16. It converts many elements
// at a time.
func encodeHalf(out []byte, numbers []float32, d DType) []byte {
	var block [4096]byte
	for to := out; len(numbers) > 0; {
		n := min(len(numbers), len(block)/4)
		for i, x := range numbers[:n] {
			binary.LittleEndian.PutUint32(block[4*i:], math.Float32bits(x))
		}
		numeric.Cast(d, to[:2*n], F32, block[:4*n])
		to, numbers = to[2*n:], numbers[n:]
	}
	return out
}

// encodeAll writes numbers to out as elements of the dtype d, and returns out.
func encodeAll[T int | float32 | float64](out []byte, numbers []T, d DType) []byte {
	half := 0.5
	whole := T(half) == 0 && !d.IsFloat() // integers to integers: a float64 cannot hold all integers beyond 2^53
	for i, x := range numbers {
		if whole {
			numeric.SetInt(d, out, i, int64(x))
		} else {
			numeric.Set(d, out, i, float64(x))
		}
	}
	return out
}
