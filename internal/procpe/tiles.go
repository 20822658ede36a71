package procpe

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// tiles is the tiles of a kernel. A kernel does not say when it has done with one, so
// they go as they do from TCM: when there are too many bytes of them, those that were
// not used for longest. A slot and its turn name a tile.
type tiles struct {
	limit, used int64
	slots       []slot // the first is no tile: before it in the ring is the newest, behind it the oldest
	unused      []int32
	spare       []byte // of the last tile that went
}

type slot struct {
	bytes        []byte
	turn         uint32
	pinned       bool
	older, newer int32
}

// overhead is what a tile costs beside its bytes.
const overhead = 64

func cost(bytes int) int64 { return int64(bytes) + overhead }

// add is the bytes of a new tile, with anything in them. Tiles in the slots to keep stay.
func (t *tiles) add(v *tl.Value, keep ...int32) ([]byte, error) {
	if len(t.slots) == 0 {
		t.slots = append(t.slots, slot{})
	}
	n := int(v.Bytes())
	for old := t.slots[0].newer; t.used+cost(n) > t.limit; {
		if old == 0 {
			return nil, fmt.Errorf("no room for a tile of %d bytes: %d of %d are tiles that are pinned or that it is made of; Free some, or use smaller ones", n, t.used, t.limit)
		}
		next := t.slots[old].newer
		if !t.slots[old].pinned && !slices.Contains(keep, old) {
			t.drop(old)
		}
		old = next
	}
	if len(t.unused) == 0 {
		t.unused = append(t.unused, int32(len(t.slots)))
		t.slots = append(t.slots, slot{})
	}
	i := t.unused[len(t.unused)-1]
	t.unused = t.unused[:len(t.unused)-1]
	s := &t.slots[i]
	s.turn++
	if c := cap(t.spare); n <= c && c <= 2*n {
		s.bytes, t.spare = t.spare[:n], nil
	} else {
		s.bytes = make([]byte, n)
	}
	t.used += cost(n)
	t.link(i)
	v.Slot, v.Turn = i, s.turn
	return s.bytes, nil
}

// use is the bytes of a tile, which becomes the newest.
func (t *tiles) use(v *tl.Value) ([]byte, error) {
	s := &t.slots[v.Slot]
	if s.turn != v.Turn {
		return nil, fmt.Errorf("the tile is no longer there: it was freed, or %d bytes of others came after its last use; Pin it, or Free others", t.limit)
	}
	t.unlink(v.Slot)
	t.link(v.Slot)
	return s.bytes, nil
}

// drop ends a tile.
func (t *tiles) drop(i int32) {
	s := &t.slots[i]
	t.used -= cost(len(s.bytes))
	t.spare, s.bytes, s.pinned = s.bytes, nil, false
	s.turn++
	t.unlink(i)
	t.unused = append(t.unused, i)
}

// clear ends all tiles.
func (t *tiles) clear() {
	for len(t.slots) > 0 && t.slots[0].newer != 0 {
		t.drop(t.slots[0].newer)
	}
	t.spare = nil
}

func (t *tiles) link(i int32) {
	newest := t.slots[0].older
	t.slots[i].older, t.slots[i].newer = newest, 0
	t.slots[newest].newer, t.slots[0].older = i, i
}

func (t *tiles) unlink(i int32) {
	s := &t.slots[i]
	t.slots[s.older].newer, t.slots[s.newer].older = s.newer, s.older
}
