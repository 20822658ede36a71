package tl

import (
	"fmt"
	"io"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/numeric"
)

// Tile is a handle of an immutable block of elements: data in TCM, or after
// [PE.Ref] memory that stands for it. Operations make new tiles. A tile belongs to
// the PE that made it and ends with the kernel.
type Tile struct {
	pe *PE
	v  Value
}

// Shape is the tile's extents.
func (x Tile) Shape() Shape {
	s := make(Shape, x.v.Shape.Rank)
	for i := range s {
		s[i] = int(x.v.Shape.Dim[i])
	}
	return s
}

// Dim is the extent of an axis; a negative one counts from the end.
func (x Tile) Dim(i int) int {
	i, err := axis(x.v.Shape, i)
	x.must("Dim", err)
	return int(x.v.Shape.Dim[i])
}

// DType is the type of the elements.
func (x Tile) DType() DType { return x.v.DType }

// Item is the value of a tile of one element. It makes the machine compute
// everything that led to it, which is slow, and is an error under --data=off.
func (x Tile) Item() float64 {
	data := x.bytes("Item")
	if n := x.v.Shape.Elems(); n != 1 {
		panic(x.pe.fail("Item", x.v.String(), fmt.Errorf("%d elements where one is wanted: reduce the tile, or use Values", n)))
	}
	return numeric.Get(x.v.DType, data, 0)
}

// Values is the elements of a tile, row by row. It is slow for the same reason as
// [Tile.Item], and integers beyond 2^53 are rounded.
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

// Pin keeps a tile in TCM until it is freed, whatever needs room, and returns it.
func (x Tile) Pin() Tile {
	x.check("Pin")
	x.must("Pin", x.pe.m.Pin(x.v))
	return x
}

// Free ends the use of a tile and gives its room back.
func (x Tile) Free() {
	x.check("Free")
	x.must("Free", x.pe.m.Free(x.v))
}

// check stops an operation on a tile alone if it holds no data.
func (x Tile) check(op string) { x.must(op, x.pe.usable(&x)) }

// must stops an operation on a tile alone if it has an error.
func (x Tile) must(op string, err error) {
	if err != nil {
		panic(x.pe.fail(op, x.v.String(), err))
	}
}

// usable reports why a tile cannot be used as data on this PE.
func (t *PE) usable(x *Tile) error {
	if err := t.owned(x); err != nil {
		return err
	}
	if x.v.InMem {
		return errRef
	}
	return nil
}

// owned reports why a tile or Ref cannot be used on this PE.
func (t *PE) owned(x *Tile) error {
	if x.pe == nil {
		return errZeroTile
	}
	if x.pe != t {
		return errForeign
	}
	return nil
}

// String is the shape and dtype of a tile: "[32 64] f16".
func (x Tile) String() string { return x.v.String() }

// Format makes every verb of Printf show a tile as String does: what it holds is
// not known while the kernel runs.
func (x Tile) Format(f fmt.State, _ rune) { io.WriteString(f, x.String()) }

// String is the shape and dtype of a value: "[32 64] f16", "ref [32 64] f16".
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
