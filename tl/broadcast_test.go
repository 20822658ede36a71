package tl_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/tl"
)

// extent draws small extents, including 0 and 1.
var extent = rapid.SampledFrom([]int{1, 1, 2, 3, 0})

var shapes = rapid.SliceOfN(extent, 0, 4)

// wantBroadcast returns the shape to which shapes a and b broadcast by the rule of numpy,
// and reports whether they broadcast. The shorter shape gets leading ones. Then the extent
// of each axis is the one that is not 1.
func wantBroadcast(a, b []int) ([]int, bool) {
	for len(a) < len(b) {
		a = append([]int{1}, a...)
	}
	for len(b) < len(a) {
		b = append([]int{1}, b...)
	}
	shape := []int{}
	for i := range a {
		switch {
		case a[i] == b[i] || b[i] == 1:
			shape = append(shape, a[i])
		case a[i] == 1:
			shape = append(shape, b[i])
		default:
			return nil, false
		}
	}
	return shape, true
}

// index returns the linear index of an element in a tile of shape `from`. The element is
// the one that appears at position `at` when the tile is broadcast to `shape`.
func index(from, shape, at []int) int {
	i := 0
	for axis, n := range from {
		i *= n
		if n > 1 {
			i += at[len(shape)-len(from)+axis]
		}
	}
	return i
}

// elements returns the indices of all elements of a shape, in row-major order.
func elements(shape []int) [][]int {
	all := [][]int{{}}
	for _, n := range shape {
		var next [][]int
		for _, at := range all {
			for i := range n {
				next = append(next, append(slices.Clone(at), i))
			}
		}
		all = next
	}
	return all
}

// numbered returns a tile of the given shape with the elements start, start+1, ...
func numbered(t *tl.PE, shape []int, start int) tl.Tile {
	n := len(elements(shape))
	return t.Arange(n, tl.I32).Add(start).Reshape(shape...)
}

// TestBroadcastProperty subtracts tiles of random shapes. It checks the shape and the
// elements of the result, or the error if the shapes do not broadcast.
func TestBroadcastProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := shapes.Draw(rt, "a"), shapes.Draw(rt, "b")
		want, ok := wantBroadcast(a, b)
		pe := newEager(1).pe(0, "test")
		x, y := numbered(pe, a, 0), numbered(pe, b, 100)
		if !ok {
			recoverError(t, func() { x.Sub(y) })
			recoverError(t, func() { y.Sub(x) })
			return
		}
		got := x.Sub(y)
		if diff := cmp.Diff(tl.Shape(want), got.Shape()); diff != "" {
			rt.Errorf("shape of %v with %v (-want +got):\n%s", a, b, diff)
		}
		values := []float64{}
		for _, at := range elements(want) {
			values = append(values, float64(index(a, want, at)-index(b, want, at)-100))
		}
		if diff := cmp.Diff(values, got.Values()); diff != "" {
			rt.Errorf("%v minus %v (-want +got):\n%s", a, b, diff)
		}
		if diff := cmp.Diff(values, x.Broadcast(want).Sub(y.Broadcast(want)).Values()); diff != "" {
			rt.Errorf("%v minus %v, both broadcast first (-want +got):\n%s", a, b, diff)
		}
	})
}

// TestMaskProperty checks masked loads and stores of blocks that are partly outside of a
// matrix.
func TestMaskProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows, cols := rapid.IntRange(1, 6).Draw(rt, "rows"), rapid.IntRange(1, 6).Draw(rt, "cols")
		shape := tl.Shape{rapid.IntRange(0, 8).Draw(rt, "tile rows"), rapid.IntRange(0, 8).Draw(rt, "tile cols")}
		i, j := rapid.IntRange(0, 7).Draw(rt, "i"), rapid.IntRange(0, 7).Draw(rt, "j")
		mask := tl.Mask(rows-i, cols-j)

		before := make([]float64, rows*cols)
		for k := range before {
			before[k] = float64(k)
		}
		want, after := []float64{}, slices.Clone(before)
		for _, at := range elements(shape) {
			if r, c := i+at[0], j+at[1]; r < rows && c < cols {
				want = append(want, float64(r*cols+c))
				after[r*cols+c] += 50
			} else {
				want = append(want, -1)
			}
		}

		e := newEager(1)
		x := e.tensor(tl.F32, tl.Shape{rows, cols}, before)[0]
		pe := e.pe(0, "test")
		block := pe.Load(x.At(i, j), shape, tl.F32, mask, tl.Other(-1))
		if got := block.Values(); !slices.Equal(got, want) {
			rt.Errorf("block %v at %d, %d of [%d %d]: got %v, want %v", shape, i, j, rows, cols, got, want)
		}
		pe.Store(x.At(i, j), block.Add(50), mask)
		if got := e.values(x, rows*cols); !slices.Equal(got, after) {
			rt.Errorf("after storing block %v at %d, %d of [%d %d]: got %v, want %v", shape, i, j, rows, cols, got, after)
		}
	})
}
