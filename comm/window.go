package comm

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// Window is memory at each rank of a communicator that all its ranks can access: signals,
// followed by bytes. [WindowBytes] returns the size of both.
type Window struct {
	comm    *Comm
	id      int // unique among the windows of the communicator, the same at all ranks
	seg     Segment
	local   []byte // signals and bytes
	bytes   int64
	signals int
	first   int // index of the signal that has number 0
	closed  bool
}

// AllocWindow creates a window with the given number of bytes and signals at each rank, all
// zero. Every rank of the communicator calls it with the same sizes. It returns when all
// ranks have created the window.
func (c *Comm) AllocWindow(bytes int64, signals int) (*Window, error) {
	p := newPlace("window", "alloc")
	if err := c.checkUsable(p); err != nil {
		return nil, err
	}
	if bytes < 0 || signals < 0 || bytes > 1<<46 || signals > 1<<30 {
		return nil, c.errorAt(p, fmt.Errorf("%w: a window of %d bytes and %d signals", ErrRange, bytes, signals))
	}
	m := message{kind: newWindow, values: [3]uint64{uint64(bytes), uint64(signals)}}
	handle, err := c.reserve(p, lists.Count(0, c.size), m, WindowBytes(bytes, signals), func(theirs message) error {
		return fmt.Errorf("%w: rank %d makes a window of %d bytes and %d signals, rank %d one of %d bytes and %d signals",
			ErrMismatch, c.world.rank, bytes, signals, c.ranks[0], theirs.values[0], theirs.values[1])
	})
	if err != nil {
		return nil, err
	}
	seg, err := c.world.link.Map(handle, c.ranks, WindowBytes(bytes, signals))
	if err != nil {
		return nil, c.fail(p, err)
	}
	c.allocated++
	w := &Window{comm: c, id: c.allocated, seg: seg, local: seg.Bytes(c.rank), bytes: bytes, signals: signals}
	c.windows = append(c.windows, w)
	return w, c.barrier(newPlace("window", "all have it"))
}

// Comm returns the communicator of the window.
func (w *Window) Comm() *Comm { return w.comm }

// Size returns the number of bytes that the window has at each rank, without the signals.
func (w *Window) Size() int64 { return w.bytes }

// Signals returns the number of signals that the window has at each rank.
func (w *Window) Signals() int { return w.signals }

// Bank renumbers the signals of the window at this rank: from now on, the signal with index
// `first` has number 0, the next signal number 1, and so on. A program can call Bank to
// alternate between banks, which are ranges of signals. Ranks that notify each other must
// use the same bank.
func (w *Window) Bank(first int) error {
	p := place{op: "bank", peer: -1, signal: first}
	if first < 0 || first > w.signals {
		return w.comm.errorAt(p, fmt.Errorf("%w: the window has %d signals", ErrRange, w.signals))
	}
	w.first = first
	return nil
}

// signalOffset returns the byte offset of a signal in each rank's part of the window. The
// parameter `signal` is the number that the signal has since the last call of Bank.
func (w *Window) signalOffset(signal int) int64 { return signalAt(w.first + signal) }

// Local returns the bytes of this rank's part of the window. They must not be used after
// the window is closed.
func (w *Window) Local() []byte { return w.Peer(w.comm.rank) }

// Peer returns the bytes of a rank's part of the window, which the caller may read and
// write directly. It returns nil if the backend cannot address them, there is no such rank
// or the window is closed. Only signals and barriers order accesses of different ranks.
func (w *Window) Peer(rank int) []byte {
	if w.closed || rank < 0 || rank >= w.comm.size {
		return nil
	}
	b := w.seg.Bytes(rank)
	if b == nil {
		return nil
	}
	from, to := signalAt(w.signals), signalAt(w.signals)+w.bytes
	return b[from:to:to]
}

// checkUsable returns an error if the window is closed or its communicator cannot be used.
// p is the operation that the error names.
func (w *Window) checkUsable(p place) error {
	if err := w.comm.checkUsable(p); err != nil || !w.closed {
		return err
	}
	return w.comm.errorAt(p, ErrClosed)
}

// checkSignal sets the peer of p. It returns an error unless the window is usable, the peer
// exists and the window has the signal that p names.
func (w *Window) checkSignal(p *place, peer int) error {
	if err := w.check(p, peer, 0, 0); err != nil {
		return err
	}
	return w.checkSignalIndex(*p)
}

// check sets the peer of p. It returns an error unless the window is usable, the peer
// exists and the n bytes that begin at offset `off` are inside the peer's part of the
// window.
func (w *Window) check(p *place, peer int, off, n int64) error {
	if err := w.checkUsable(*p); err != nil {
		return err
	}
	if peer < 0 || peer >= w.comm.size {
		return w.comm.errorAt(*p, fmt.Errorf("%w: no rank %d: there are 0 to %d", ErrRange, peer, w.comm.size-1))
	}
	p.peer = w.comm.ranks[peer]
	if off < 0 || off > w.bytes-n {
		return w.comm.errorAt(*p, fmt.Errorf("%w: bytes %d to %d of a window of %d", ErrRange, off, off+n, w.bytes))
	}
	return nil
}

// Put copies src to offset off of a peer's part of the window. A rank that waits for a
// later Notify of this rank sees the copied bytes.
func (w *Window) Put(peer int, off int64, src []byte) error {
	return w.copy(newPlace("put", ""), Segment.Put, peer, off, src)
}

// Get copies from offset off of a peer's part of the window into dst.
func (w *Window) Get(peer int, off int64, dst []byte) error {
	return w.copy(newPlace("get", ""), Segment.Get, peer, off, dst)
}

// copy checks the arguments of Put or Get and calls `do`, which is the method Put or Get of
// the segment.
func (w *Window) copy(p place, do func(s Segment, member int, off int64, b []byte) error, peer int, off int64, b []byte) error {
	if err := w.check(&p, peer, off, int64(len(b))); err != nil {
		return err
	}
	if err := do(w.seg, peer, signalAt(w.signals)+off, b); err != nil {
		return w.comm.fail(p, err)
	}
	return nil
}

// Notify changes a signal of a peer: op sets it to v or adds v. A rank that has waited for
// the change sees everything that this rank wrote before, in any window.
func (w *Window) Notify(peer, signal int, op tl.SignalOp, v int64) error {
	p := place{op: "notify", peer: -1, signal: signal}
	err := w.checkSignal(&p, peer)
	if err != nil {
		return err
	}
	switch op {
	case tl.Set:
		err = w.seg.Store(peer, w.signalOffset(signal), uint64(v))
	case tl.Add:
		err = w.seg.Add(peer, w.signalOffset(signal), uint64(v))
	default:
		return w.comm.errorAt(p, fmt.Errorf("%w: no operation %d: use Set or Add", ErrRange, op))
	}
	return w.comm.finishWrite(p, err)
}

// WaitSignal waits until a signal of this rank compares true with v, for example until it
// is at least v for tl.GE.
func (w *Window) WaitSignal(signal int, cmp tl.Cmp, v int64) error {
	return w.wait(place{op: "wait", peer: -1, signal: signal}, cmp, v)
}

// wait waits until the signal that p names compares true with v.
func (w *Window) wait(p place, cmp tl.Cmp, v int64) error {
	if err := w.checkWait(p, cmp); err != nil {
		return err
	}
	return w.comm.await(word(w.local, w.signalOffset(p.signal)), cmp, v, p)
}

// Condition is a comparison of a signal with a value.
type Condition struct {
	Signal int
	Cmp    tl.Cmp
	Value  int64
	Window *Window // window of the signal, in the same world; nil means the receiver of WaitAny
}

// windowOr returns the window of the condition, or w if the condition has none.
func (c *Condition) windowOr(w *Window) *Window { return cmp.Or(c.Window, w) }

// holds reports whether the comparison cmp of a signal of this rank with v is true now. It
// does not check its arguments.
func (w *Window) holds(signal int, cmp tl.Cmp, v int64) bool {
	return cmp.Holds(int64(atomic.LoadUint64(word(w.local, w.signalOffset(signal)))), v)
}

// WaitAny waits until at least one of the conditions is true and returns the index of the
// first one that is true. The list must not be empty.
func (w *Window) WaitAny(conditions []Condition) (int, error) {
	for _, c := range conditions {
		if err := c.windowOr(w).checkWait(place{op: "wait", peer: -1, signal: c.Signal}, c.Cmp); err != nil {
			return 0, err
		}
	}
	found := 0
	err := w.comm.awaitLong(func() bool {
		found = slices.IndexFunc(conditions, func(c Condition) bool { return c.windowOr(w).holds(c.Signal, c.Cmp, c.Value) })
		return found >= 0
	}, newPlace("wait", fmt.Sprintf("any of %d signals", len(conditions))))
	return max(found, 0), err
}

// TestSignal reports whether the comparison cmp of a signal of this rank with v is true
// now. It does not wait.
func (w *Window) TestSignal(signal int, cmp tl.Cmp, v int64) (bool, error) {
	p := place{op: "test", peer: -1, signal: signal}
	if err := w.checkWait(p, cmp); err != nil {
		return false, err
	}
	return w.holds(signal, cmp, v), nil
}

// checkWait returns an error unless the window is usable and has the signal that p names,
// and cmp is a valid comparison.
func (w *Window) checkWait(p place, cmp tl.Cmp) error {
	if err := w.checkUsable(p); err != nil {
		return err
	}
	if cmp > tl.LE {
		return w.comm.errorAt(p, fmt.Errorf("%w: no comparison %d", ErrRange, cmp))
	}
	return w.checkSignalIndex(p)
}

// checkSignalIndex returns an error unless the window has the signal that p names.
func (w *Window) checkSignalIndex(p place) error {
	if n := w.signals - w.first; p.signal < 0 || p.signal >= n {
		return w.comm.errorAt(p, fmt.Errorf("%w: the window has %d signals, from 0", ErrRange, n))
	}
	return nil
}

// Close closes the window at this rank without waiting. The memory is freed when all ranks
// have closed the window.
func (w *Window) Close() error {
	w.comm.windows = slices.DeleteFunc(w.comm.windows, func(o *Window) bool { return o == w })
	return w.free()
}

// free marks the window as closed and frees its segment at this rank. A second call does
// nothing.
func (w *Window) free() error {
	if w.closed {
		return nil
	}
	w.closed = true
	return w.seg.Free()
}

// Accumulate adds the elements in src to the elements at offset off of a peer's part of the
// window. Each addition is atomic: if several ranks add to the same element, no addend is
// lost. The order of the additions is not fixed. The offset is a multiple of the element's
// size.
func (w *Window) Accumulate(peer int, off int64, d numeric.DType, src []byte) error {
	p := newPlace("accumulate", "")
	if err := w.check(&p, peer, off, int64(len(src))); err != nil {
		return err
	}
	if !d.Valid() || off%int64(d.Size()) != 0 || len(src)%d.Size() != 0 {
		return w.comm.errorAt(p, fmt.Errorf("%w: %d bytes at offset %d are no whole elements of %v", ErrRange, len(src), off, d))
	}
	for len(src) > 0 {
		n := min(8-int(off%8), len(src))
		if err := w.addWord(peer, signalAt(w.signals)+off-off%8, int(off%8), d, src[:n]); err != nil {
			return w.comm.fail(p, err)
		}
		off += int64(n)
		src = src[n:]
	}
	w.comm.world.link.Wake(p.peer)
	return nil
}

// addWord atomically adds the elements of src to elements in one word of a peer's memory.
// The word is at offset off, and the first element is at byte `at` of the word.
func (w *Window) addWord(peer int, off int64, at int, d numeric.DType, src []byte) error {
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
