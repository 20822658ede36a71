package numeric

import "unsafe"

// cacheLine is the size of a cache line in bytes. Streaming stores are fastest if they
// fill whole lines.
const cacheLine = 64

// bytesToAlign returns how many bytes of b come before the next start of a cache line.
func bytesToAlign(b []byte) int {
	return int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % cacheLine)
}

// stream copies src to dst with stores that bypass the caches. src and dst must have equal
// lengths. The bytes before the first cache line of dst and after the last whole group are
// copied with plain stores. So are all bytes if there is no assembly or no whole group.
func stream(dst, src []byte) {
	head := bytesToAlign(dst)
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

// streamGroups copies the given number of groups, at least one, from src to dst. The
// address dst must be the start of a cache line. A fence makes the copies visible before
// any later store.
//
//go:noescape
func streamGroups(dst, src *byte, groups int)
