package numeric

import "unsafe"

// cacheLine is the bytes that streaming stores had better fill as a whole.
const cacheLine = 64

// untilAligned is the bytes of b before a line of the cache begins.
func untilAligned(b []byte) int {
	return int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % cacheLine)
}

// stream is a copy of equal lengths. Plain stores do what comes before the first line
// of dst and after the last whole group.
func stream(dst, src []byte) {
	head := untilAligned(dst)
	groups := (len(dst) - head) / group
	if !vector || groups <= 0 {
		copy(dst, src)
		return
	}
	tail := head + groups*group
	copy(dst[:head], src)
	streamGroups(&dst[head], &src[head], groups)
	copy(dst[tail:], src[tail:])
}

// streamGroups copies groups, at least one, to an aligned dst, and has them seen
// before any later store.
//
//go:noescape
func streamGroups(dst, src *byte, groups int)
