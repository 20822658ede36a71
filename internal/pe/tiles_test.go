package pe

import (
	"testing"

	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// TestFreedTilesLeaveTheirSlots checks that a freed tile gives up its slot and its bytes
// when nothing accesses it any more, and that a later use of it is reported as such.
func TestFreedTilesLeaveTheirSlots(t *testing.T) {
	eng := sim.New()
	m := Tiles{dma: &DMA{eng: eng}}
	m.Init(4 * granule)
	add := func(busy simtime.Time) (int32, uint32) {
		if _, ok, err := m.MakeSpace(granule); !ok || err != nil {
			t.Fatalf("MakeSpace is %v, %v", ok, err)
		}
		i, version := m.New(granule, 0)
		m.SetReady(i, 0)
		m.markBusy(i, busy, 0)
		return i, version
	}
	checkFreed := func(i int32, version uint32) {
		t.Helper()
		if err := m.Use(i, version); err == nil || !err.Freed {
			t.Errorf("use of a freed tile: %v", err)
		}
	}
	for range 1000 {
		i, version := add(0)
		m.Free(i)
		checkFreed(i, version)
	}
	if len(m.slots) != 2 || m.used != granule {
		t.Errorf("1000 tiles that were freed have taken %d slots, and the last takes %v", len(m.slots)-1, m.used)
	}
	first, v1 := add(10) // a message reads it until 10
	m.Free(first)
	second, v2 := add(5)
	m.Free(second)
	third, v3 := add(0)
	if first == second || first == third || second == third {
		t.Errorf("slots %d, %d and %d: a slot was used again while its tile was read", first, second, third)
	}
	checkFreed(first, v1)
	checkFreed(second, v2)
	if err := m.Use(third, v3); err != nil {
		t.Error(err)
	}
	add(0) // the fourth
	if at, ok, err := m.MakeSpace(granule); at != 10 || !ok || err != nil {
		t.Errorf("MakeSpace is %v, %v, %v: want to wait for the tile that was freed first", at, ok, err)
	}
	checkFreed(first, v1)
	if err := m.Use(third, v3); err != nil {
		t.Error(err)
	}
}
