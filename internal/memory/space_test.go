package memory

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/oplog"
)

func hbmOf(pe int32) ID { return ID{Kind: oplog.HBM, PE: pe} }

func mustMap(t *testing.T, s *Space, name string, shards ...Segment) VA {
	t.Helper()
	va, err := s.Map(name, shards)
	if err != nil {
		t.Fatalf("Map(%q): %v", name, err)
	}
	return va
}

func TestTranslate(t *testing.T) {
	var s Space
	x := mustMap(t, &s, "x",
		Segment{hbmOf(0), 0x1000, 256},
		Segment{hbmOf(1), None, 0}, // an empty shard
		Segment{hbmOf(2), 0x2000, 256},
		Segment{hbmOf(3), 0x3000, 100})
	tests := []struct {
		name string
		off  VA
		n    Bytes
		want []Segment
	}{
		{"within the first", 0, 16, []Segment{{hbmOf(0), 0x1000, 16}}},
		{"end of the first", 240, 16, []Segment{{hbmOf(0), 0x10f0, 16}}},
		{"start of the second", 256, 1, []Segment{{hbmOf(2), 0x2000, 1}}},
		{"across two", 255, 2, []Segment{{hbmOf(0), 0x10ff, 1}, {hbmOf(2), 0x2000, 1}}},
		{"across three", 200, 400, []Segment{{hbmOf(0), 0x10c8, 56}, {hbmOf(2), 0x2000, 256}, {hbmOf(3), 0x3000, 88}}},
		{"all", 0, 612, []Segment{{hbmOf(0), 0x1000, 256}, {hbmOf(2), 0x2000, 256}, {hbmOf(3), 0x3000, 100}}},
		{"last byte", 611, 1, []Segment{{hbmOf(3), 0x3063, 1}}},
		{"no bytes", 300, 0, nil},
		{"no bytes at the end", 612, 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			access, err := s.Translate(x+tt.off, tt.n)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, slices.Collect(access.Segments)); diff != "" {
				t.Errorf("Translate(x+%d, %v) (-want +got):\n%s", tt.off, tt.n, diff)
			}
		})
	}
}

func TestUnmapped(t *testing.T) {
	var empty, s Space
	x := mustMap(t, &s, "x", Segment{hbmOf(0), 0, 1000})
	y := mustMap(t, &s, "y", Segment{hbmOf(0), 1000, 200 << 10})
	mustMap(t, &s, "none")
	z := mustMap(t, &s, "z", Segment{hbmOf(0), 300 << 10, 8})

	const freed = "; check the address arithmetic, and that the tensor meant was not freed"
	const mask = "; mask the ragged edge or shorten the access"
	tests := []struct {
		name  string
		space *Space
		va    VA
		n     Bytes
		want  string
	}{
		{"empty space", &empty, 0x10000, 4, "access of 4B at 0x10000: no tensor is mapped"},
		{"nil", &s, 0, 4, `access of 4B at 0x0 starts 64KiB before tensor "x" (1000B at 0x10000)` + freed},
		{"overrun", &s, x + 990, 16, `access of 16B at 0x103de runs 6B past the end of tensor "x" (1000B at 0x10000)` + mask},
		{"at the end", &s, x + 1000, 16, `access of 16B at 0x103e8 runs 16B past the end of tensor "x" (1000B at 0x10000)` + mask},
		{"past the end", &s, x + 1024, 0, `access of 0B at 0x10400 starts 24B past the end of tensor "x" (1000B at 0x10000)` + freed},
		{"enormous", &s, x, math.MaxInt64, `access of 9223372036854775807B at 0x10000 runs 9223372036854774807B past the end of tensor "x" (1000B at 0x10000)` + mask},
		{"before the next", &s, y - 8, 16, `access of 16B at 0x2fff8 starts 8B before tensor "y" (200KiB at 0x30000)` + freed},
		{"empty tensor", &s, z - VA(Guard), 4, `access of 4B at 0xb0000 runs 4B past the end of tensor "none" (0B at 0xb0000)` + mask},
		{"negative size", &s, x, -4, "access of -4 bytes at 0x10000: the size must not be negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.space.Translate(tt.va, tt.n)
			if err == nil || err.Error() != tt.want {
				t.Fatalf("Translate(%v, %d) error\n got %v\nwant %s", tt.va, tt.n, err, tt.want)
			}
		})
	}
}

func TestMapErrors(t *testing.T) {
	tests := []struct {
		name   string
		shards []Segment
		want   string
	}{
		{"negative size", []Segment{{hbmOf(4), 0, 16}, {hbmOf(5), 0, -16}}, `map tensor "w": shard 1 is -16 bytes at address 0 of sip0.cube0.hbm5: neither may be negative`},
		{"no address", []Segment{{hbmOf(4), None, 16}}, `map tensor "w": shard 0 is 16 bytes at address -1 of sip0.cube0.hbm4: neither may be negative`},
		{"overflow", []Segment{{hbmOf(4), 0, math.MaxInt64}, {hbmOf(5), 0, 1}}, `map tensor "w": its 2 shards have more bytes than there are addresses`},
		{"too large", []Segment{{hbmOf(4), 0, math.MaxInt64 / 2}}, `map tensor "w" of 4611686018427387903B: no virtual addresses left after 0x10000`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s Space
			if _, err := s.Map("w", tt.shards); err == nil || err.Error() != tt.want {
				t.Errorf("Map error\n got %v\nwant %s", err, tt.want)
			}
			if va := mustMap(t, &s, "next", Segment{hbmOf(0), 0, 1}); va != VA(Guard) {
				t.Errorf("the next tensor is at %v, want %v: a failed Map must take no addresses", va, VA(Guard))
			}
		})
	}
}

func TestUnmap(t *testing.T) {
	var s Space
	shards := []Segment{{hbmOf(0), 0, 64}, {hbmOf(1), 0, 64}}
	x := mustMap(t, &s, "x", shards...)
	y := mustMap(t, &s, "y", Segment{hbmOf(0), 64, 64})

	got, err := s.Unmap(x)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shards, got); diff != "" {
		t.Errorf("Unmap(x) (-want +got):\n%s", diff)
	}
	if _, err := s.Translate(x, 64); err == nil {
		t.Error("Translate after Unmap: no error, want one")
	}
	if _, err := s.Translate(y, 64); err != nil {
		t.Errorf("Translate of the other tensor: %v", err)
	}
	if again := mustMap(t, &s, "again", shards...); again <= y {
		t.Errorf("a tensor mapped after Unmap is at %v, want it behind %v: addresses are used once", again, y)
	}
	for _, va := range []VA{x, y + 1, 0} {
		_, err := s.Unmap(va)
		want := "unmap " + va.String() + ": no tensor starts there; it was unmapped before, or never mapped"
		if err == nil || err.Error() != want {
			t.Errorf("Unmap(%v) error\n got %v\nwant %s", va, err, want)
		}
	}
}

// TestSpaceAgainstBytes maps random tensors and checks the result of Translate against a
// list with the memory and address of every byte. It also checks that addresses between two
// tensors are not mapped.
func TestSpaceAgainstBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Space
		var last, lastEnd VA
		for range rapid.IntRange(1, 5).Draw(t, "tensors") {
			var shards, places []Segment // places: one per byte
			for pe := range rapid.Int32Range(0, 6).Draw(t, "shards") {
				sh := Segment{hbmOf(pe), Addr(rapid.IntRange(0, 1000).Draw(t, "addr")), Bytes(rapid.IntRange(0, 9).Draw(t, "bytes"))}
				shards = append(shards, sh)
				for i := range sh.Bytes {
					places = append(places, Segment{sh.Memory, sh.Addr + Addr(i), 1})
				}
			}
			base, err := s.Map("x", shards)
			if err != nil {
				t.Fatal(err)
			}
			if gap := Bytes(base - lastEnd); base%VA(Guard) != 0 || gap < Guard || gap < Bytes(lastEnd-last) {
				t.Fatalf("tensor at %v, %v behind [%v, %v): want a multiple of %v, at least that and the size before it behind", base, gap, last, lastEnd, Guard)
			}
			last, lastEnd = base, base+VA(len(places))

			off := rapid.IntRange(0, len(places)).Draw(t, "off")
			n := rapid.IntRange(0, len(places)-off).Draw(t, "n")
			access, err := s.Translate(base+VA(off), Bytes(n))
			if err != nil {
				t.Fatal(err)
			}
			var got []Segment
			for seg := range access.Segments {
				for i := range seg.Bytes {
					got = append(got, Segment{seg.Memory, seg.Addr + Addr(i), 1})
				}
			}
			if !slices.Equal(got, places[off:off+n]) {
				t.Fatalf("Translate(base+%d, %d)\n got %v\nwant %v", off, n, got, places[off:off+n])
			}
			if _, err := s.Translate(base+VA(off), Bytes(len(places)-off+1)); err == nil {
				t.Fatalf("Translate(base+%d) one byte past the end: no error", off)
			}
		}
	})
}

func TestTranslateAllocatesNothing(t *testing.T) {
	var s Space
	var shards []Segment
	for pe := range int32(64) {
		shards = append(shards, Segment{hbmOf(pe), 0, 4096})
	}
	x := mustMap(t, &s, "x", shards...)
	var total Bytes
	allocs := testing.AllocsPerRun(100, func() {
		access, err := s.Translate(x+100, 100_000)
		if err != nil {
			t.Fatal(err)
		}
		for seg := range access.Segments {
			total += seg.Bytes
		}
	})
	if allocs != 0 {
		t.Errorf("Translate and Segments allocate %v times, want 0", allocs)
	}
	if want := Bytes(101 * 100_000); total != want { // AllocsPerRun runs once more
		t.Errorf("the segments add up to %v, want %v", total, want)
	}
}

// TestPartOfARegion checks that a part of a region is a region if it is inside one row or
// consists of whole rows.
func TestPartOfARegion(t *testing.T) {
	r := Region{Addr: 100, Rows: 4, RowBytes: 8, Stride: 32}
	for _, c := range []struct {
		off, n Bytes
		want   Region
		ok     bool
	}{
		{0, 8, Contiguous(100, 8), true},
		{3, 5, Contiguous(103, 5), true},
		{10, 2, Contiguous(134, 2), true},
		{8, 24, Region{Addr: 132, Rows: 3, RowBytes: 8, Stride: 32}, true},
		{0, 32, r, true},
		{3, 6, Region{}, false},
		{8, 12, Region{}, false},
		{12, 8, Region{}, false},
	} {
		if got, ok := r.Part(c.off, c.n); ok != c.ok || ok && got != c.want {
			t.Errorf("bytes %d to %d: %+v, %v, want %+v, %v", c.off, c.off+c.n, got, ok, c.want, c.ok)
		}
	}
}
