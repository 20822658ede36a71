package comm

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// Memory is a segment whose bytes this process can address, by member. It starts at
// a multiple of 8. Free does nothing: a backend that has something to free embeds
// Memory and has a Free of its own.
type Memory [][]byte

// Bytes is the memory of a member.
func (m Memory) Bytes(member int) []byte { return m[member] }

// Put copies into a member's memory.
func (m Memory) Put(member int, off int64, src []byte) error {
	copy(m[member][off:off+int64(len(src))], src)
	return nil
}

// Get copies out of a member's memory.
func (m Memory) Get(member int, off int64, dst []byte) error {
	if len(dst) == 8 && off%8 == 0 {
		binary.NativeEndian.PutUint64(dst, atomic.LoadUint64(word(m[member], off)))
		return nil
	}
	copy(dst, m[member][off:off+int64(len(dst))])
	return nil
}

// Store changes a word.
func (m Memory) Store(member int, off int64, v uint64) error {
	atomic.StoreUint64(word(m[member], off), v)
	return nil
}

// Add adds to a word.
func (m Memory) Add(member int, off int64, v uint64) error {
	atomic.AddUint64(word(m[member], off), v)
	return nil
}

// CompareAndSwap changes a word if it is what it is thought to be.
func (m Memory) CompareAndSwap(member int, off int64, old, new uint64) (bool, error) {
	return atomic.CompareAndSwapUint64(word(m[member], off), old, new), nil
}

// Free does nothing.
func (m Memory) Free() error { return nil }

// load reads a word of a member's memory.
func load(s Segment, member int, off int64) (uint64, error) {
	if b := s.Bytes(member); b != nil {
		return atomic.LoadUint64(word(b, off)), nil
	}
	var b [8]byte
	err := s.Get(member, off, b[:])
	return binary.NativeEndian.Uint64(b[:]), err
}

// bytesOf returns the memory of a value that is made of words.
func bytesOf[T message | Note](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// word is the word at an offset, for atomic use.
func word(b []byte, off int64) *uint64 {
	return (*uint64)(unsafe.Pointer(&b[off : off+8][0]))
}

// WindowBytes returns the size of each rank's part of a window: its signals, then its bytes.
// Signals are words on lines of the cache of their own, and the last bytes are a whole word,
// so that each can be changed at once. Nothing depends on how many ranks there are.
func WindowBytes(bytes int64, signals int) int64 { return signalAt(signals) + (bytes+7)&^7 }

// SignalBytes is the distance of signals in a window.
const SignalBytes = line

func signalAt(signal int) int64 { return int64(signal) * SignalBytes }
