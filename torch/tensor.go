package torch

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/numeric"
	"github.com/kernbench/kernbench/internal/oplog"
	"github.com/kernbench/kernbench/topology"
)

// Tensor is an array in the HBM of one or more PEs.
type Tensor struct {
	ctx    *Context
	name   string
	shape  Shape
	dtype  DType
	base   memory.VA
	shards []shard
	copies bool // every shard is the whole tensor
}

// shard is the part of a tensor that one PE holds.
type shard struct {
	pe    machine.PEID
	va    memory.VA
	rows  int // of the first axis
	bytes memory.Bytes
}

// Placement says which PEs hold a tensor.
type Placement struct {
	pes  []int
	copy bool
}

// On lays a tensor out over PEs: the first axis is cut into parts of equal size,
// the last of which may be smaller or empty. On one PE it is whole.
func On(pes ...int) Placement { return Placement{pes: pes} }

// Replicate gives every PE a copy.
func Replicate(pes ...int) Placement { return Placement{pes: pes, copy: true} }

// Zeros is a tensor of zeros. Nothing is copied to make it.
func (c *Context) Zeros(dtype DType, shape Shape, on ...Placement) (*Tensor, error) {
	x, err := c.allocate("Zeros", dtype, shape, on)
	if err != nil {
		return nil, err
	}
	return x, x.each(func(va memory.VA, n, _ memory.Bytes) error { return c.m.Clear(va, n) })
}

// FromSlice is a tensor of the elements of a slice of numbers, each rounded to the
// dtype, in row-major order. The copy from the host takes its time.
func (c *Context) FromSlice(data any, dtype DType, shape Shape, on ...Placement) (*Tensor, error) {
	count, ok := numbers(data)
	switch n := elems(shape); {
	case !ok:
		panic(misuse("FromSlice", "%T is not a slice of numbers", data))
	case count != n:
		panic(misuse("FromSlice", "%d elements for shape %v, which has %d", count, shape, n))
	}
	x, err := c.allocate("FromSlice", dtype, shape, on)
	if err != nil {
		return nil, err
	}
	var values []byte
	if c.m.Log != nil {
		values = encode(data, dtype)
	}
	err = x.each(func(va memory.VA, n, off memory.Bytes) error {
		if values == nil {
			return c.m.CopyIn(va, n, nil)
		}
		return c.m.CopyIn(va, n, values[off:off+n])
	})
	if err != nil {
		return nil, err
	}
	return x, c.run()
}

// maxElems bounds the elements of a tensor, so that its size in bytes is an int64.
const maxElems = 1 << 48

// most is the largest piece in which a host copies: the op log counts elements in
// 32 bits.
const most memory.Bytes = 1 << 30

// each calls fn for each shard, in pieces of at most `most` bytes, with where they
// are and where in the tensor they belong.
func (x *Tensor) each(fn func(va memory.VA, n, off memory.Bytes) error) error {
	var start memory.Bytes
	for _, s := range x.shards {
		for at := memory.Bytes(0); at < s.bytes; at += most {
			n := min(most, s.bytes-at)
			if err := fn(s.va+memory.VA(at), n, start+at); err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
		}
		if !x.copies {
			start += s.bytes
		}
	}
	return nil
}

func elems(shape Shape) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func (c *Context) allocate(op string, dtype DType, shape Shape, on []Placement) (*Tensor, error) {
	if err := c.operation(op); err != nil {
		return nil, err
	}
	place := Placement{pes: []int{0}}
	switch {
	case len(on) > 1:
		panic(misuse(op, "%d placements: give one", len(on)))
	case len(on) == 1:
		place = on[0]
	}
	if len(shape) > oplog.MaxRank {
		panic(misuse(op, "shape %v has more than %d axes", shape, oplog.MaxRank))
	}
	size := 1
	for _, d := range shape {
		if d < 0 {
			panic(misuse(op, "shape %v has a negative extent", shape))
		}
		if d > 0 && size > maxElems/d {
			panic(misuse(op, "shape %v has more than 2^48 elements", shape))
		}
		size *= max(d, 1)
	}
	if !dtype.Valid() {
		panic(misuse(op, "no such dtype: use torch.F16 to torch.U64"))
	}
	if len(place.pes) == 0 {
		panic(misuse(op, "no PEs to hold the tensor"))
	}
	c.tensors++
	x := &Tensor{ctx: c, name: fmt.Sprintf("tensor %d %v %v", c.tensors, shape, dtype), shape: slices.Clone(shape), dtype: dtype, copies: place.copy}
	rows, rowBytes := 1, memory.Bytes(elems(shape))*memory.Bytes(dtype.Size())
	if len(shape) > 0 {
		rows = shape[0]
		rowBytes = memory.Bytes(elems(shape[1:])) * memory.Bytes(dtype.Size())
	}
	per := rows
	if !place.copy {
		per = (rows + len(place.pes) - 1) / len(place.pes)
	}
	var segments []memory.Segment
	for i, pe := range place.pes {
		if pe < 0 || pe >= c.NumPEs() {
			panic(misuse(op, "PE %d of a system that has 0 to %d", pe, c.NumPEs()-1))
		}
		if slices.Contains(place.pes[:i], pe) {
			panic(misuse(op, "PE %d holds the tensor twice", pe))
		}
		held := per
		if !place.copy {
			held = max(0, min(per, rows-i*per))
		}
		s := shard{pe: machine.PEID(pe), rows: held, bytes: memory.Bytes(held) * rowBytes}
		id := c.m.PE(s.pe).Memory(topology.KindHBM)
		addr, err := c.m.Memory(id).Allocator.Alloc(s.bytes, 256)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %s: %w", op, x.name, err), c.free(segments))
		}
		if s.bytes > 0 {
			segments = append(segments, memory.Segment{Memory: id, Addr: addr, Bytes: s.bytes})
		}
		x.shards = append(x.shards, s)
	}
	base, err := c.m.Space.Map(x.name, segments)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	x.base = base
	for i := range x.shards {
		x.shards[i].va = base
		base += memory.VA(x.shards[i].bytes)
	}
	return x, nil
}

// Free gives the tensor's memory back.
func (x *Tensor) Free() error {
	segments, err := x.ctx.m.Space.Unmap(x.base)
	if err != nil {
		return err
	}
	return x.ctx.free(segments)
}

func (c *Context) free(segments []memory.Segment) (err error) {
	for _, s := range segments {
		err = errors.Join(err, c.m.Memory(s.Memory).Allocator.Free(s.Addr))
	}
	return err
}

// Shape is the tensor's extents, and DType the type of its elements.
func (x *Tensor) Shape() Shape { return slices.Clone(x.shape) }

// DType is the type of the elements.
func (x *Tensor) DType() DType { return x.dtype }

// Array is the values of a tensor on the host, in row-major order.
type Array struct {
	Shape Shape
	DType DType
	Bytes []byte // little-endian
}

// Numpy copies the tensor to the host: all shards, in order, or the first copy of one
// that is replicated. The copy takes its time. It is an error without values, see
// HasData.
func (x *Tensor) Numpy() (*Array, error) {
	if x.copies {
		return x.copyOf(0)
	}
	return x.read(x.shards)
}

// copyOf is copy i of a replicated tensor.
func (x *Tensor) copyOf(i int) (*Array, error) { return x.read(x.shards[i : i+1]) }

// read copies shards to the host.
func (x *Tensor) read(list []shard) (*Array, error) {
	c := x.ctx
	if c.data == nil {
		return nil, fmt.Errorf("%s has no values: this run was made without data", x.name)
	}
	if err := c.operation("Numpy"); err != nil {
		return nil, err
	}
	a := &Array{Shape: x.Shape(), DType: x.dtype}
	var reads []oplog.ID
	shards := *x
	shards.shards = list
	err := shards.each(func(va memory.VA, n, _ memory.Bytes) error {
		id, err := c.m.CopyOut(va, n)
		reads = append(reads, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := c.run(); err != nil {
		return nil, err
	}
	for _, id := range reads {
		a.Bytes = append(a.Bytes, c.data.Result(id)...)
		c.data.Forget(id)
	}
	return a, nil
}

// Len is the number of elements.
func (a *Array) Len() int { return elems(a.Shape) }

// At is one element, by its index in row-major order.
func (a *Array) At(i int) float64 { return numeric.Get(a.DType, a.Bytes, i) }

// Float64s is all elements.
func (a *Array) Float64s() []float64 {
	out := make([]float64, a.Len())
	for i := range out {
		out[i] = a.At(i)
	}
	return out
}

// Wrong is the index of the first element that is not what a slice of numbers,
// rounded to the dtype, says, and -1 if all are. Any NaN equals any NaN.
func (a *Array) Wrong(want any) int {
	n, ok := numbers(want)
	if !ok || n != a.Len() {
		panic(misuse("Wrong", "%T of %d elements for an array of %d", want, n, a.Len()))
	}
	return numeric.Equal(a.DType, a.Bytes, encode(want, a.DType))
}

// numbers is how many elements a slice of numbers has, if it is one.
func numbers(data any) (n int, ok bool) {
	v := reflect.ValueOf(data)
	if v.Kind() != reflect.Slice {
		return 0, false
	}
	kind := v.Type().Elem().Kind()
	return v.Len(), kind >= reflect.Int && kind <= reflect.Float64 && kind != reflect.Uintptr && kind != reflect.Uint
}

// encode is a slice of numbers as the bytes of a dtype.
func encode(data any, d DType) []byte {
	switch v := data.(type) {
	case []float64:
		return encodeAll(v, d)
	case []float32:
		return encodeAll(v, d)
	case []int:
		return encodeAll(v, d)
	case []int8:
		return encodeAll(v, d)
	case []int16:
		return encodeAll(v, d)
	case []int32:
		return encodeAll(v, d)
	case []int64:
		return encodeAll(v, d)
	case []uint8:
		return encodeAll(v, d)
	case []uint16:
		return encodeAll(v, d)
	case []uint32:
		return encodeAll(v, d)
	case []uint64:
		return encodeAll(v, d)
	}
	panic(misuse("FromSlice", "%T is not a slice of numbers", data))
}

type number interface {
	~float64 | ~float32 | ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

func encodeAll[T number](v []T, d DType) []byte {
	out := make([]byte, len(v)*d.Size())
	half := 0.5
	whole := T(half) == 0 // T has no fractions
	for i, x := range v {
		if whole && !d.IsFloat() { // beyond 2^53 a float64 would not do
			numeric.SetInt(d, out, i, int64(x))
		} else {
			numeric.Set(d, out, i, float64(x))
		}
	}
	return out
}
