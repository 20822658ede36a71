package npy

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/kernbench/kernbench/numeric"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name string
		file []byte
		want Array
	}{
		{"NumPy's own", file(1, "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }          \n", "\x01\x00\xff\xff"),
			Array{Shape: []int{2}, DType: numeric.I16, Bytes: []byte{1, 0, 0xff, 0xff}}},
		{"version 2.0", file(2, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n", "\x07"), Array{Shape: nil, DType: numeric.U8, Bytes: []byte{7}}},
		{"version 3.0", file(3, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n", "\x07"), Array{Shape: nil, DType: numeric.U8, Bytes: []byte{7}}},
		{"another order of keys", file(1, "{'shape': (1, 2), 'fortran_order': False, 'descr': '|i1'}\n", "\x07\x08"), Array{Shape: []int{1, 2}, DType: numeric.I8, Bytes: []byte{7, 8}}},
		{"other quotes and spaces", file(1, "\t{\"descr\" :'<u2' ,\r\n'fortran_order':True,'shape':( 1 ,2 , ) , } \n", "ab\x00\x01"),
			Array{Shape: []int{1, 2}, DType: numeric.U16, Bytes: []byte("ab\x00\x01")}},
		{"nothing", file(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 0), }\n", ""), Array{Shape: []int{3, 0}, DType: numeric.F64, Bytes: nil}},
		{"big-endian", file(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }\n", "\x3f\x80\x00\x00\xc0\x00\x00\x00"),
			Array{Shape: []int{2}, DType: numeric.F32, Bytes: []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}}},
		{"byte with an order", file(1, "{'descr': '>i1', 'fortran_order': False, 'shape': (2,), }\n", "\x01\x02"), Array{Shape: []int{2}, DType: numeric.I8, Bytes: []byte{1, 2}}},
		{"bf16 as <V2", file(1, "{'descr': '<V2', 'fortran_order': False, 'shape': (), }\n", "\x80\x3f"), Array{Shape: nil, DType: numeric.BF16, Bytes: []byte{0x80, 0x3f}}},
		{"bf16 as |V2", file(1, "{'descr': '|V2', 'fortran_order': False, 'shape': (), }\n", "\x80\x3f"), Array{Shape: nil, DType: numeric.BF16, Bytes: []byte{0x80, 0x3f}}},
		{"bf16 as >V2", file(1, "{'descr': '>V2', 'fortran_order': False, 'shape': (), }\n", "\x3f\x80"), Array{Shape: nil, DType: numeric.BF16, Bytes: []byte{0x80, 0x3f}}},
		{"bf16 by name", file(1, "{'descr': 'bfloat16', 'fortran_order': False, 'shape': (), }\n", "\x80\x3f"), Array{Shape: nil, DType: numeric.BF16, Bytes: []byte{0x80, 0x3f}}},
		{"Fortran", file(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", "adbecf"), Array{Shape: []int{2, 3}, DType: numeric.U8, Bytes: []byte("abcdef")}},
		{"Fortran with extents of 1", file(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (1, 2, 1, 3, 1), }\n", "adbecf"),
			Array{Shape: []int{1, 2, 1, 3, 1}, DType: numeric.U8, Bytes: []byte("abcdef")}},
		{"Fortran, big-endian", file(1, "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }\n", "\x00\x01\x00\x03\x00\x02\x00\x04"),
			Array{Shape: []int{2, 2}, DType: numeric.I16, Bytes: []byte{1, 0, 2, 0, 3, 0, 4, 0}}},
		{"Fortran, three axes", file(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 2), }\n", "aecgbfdh"),
			Array{Shape: []int{2, 2, 2}, DType: numeric.U8, Bytes: []byte("abcdefgh")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []io.Reader{bytes.NewReader(c.file), iotest.OneByteReader(bytes.NewReader(c.file))} {
				got, err := Read(r)
				if err != nil {
					t.Fatal(err)
				}
				if !equal(got, &c.want) {
					t.Errorf("read %v %v %x, want %v %v %x", got.Shape, got.DType, got.Bytes, c.want.Shape, c.want.DType, c.want.Bytes)
				}
			}
		})
	}
}

// TestReadOneAfterAnother checks that several arrays in one file, as numpy.save appends
// them, are read one after another.
func TestReadOneAfterAnother(t *testing.T) {
	r := bytes.NewReader(append(encode(t, &Array{Shape: nil, DType: numeric.U8, Bytes: []byte{1}}), encode(t, &Array{Shape: nil, DType: numeric.U8, Bytes: []byte{2}})...))
	for want := byte(1); want <= 2; want++ {
		if a, err := Read(r); err != nil || a.Bytes[0] != want {
			t.Fatalf("array %d is %+v, error %v", want, a, err)
		}
	}
}

func TestReadErrors(t *testing.T) {
	one := func(text string) []byte { return file(1, text, "12345678") }
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"nothing", nil, "only 0 of 8 bytes of the magic string and version are there: copy the file again"},
		{"archive", []byte("PK\x03\x04........"), `this is no .npy file, which starts with "\x93NUMPY", but "PK\x03\x04..": make the file with numpy.save`},
		{"version", file(4, "", ""), "format version 4.0 is none of 1.0, 2.0 and 3.0: make the file with numpy.save"},
		{"version 0", file(0, "", ""), "format version 0.0 is none of 1.0, 2.0 and 3.0: make the file with numpy.save"},
		{"minor version", []byte("\x93NUMPY\x01\x01\x02\x00{}"), "format version 1.1 is none of 1.0, 2.0 and 3.0: make the file with numpy.save"},
		{"length cut", []byte("\x93NUMPY\x02\x00\x76\x00"), "only 2 of 4 bytes of the length of the header are there: copy the file again"},
		{"header cut", []byte("\x93NUMPY\x01\x00\x76\x00{'descr'"), "only 8 of 118 bytes of the header are there: copy the file again"},
		{"header too long", []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'"),
			"a header of 4294967295 bytes is longer than the 1048576 that an array may have: make the file with numpy.save"},
		{"data cut", file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", "12345678901"), "only 11 of 12 bytes of the data are there: copy the file again"},
		{"no data", file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", ""), "only 0 of 12 bytes of the data are there: copy the file again"},

		{"empty header", one(""), "byte 0 of the header: the end where { should be: make the file with numpy.save"},
		{"no dictionary", one("[1]\n"), `byte 0 of the header: "[1]\n" where { should be: make the file with numpy.save`},
		{"empty dictionary", one("{}\n"), "byte 2 of the header: key 'descr' is missing: make the file with numpy.save"},
		{"only a comma", one("{,}\n"), `byte 1 of the header: ",}\n" where a string in quotes should be: make the file with numpy.save`},
		{"no order", one("{'descr': '<f4', 'shape': (2,)}\n"), "byte 31 of the header: key 'fortran_order' is missing: make the file with numpy.save"},
		{"no shape", one("{'descr': '<f4', 'fortran_order': True}\n"), "byte 39 of the header: key 'shape' is missing: make the file with numpy.save"},
		{"twice", one("{'descr': '<f4', 'descr': '<f4'}\n"), "byte 17 of the header: key 'descr' is there twice: make the file with numpy.save"},
		{"unknown key", one("{'align': 1}\n"), `byte 1 of the header: there is no key "align": make the file with numpy.save`},
		{"no colon", one("{'descr' '<f4'}\n"), `byte 9 of the header: "'<f4'}\n" where : should be: make the file with numpy.save`},
		{"no comma", one("{'descr': '<f4' 'shape': ()}\n"), `byte 16 of the header: "'shape': ()}\n" where } should be: make the file with numpy.save`},
		{"open dictionary", one("{'descr': '<f4', \n"), "byte 18 of the header: the end where a string in quotes should be: make the file with numpy.save"},
		{"open string", one("{'descr\n"), `byte 1 of the header: "'descr\n" where a string without escapes, on one line, in quotes should be: make the file with numpy.save`},
		{"string over lines", one("{'de\nscr': '<f4'}\n"), `byte 1 of the header: "'de\nscr': '<f4'}\n" where a string without escapes, on one line, in quotes should be: make the file with numpy.save`},
		{"escape", one(`{'descr': '\x3cf4'}` + "\n"), `byte 10 of the header: "'\\x3cf4'}\n" where a string without escapes, on one line, in quotes should be: make the file with numpy.save`},
		{"structure", one("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}\n"),
			"the dtype is a structure: save each of its fields as an array"},
		{"number as order", one("{'fortran_order': 0}\n"), `byte 18 of the header: "0}\n" where True or False should be: make the file with numpy.save`},
		{"Truest", one("{'fortran_order': Truest}\n"), `byte 22 of the header: "st}\n" where } should be: make the file with numpy.save`},
		{"a NUL", one("{'fortran_order': \x00}\n"), `byte 18 of the header: "\x00}\n" where True or False should be: make the file with numpy.save`},
		{"number as shape", one("{'shape': 3}\n"), `byte 10 of the header: "3}\n" where ( should be: make the file with numpy.save`},
		{"number in parentheses", one("{'shape': (3)}\n"), `byte 12 of the header: ")}\n" where a comma behind the only extent should be: make the file with numpy.save`},
		{"list as shape", one("{'shape': [3]}\n"), `byte 10 of the header: "[3]}\n" where ( should be: make the file with numpy.save`},
		{"open shape", one("{'shape': (3, 4\n"), "byte 16 of the header: the end where ) should be: make the file with numpy.save"},
		{"comma as shape", one("{'shape': (,)}\n"), `byte 11 of the header: ",)}\n" where an extent, 0 or more in decimal digits should be: make the file with numpy.save`},
		{"negative extent", one("{'shape': (-3,)}\n"), `byte 11 of the header: "-3,)}\n" where an extent, 0 or more in decimal digits should be: make the file with numpy.save`},
		{"octal extent", one("{'shape': (010,)}\n"), `byte 11 of the header: "010,)}\n" where an extent, 0 or more in decimal digits should be: make the file with numpy.save`},
		{"fraction", one("{'shape': (3.5, 1)}\n"), `byte 12 of the header: ".5, 1)}\n" where a comma behind the only extent should be: make the file with numpy.save`},
		{"large extent", one("{'shape': (9223372036854775808,)}\n"), "extent 9223372036854775808 is too large: split the array"},
		{"no newline", one("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}  "),
			`byte 55 of the header: "  " where spaces and a newline should be: make the file with numpy.save`},
		{"text behind", one("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} # floats\n"),
			`byte 55 of the header: " # floats\n" where spaces and a newline should be: make the file with numpy.save`},
		{"two newlines", one("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}\n\n"),
			`byte 55 of the header: "\n\n" where spaces and a newline should be: make the file with numpy.save`},

		{"too many", one("{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693952,)}\n"),
			"the extents up to that of axis 0, 2305843009213693952, make more f32 than there can be bytes: split the array"},
		{"too many by far", one("{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 4294967296)}\n"),
			"the extents up to that of axis 1, 4294967296, make more u8 than there can be bytes: split the array"},
		{"too many of none", one("{'descr': '|u1', 'fortran_order': True, 'shape': (0, 4294967296, 4294967296)}\n"),
			"the extents up to that of axis 2, 4294967296, make more u8 than there can be bytes: split the array"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := Read(bytes.NewReader(c.file))
			if want := "npy: " + c.want; err == nil || err.Error() != want || a != nil {
				t.Errorf("Read gives %v, error\n got %v\nwant %s", a, err, want)
			}
		})
	}
	for _, descr := range []string{"", "f4", "=f4", "|f4", "<f3", "<f16", "<c8", "|b2", "b1", "=b1", "?", "|O", "<U4", "|S3", "<M8[ns]", "|V4", "V2", "float32", strings.Repeat("x", 41)} {
		_, err := Read(bytes.NewReader(one("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2,)}\n")))
		want := `npy: dtype "` + descr[:min(40, len(descr))] + `" is not read: convert the array to f2, f4, f8, i1 to i8 or u1 to u8 with < or > before it, |b1, or V2 for bf16`
		if err == nil || err.Error() != want {
			t.Errorf("dtype %q: error\n got %v\nwant %s", descr, err, want)
		}
	}
	broken := errors.New("network down")
	if _, err := Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("of a reader that fails: error %v, want one that wraps %v", err, broken)
	}
}

// TestReadOfPartsFails checks that Read returns an error for every truncated file.
func TestReadOfPartsFails(t *testing.T) {
	b := encode(t, &Array{Shape: []int{3, 1, 2}, DType: numeric.U16, Bytes: []byte("abcdefghijkl")})
	for n := range b {
		if a, err := Read(bytes.NewReader(b[:n])); err == nil || !strings.Contains(err.Error(), "copy the file again") {
			t.Errorf("the first %d of %d bytes are read as %v, error %v", n, len(b), a, err)
		}
	}
}

// TestReadDoesNotTrustHeaders checks that Read allocates at most 1 MiB for a short file
// whose header claims a petabyte.
func TestReadDoesNotTrustHeaders(t *testing.T) {
	b := file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1125899906842624,)}\n", strings.Repeat("x", 100_000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Read(bytes.NewReader(b))
	runtime.ReadMemStats(&after)
	if want := "npy: only 100000 of 1125899906842624 bytes of the data are there: copy the file again"; err == nil || err.Error() != want {
		t.Errorf("Read error\n got %v\nwant %s", err, want)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes were allocated for a file of %d, want at most 1 MiB", got, len(b))
	}
}

// FuzzRead checks that no file makes Read panic, and that an accepted array is the same
// after it is written and read again.
func FuzzRead(f *testing.F) {
	f.Add(encode(f, &Array{Shape: []int{2, 3}, DType: numeric.F16, Bytes: make([]byte, 12)}))
	f.Add(encode(f, &Array{Shape: nil, DType: numeric.I64, Bytes: make([]byte, 8)}))
	f.Add(file(2, "{'shape': (2, 3), 'fortran_order': True, 'descr': '>i2'}\n", "abcdefghijkl"))
	f.Add(file(3, "{\"shape\": (0, 4294967296,), 'fortran_order': False, 'descr': 'bfloat16',} \n", ""))
	f.Add(file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2305843009213693952,)}\n", ""))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := Read(bytes.NewReader(encode(t, a)))
		if err != nil {
			t.Fatal(err)
		}
		if !equal(again, a) {
			t.Fatalf("read again\n     %v %v %x\nwant %v %v %x", again.Shape, again.DType, again.Bytes, a.Shape, a.DType, a.Bytes)
		}
	})
}

// BenchmarkRead measures how long Read takes for a matrix of 1 Mi elements of f32 in
// several layouts.
func BenchmarkRead(b *testing.B) {
	data := strings.Repeat("abcd", 1<<20)
	for _, c := range []struct{ name, text string }{
		{"plain", "{'descr': '<f4', 'fortran_order': False, 'shape': (1024, 1024)}\n"},
		{"big-endian", "{'descr': '>f4', 'fortran_order': False, 'shape': (1024, 1024)}\n"},
		{"fortran", "{'descr': '<f4', 'fortran_order': True, 'shape': (1024, 1024)}\n"},
	} {
		b.Run(c.name, func(b *testing.B) {
			whole := file(1, c.text, data)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := Read(bytes.NewReader(whole)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWrite measures how long Write takes for a matrix of 1 Mi elements of f32.
func BenchmarkWrite(b *testing.B) {
	a := &Array{Shape: []int{1024, 1024}, DType: numeric.F32, Bytes: make([]byte, 4<<20)}
	b.SetBytes(int64(len(a.Bytes)))
	for b.Loop() {
		if err := Write(io.Discard, a); err != nil {
			b.Fatal(err)
		}
	}
}
