package comm

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// world is what a rank has once, however many domains it is in.
type world struct {
	ctx        context.Context
	link       Link
	rank, size int
	timeout    time.Duration
	crowded    bool
	ctrl       *control
	poison     atomic.Pointer[Error]
	look       look
	seen       []sight // of all ranks, when all were last seen to sleep
}

// aborted is the rank that told this one that it failed, -1 if none did.
func (w *world) aborted() int { return int(atomic.LoadUint64(word(w.ctrl.local, 0))) - 1 }

// tell makes the others' operations fail too. It does what it can: they may be gone.
func (w *world) tell(e *Error) {
	culprit := w.rank
	if by := w.aborted(); by >= 0 {
		culprit = by // they hear from the first, or from whoever heard of it
	}
	copy(w.ctrl.local[line:line+textBytes-1], e.Error())
	for peer := range others(w.rank, w.size) {
		if _, err := w.ctrl.CompareAndSwap(peer, 0, 0, uint64(culprit)+1); err == nil {
			w.link.Wake(peer)
		}
	}
}

// told is why another rank says that it failed.
func (w *world) told(by int) error {
	reason, err := w.text(by, line, textBytes)
	if err != nil {
		return fmt.Errorf("%w, and its reason cannot be read: %w", ErrPeer, err)
	}
	return fmt.Errorf("%w: %s", ErrPeer, reason)
}

// text reads a text in the control memory of a rank, which ends with a 0.
func (w *world) text(rank int, at int64, most int) (string, error) {
	b := make([]byte, most)
	err := w.ctrl.Get(rank, at, b)
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b), err
}
