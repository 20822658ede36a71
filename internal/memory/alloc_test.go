package memory

import (
	"errors"
	"math"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/oplog"
)

var tcm = ID{Kind: oplog.TCM, SIP: 1, Cube: 5, PE: 3}

func mustAlloc(t *testing.T, a *Allocator, size, align Bytes) Addr {
	t.Helper()
	addr, err := a.Alloc(size, align)
	if err != nil {
		t.Fatalf("Alloc(%v, %v): %v", size, align, err)
	}
	return addr
}

// TestAllocTakesTheLowestFit runs a sequence of Free and Alloc and checks that each Alloc
// returns the lowest address that fits.
func TestAllocTakesTheLowestFit(t *testing.T) {
	a := Allocator{Memory: tcm, Size: 1024}
	steps := []struct {
		free        Addr // freed first, unless None
		size, align Bytes
		want        Addr
		used        Bytes
	}{
		{None, 100, 1, 0, 100},
		{None, 100, 64, 128, 200},
		{None, 28, 1, 100, 228}, // the bytes skipped for alignment are free
		{None, 500, 256, 256, 728},
		{128, 60, 4, 128, 688},
		{None, 40, 1, 188, 728},
		{0, 100, 1024, 0, 728}, // 0 is a multiple of everything
		{None, 0, 1, None, 728},
		{None, 28, 1, 228, 756},
		{None, 268, 1, 756, 1024},
	}
	for i, s := range steps {
		if err := a.Free(s.free); err != nil {
			t.Fatalf("step %d: Free(%v): %v", i, s.free, err)
		}
		if got := mustAlloc(t, &a, s.size, s.align); got != s.want {
			t.Fatalf("step %d: Alloc(%v, %v) = %v, want %v", i, s.size, s.align, got, s.want)
		}
		if got := a.Used(); got != s.used {
			t.Fatalf("step %d: Used() = %v, want %v", i, got, s.used)
		}
	}
}

func TestAllocErrors(t *testing.T) {
	const bad = ": the size must be at least 0 and the alignment at least 1"
	tests := []struct {
		name        string
		memory      ID
		size, align Bytes
		want        string
	}{
		{"too large", tcm, 4096, 256, "sip1.cube5.pe3.tcm: out of memory: asked 4KiB aligned to 256B, free 768B of 1KiB, largest block 512B; free something, ask for less, or raise pe.tcm.size in the topology"},
		{"fragmented", ID{Kind: oplog.HBM, PE: 7}, 600, 1, "sip0.cube0.hbm7: out of memory: asked 600B aligned to 1B, free 768B of 1KiB, largest block 512B; free something, ask for less, or raise cube.hbm.slice_size in the topology"},
		{"misaligned", ID{Kind: oplog.SRAM, Cube: 2}, 400, 768, "sip0.cube2.sram: out of memory: asked 400B aligned to 768B, free 768B of 1KiB, largest block 256B; free something, ask for less, or raise cube.sram.size in the topology"},
		{"enormous", tcm, math.MaxInt64, math.MaxInt64, "sip1.cube5.pe3.tcm: out of memory: asked 9223372036854775807B aligned to 9223372036854775807B, free 768B of 1KiB, largest block 256B; free something, ask for less, or raise pe.tcm.size in the topology"},
		{"negative", tcm, -1, 1, "sip1.cube5.pe3.tcm: cannot allocate -1 bytes aligned to 1" + bad},
		{"no alignment", tcm, 1, 0, "sip1.cube5.pe3.tcm: cannot allocate 1 bytes aligned to 0" + bad},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := Allocator{Memory: tt.memory, Size: 1024} // free: [0, 256) and [512, 1024)
			mustAlloc(t, &a, 256, 1)
			mustAlloc(t, &a, 256, 1)
			if err := a.Free(0); err != nil {
				t.Fatal(err)
			}
			addr, err := a.Alloc(tt.size, tt.align)
			if err == nil || err.Error() != tt.want {
				t.Errorf("Alloc(%d, %d) error\n got %v\nwant %s", tt.size, tt.align, err, tt.want)
			}
			if addr != None {
				t.Errorf("Alloc(%d, %d) = %v in addition to its error, want none", tt.size, tt.align, addr)
			}
			if got := a.Used(); got != 256 {
				t.Errorf("Used() after the error = %v, want 256B", got)
			}
		})
	}
}

func TestFreeErrors(t *testing.T) {
	a := Allocator{Memory: tcm, Size: 1024}
	mustAlloc(t, &a, 256, 1)
	gone := mustAlloc(t, &a, 256, 1)
	if err := a.Free(gone); err != nil {
		t.Fatal(err)
	}
	const nothing = ": nothing is allocated there; it was freed before, or never allocated"
	tests := []struct {
		addr Addr
		want string
	}{
		{0x40, "sip1.cube5.pe3.tcm: cannot free 0x40: it lies inside the 256B allocated at 0x0; free that address"},
		{gone, "sip1.cube5.pe3.tcm: cannot free 0x100" + nothing},
		{0x1000, "sip1.cube5.pe3.tcm: cannot free 0x1000" + nothing},
		{-2, "sip1.cube5.pe3.tcm: cannot free -0x2" + nothing},
	}
	for _, tt := range tests {
		if err := a.Free(tt.addr); err == nil || err.Error() != tt.want {
			t.Errorf("Free(%v) error\n got %v\nwant %s", tt.addr, err, tt.want)
		}
	}
	if got := a.Used(); got != 256 {
		t.Errorf("Used() after the errors = %v, want 256B", got)
	}
}

// TestAllocatorAgainstBytes runs random calls of Alloc and Free. It checks their results
// against a model that has a flag for every byte of the memory.
func TestAllocatorAgainstBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 200).Draw(t, "size")
		a := Allocator{Memory: tcm, Size: Bytes(size)}
		taken := make([]bool, size)
		live := map[Addr]int{}
		var order []Addr // the keys of live, in an order that makes draws deterministic

		fits := func(at, n int) bool {
			return at+n <= size && !slices.Contains(taken[at:at+n], true)
		}
		t.Repeat(map[string]func(*rapid.T){
			"alloc": func(t *rapid.T) {
				n := rapid.IntRange(1, 64).Draw(t, "n")
				align := rapid.IntRange(1, 40).Draw(t, "align")
				want := None
				for at := 0; at < size; at += align {
					if fits(at, n) {
						want = Addr(at)
						break
					}
				}
				got, err := a.Alloc(Bytes(n), Bytes(align))
				if got != want {
					t.Fatalf("Alloc(%d, %d) = %v, want %v", n, align, got, want)
				}
				if want == None {
					largest := 0
					for at := 0; at < size; at += align {
						for fits(at, largest+1) {
							largest++
						}
					}
					var oom *OutOfMemory
					if !errors.As(err, &oom) {
						t.Fatalf("Alloc(%d, %d) error = %v, want an *OutOfMemory", n, align, err)
					}
					if oom.Largest != Bytes(largest) {
						t.Fatalf("Alloc(%d, %d): largest block %v, want %d", n, align, oom.Largest, largest)
					}
					return
				}
				for i := range n {
					taken[int(want)+i] = true
				}
				live[want] = n
				order = append(order, want)
			},
			"free": func(t *rapid.T) {
				if len(order) == 0 {
					t.Skip("nothing to free")
				}
				i := rapid.IntRange(0, len(order)-1).Draw(t, "i")
				addr := order[i]
				if err := a.Free(addr); err != nil {
					t.Fatalf("Free(%v): %v", addr, err)
				}
				for j := range live[addr] {
					taken[int(addr)+j] = false
				}
				delete(live, addr)
				order = slices.Delete(order, i, i+1)
			},
			"": func(t *rapid.T) {
				used := 0
				for _, b := range taken {
					if b {
						used++
					}
				}
				if got := a.Used(); got != Bytes(used) {
					t.Fatalf("Used() = %v, want %d", got, used)
				}
			},
		})

		for _, addr := range order {
			if err := a.Free(addr); err != nil {
				t.Fatalf("Free(%v): %v", addr, err)
			}
		}
		if got, err := a.Alloc(Bytes(size), 1); got != 0 || err != nil {
			t.Fatalf("all freed: Alloc(%d, 1) = %v, %v, want the whole memory", size, got, err)
		}
	})
}

// TestAllocatorCost checks the size of an unused Allocator, and that Alloc and Free
// allocate no Go memory.
func TestAllocatorCost(t *testing.T) {
	if got, want := unsafe.Sizeof(Allocator{}), uintptr(56); got != want {
		t.Errorf("an untouched Allocator takes %d bytes, want %d", got, want)
	}
	a := Allocator{Memory: tcm, Size: 1024}
	mustAlloc(t, &a, 64, 64)
	allocs := testing.AllocsPerRun(100, func() {
		addr, err := a.Alloc(64, 64)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Free(addr); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("Alloc and Free allocate %v times, want 0", allocs)
	}
}
