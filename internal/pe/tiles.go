package pe

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// Tiles manages the TCM of a PE: its tiles, and bytes reserved for other uses.
//
// To make space, it evicts the tile that the kernel has not used for the longest time. The
// choice depends only on the order of operations in the program, not on simulated time: if
// the tile is still being read, the kernel waits. If the tiles of a kernel do not fit, the
// use of an evicted tile fails with Overflow.
type Tiles struct {
	Size      memory.Bytes
	used      memory.Bytes // by tiles and reservations
	slots     []slot       // slot 0 has no tile: it is the head of the list in order of use
	dma       *DMA
	pipeline  *Pipeline
	freeList  int32 // the first free slot; 0 is none
	lastFreed int32 // the tile that the kernel freed last, if it is still there; 0 is none

	count int         // number of tiles
	marks []slotMarks // by slot; nil without a trace
	// Forget, unless nil, is called with the slot of a tile that is evicted.
	Forget      func(slot int32)
	unevictable memory.Bytes // by pinned tiles and reservations
	reserved    memory.Bytes // by reservations
	freedBy     sim.Mark     // the activity that the latest call of MakeSpace waited for
}

// granule is the unit of allocation: the width of the TCM.
const (
	granule      memory.Bytes = 1 << granuleShift
	granuleShift              = 8
)

// maxTiles is the maximum number of tiles in TCM: the number of tile descriptors.
const maxTiles = 1024

// slot holds the state of one tile. It is small, because a kernel that creates tiles in a
// loop and does not free them uses every descriptor before it uses one again.
type slot struct {
	ready    simtime.Time // when its data is in TCM; simtime.Never if not known yet
	busy     simtime.Time // the end of the last known access
	granules int32        // its size
	version  uint32       // distinguishes it from earlier tiles in the slot (tl.Value.Turn)
	uses     int32        // readers whose end is not known yet
	parts    int32        // transfers that must arrive before it is ready
	waiting  int32        // the first DMA request that waits for it; 0 is none
	older    int16        // the tile that was used before it
	newer    int16        // the tile that was used after it, or the next free slot
	gone     uint32       // the version of the last tile in the slot that was freed
	pinned   bool         // Pin was called
	freed    bool         // Free was called
}

// slotMarks has the activities of a tile in a trace.
type slotMarks struct {
	ready sim.Mark // made it ready
	busy  sim.Mark // accesses it until slot.busy
}

// Init initializes m as an empty TCM.
func (m *Tiles) Init(size memory.Bytes) { m.Size, m.slots = size, make([]slot, 1, 8) }

// Overflow is the error of a kernel whose tiles do not fit into TCM.
type Overflow struct {
	Asked, Free, Size memory.Bytes
	Reserved          memory.Bytes // for slots of queues, Scratch and buffers of composites
	Gone              bool         // an evicted tile was used; if false, a new tile does not fit
	Freed             bool         // with Gone: the kernel freed the tile itself
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

// MakeSpace evicts tiles until n bytes are free and another tile can be added, and returns
// the time from which the bytes are free. `ok` is false if the time is not known yet,
// because the next tile to evict is in use or not ready.
//
// `keep` lists the operands of the current operation, which must not be evicted; they are
// the tiles that were used last. If only tiles in `keep` and pinned tiles are left,
// MakeSpace returns an *Overflow.
func (m *Tiles) MakeSpace(n memory.Bytes, keep ...int32) (at simtime.Time, ok bool, err error) {
	if n = roundUp(n); m.lastFreed != 0 {
		m.dropFreed()
	}
	for m.used+n > m.Size || m.count >= maxTiles {
		old := m.oldest()
		for old != 0 && m.slots[old].pinned {
			old = int32(m.slots[old].newer)
		}
		if old == 0 || slices.Contains(keep, old) {
			return 0, false, &Overflow{Asked: n, Free: m.Size - m.used, Size: m.Size, Reserved: m.reserved}
		}
		s := &m.slots[old]
		if s.uses > 0 || s.ready == simtime.Never {
			return at, false, nil
		}
		if s.ready > at {
			at, m.freedBy = s.ready, m.mark(old).ready
		}
		if s.busy > at {
			at, m.freedBy = s.busy, m.mark(old).busy
		}
		m.evict(old)
	}
	return at, true, nil
}

// dropFreed removes freed tiles that nothing accesses any more. So a kernel that frees its
// tiles uses few slots again and again, and the state of these slots stays in the cache.
func (m *Tiles) dropFreed() {
	for now := m.dma.eng.Now(); m.lastFreed != 0; {
		i := m.oldest()
		s := &m.slots[i]
		if s.uses > 0 || s.ready > now || s.busy > now {
			return
		}
		m.evict(i)
	}
}

// FreedBy returns the activity for which the latest call of MakeSpace waited. The time that
// MakeSpace returned is the end of this activity. If that time is 0, the result of FreedBy
// has no meaning. Without a trace, FreedBy returns 0.
func (m *Tiles) FreedBy() sim.Mark { return m.freedBy }

// MadeBy returns the activity that made tile i ready, or 0 without a trace.
func (m *Tiles) MadeBy(i int32) sim.Mark { return m.mark(i).ready }

// mark returns the activities of tile i in the trace, which are 0 without a trace.
func (m *Tiles) mark(i int32) slotMarks {
	if m.marks == nil {
		return slotMarks{}
	}
	return m.marks[i]
}

// Reserve takes n bytes, which MakeSpace has made free, for a use other than tiles.
func (m *Tiles) Reserve(n memory.Bytes) { m.reserve(roundUp(n)) }

// Release frees n bytes that Reserve took.
func (m *Tiles) Release(n memory.Bytes) { m.reserve(-roundUp(n)) }

func (m *Tiles) reserve(more memory.Bytes) {
	m.used += more
	m.unevictable += more
	m.reserved += more
}

func roundUp(n memory.Bytes) memory.Bytes { return (n + granule - 1) &^ (granule - 1) }

// New adds a tile of n bytes and returns its slot and version. MakeSpace must have made the
// bytes free. The tile is ready when the given number of parts has arrived, or when a
// command or SetReady sets its time.
func (m *Tiles) New(n memory.Bytes, parts int) (int32, uint32) {
	if m.freeList == 0 {
		m.addSlot()
	}
	i, n := m.freeList, roundUp(n)
	s := &m.slots[i]
	m.freeList = int32(s.newer)
	s.version++
	s.granules, s.parts = int32(n>>granuleShift), int32(parts)
	s.ready, s.busy, s.uses, s.waiting, s.pinned, s.freed = simtime.Never, 0, 0, 0, false, false
	m.used += n
	m.count++
	m.addNewest(i)
	return i, s.version
}

// addSlot adds a free slot. It does not use append, which would clear the unused capacity and
// copy slots, rarely in the processor cache, more often.
//
//go:noinline
func (m *Tiles) addSlot() {
	n := len(m.slots)
	if n == cap(m.slots) {
		grown := make([]slot, n, min(4*n, maxTiles+1))
		copy(grown, m.slots)
		m.slots = grown
	}
	m.slots = m.slots[:n+1]
	if m.dma.Trace != nil {
		m.marks = append(m.marks, make([]slotMarks, n+1-len(m.marks))...)
	}
	m.freeList = int32(n)
}

// Use marks tile i as the most recently used tile. If the tile was evicted or freed, Use
// returns an *Overflow. Its field Asked is not set, because the size of the tile is no
// longer known.
func (m *Tiles) Use(i int32, version uint32) *Overflow {
	s := &m.slots[i]
	if s.version != version || s.freed {
		return m.gone(s, version)
	}
	if s.newer != 0 { // it is not the newest
		m.unlink(s)
		m.addNewest(i)
	}
	return nil
}

// gone returns the error for the use of an evicted or freed tile. s is the slot that it had.
//
//go:noinline
func (m *Tiles) gone(s *slot, version uint32) *Overflow {
	return &Overflow{Size: m.Size, Gone: true, Freed: s.gone == version}
}

// Pin protects tile i from eviction until the kernel frees it.
func (m *Tiles) Pin(i int32) {
	if s := &m.slots[i]; !s.pinned {
		s.pinned = true
		m.unevictable += s.bytes()
	}
}

// Free marks tile i as no longer used by the kernel. Freed tiles are evicted before all other
// tiles, in the order in which the kernel freed them.
func (m *Tiles) Free(i int32) {
	s := &m.slots[i]
	s.freed, s.gone = true, s.version
	m.unpin(s)
	m.unlink(s)
	older := &m.slots[m.lastFreed]
	s.older, s.newer = int16(m.lastFreed), older.newer
	m.slots[s.newer].older = int16(i)
	older.newer = int16(i)
	m.lastFreed = i
}

func (m *Tiles) unpin(s *slot) {
	if s.pinned {
		s.pinned = false
		m.unevictable -= s.bytes()
	}
}

// Clear removes all tiles, at the end of a kernel.
func (m *Tiles) Clear() {
	for m.oldest() != 0 {
		m.evict(m.oldest())
	}
}

// Ready returns the time at which the data of tile i is in TCM, or simtime.Never if the
// time is not known yet.
func (m *Tiles) Ready(i int32) simtime.Time { return m.slots[i].ready }

func (m *Tiles) evict(i int32) {
	s := &m.slots[i]
	if m.Forget != nil {
		m.Forget(i)
	}
	m.unpin(s)
	m.used -= s.bytes()
	m.count--
	if m.unlink(s); i == m.lastFreed {
		m.lastFreed = 0 // the freed tiles come first, so it was the only one
	}
	s.version++
	s.newer = int16(m.freeList)
	m.freeList = i
}

func (m *Tiles) oldest() int32 { return int32(m.slots[0].newer) }

// addNewest adds tile i at the end of the list in order of use. The number 0 stands for both
// ends of the list.
func (m *Tiles) addNewest(i int32) {
	head, s := &m.slots[0], &m.slots[i]
	s.older, s.newer = head.older, 0
	m.slots[s.older].newer, head.older = int16(i), int16(i)
}

// unlink removes the tile in slot s from the list in order of use.
func (m *Tiles) unlink(s *slot) {
	m.slots[s.older].newer, m.slots[s.newer].older = s.newer, s.older
}

// addReader records that DMA request i, which is q, reads its source tile. It returns true if
// the ready time of the tile is known. Otherwise it returns false, and a later call of
// m.resolve forms the descriptor of the request.
func (m *Tiles) addReader(i int32, q *request) bool {
	s := &m.slots[q.source]
	s.uses++
	if s.ready != simtime.Never {
		return true
	}
	q.next = s.waiting
	s.waiting = i
	return false
}

// endUse records that one of the readers of tile i ends at the time `at`.
func (m *Tiles) endUse(i int32, at simtime.Time) {
	m.slots[i].uses--
	m.markBusy(i, at, m.dma.eng.By)
	m.pipeline.wakeWaiter()
}

// markBusy records that the activity `by` reads tile i, or writes a part of it, until the
// time `at`.
func (m *Tiles) markBusy(i int32, at simtime.Time, by sim.Mark) {
	if s := &m.slots[i]; at >= s.busy {
		s.busy = at
		if m.marks != nil {
			m.marks[i].busy = by
		}
	}
}

// arrive records that the activity `by` brought one part of tile i into TCM at the given
// time. The last part makes the tile ready.
func (m *Tiles) arrive(i int32, at simtime.Time, by sim.Mark) {
	m.markBusy(i, at, by)
	s := &m.slots[i]
	if s.parts--; s.parts == 0 {
		m.resolve(i, s.busy, m.mark(i).busy)
		m.pipeline.run()
	}
}

// SetReady sets the time at which tile i is ready, for a tile that no transfer writes.
func (m *Tiles) SetReady(i int32, at simtime.Time) { m.resolve(i, at, m.dma.eng.By) }

// resolve sets the time at which the activity `by` makes tile i ready, and forms the
// descriptors of the requests that wait for the tile.
func (m *Tiles) resolve(i int32, at simtime.Time, by sim.Mark) {
	s := &m.slots[i]
	s.ready = at
	if m.marks != nil {
		m.marks[i].ready = by
	}
	if s.waiting != 0 {
		m.formWaiting(s)
	}
}

// formWaiting forms the descriptors of the requests that wait for the tile in slot s, in the
// order in which they were submitted.
func (m *Tiles) formWaiting(s *slot) {
	pool := m.dma.pool
	first := int32(0)
	for r := s.waiting; r != 0; { // reverse the list, which has the latest request first
		next := pool[r].next
		pool[r].next = first
		first, r = r, next
	}
	s.waiting = 0
	for r := first; r != 0; {
		next := pool[r].next
		m.dma.formDescriptor(r, &pool[r])
		r = next
	}
}
