package comm

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// Memory is a segment whose bytes this process can address: a slice for each member, which
// begins at a multiple of 8 bytes. Free does nothing: a backend that must free memory
// embeds Memory and defines its own Free.
type Memory [][]byte

// Bytes returns the memory of a member.
func (m Memory) Bytes(member int) []byte { return m[member] }

// Put copies src into the memory of a member, at offset off.
func (m Memory) Put(member int, off int64, src []byte) error {
	copy(m[member][off:off+int64(len(src))], src)
	return nil
}

// Get copies from offset off of the memory of a member into dst. If dst is one aligned
// word, Get reads the word atomically.
func (m Memory) Get(member int, off int64, dst []byte) error {
	if len(dst) == 8 && off%8 == 0 {
		binary.NativeEndian.PutUint64(dst, atomic.LoadUint64(word(m[member], off)))
		return nil
	}
	copy(dst, m[member][off:off+int64(len(dst))])
	return nil
}

// Store sets the word at offset off of a member to v, atomically.
func (m Memory) Store(member int, off int64, v uint64) error {
	atomic.StoreUint64(word(m[member], off), v)
	return nil
}

// Add adds v to the word at offset off of a member, atomically.
func (m Memory) Add(member int, off int64, v uint64) error {
	atomic.AddUint64(word(m[member], off), v)
	return nil
}

// CompareAndSwap compares a word with `old` and, if they are equal, sets the word to `new`,
// atomically. The word is at offset `off` of the memory of a member. CompareAndSwap reports
// whether the word was equal to `old`.
func (m Memory) CompareAndSwap(member int, off int64, old, new uint64) (bool, error) {
	return atomic.CompareAndSwapUint64(word(m[member], off), old, new), nil
}

// Free does nothing. A backend that must free memory embeds Memory and defines its own
// Free.
func (m Memory) Free() error { return nil }

// load atomically reads and returns the word at offset `off` in the memory of a member.
func load(s Segment, member int, off int64) (uint64, error) {
	if b := s.Bytes(member); b != nil {
		return atomic.LoadUint64(word(b, off)), nil
	}
	var b [8]byte
	err := s.Get(member, off, b[:])
	return binary.NativeEndian.Uint64(b[:]), err
}

// bytesOf returns the bytes of *v without copying. T consists of words.
func bytesOf[T message | Note](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// word returns a pointer to the word at offset `off` in b, for atomic operations.
func word(b []byte, off int64) *uint64 {
	return (*uint64)(unsafe.Pointer(&b[off : off+8][0]))
}

// WindowBytes returns the total size of a window at each rank, in bytes. The parameters are
// the number of bytes for data and the number of signals. Each signal is a word on a cache
// line of its own. The data follows the signals. It is padded to whole words, so that each
// element can be changed atomically. The result does not depend on the number of ranks.
func WindowBytes(bytes int64, signals int) int64 { return signalAt(signals) + (bytes+7)&^7 }

// SignalBytes is the distance between two signals in a window.
const SignalBytes = cacheLine

// signalAt returns the byte offset of the signal with the given index in each rank's part
// of a window.
func signalAt(signal int) int64 { return int64(signal) * SignalBytes }
