package npy

import (
	"bytes"
	"io"
	"testing"

	"github.com/kernbench/kernbench/numeric"
)

// TestBools checks that bools in either order of axes are read as u8 with the values 0 and
// 1, even if a true byte in the file is not 1. It also checks that the array is written as
// bools again, and that Write refuses invalid arrays of bools.
func TestBools(t *testing.T) {
	for _, descr := range []string{"|b1", "<b1", ">b1"} {
		for order, want := range map[string]string{"False": "\x01\x00\x01\x01\x00\x00", "True": "\x01\x01\x00\x00\x01\x00"} {
			text := "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': (2, 3), }\n"
			a, err := Read(bytes.NewReader(file(1, text, "\x01\x00\x02\xff\x00\x00")))
			if err != nil {
				t.Fatal(err)
			}
			if !a.Bool || a.DType != numeric.U8 || string(a.Bytes) != want {
				t.Errorf("%s, fortran order %s: got bools %v of %v, %x, want u8 %x", descr, order, a.Bool, a.DType, a.Bytes, want)
			}
			again, err := Read(bytes.NewReader(encode(t, a)))
			if err != nil || !again.Bool || !equal(again, a) {
				t.Errorf("%s: written and read again: %+v, error %v, want %+v", descr, again, err, a)
			}
		}
	}
	for want, a := range map[string]*Array{
		"npy: element 1 of an array of bools is 2: set it to 0 or 1": {Shape: []int{2}, DType: numeric.U8, Bytes: []byte{1, 2}, Bool: true},
		"npy: an array of bools has dtype i8: set u8":                {Shape: []int{1}, DType: numeric.I8, Bytes: []byte{1}, Bool: true},
	} {
		if err := Write(io.Discard, a); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
