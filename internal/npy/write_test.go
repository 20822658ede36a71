package npy

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/numeric"
)

// TestWriteKnownFiles checks that the files that Write writes are as the description of the
// format says. In these files the elements begin at byte 128: after 10 bytes with the magic
// string, the version and the length of the header, and a header of 118 (0x76) bytes.
func TestWriteKnownFiles(t *testing.T) {
	for _, c := range []struct {
		array Array
		want  string
	}{
		{Array{Shape: []int{2}, DType: numeric.F32, Bytes: []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}},
			"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }" + strings.Repeat(" ", 60) +
				"\n\x00\x00\x80\x3f\x00\x00\x00\xc0"},
		{Array{Shape: nil, DType: numeric.I8, Bytes: []byte{0xff}},
			"\x93NUMPY\x01\x00\x76\x00{'descr': '|i1', 'fortran_order': False, 'shape': (), }" + strings.Repeat(" ", 62) + "\n\xff"},
		{Array{Shape: []int{1, 0, 12}, DType: numeric.U64, Bytes: nil},
			"\x93NUMPY\x01\x00\x76\x00{'descr': '<u8', 'fortran_order': False, 'shape': (1, 0, 12), }" + strings.Repeat(" ", 54) + "\n"},
		{Array{Shape: []int{1, 1}, DType: numeric.BF16, Bytes: []byte{0x80, 0x3f}},
			"\x93NUMPY\x01\x00\x76\x00{'descr': '<V2', 'fortran_order': False, 'shape': (1, 1), }" + strings.Repeat(" ", 58) + "\n\x80\x3f"},
		{Array{Shape: []int{3}, DType: numeric.U8, Bytes: []byte{1, 0, 1}, Bool: true},
			"\x93NUMPY\x01\x00\x76\x00{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }" + strings.Repeat(" ", 60) + "\n\x01\x00\x01"},
	} {
		if got := string(encode(t, &c.array)); got != c.want {
			t.Errorf("%v of %v is written as\n     %q\nwant %q", c.array.Shape, c.array.DType, got, c.want)
		}
	}
}

// TestHeaderIsPadded checks that the elements begin at a multiple of 64 bytes, with the
// least padding.
func TestHeaderIsPadded(t *testing.T) {
	for n := range 200 {
		a := Array{Shape: ones(n), DType: numeric.U8, Bytes: []byte{7}}
		b := encode(t, &a)
		head := b[:len(b)-1]
		if text := strings.TrimRight(string(head[10:len(head)-1]), " "); len(head)%64 != 0 || head[len(head)-1] != '\n' || len(head)-64 >= 10+len(text)+1 {
			t.Errorf("%d axes: %d bytes before the elements, which end in %q, for a dictionary of %d", n, len(head), head[len(head)-1], len(text))
		}
	}
}

func ones(n int) []int {
	shape := make([]int, n)
	for i := range shape {
		shape[i] = 1
	}
	return shape
}

func TestRoundTrip(t *testing.T) {
	shapes := [][]int{{}, {0}, {1}, {5}, {3, 1, 2}, {2, 0, 3}, {2, 3, 4, 5, 2}, ones(30_000)}
	for _, d := range numeric.DTypes {
		for _, shape := range shapes {
			n := d.Size()
			for _, extent := range shape {
				n *= extent
			}
			want := &Array{Shape: shape, DType: d, Bytes: make([]byte, n)}
			for i := range want.Bytes {
				want.Bytes[i] = byte(31*i + 7)
			}
			b := encode(t, want)
			if version, long := b[6], len(shape) > 20_000; version != 1 && !long || version != 2 && long {
				t.Errorf("%d axes are written in version %d", len(shape), version)
			}
			got, err := Read(bytes.NewReader(b))
			if err != nil {
				t.Errorf("%d axes of %v: %v", len(shape), d, err)
				continue
			}
			if !equal(got, want) {
				t.Errorf("read back\n     %v %v %x\nwant %v %v %x", got.Shape, got.DType, got.Bytes, want.Shape, want.DType, want.Bytes)
			}
		}
	}
}

// TestRoundTripProperty checks that any array is read back unchanged from either order of
// elements and bytes.
func TestRoundTripProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &Array{
			Shape: rapid.SliceOfN(rapid.IntRange(0, 4), 0, 5).Draw(t, "shape"),
			DType: rapid.SampledFrom(numeric.DTypes).Draw(t, "dtype"),
		}
		n := want.DType.Size()
		for _, extent := range want.Shape {
			n *= extent
		}
		want.Bytes = rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "bytes")
		fortran, big := rapid.Bool().Draw(t, "fortran"), rapid.Bool().Draw(t, "big-endian")
		text := strings.Replace(dictionary(want), descrOf(want), map[bool]string{false: "<", true: ">"}[big]+codes[want.DType], 1)
		if fortran {
			text = strings.Replace(text, "False", "True", 1)
		}
		b := file(byte(rapid.IntRange(1, 3).Draw(t, "version")), text+"\n", layOut(want, fortran, big))
		r := bytes.NewReader(append(b, "rest"...))
		got, err := Read(r)
		if err != nil {
			t.Fatal(err)
		}
		if !equal(got, want) {
			t.Fatalf("%q is read as\n     %v %v %x\nwant %v %v %x", b, got.Shape, got.DType, got.Bytes, want.Shape, want.DType, want.Bytes)
		}
		if r.Len() != len("rest") {
			t.Fatalf("%d bytes are left behind the array, want %d", r.Len(), len("rest"))
		}
	})
}

// layOut returns the elements of an array as bytes: in Fortran order or row-major order,
// big-endian or little-endian. In Fortran order, element (i, j, k) of shape (I, J, K) is at
// i + I·(j + J·k).
func layOut(a *Array, fortran, big bool) string {
	size := a.DType.Size()
	b := make([]byte, len(a.Bytes))
	for element := range len(b) / size {
		to := element
		if fortran {
			rest := element
			to = 0
			for axis := len(a.Shape) - 1; axis >= 0; axis-- {
				index := rest % a.Shape[axis]
				rest /= a.Shape[axis]
				inner := 1
				for _, n := range a.Shape[:axis] {
					inner *= n
				}
				to += index * inner
			}
		}
		for i := range size {
			from := i
			if big {
				from = size - 1 - i
			}
			b[to*size+i] = a.Bytes[element*size+from]
		}
	}
	return string(b)
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		array Array
		to    io.Writer
		want  string
	}{
		{"dtype", Array{}, io.Discard, "npy: the array's dtype is DType(0), which is none: set one of package numeric"},
		{"negative", Array{Shape: []int{2, -1}, DType: numeric.F16}, io.Discard, "npy: extent -1 of axis 1 is negative: an empty array has extent 0"},
		{"few bytes", Array{Shape: []int{2, 3}, DType: numeric.F16, Bytes: make([]byte, 10)}, io.Discard,
			"npy: the array has 10 bytes, its shape and f16 want 12: pass all elements and no more"},
		{"bytes of a scalar", Array{DType: numeric.F16}, io.Discard,
			"npy: the array has 0 bytes, its shape and f16 want 2: pass all elements and no more"},
		{"large", Array{Shape: []int{1 << 31, 0, 1 << 31}, DType: numeric.F16}, io.Discard,
			"npy: the extents up to that of axis 2, 2147483648, make more f16 than there can be bytes: split the array"},
		{"axes", Array{Shape: ones(350_000), DType: numeric.U8, Bytes: []byte{1}}, io.Discard,
			"npy: a header for 350000 axes has 1050100 bytes, at most 1048576 can be read: join axes"},
		{"disk", Array{DType: numeric.U8, Bytes: []byte{1}}, fullDisk{}, "npy: write: disk full"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := Write(c.to, &c.array); err == nil || err.Error() != c.want {
				t.Errorf("Write error\n got %v\nwant %s", err, c.want)
			}
		})
	}
}
