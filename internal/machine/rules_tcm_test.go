package machine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// tcmSettings returns settings for a TCM of the given size that holds no slots of queues,
// so that all of it is for tiles.
func tcmSettings(size string) []string {
	return []string{set("pe.tcm.size", size), set("pe.ipcq.buffer_kind", "sram")}
}

// recoverOverflow calls op and returns the *pe.Overflow that op panics with, or nil if op
// does not panic. The kernel continues in both cases. recoverOverflow does not recover from
// other panics.
func recoverOverflow(op func()) (o *pe.Overflow) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *tl.Error:
			if !errors.As(e, &o) {
				panic(e)
			}
		default:
			panic(e)
		}
	}()
	op()
	return nil
}

// TestTCMEvictsTheLeastRecentlyUsedTile fills the TCM with four tiles and checks that each
// further load evicts the least recently used tile.
func TestTCMEvictsTheLeastRecentlyUsedTile(t *testing.T) {
	r := newRig(t, Options{}, tcmSettings("16 KiB")...)
	x := r.tensor(0, 2048)
	var evicted []int
	r.runAlone(func(t *tl.PE) {
		var tiles []tl.Tile
		load := func() { tiles = append(tiles, t.Load(x, tl.Shape{2048}, tl.F16)) }
		for range 4 {
			load()
		}
		t.Store(x, tiles[0]) // now tile 1 is the least recently used
		load()               // evicts tile 1
		t.Store(x, tiles[2])
		load() // evicts tile 3
		for i, tile := range tiles {
			if recoverOverflow(func() { t.Store(x, tile) }) != nil {
				evicted = append(evicted, i)
			}
		}
	})
	if got, want := fmt.Sprint(evicted), "[1 3]"; got != want {
		t.Errorf("tiles %s are evicted, want %s", got, want)
	}
}

// TestTCMHoldsAtMost1024Tiles checks that a TCM holds at most 1,024 tiles, even if they
// are small.
func TestTCMHoldsAtMost1024Tiles(t *testing.T) {
	r := newRig(t, Options{})
	evicted := 0
	r.runAlone(func(t *tl.PE) {
		tiles := make([]tl.Tile, 1100)
		for i := range tiles {
			tiles[i] = t.Zeros(tl.Shape{1}, tl.F16)
		}
		for evicted < len(tiles) && recoverOverflow(func() { tiles[evicted].Pin() }) != nil {
			evicted++
		}
	})
	same(t, "tiles evicted", evicted, 1100-1024)
}

// tcmModel is a model of a TCM: a list of its tiles, least recently used first.
type tcmModel struct {
	size  memory.Bytes
	tiles []modelTile
}

type modelTile struct {
	name   int
	bytes  memory.Bytes
	pinned bool
	freed  bool
}

func (s *tcmModel) used() (n memory.Bytes) {
	for _, x := range s.tiles {
		n += x.bytes
	}
	return n
}

// find returns the index of the tile with the given name in the list, or -1 if the tile is
// not in TCM.
func (s *tcmModel) find(name int) int {
	for i, x := range s.tiles {
		if x.name == name {
			return i
		}
	}
	return -1
}

// add adds a tile of n bytes to the model. To make space, it evicts the least recently used
// tiles that are not pinned. It reports whether the tile fits.
func (s *tcmModel) add(name int, n memory.Bytes) bool {
	n = (n + 255) / 256 * 256
	for i := 0; s.used()+n > s.size; {
		if i == len(s.tiles) {
			return false
		}
		if s.tiles[i].pinned {
			i++
			continue
		}
		s.tiles = append(s.tiles[:i], s.tiles[i+1:]...)
	}
	s.tiles = append(s.tiles, modelTile{name: name, bytes: n})
	return true
}

// move moves tile i to the end of the list, as the most recently used tile, or to the
// beginning if `newest` is false.
func (s *tcmModel) move(i int, newest bool) {
	x := s.tiles[i]
	s.tiles = append(s.tiles[:i], s.tiles[i+1:]...)
	if newest {
		s.tiles = append(s.tiles, x)
	} else {
		s.tiles = append([]modelTile{x}, s.tiles...)
	}
}

// tileUse is one operation of a random kernel on its tiles.
type tileUse struct {
	what int // 0 load, 1 zeros, 2 pin, 3 free, 4 store
	n    int // elements of a new tile
	old  int // the tile that is used, modulo the number of tiles
}

var anyTileUse = rapid.Custom(func(t *rapid.T) tileUse {
	return tileUse{rapid.IntRange(0, 4).Draw(t, "what"), rapid.IntRange(0, 4096).Draw(t, "elements"), rapid.IntRange(0, 99).Draw(t, "tile")}
})

// TestTCMMatchesItsModel runs random operations on tiles. It checks that an operation
// overflows the TCM if and only if it overflows tcmModel. The model does not depend on the
// times of transfers and commands.
func TestTCMMatchesItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		uses := rapid.SliceOfN(anyTileUse, 1, 60).Draw(t, "uses")
		r := newRig(t, Options{}, tcmSettings("16 KiB")...)
		x := r.tensor(0, 4096)
		var got, want []bool // whether each operation overflows
		r.runAlone(func(k *tl.PE) {
			s := tcmModel{size: 16 << 10}
			var tiles []tl.Tile
			for _, u := range uses {
				if u.what < 2 || len(tiles) == 0 {
					fits := s.add(len(tiles), memory.Bytes(2*u.n))
					want = append(want, !fits)
					got = append(got, recoverOverflow(func() {
						if u.what == 0 {
							tiles = append(tiles, k.Load(x, tl.Shape{u.n}, tl.F16))
						} else {
							tiles = append(tiles, k.Zeros(tl.Shape{u.n}, tl.F16))
						}
					}) != nil)
					continue
				}
				old := u.old % len(tiles)
				at := s.find(old)
				if at >= 0 && s.tiles[at].freed {
					at = -1
				}
				want = append(want, at < 0)
				got = append(got, recoverOverflow(func() {
					switch u.what {
					case 2:
						tiles[old].Pin()
					case 3:
						tiles[old].Free()
					default:
						k.Store(x, tiles[old], tl.Mask(100))
					}
				}) != nil)
				if at >= 0 {
					s.tiles[at].pinned = u.what == 2 || u.what == 4 && s.tiles[at].pinned
					s.tiles[at].freed = u.what == 3
					s.move(at, u.what != 3)
				}
			}
		})
		if !slices.Equal(got, want) {
			t.Fatalf("overflows\n%v, want\n%v", got, want)
		}
	})
}

// TestTCMOverflowErrors checks the errors of a tile that does not fit into TCM and of the
// use of an evicted tile. They must name kernel, PE, operation, shapes, line, the bytes
// that the operation needs and the bytes that are free.
func TestTCMOverflowErrors(t *testing.T) {
	const pe0 = "kernel k on sip0.cube0.pe0: "
	for _, c := range []struct {
		name     string
		body     func(t *tl.PE, x tl.Ptr)
		prefix   string // the beginning of the error
		overflow pe.Overflow
	}{
		{"too large", func(t *tl.PE, x tl.Ptr) {
			t.Load(x, tl.Shape{9000}, tl.F16)
		}, pe0 + "Load([9000] f16)", pe.Overflow{Asked: 18176, Free: 16384, Size: 16384}},
		{"no space next to pinned tiles", func(t *tl.PE, x tl.Ptr) {
			t.Load(x, tl.Shape{4096}, tl.F16).Pin()
			t.Zeros(tl.Shape{5000}, tl.F16)
		}, pe0 + "Full([5000] f16)", pe.Overflow{Asked: 10240, Free: 8192, Size: 16384}},
		{"no space next to scratch", func(t *tl.PE, x tl.Ptr) {
			t.Scratch(tl.Shape{4096}, tl.F16)
			t.Load(x, tl.Shape{8192}, tl.F16)
		}, pe0 + "Load([8192] f16)", pe.Overflow{Asked: 16384, Free: 8192, Size: 16384, Reserved: 8192}},
		{"scratch too large", func(t *tl.PE, x tl.Ptr) {
			t.Scratch(tl.Shape{9000}, tl.F16)
		}, pe0 + "Scratch([9000] f16)", pe.Overflow{Asked: 18176, Free: 16384, Size: 16384}},
		{"composite too large", func(t *tl.PE, x tl.Ptr) {
			a := t.Ref(x, tl.Shape{64, 64}, tl.F16)
			t.Composite(tl.Gemm(a, a, x.Add(8192).Strided(64, 1)))
		}, pe0 + "Gemm(ref [64 64] f16, ref [64 64] f16)", pe.Overflow{Asked: 20480, Free: 16384, Size: 16384}},
		{"evicted", func(t *tl.PE, x tl.Ptr) {
			a := t.Load(x, tl.Shape{4096}, tl.F16)
			t.Load(x, tl.Shape{8192}, tl.F16)
			a.Neg()
		}, pe0 + "Neg([4096] f16)", pe.Overflow{Asked: 8192, Size: 16384, Gone: true}},
		{"no space for operand and result", func(t *tl.PE, x tl.Ptr) {
			a := t.Load(x, tl.Shape{4096}, tl.F16)
			a.To(tl.F32)
		}, pe0 + "To([4096] f16)", pe.Overflow{Asked: 16384, Free: 8192, Size: 16384}},
		{"no space for operand and composite", func(t *tl.PE, x tl.Ptr) {
			a := t.Load(x, tl.Shape{32, 192}, tl.F16)
			t.Composite(tl.Gemm(a, t.Ref(x, tl.Shape{192, 32}, tl.F16), x.Add(8192).Strided(32, 1)))
		}, pe0 + "Gemm([32 192] f16, ref [192 32] f16)", pe.Overflow{Asked: 12288, Free: 4096, Size: 16384}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, Options{}, tcmSettings("16 KiB")...)
			x := r.tensor(0, 16384)
			e := r.failure(Program{Targets: []PEID{0}, Body: func(t *tl.PE) { c.body(t, x) }})
			var o *pe.Overflow
			if !errors.As(e, &o) {
				t.Fatalf("%v, want a *pe.Overflow", e)
			}
			same(t, "overflow", *o, c.overflow)
			text := e.Error()
			for _, part := range []string{c.prefix + " at rules_tcm_test.go:", o.Asked.String(), o.Size.String()} {
				if !strings.Contains(text, part) {
					t.Errorf("error %q, want %q in it", text, part)
				}
			}
			if !o.Gone && !strings.Contains(text, o.Free.String()+" of ") {
				t.Errorf("error %q, want %v of %v free in it", text, o.Free, o.Size)
			}
		})
	}
}

// TestRunningAheadIsBoundedByTCM checks that a kernel runs ahead of its loads as long as
// TCM has space. If a tile takes a quarter of the TCM, load i+4 must wait until load i has
// ended. The kernel dispatches load i+4 during this wait. The tiles of all loads in flight
// must never exceed the TCM.
func TestRunningAheadIsBoundedByTCM(t *testing.T) {
	r := newRig(t, Options{Log: true}, tcmSettings("16 KiB")...)
	x := r.tensor(100, 2048) // in another cube
	r.runAlone(func(t *tl.PE) {
		for range 30 {
			t.Load(x, tl.Shape{2048}, tl.F16)
		}
	})
	ops := r.ops(oplog.Load)
	for i, op := range ops {
		inFlight := 0
		for _, other := range ops[:i+1] {
			if other.End > op.Issue {
				inFlight++
			}
		}
		if inFlight > 4 {
			t.Errorf("%d loads of 4 KiB are in flight at %v, want at most 4 in a TCM of 16 KiB", inFlight, op.Issue)
		}
		if i >= 4 {
			same(t, fmt.Sprintf("load %d is issued at", i), op.Issue, max(ops[i-1].Issue+r.dispatch, ops[i-4].End))
		}
	}
}

// TestATileStaysWhileItIsRead checks that a tile is not evicted while a store reads it. A
// load that needs the space of the tile is issued when the store has ended.
func TestATileStaysWhileItIsRead(t *testing.T) {
	r := newRig(t, Options{Log: true}, tcmSettings("4 KiB")...)
	x, y := r.tensor(0, 2048), r.tensor(100, 2048)
	idle := r.callsFor(r.scheduler + r.fullTime(2048, 2))
	r.runAlone(func(t *tl.PE) {
		a := t.Zeros(tl.Shape{2048}, tl.F16)
		spendCalls(t, idle)
		t.Store(y, a)
		t.Load(x, tl.Shape{2048}, tl.F16)
	})
	same(t, "the load is issued at", r.op(oplog.Load).Issue, r.op(oplog.Store).End)
}

// TestACompositeReadsAheadAsFarAsTCMAllows checks that a composite does not fail if TCM has
// too little space to read as many steps ahead as usual. Here its tile takes 16 KiB and its
// two results 2 KiB each, which leaves space for three steps of 4 KiB but not for four.
func TestACompositeReadsAheadAsFarAsTCMAllows(t *testing.T) {
	r := newRig(t, Options{Log: true}, tcmSettings("32 KiB")...)
	a, b, c := r.tensor(0, 32, 256), r.tensor(0, 256, 32), r.tensor(0, 32, 32)
	_, err := r.try(Program{Targets: []PEID{0}, Body: func(t *tl.PE) {
		x := t.Load(a, tl.Shape{32, 256}, tl.F16).Pin()
		t.Wait(t.Composite(tl.Gemm(x, t.Ref(b, tl.Shape{256, 32}, tl.F16), c)))
	}})
	if err != nil {
		t.Error(err)
	}
}

// TestQueuesScratchAndCompositesTakeTCM checks that slots in TCM, scratch buffers and the
// buffers of composites reduce the space for tiles, and that the space is free after
// the composite and after the kernel.
func TestQueuesScratchAndCompositesTakeTCM(t *testing.T) {
	freeBytes := func(t *tl.PE) (free memory.Bytes) {
		o := recoverOverflow(func() { t.Zeros(tl.Shape{1 << 20}, tl.F64) })
		return o.Free
	}
	var free [4]memory.Bytes
	r := newRig(t, Options{})
	a, c := r.tensor(0, 32, 64), r.tensor(0, 32, 32)
	r.run(Program{Targets: []PEID{0, 1}, Links: pair(0, 1), Queues: topology.IPCQ{BufferKind: topology.BufferTCM}, Body: perRank(func(t *tl.PE) {
		free[0] = freeBytes(t)
		t.Scratch(tl.Shape{1000}, tl.F16)
		free[1] = freeBytes(t)
		h := t.Composite(tl.Gemm(t.Ref(a, tl.Shape{32, 64}, tl.F16), t.Ref(a.Strided(32, 1), tl.Shape{64, 32}, tl.F16), c))
		free[2] = freeBytes(t)
		t.Wait(h)
		free[3] = freeBytes(t)
	}, func(*tl.PE) {})})
	size := memory.Bytes(2 << 20)
	slots := memory.Bytes(4 * 4096)
	same(t, "free with the slots of a queue", free[0], size-slots)
	same(t, "free with 2000 B of scratch", free[1], size-slots-2048)
	// The composite holds the operands of two steps, 8 KiB each, and two results of 2 KiB.
	same(t, "free during a composite", free[2], size-slots-2048-2*8192-2*2048)
	same(t, "free after the composite", free[3], size-slots-2048)
	for _, p := range []PEID{0, 1} {
		if at, ok, err := r.PE(p).Tiles.MakeSpace(size); at != 0 && !ok || err != nil {
			t.Errorf("%v is not empty after its kernel: %v", r.PE(p), err)
		}
	}
}
