package oplog

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/simtime"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

var sameLog = []cmp.Option{cmpopts.IgnoreUnexported(Log{}), cmpopts.EquateEmpty(), cmpopts.EquateNaNs()}

func encode(t interface{ Fatal(...any) }, h Header, l *Log) []byte {
	var b bytes.Buffer
	if err := Encode(&b, h, l); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sample returns a log in which every field is set in some operation.
func sample() (Header, *Log) {
	l := &Log{PEs: []string{"sip0.cube0.pe0", "sip0.cube0.pe1"}}
	l.Launches = []Launch{{"copy", []int32{0, 1}}, {Name: "idle"}}
	at := l.Line("copy.go:7")
	row := Shape{1, [MaxRank]int32{4}}
	mem := []Access{{Space{HBM, 0, 0, 1}, 4096, 1, 8, 8}, {Space{SRAM, 1, 2, 0}, 0, 2, 3, -5}}
	l.Add(Op{Kind: HostWrite, PE: -1, Launch: -1, Mem: mem, Data: []byte("01234567abcdef")})
	l.Add(Op{
		Kind: Load, DType: numeric.F16, Shape: row, Box: Shape{1, [MaxRank]int32{3}}, Fill: math.Inf(-1),
		PE: 1, Line: at, Peer: -2, Port: 3, Signal: 4, Tiles: 5, Issue: 1000, Start: 900, End: 5000, Cause: 1, Mem: mem[:1],
	})
	l.Add(Op{
		Kind: Stream, Math: numeric.Add, Axis: 2, DType: numeric.F32, Shape: row, Launch: 1, Issue: 2000, Digest: 1<<63 + 5,
		Args:     []Operand{{From: 4, Shape: row, DType: numeric.F16}, {DType: numeric.F16, Scalar: 1.5}},
		Epilogue: []Step{{numeric.Mul, []Operand{{Mem: mem, Shape: row, DType: numeric.F32}}}, {Math: numeric.Exp}},
	})
	l.Add(Op{Kind: Barrier})
	l.Effect(1, Write)
	l.Effect(3, Read)
	l.Effect(2, Write)
	return Header{Tool: "v1.2", Config: "abc", Notes: map[string]string{"bench": "copy"}}, l
}

// TestFormat checks that the bytes of a file do not change, so that files of version 1
// stay readable.
func TestFormat(t *testing.T) {
	h, l := sample()
	const want = `
6b626f706c6f670a01377b22746f6f6c223a2276312e32222c22636f6e666967223a22616263222c
226e6f746573223a7b2262656e6368223a22636f7079227d7d020e736970302e63756265302e7065
300e736970302e63756265302e706531020009636f70792e676f3a370204636f7079020001020469
646c65000481808680052c0101041cf90102028040021010e7010402040406093031323334353637
616263646566b98cfb9f01020202080206fec30702020306080ad00fc70188400202f90102028040
021010bf8084e6021c020406020802d00f9f1ff5ffffffffffffffff0104044708020802c00102fe
e007030602c60202080604f90102028040021010e701040204040609011e81808002329f1f030302
020104030102c843350d`
	got := hex.EncodeToString(encode(t, h, l))
	if want := strings.ReplaceAll(want, "\n", ""); got != want {
		t.Errorf("Encode\n got %s\nwant %s", got, want)
	}
}

// TestRoundTrip checks that a log is unchanged after it is written and read, and that its
// lines keep their numbers.
func TestRoundTrip(t *testing.T) {
	h, l := sample()
	gotHeader, got, err := Decode(t.Context(), bytes.NewReader(encode(t, h, l)))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(h, gotHeader); d != "" {
		t.Errorf("header read back (-want +got):\n%s", d)
	}
	if d := cmp.Diff(l, got, sameLog...); d != "" {
		t.Errorf("log read back (-want +got):\n%s", d)
	}
	if a, b := got.Line("copy.go:7"), got.Line("new.go:1"); a != 1 || b != 2 {
		t.Errorf("lines of the log read back are numbers %d and %d, want the old 1 and the new 2", a, b)
	}
}

// TestRoundTripOfRandomLogs checks that a random log is unchanged after it is written and
// read, and that writing it again gives the same bytes.
func TestRoundTripOfRandomLogs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := randomLog(t)
		h := Header{Tool: rapid.String().Draw(t, "tool"), Notes: map[string]string{"k": "v"}}
		file := encode(t, h, l)
		_, got, err := Decode(t.Context(), shortReader{bytes.NewReader(file)})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(l, got, sameLog...); d != "" {
			t.Fatalf("log read back (-want +got):\n%s", d)
		}
		if again := encode(t, h, got); !bytes.Equal(again, file) {
			t.Fatalf("written again the log has other bytes:\n got %x\nwant %x", again, file)
		}
	})
}

// shortReader reads one byte less than requested where it can, as a pipe might.
type shortReader struct{ r io.Reader }

func (h shortReader) Read(p []byte) (int, error) { return h.r.Read(p[:max(1, len(p)-1)]) }

// randomLog returns a log with random values in all fields.
func randomLog(t *rapid.T) *Log {
	i32 := rapid.Int32()
	draw := func(g *rapid.Generator[int32]) int32 { return g.Draw(t, "n") }
	shape := func() (s Shape) {
		s.Rank = int8(rapid.IntRange(0, MaxRank).Draw(t, "rank"))
		for i := range s.Dim[:s.Rank] {
			s.Dim[i] = draw(rapid.Int32Min(0))
		}
		return s
	}
	dtype := func() numeric.DType { return numeric.DType(rapid.IntRange(0, int(numeric.U64)).Draw(t, "dtype")) }
	mathOp := func() numeric.Op { return numeric.Op(rapid.IntRange(0, int(numeric.BitXor)).Draw(t, "op")) }
	l := &Log{
		PEs:   rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "PEs"),
		Lines: rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "lines"),
	}
	for range rapid.IntRange(0, 2).Draw(t, "launches") {
		l.Launches = append(l.Launches, Launch{rapid.String().Draw(t, "kernel"), rapid.SliceOfN(rapid.Int32Min(0), 0, 3).Draw(t, "PEs")})
	}
	n := rapid.IntRange(1, 6).Draw(t, "ops")
	id := rapid.Int64Range(0, int64(n))
	mem := func() (list []Access) {
		for range rapid.IntRange(0, 2).Draw(t, "accesses") {
			list = append(list, Access{
				Space{SpaceKind(rapid.IntRange(1, 3).Draw(t, "kind")), draw(rapid.Int32Min(0)), draw(rapid.Int32Min(0)), draw(rapid.Int32Min(0))},
				rapid.Int64().Draw(t, "addr"), rapid.Int64Min(0).Draw(t, "rows"), rapid.Int64Min(0).Draw(t, "bytes"), rapid.Int64().Draw(t, "stride"),
			})
		}
		return list
	}
	operands := func() (list []Operand) {
		for range rapid.IntRange(0, 2).Draw(t, "operands") {
			list = append(list, Operand{ID(id.Draw(t, "from")), mem(), shape(), dtype(), rapid.Float64().Draw(t, "scalar")})
		}
		return list
	}
	clock := func() simtime.Time { return simtime.Time(rapid.Int64().Draw(t, "time")) }
	for range n {
		op := Op{
			Kind: Kind(rapid.IntRange(1, int(NumKinds)-1).Draw(t, "kind")), Math: mathOp(), Axis: int8(rapid.IntRange(0, MaxRank-1).Draw(t, "axis")),
			DType: dtype(), Shape: shape(), Box: shape(), Fill: rapid.Float64().Draw(t, "fill"),
			PE: draw(rapid.Int32Min(-1)), Launch: draw(rapid.Int32Min(-1)), Line: draw(rapid.Int32Min(0)),
			Peer: draw(i32), Port: draw(i32), Signal: draw(i32), Tiles: draw(i32),
			Issue: clock(), Start: clock(), End: clock(), Cause: ID(id.Draw(t, "cause")),
			Args: operands(), Mem: mem(), Data: rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "data"), Digest: rapid.Uint64().Draw(t, "digest"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "steps") {
			op.Epilogue = append(op.Epilogue, Step{mathOp(), operands()})
		}
		l.Add(op)
	}
	for range rapid.IntRange(0, 4).Draw(t, "effects") {
		l.Effect(ID(rapid.IntRange(1, n).Draw(t, "op")), Phase(rapid.IntRange(0, 1).Draw(t, "phase")))
	}
	return l
}

// TestLargeData checks that data larger than the write buffer, which bypasses the buffer,
// is unchanged.
func TestLargeData(t *testing.T) {
	l := &Log{}
	data := bytes.Repeat([]byte("kernbench"), flushBytes)
	l.Add(Op{Kind: HostWrite, Data: data})
	l.Add(Op{Kind: HostWrite, Data: data[:100]})
	_, got, err := Decode(t.Context(), bytes.NewReader(encode(t, Header{}, l)))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]byte{data, data[:100]} {
		if !bytes.Equal(got.Ops[i].Data, want) {
			t.Errorf("data of operation %d: %d bytes read back, want the %d written", i+1, len(got.Ops[i].Data), len(want))
		}
	}
}

// TestDamage checks that Decode returns an error for every truncated file, and for files in
// which one bit of any byte is flipped. The error must name a byte.
func TestDamage(t *testing.T) {
	file := encode(t, Header{}, func() *Log { _, l := sample(); return l }())
	for n := range file {
		_, _, err := Decode(t.Context(), bytes.NewReader(file[:n]))
		if err == nil || !strings.Contains(err.Error(), "byte ") {
			t.Errorf("of the first %d of %d bytes: error %v, want one that names a byte", n, len(file), err)
		}
		bad := bytes.Clone(file)
		bad[n] ^= 1 << (n % 8)
		if _, _, err := Decode(t.Context(), bytes.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "byte ") {
			t.Errorf("with a bit of byte %d flipped: error %v, want one that names a byte", n, err)
		}
	}
}

// seal joins the parts of a file, which are strings and unsigned varints, and appends a
// valid checksum. With a valid checksum, Decode can fail only because of the contents.
func seal(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b = append(b, p...)
		case int:
			b = binary.AppendUvarint(b, uint64(p))
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func TestDecodeErrors(t *testing.T) {
	const damaged = "; the file is damaged: copy it again, or record the run again"
	start := magic + "\x01\x02{}"
	op := func(bytes string) string { return start + "\x00\x00\x00\x01" + bytes }
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"nothing", nil, `op log: byte 0, header: this is no op log, which starts with "kboplog\n"; name a file that was recorded as one`},
		{"version", seal(magic, 2, "rest"), "op log: byte 9, header: its format has version 2, this program reads 1; record the run again, or replay it with the program that recorded it"},
		{"no JSON", seal(magic, 1, 2, "{]"), "op log: byte 9, header: invalid character ']' looking for beginning of object key string" + damaged},
		{"unknown key", seal(magic, 1, 7, `{"a":1}`), `op log: byte 9, header: json: unknown field "a"` + damaged},
		{"cut header", seal(magic, 1, 90, "{"), "op log: byte 9, header: 90 are announced where only 1 bytes are left" + damaged},
		{"many ops", seal(start, 0, 0, 0, 1<<40, 0), "op log: byte 15, operation: 1099511627776 are announced where only 1 bytes are left" + damaged},
		{"kind", seal(op("\x01\x7e")), "op log: byte 18, operation 1: its kind is 63, want 1 to 29" + damaged},
		{"no kind", seal(op("\x00")), "op log: byte 17, operation 1: its kind is 0, want 1 to 29" + damaged},
		{"many operands", seal(op("\x81\x80\x80\x40\x02"), 1<<50, "\x00"), "op log: byte 29, operation 1: the number of operands is 562949953421312, want 0 to 9" + damaged},
		{"unknown fields", seal(op("\x81\x80\x80\x80\x80\x80\x80\x80\x40\x04")), "op log: byte 26, operation 1: a record has a field that this program does not know" + damaged},
		{"long number", seal(op("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")), "op log: byte 16, operation 1: a number has more than 64 bits" + damaged},
		{"reference", seal(op("\x81\x80\x80\x10\x02\x04"), 0), "op log: byte 22, operation 1: it refers to operation 2, the last one is 1" + damaged},
		{"effect", seal(op("\x01\x02\x01\x01\x04")), "op log: byte 21, effect 1: it is one of operation 2, the last one is 1" + damaged},
		{"more", seal(start, 0, 0, 0, 0, 0, "more"), "op log: byte 17, end: 8 bytes are left, of which the checksum takes 4" + damaged},
		{"checksum", append(seal(start, 0, 0, 0, 0, 0)[:17], 1, 2, 3, 4), "op log: byte 17, end: the checksum is 0x04030201, that of the bytes before it 0x127a997c" + damaged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := Decode(t.Context(), bytes.NewReader(tt.file))
			if err == nil || err.Error() != tt.want {
				t.Errorf("Decode error\n got %v\nwant %s", err, tt.want)
			}
		})
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestEncodeErrors(t *testing.T) {
	tests := []struct {
		name string
		log  Log
		want string
	}{
		{"disk", Log{}, "op log: write: disk full"},
		{"ID", Log{Ops: []Op{{Kind: Barrier}}}, "op log: write: operation 1: its ID is 0; add operations with Log.Add"},
		{"operation", Log{Ops: []Op{{ID: 1, Kind: Math, Math: numeric.BitXor + 1}}}, "op log: write: operation 1: its operation is 31, want 0 to 30; correct what made the log"},
		{"rank", Log{Ops: []Op{{ID: 1, Kind: Full, Shape: Shape{Rank: 5}}}}, "op log: write: operation 1: the rank of a shape is 5, want 0 to 4; correct what made the log"},
		{"reference", Log{Ops: []Op{{ID: 1, Kind: Cast, Args: []Operand{{From: 7}}}}}, "op log: write: operation 1: it refers to operation 7, the last one is 1; correct what made the log"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Encode(fullDisk{}, Header{}, &tt.log)
			if err == nil || err.Error() != tt.want {
				t.Errorf("Encode error\n got %v\nwant %s", err, tt.want)
			}
		})
	}
	long := Header{Notes: map[string]string{"": strings.Repeat("x", maxHeaderBytes)}}
	if err := Encode(io.Discard, long, &Log{}); err == nil || !strings.Contains(err.Error(), "shorten its notes") {
		t.Errorf("Encode with a header of over 1 MiB: error %v, want one that says to shorten it", err)
	}
}

// FuzzRead checks that no file makes Decode panic, and that an accepted log is the same
// after it is written and read again. It corrects the checksum, because otherwise no file
// would be accepted.
func FuzzRead(f *testing.F) {
	h, l := sample()
	f.Add(encode(f, h, l))
	f.Add(encode(f, Header{}, &Log{}))
	f.Add(seal(magic, 1, 2, "{}", 0, 0, 0, 1<<40))
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) >= checksumBytes {
			file = seal(string(file[:len(file)-checksumBytes]))
		}
		h, l, err := Decode(t.Context(), bytes.NewReader(file))
		if err != nil {
			return
		}
		_, again, err := Decode(t.Context(), bytes.NewReader(encode(t, h, l)))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(l, again, sameLog...); d != "" {
			t.Fatalf("log read again (-first +second):\n%s", d)
		}
	})
}

// BenchmarkFile measures the time of writing and of reading a log, and its size in a file.
func BenchmarkFile(b *testing.B) {
	_, one := sample()
	l := &Log{PEs: one.PEs, Launches: one.Launches, Lines: one.Lines}
	for range 10_000 {
		op := one.Ops[1]
		l.Effect(l.Add(op), Read)
	}
	file := encode(b, Header{}, l)
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			encode(b, Header{}, l)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(l.Ops)), "ns/operation")
		b.ReportMetric(float64(len(file))/float64(len(l.Ops)), "bytes/operation")
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := Decode(b.Context(), bytes.NewReader(file)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(l.Ops)), "ns/operation")
	})
}
