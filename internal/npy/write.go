package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/numeric"
)

// align is what the bytes before the elements are a multiple of, so that a file can
// be mapped into memory.
const align = 64

// Write writes an array, in version 1.0 of the format, or in 2.0 if its header has
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

// encodeHeader is all of a file that comes before the elements.
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
	length := padded(lengthBytes, text)
	if length > math.MaxUint16 {
		version, lengthBytes = 2, 4
		length = padded(lengthBytes, text)
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

// dictionary is the text of a header, as NumPy writes it.
func dictionary(a *Array) string {
	shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(a.Shape), "[]"), " ", ", ")
	if len(a.Shape) == 1 {
		shape += ","
	}
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descrOf(a), shape)
}

// padded is the bytes of a header of text, spaces and a newline, its length in
// lengthBytes.
func padded(lengthBytes int, text string) int {
	before := len(magic) + 2 + lengthBytes
	return (before+len(text)+1+align-1)/align*align - before
}
