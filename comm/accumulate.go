package comm

import (
	"encoding/binary"
	"fmt"

	"github.com/kernbench/kernbench/internal/numeric"
)

// DType is the type of elements.
type DType = numeric.DType

// Accumulate adds elements to those of a rank's part of the window, each at once: sums
// of several ranks into the same elements lose nothing, in whatever order they come.
// The offset is a multiple of the element's size.
func (w *Window) Accumulate(peer int, off int64, d DType, src []byte) error {
	p := at("accumulate", "")
	if err := w.check(&p, peer, off, int64(len(src))); err != nil {
		return err
	}
	if !d.Valid() || off%int64(d.Size()) != 0 || len(src)%d.Size() != 0 {
		return w.comm.errorAt(p, fmt.Errorf("%w: %d bytes at offset %d are no whole elements of %v", ErrRange, len(src), off, d))
	}
	for len(src) > 0 {
		n := min(8-int(off%8), len(src))
		if err := w.addWord(peer, signalBytes(w.signals)+off-off%8, int(off%8), d, src[:n]); err != nil {
			return w.comm.fail(p, err)
		}
		off += int64(n)
		src = src[n:]
	}
	w.comm.world.link.Wake(p.peer)
	return nil
}

// addWord adds elements to those from byte at of a word.
func (w *Window) addWord(peer int, off int64, at int, d DType, src []byte) error {
	for {
		old, err := load(w.seg, peer, off)
		if err != nil {
			return err
		}
		var b [8]byte
		binary.NativeEndian.PutUint64(b[:], old)
		numeric.Apply(numeric.Add, d, b[at:at+len(src)], b[at:at+len(src)], src)
		done, err := w.seg.CompareAndSwap(peer, off, old, binary.NativeEndian.Uint64(b[:]))
		if err != nil || done {
			return err
		}
	}
}
