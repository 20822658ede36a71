package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/numeric"
)

const (
	magic = "\x93NUMPY"

	// maxHeaderBytes is the size of the largest header that is read. Headers of arrays
	// have a few hundred bytes.
	maxHeaderBytes = 1 << 20

	// saveAgain is the advice for files that violate the format.
	saveAgain = "make the file with numpy.save"
)

// Read reads one array and leaves r at the byte after the array, so that several arrays can
// follow each other in r. The memory that it needs grows with the data in r, not with the
// size that a header claims.
func Read(r io.Reader) (*Array, error) {
	a, err := read(r)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	return a, nil
}

func read(r io.Reader) (*Array, error) {
	h, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	d, bigEndian, err := parseDescr(h.descr)
	if err != nil {
		return nil, err
	}
	n, err := byteCount(h.shape, d)
	if err != nil {
		return nil, err
	}
	data, err := readBytes(r, "data", n)
	if err != nil {
		return nil, err
	}
	if bigEndian {
		for i := 0; i < n; i += d.Size() {
			slices.Reverse(data[i : i+d.Size()])
		}
	}
	if h.fortran {
		data = rowMajor(data, h.shape, d.Size())
	}
	a := &Array{Shape: h.shape, DType: d, Bytes: data, Bool: isBool(h.descr)}
	if a.Bool {
		for i := range data {
			data[i] = min(data[i], 1) // NumPy treats any non-zero byte as true
		}
	}
	return a, nil
}

func readHeader(r io.Reader) (h header, err error) {
	start, err := readBytes(r, "magic string and version", len(magic)+2)
	if err != nil {
		return h, err
	}
	if string(start[:len(magic)]) != magic {
		return h, fmt.Errorf("this is no .npy file, which starts with %q, but %q: %s", magic, start[:len(magic)], saveAgain)
	}
	lengthBytes := 4
	switch major, minor := start[len(magic)], start[len(magic)+1]; {
	case minor != 0 || major < 1 || major > 3:
		return h, fmt.Errorf("format version %d.%d is none of 1.0, 2.0 and 3.0: %s", major, minor, saveAgain)
	case major == 1:
		lengthBytes = 2
	}
	length, err := readBytes(r, "length of the header", lengthBytes)
	if err != nil {
		return h, err
	}
	n := binary.LittleEndian.Uint32(append(length, 0, 0)) // reads four bytes; two may be padding
	if n > maxHeaderBytes {
		return h, fmt.Errorf("a header of %d bytes is longer than the %d that an array may have: %s", n, maxHeaderBytes, saveAgain)
	}
	text, err := readBytes(r, "header", int(n))
	if err != nil {
		return h, err
	}
	return parseHeader(string(text))
}

// readBytes reads n bytes. Its memory grows with the data that r has, not with n. `what`
// names the bytes in errors.
func readBytes(r io.Reader, what string, n int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(n)))
	switch {
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("reading the %s: %w", what, err)
	case len(data) < n:
		return nil, fmt.Errorf("only %d of %d bytes of the %s are there: copy the file again", len(data), n, what)
	}
	return data, nil
}

// rowMajor converts elements of elem bytes each from column-major order, in which the
// first index changes fastest, to row-major order.
func rowMajor(src []byte, shape []int, elem int) []byte {
	// Extents of 1 do not affect the order. Without them there are few axes, even if the
	// header is long.
	shape = slices.DeleteFunc(slices.Clone(shape), func(n int) bool { return n == 1 })
	if len(src) == 0 || len(shape) < 2 {
		return src
	}
	stride := make([]int, len(shape)) // in bytes of src, by axis
	step := elem
	for axis, n := range shape {
		stride[axis] = step
		step *= n
	}
	dst := make([]byte, 0, len(src))
	index := make([]int, len(shape))
	from := 0
	for len(dst) < len(src) {
		dst = append(dst, src[from:from+elem]...)
		for axis := len(shape) - 1; axis >= 0; axis-- {
			index[axis]++
			from += stride[axis]
			if index[axis] < shape[axis] {
				break
			}
			from -= index[axis] * stride[axis]
			index[axis] = 0
		}
	}
	return dst
}

// align is the alignment of the elements in a file, so that the file can be mapped into
// memory.
const align = 64

// Write writes an array in version 1.0 of the format, or in version 2.0 if its header has
// more than 65,535 bytes.
func Write(w io.Writer, a *Array) error {
	head, err := encodeHeader(a)
	if err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	for _, part := range [][]byte{head, a.Bytes} {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("npy: write: %w", err)
		}
	}
	return nil
}

// encodeHeader returns everything that precedes the elements in a file. It returns an error
// if the array is invalid or has too many axes.
func encodeHeader(a *Array) ([]byte, error) {
	if !a.DType.Valid() {
		return nil, fmt.Errorf("the array's dtype is %v, which is none: set one of package numeric", a.DType)
	}
	n, err := byteCount(a.Shape, a.DType)
	if err != nil {
		return nil, err
	}
	if n != len(a.Bytes) {
		return nil, fmt.Errorf("the array has %d bytes, its shape and %v want %d: pass all elements and no more", len(a.Bytes), a.DType, n)
	}
	if a.Bool {
		if a.DType != numeric.U8 {
			return nil, fmt.Errorf("an array of bools has dtype %v: set u8", a.DType)
		}
		if i := slices.IndexFunc(a.Bytes, func(b byte) bool { return b > 1 }); i >= 0 {
			return nil, fmt.Errorf("element %d of an array of bools is %d: set it to 0 or 1", i, a.Bytes[i])
		}
	}
	text := dictionary(a)
	version, lengthBytes := byte(1), 2
	length := paddedLength(lengthBytes, text)
	if length > math.MaxUint16 {
		version, lengthBytes = 2, 4
		length = paddedLength(lengthBytes, text)
	}
	if length > maxHeaderBytes {
		return nil, fmt.Errorf("a header for %d axes has %d bytes, at most %d can be read: join axes", len(a.Shape), length, maxHeaderBytes)
	}
	head := append([]byte(magic), version, 0)
	head = append(head, binary.LittleEndian.AppendUint32(nil, uint32(length))[:lengthBytes]...)
	head = append(head, text...)
	head = append(head, strings.Repeat(" ", length-len(text)-1)...)
	return append(head, '\n'), nil
}

// dictionary returns the text of a header as NumPy writes it.
func dictionary(a *Array) string {
	shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(a.Shape), "[]"), " ", ", ")
	if len(a.Shape) == 1 {
		shape += ","
	}
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descrOf(a), shape)
}

// paddedLength returns the length of a header that consists of `text`, padding spaces and a
// newline. With the padding, the elements after the header begin at a multiple of `align`
// bytes. lengthBytes is the size of the length field before the header.
func paddedLength(lengthBytes int, text string) int {
	before := len(magic) + 2 + lengthBytes
	return (before+len(text)+1+align-1)/align*align - before
}
