package pe

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// Tiles is what a PE's TCM holds: tiles, each until room is needed for another,
// and what is reserved of it.
//
// The tile that goes is the one that the kernel has not used for longest. Which
// that is depends on the program alone, not on time: if it is still being read,
// the kernel waits. A kernel whose tiles do not fit finds one gone when it wants
// to use it.
type Tiles struct {
	Size memory.Bytes
	// Forget, if set, is called with the slot of a tile that goes.
	Forget func(slot int32)

	used        memory.Bytes
	count       int          // tiles
	unevictable memory.Bytes // of what is used, pinned or reserved
	reserved    memory.Bytes // of what is held
	slots       []slot       // index 0 means none, and is in order of use between the newest and the oldest
	freeList    int32
	freedBy     sim.Mark // what the room that was made last had waited for
	dma         *DMA
	pipeline    *Pipeline
}

// granule is the least that a tile takes: the width of the TCM.
const granule memory.Bytes = 256

// maxTiles is how many tiles there may be in TCM at a time: their descriptors.
const maxTiles = 1024

// slot is the place of one tile.
type slot struct {
	ready    simtime.Time // when it is there; simtime.Never if that is not known yet
	busy     simtime.Time // until when it is read, as far as known
	by       sim.Mark     // what made it ready, if somebody traces
	busyBy   sim.Mark     // and what reads it until then
	granules int32        // its size
	version  uint32       // tells the tile from earlier ones
	uses     int32        // that will read it, and are not over or not known yet
	parts    int32        // transfers to come before it is there
	waiting  int32        // DMA requests that wait for it
	older    int32        // in order of use
	newer    int32
	pinned   bool
	freed    bool
}

// Init makes m an empty TCM.
func (m *Tiles) Init(size memory.Bytes) { m.Size, m.slots = size, make([]slot, 1, 8) }

// Overflow is the error of a kernel whose tiles do not fit into TCM.
type Overflow struct {
	Asked, Free, Size memory.Bytes
	Reserved          memory.Bytes // for slots of queues, Scratch and buffers of composites
	Gone              bool         // it is a tile used again, and not a new one
	Freed             bool         // by the kernel itself
}

func (o *Overflow) Error() string {
	if o.Freed {
		return "the tile was freed before: Free it after its last use"
	}
	if o.Gone {
		return fmt.Sprintf("TCM overflow: the tile of %v is no longer there: %v of others, or %d, came after its last use, and there is no more room; use fewer or smaller tiles, Pin this one, or Free others", o.Asked, o.Size, maxTiles)
	}
	if o.Reserved > o.Size/2 {
		return fmt.Sprintf("TCM overflow: %v asked, %v of %v free, and %v taken by slots of queues, Scratch and composites: use fewer or smaller slots (pe.ipcq), or another memory for them (buffer_kind)", o.Asked, o.Free, o.Size, o.Reserved)
	}
	return fmt.Sprintf("TCM overflow: %v asked, %v of %v free: use fewer or smaller tiles, or Free pinned ones", o.Asked, o.Free, o.Size)
}

func (s *slot) bytes() memory.Bytes { return memory.Bytes(s.granules) * granule }

// Room makes room for n bytes, and says from when on it is there. ok is false if
// that is not known yet: the tile to go is in use.
//
// The tiles to keep are those that the present operation uses, and has used last.
func (m *Tiles) Room(n memory.Bytes, keep ...int32) (at simtime.Time, ok bool, err error) {
	n = roundUp(n)
	for m.used+n > m.Size || m.count >= maxTiles {
		old := m.oldest()
		for old != 0 && m.slots[old].pinned {
			old = m.slots[old].newer
		}
		if old == 0 || slices.Contains(keep, old) {
			return 0, false, &Overflow{Asked: n, Free: m.Size - m.used, Size: m.Size, Reserved: m.reserved}
		}
		s := &m.slots[old]
		if s.uses > 0 || s.ready == simtime.Never {
			return at, false, nil
		}
		if s.ready > at {
			at, m.freedBy = s.ready, s.by
		}
		if s.busy > at {
			at, m.freedBy = s.busy, s.busyBy
		}
		m.evict(old)
	}
	return at, true, nil
}

// FreedBy is the activity that the room which was made last had waited for.
func (m *Tiles) FreedBy() sim.Mark { return m.freedBy }

// MadeBy is the activity that made a tile ready.
func (m *Tiles) MadeBy(i int32) sim.Mark { return m.slots[i].by }

// Reserve takes n bytes that Room made, for something other than tiles; Release
// gives them back.
func (m *Tiles) Reserve(n memory.Bytes) { m.reserve(roundUp(n)) }

// Release gives back what Reserve took.
func (m *Tiles) Release(n memory.Bytes) { m.reserve(-roundUp(n)) }

func (m *Tiles) reserve(more memory.Bytes) {
	m.used += more
	m.unevictable += more
	m.reserved += more
}

func roundUp(n memory.Bytes) memory.Bytes { return (n + granule - 1) / granule * granule }

// New is a tile of n bytes, for which there is Room. It is there when `parts`
// transfers have arrived, or when a command says so.
func (m *Tiles) New(n memory.Bytes, parts int) (int32, uint32) {
	i := m.freeList
	if i == 0 {
		i = int32(len(m.slots))
		m.slots = append(m.slots, slot{})
	} else {
		m.freeList = m.slots[i].newer
	}
	s := &m.slots[i]
	*s = slot{version: s.version + 1, granules: int32(roundUp(n) / granule), ready: simtime.Never, parts: int32(parts)}
	m.used += s.bytes()
	m.count++
	m.link(i, m.newest(), 0)
	return i, s.version
}

// Use makes a tile the newest, which the kernel uses. It returns an error, without the size of
// the tile, if that is gone.
func (m *Tiles) Use(i int32, turn uint32) *Overflow {
	if s := &m.slots[i]; s.version != turn || s.freed {
		return &Overflow{Size: m.Size, Gone: true, Freed: s.version == turn}
	}
	if m.newest() != i {
		m.unlink(i)
		m.link(i, m.newest(), 0)
	}
	return nil
}

// Pin keeps a tile until it is freed.
func (m *Tiles) Pin(i int32) {
	if s := &m.slots[i]; !s.pinned {
		s.pinned = true
		m.unevictable += s.bytes()
	}
}

// Free ends a tile: it is the next to go.
func (m *Tiles) Free(i int32) {
	m.slots[i].freed = true
	m.unpin(i)
	m.unlink(i)
	m.link(i, 0, m.oldest())
}

func (m *Tiles) unpin(i int32) {
	if s := &m.slots[i]; s.pinned {
		s.pinned = false
		m.unevictable -= s.bytes()
	}
}

// Clear ends all tiles, at the end of a kernel.
func (m *Tiles) Clear() {
	for m.oldest() != 0 {
		m.evict(m.oldest())
	}
}

// Ready is when a tile is there, simtime.Never if that is not known.
func (m *Tiles) Ready(i int32) simtime.Time { return m.slots[i].ready }

func (m *Tiles) evict(i int32) {
	s := &m.slots[i]
	if m.Forget != nil {
		m.Forget(i)
	}
	m.unpin(i)
	m.used -= s.bytes()
	m.count--
	m.unlink(i)
	s.version++
	s.newer = m.freeList
	m.freeList = i
}

func (m *Tiles) newest() int32 { return m.slots[0].older }
func (m *Tiles) oldest() int32 { return m.slots[0].newer }

// link puts tile i between two neighbours in order of use, of which 0 is the end.
func (m *Tiles) link(i, older, newer int32) {
	m.slots[i].older, m.slots[i].newer = older, newer
	m.slots[older].newer, m.slots[newer].older = i, i
}

func (m *Tiles) unlink(i int32) {
	s := &m.slots[i]
	m.slots[s.older].newer, m.slots[s.newer].older = s.newer, s.older
}

// addReader notes that DMA request r reads tile i, and reports whether the tile's time
// is known; if not, the request is formed when it is.
func (m *Tiles) addReader(i, r int32) bool {
	s := &m.slots[i]
	s.uses++
	if s.ready != simtime.Never {
		return true
	}
	m.dma.pool[r].next = s.waiting
	s.waiting = r
	return false
}

// endUse ends a use of tile i at an instant.
func (m *Tiles) endUse(i int32, at simtime.Time) {
	m.slots[i].uses--
	m.markBusy(i, at, m.dma.eng.By)
	m.pipeline.wakeWaiter()
}

// markBusy notes that an activity reads tile i, or writes a part of it, until an instant.
func (m *Tiles) markBusy(i int32, at simtime.Time, by sim.Mark) {
	if s := &m.slots[i]; at >= s.busy {
		s.busy, s.busyBy = at, by
	}
}

// arrive is the arrival, at an instant and by an activity, of one of the transfers that
// tile i waits for.
func (m *Tiles) arrive(i int32, at simtime.Time, by sim.Mark) {
	m.markBusy(i, at, by)
	s := &m.slots[i]
	if s.parts--; s.parts == 0 {
		m.resolve(i, s.busy, s.busyBy)
		m.pipeline.run()
	}
}

// SetReady says when tile i is there, of one that nothing is loaded into.
func (m *Tiles) SetReady(i int32, at simtime.Time) { m.resolve(i, at, m.dma.eng.By) }

// resolve settles when tile i is there, made by an activity.
func (m *Tiles) resolve(i int32, at simtime.Time, by sim.Mark) {
	s := &m.slots[i]
	s.ready, s.by = at, by
	first := int32(0)
	for r := s.waiting; r != 0; { // the list is in reverse
		next := m.dma.pool[r].next
		m.dma.pool[r].next = first
		first, r = r, next
	}
	s.waiting = 0
	for r := first; r != 0; {
		next := m.dma.pool[r].next
		m.dma.formDescriptor(r)
		r = next
	}
}
