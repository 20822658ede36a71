package tl

import (
	"fmt"
	"math"

	"github.com/kernbench/kernbench/oplog"
)

// Option is an option of a load, a store, a put or a get: [Mask] or [Other].
type Option struct {
	masks, fills bool
	valid        oplog.Shape
	other        float64
}

// Mask sets the number of elements of the block that exist along each axis, counted from
// the start of the block. A negative number means none, and a number above the extent of
// the block means all. For example, Mask(n-i) masks a block at element i of a vector of n
// elements. Elements that do not exist are neither read from memory nor written to it;
// [Other] sets the value that they read as.
func Mask(valid ...int) Option {
	o := Option{masks: true}
	o.valid.Rank = int8(min(len(valid), oplog.MaxRank+1))
	for i, n := range valid[:min(len(valid), oplog.MaxRank)] {
		o.valid.Dim[i] = int32(max(0, min(n, math.MaxInt32)))
	}
	return o
}

// Other sets the value that a load returns for elements outside the mask. The default is 0.
// Stores ignore this option.
func Other(v float64) Option { return Option{fills: true, other: v} }

// Load loads a block of memory into TCM. dtype must be the dtype of the pointer.
func (t *PE) Load(p Ptr, s Shape, dtype DType, opts ...Option) Tile {
	t.v = Value{DType: dtype}
	t.setExtents(&t.v.Shape, "Load", s, dtype)
	var b Block
	t.block(&b, "Load", &p, t.v.Shape, dtype, opts)
	if err := t.m.Load(&t.v, b); err != nil {
		panic(t.failBlock("Load", &b, err))
	}
	return Tile{v: t.v, pe: t}
}

// Ref returns a handle to a block of memory. No data moves: [Gemm] and [Stream] stream
// from the memory, and Send sends from it.
func (t *PE) Ref(p Ptr, s Shape, dtype DType) Tile {
	var b Block
	t.block(&b, "Ref", &p, t.extents("Ref", s, dtype), dtype, nil)
	at := b.Ptr // a copy, so that only the pointer escapes to the heap
	return Tile{v: Value{Shape: b.Shape, DType: dtype, InMem: true, Ptr: &at}, pe: t}
}

// Store writes a tile to memory. The tile and the pointer must have the same dtype.
func (t *PE) Store(p Ptr, x Tile, opts ...Option) {
	if err := t.checkUsable(&x); err != nil {
		panic(t.fail("Store", x.v.String(), err))
	}
	var b Block
	t.block(&b, "Store", &p, x.v.Shape, x.v.DType, opts)
	if err := t.m.Store(x.v, b); err != nil {
		panic(t.failBlock("Store", &b, err))
	}
}

// Scratch allocates zeroed memory for a tensor in this PE's TCM until the kernel ends.
func (t *PE) Scratch(s Shape, dtype DType) Ptr {
	v := Value{Shape: t.extents("Scratch", s, dtype), DType: dtype}
	addr, err := t.m.Scratch(v.Bytes())
	if err != nil {
		panic(t.fail("Scratch", v.String(), err))
	}
	p := Ptr{Addr: addr, DType: dtype}
	p.view(&v.Shape)
	return p
}

// block sets b to the memory that operation op reads or writes. It stops the kernel if p,
// s, d and opts do not fit together or the memory is outside of the shard of p.
func (t *PE) block(b *Block, op string, p *Ptr, s oplog.Shape, d DType, opts []Option) {
	err := b.set(p, s, d, opts)
	if err == nil {
		err = b.inShard()
	}
	if err != nil {
		panic(t.failBlock(op, b, err))
	}
}

// failBlock returns an Error of operation op, whose operand is block b. It is a function of
// its own, so that the stack frames of its callers stay small.
//
//go:noinline
func (t *PE) failBlock(op string, b *Block, err error) *Error { return t.fail(op, b.String(), err) }

// extents converts s to an [oplog.Shape]. It stops the kernel if no tile can have the shape
// s or the dtype d.
func (t *PE) extents(op string, s Shape, d DType) (e oplog.Shape) {
	t.setExtents(&e, op, s, d)
	return e
}

// setExtents sets *e to s. It stops the kernel if no tile can have the shape s or the dtype
// d.
func (t *PE) setExtents(e *oplog.Shape, op string, s Shape, d DType) {
	err := setExtents(e, s)
	if err == nil && !d.Valid() {
		err = errDType
	}
	if err != nil {
		panic(t.failShape(op, s, d, err))
	}
}

// failShape returns an Error of operation op, whose tile has shape s and dtype d.
//
//go:noinline
func (t *PE) failShape(op string, s Shape, d DType, err error) *Error {
	return t.fail(op, s.String()+" "+d.String(), err)
}

// set fills in b, a zero Block, with the pointer, the shape, the dtype and the options. It
// returns an error if they do not fit together.
func (b *Block) set(p *Ptr, s oplog.Shape, d DType, opts []Option) error {
	b.Ptr, b.Shape, b.Valid, b.DType = *p, s, s, d
	b.Ptr.view(&b.Shape)
	if p.DType != d || !d.Valid() {
		return b.dtypeError(p)
	}
	for i := range int(s.Rank) {
		n, stride := int64(s.Dim[i]), b.Ptr.Stride[i]
		if n > 1 && stride != 1 && (stride < 0 || stride > maxElems/(n-1)) {
			return b.strideError(i)
		}
	}
	if len(opts) == 0 {
		return nil
	}
	return b.setOptions(opts)
}

// dtypeError returns the error for a block whose dtype is not the dtype of its pointer p, or
// is not valid.
func (b *Block) dtypeError(p *Ptr) error {
	if !p.DType.Valid() {
		return fmt.Errorf("a zero Ptr points nowhere: pointers come from the launch and from Scratch")
	}
	return fmt.Errorf("the pointer is to %v: use that dtype and convert with To, or reinterpret memory with As", p.DType)
}

// strideError returns the error for the stride of an axis, which is negative or too large.
func (b *Block) strideError(axis int) error {
	stride := b.Ptr.Stride[axis]
	if stride < 0 {
		return fmt.Errorf("stride %d of axis %d is negative: give a pointer to the lowest element and a positive stride, or load the parts one by one", stride, axis)
	}
	return fmt.Errorf("stride %d of axis %d is too large: %d elements that far apart reach beyond 2^48", stride, axis, b.Shape.Dim[axis])
}

// setOptions fills in the mask and the value of elements outside the mask.
func (b *Block) setOptions(opts []Option) error {
	for i := range opts {
		o := &opts[i]
		if o.fills {
			b.Fill = o.other
		}
		if !o.masks {
			continue
		}
		if o.valid.Rank != b.Shape.Rank {
			return fmt.Errorf("the mask does not have %d counts: give one for each axis of the block", b.Shape.Rank)
		}
		for i := range b.Shape.Dim[:b.Shape.Rank] {
			b.Valid.Dim[i] = min(b.Shape.Dim[i], o.valid.Dim[i])
		}
	}
	if !fits(b.DType, b.Fill) {
		return fmt.Errorf("%v is not a value of %v: give Other one that is", b.Fill, b.DType)
	}
	return nil
}

// String formats the shape, dtype and mask of a block: "[64] f16 mask [3]".
func (b Block) String() string {
	s := (Value{Shape: b.Shape, DType: b.DType}).String()
	if b.Valid != b.Shape {
		s += " mask " + b.Valid.String()
	}
	return s
}
