package memory

import (
	"bytes"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/oplog"
)

var hbm = ID{Kind: oplog.HBM, SIP: 0, Cube: 5, PE: 3}

// TestStoreAgainstBytes runs random reads, writes, adoptions, snapshots and zeroings on a
// Store. It checks their results against a plain slice of bytes.
func TestStoreAgainstBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5*PageSize).Draw(t, "size")
		s := Store{Memory: hbm, Size: Bytes(size)}
		want := make([]byte, size)
		written := map[int]bool{} // pages that may exist

		type kept struct{ part, was []byte }
		var unchanged []kept // snapshots and adopted slices, which later writes must not change
		keep := func(parts ...[]byte) {
			for _, p := range parts {
				unchanged = append(unchanged, kept{p, bytes.Clone(p)})
			}
		}

		span := func(t *rapid.T) (at, n int) {
			at = rapid.IntRange(0, size).Draw(t, "at")
			return at, rapid.IntRange(0, size-at).Draw(t, "n")
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				at, n := span(t)
				src := bytes.Repeat([]byte{rapid.Byte().Draw(t, "b")}, n)
				if err := s.Write(Addr(at), src); err != nil {
					t.Fatal(err)
				}
				copy(want[at:], src)
				for i := at; i < at+n; i++ {
					written[i/PageSize] = true
				}
			},
			"adopt": func(t *rapid.T) {
				at, n := span(t)
				src := bytes.Repeat([]byte{rapid.Byte().Draw(t, "b")}, n)
				shared := rapid.Bool().Draw(t, "shared")
				if err := s.Adopt(Addr(at), src, shared); err != nil {
					t.Fatal(err)
				}
				copy(want[at:], src)
				for i := at; i < at+n; i++ {
					written[i/PageSize] = true
				}
				if shared {
					keep(src)
				}
			},
			"snapshot": func(t *rapid.T) {
				at, n := span(t)
				parts, err := s.Snapshot(nil, Addr(at), Bytes(n))
				if err != nil || !bytes.Equal(bytes.Join(parts, nil), want[at:at+n]) {
					t.Fatalf("Snapshot(%d, %d bytes) differs from what was written; error %v", at, n, err)
				}
				keep(parts...)
			},
			"zero": func(t *rapid.T) {
				at, n := span(t)
				if err := s.Zero(Addr(at), Bytes(n)); err != nil {
					t.Fatal(err)
				}
				clear(want[at : at+n])
				for i := range written {
					if at <= i*PageSize && min((i+1)*PageSize, size) <= at+n {
						delete(written, i)
					}
				}
			},
			"read": func(t *rapid.T) {
				at, n := span(t)
				got := bytes.Repeat([]byte{0xa5}, n) // Read must overwrite all, also with zeros
				if err := s.Read(Addr(at), got); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want[at:at+n]) {
					t.Fatalf("Read(%d, %d bytes) differs from what was written", at, n)
				}
			},
			"": func(t *rapid.T) {
				if got, want := s.Resident(), Bytes(len(written)*PageSize); got != want {
					t.Fatalf("Resident() = %v, want %v", got, want)
				}
				for i, k := range unchanged {
					if !bytes.Equal(k.part, k.was) {
						t.Fatalf("a write changed snapshot or adopted slice %d", i)
					}
				}
			},
		})

		if err := s.Zero(0, s.Size); err != nil {
			t.Fatal(err)
		}
		if got := s.Resident(); got != 0 {
			t.Fatalf("everything zeroed: Resident() = %v, want 0B", got)
		}
	})
}

// TestStoreIsLazy checks that only pages that were written take host memory.
func TestStoreIsLazy(t *testing.T) {
	if got, want := unsafe.Sizeof(Store{}), uintptr(32); got != want {
		t.Errorf("an untouched Store takes %d bytes, want %d", got, want)
	}
	s := Store{Memory: hbm, Size: 16 << 30}
	buf := make([]byte, 1<<20)
	allocs := testing.AllocsPerRun(10, func() {
		if err := s.Read(15<<30, buf); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("reading what was never written allocates %v times, want 0", allocs)
	}
	if got := s.Resident(); got != 0 {
		t.Errorf("Resident() after reading = %v, want 0B", got)
	}
	if err := s.Write(15<<30-1, []byte{1, 2}); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Resident(), Bytes(2*PageSize); got != want {
		t.Errorf("Resident() after two bytes on a page boundary = %v, want %v", got, want)
	}
	if err := s.Zero(0, s.Size); err != nil {
		t.Fatal(err)
	}
	if got := s.Resident(); got != 0 {
		t.Errorf("Resident() after Zero = %v, want 0B", got)
	}
}

func TestStoreBounds(t *testing.T) {
	s := Store{Memory: hbm, Size: 4096}
	const fix = " is outside the memory, which has 4KiB; check the address against the allocation it belongs to"
	tests := []struct {
		name string
		err  error
		want string // "" for no error
	}{
		{"last byte", s.Write(4095, []byte{1}), ""},
		{"no bytes at the end", s.Read(4096, nil), ""},
		{"all", s.Zero(0, 4096), ""},
		{"read past the end", s.Read(4000, make([]byte, 97)), "sip0.cube5.hbm3: read of 97B at 0xfa0" + fix},
		{"write past the end", s.Write(4096, []byte{1}), "sip0.cube5.hbm3: write of 1B at 0x1000" + fix},
		{"zero past the end", s.Zero(1, 4096), "sip0.cube5.hbm3: zero of 4KiB at 0x1" + fix},
		{"negative size", s.Zero(0, -1), "sip0.cube5.hbm3: zero of -1B at 0x0" + fix},
		{"none", s.Read(None, nil), "sip0.cube5.hbm3: read of 0B at none" + fix},
	}
	for _, tt := range tests {
		got := ""
		if tt.err != nil {
			got = tt.err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: error\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func BenchmarkStoreWrite(b *testing.B) {
	s := Store{Memory: hbm, Size: 1 << 30}
	src := make([]byte, 1<<20)
	b.SetBytes(int64(len(src)))
	for i := 0; b.Loop(); i++ {
		if err := s.Write(Addr(i%64)<<20, src); err != nil {
			b.Fatal(err)
		}
	}
}
