package tl

import (
	"fmt"
	"io"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/numeric"
)

// Tile is a handle to an immutable block of elements in TCM, or to memory if it comes from
// [PE.Ref]. Operations return new tiles. A tile belongs to the PE that created it and
// exists until the kernel ends.
type Tile struct {
	v  Value
	pe *PE
	// Kernels copy tiles often. With a size that is a multiple of 16 bytes, the moves of a
	// copy do not overlap, and the next copy need not wait until they are in the cache.
	_ uint64
}

// Shape returns the extents of the tile.
func (x Tile) Shape() Shape {
	s := make(Shape, x.v.Shape.Rank)
	for i := range s {
		s[i] = int(x.v.Shape.Dim[i])
	}
	return s
}

// Dim returns the extent of an axis. A negative axis counts from the end.
func (x Tile) Dim(i int) int {
	i, err := axis(x.v.Shape, i)
	x.must("Dim", err)
	return int(x.v.Shape.Dim[i])
}

// DType returns the type of the elements.
func (x Tile) DType() DType { return x.v.DType }

// Item returns the value of a tile of one element. The machine must first compute
// everything that the value depends on, which is slow. Item is an error under --data=off.
func (x Tile) Item() float64 {
	data := x.bytes("Item")
	if n := x.v.Shape.Elems(); n != 1 {
		panic(x.pe.fail("Item", x.v.String(), fmt.Errorf("%d elements where one is wanted: reduce the tile, or use Values", n)))
	}
	return numeric.Get(x.v.DType, data, 0)
}

// Values returns the elements of a tile, row by row. It is slow for the same reason as
// [Tile.Item]. Integers beyond 2^53 are rounded.
func (x Tile) Values() []float64 {
	data := x.bytes("Values")
	return lists.Make(x.v.Shape.Elems(), func(i int) float64 { return numeric.Get(x.v.DType, data, i) })
}

func (x Tile) bytes(op string) []byte {
	x.check(op)
	data, err := x.pe.m.Bytes(x.v)
	x.must(op, err)
	return data
}

// Pin keeps a tile in TCM until it is freed, even if other tiles need space, and returns
// the tile.
func (x Tile) Pin() Tile {
	err := x.pe.checkUsable(&x)
	if err == nil {
		err = x.pe.m.Pin(x.v)
	}
	if err != nil {
		panic(x.fail("Pin", err))
	}
	return x
}

// Free gives up a tile and releases its space in TCM.
func (x Tile) Free() {
	err := x.pe.checkUsable(&x)
	if err == nil {
		err = x.pe.m.Free(x.v)
	}
	if err != nil {
		panic(x.fail("Free", err))
	}
}

// fail returns an Error of operation op, whose only operand is x.
func (x *Tile) fail(op string, err error) *Error { return x.pe.fail(op, x.v.String(), err) }

// check stops the kernel if the tile has no data in TCM. The error names the operation op.
func (x Tile) check(op string) { x.must(op, x.pe.checkUsable(&x)) }

// must stops the kernel if err is not nil. op is the operation in the error, and x its
// only operand.
func (x Tile) must(op string, err error) {
	if err != nil {
		panic(x.fail(op, err))
	}
}

// checkUsable returns an error if a tile cannot be used as data on this PE.
func (t *PE) checkUsable(x *Tile) error {
	if err := t.checkOwned(x); err != nil {
		return err
	}
	if x.v.InMem {
		return errRef
	}
	return nil
}

// checkOwned returns an error if a tile or Ref does not belong to this PE.
func (t *PE) checkOwned(x *Tile) error {
	if x.pe == nil {
		return errZeroTile
	}
	if x.pe != t {
		return errForeign
	}
	return nil
}

// String formats the shape and dtype of a tile: "[32 64] f16".
func (x Tile) String() string { return x.v.String() }

// Format writes the text of String for every verb of Printf, because the elements are not
// known while the kernel runs.
func (x Tile) Format(f fmt.State, _ rune) { io.WriteString(f, x.String()) }

// String formats the shape and dtype of a value: "[32 64] f16", "ref [32 64] f16".
func (v Value) String() string {
	if !v.DType.Valid() {
		return "zero Tile"
	}
	s := v.Shape.String() + " " + v.DType.String()
	if v.InMem {
		return "ref " + s
	}
	return s
}
