package dist

import (
	"time"

	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/simtime"
)

// Work represents a collective or a message in flight, while the host code of the rank
// continues.
type Work struct {
	d      *state // the rank that called the collective
	call   *call
	handle *stream.Handle
}

// waitingRank returns the rank that waits for the collective: the rank that called it or,
// after Spawn has returned, the main rank of the program.
func (w *Work) waitingRank() *stream.Rank {
	if w.d.s.Over {
		return w.d.s.Main()
	}
	return w.d.s
}

// Wait waits for the end of the collective. After Wait, the tensors that the collective
// writes may be read. A second Wait does nothing.
func (w *Work) Wait() error { return w.await("Wait", 0) }

// WaitTimeout waits for the end of the collective, for at most the simulated time d. If the
// collective has not ended by then, WaitTimeout returns a *TimeoutError. The collective
// continues, and the rank can wait for it again. d = 0 means no limit.
func (w *Work) WaitTimeout(d time.Duration) error { return w.await("WaitTimeout", d) }

// await does the work of Wait and WaitTimeout. op is the name of the calling function, for
// errors.
func (w *Work) await(op string, d time.Duration) error {
	w.checkExists(op)
	if w.handle.Waited {
		return nil
	}
	r := w.waitingRank()
	if err := r.Begin(op); err != nil {
		return err
	}
	after := simulatedTime(op, d)
	ended, err := r.AwaitFor(w.handle.Op, after)
	if err == nil && !ended {
		return newTimeoutError(w.handle.Op, after)
	}
	w.handle.Waited = err == nil
	return err
}

// checkExists panics if w is nil. op is the name of the calling function, for errors.
func (w *Work) checkExists(op string) {
	refuse(w == nil, op, "the Work is nil: a call within Coalescing returns none, and neither does a Coalescing without calls: use the Work of CoalescingAsync")
}

// checkWaited panics if the rank has not waited for w. op is the name of the calling
// function, for errors.
func (w *Work) checkWaited(op string) {
	refuse(!w.handle.Waited || !w.handle.Op.HasEnded(), op, "%s has not been waited for: call Wait first", w)
}

// pollTime is the simulated time that IsCompleted takes if the collective has not ended
// when it is called.
const pollTime = 100 * simtime.Nanosecond

// IsCompleted reports whether the collective has ended. If it has not, IsCompleted lets 100
// ns of simulated time pass and tests again. Without this time, a loop that repeats
// IsCompleted until the result is true would never end. After a result of true, the rank
// need not call Wait.
func (w *Work) IsCompleted() bool {
	w.checkExists("IsCompleted")
	h := w.handle
	if h.Op.HasEnded() {
		h.Waited = true
	}
	r := w.waitingRank()
	if h.Waited || r.Begin("IsCompleted") != nil {
		return h.Waited
	}
	h.Waited = r.Sleep("a look at "+h.Op.Name, pollTime) == nil && h.Op.HasEnded()
	return h.Waited
}

// Stats returns the statistics of the collective. The rank must have waited for the
// collective. For a message, these are the statistics of the launch that carried the
// message, possibly together with other messages that began at the same instant.
func (w *Work) Stats() Stats {
	w.checkExists("Stats")
	w.checkWaited("Stats")
	s := w.call.stats
	s.Name = w.handle.Op.Name
	return s
}

// Source returns the sender of a received message, as a rank of the world. The rank must
// have waited for the receive.
func (w *Work) Source() int {
	w.checkExists("Source")
	refuse(!w.handle.Op.Message, "Source", "%s is not a message", w)
	w.checkWaited("Source")
	return w.call.source
}

// String returns the name of the collective.
func (w *Work) String() string { return w.handle.Op.Name }
