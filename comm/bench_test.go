package comm_test

import (
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/tl"
)

// measurePair runs `body` on two ranks as a benchmark, once for each backend. `body` must
// repeat its work `rounds` times.
func measurePair(b *testing.B, body func(w *comm.Window, rounds int) error) {
	for _, backend := range backends {
		b.Run(backend, func(b *testing.B) {
			for rank, err := range commtest.World(comm.Options{Backend: backend, Timeout: commtest.Patience}, 2, func(c *comm.Comm) error {
				w, err := c.AllocWindow(64, 1)
				if err != nil {
					return err
				}
				if c.Rank() == 0 {
					b.ResetTimer()
				}
				return body(w, b.N)
			}) {
				if err != nil {
					b.Errorf("rank %d: %v", rank, err)
				}
			}
		})
	}
}

func BenchmarkBarrier(b *testing.B) {
	measurePair(b, func(w *comm.Window, rounds int) error {
		for range rounds {
			if err := w.Comm().Barrier(); err != nil {
				return err
			}
		}
		return nil
	})
}

// BenchmarkPutNotifyWait measures a round trip between two ranks: each rank in turn puts 8
// bytes and notifies the other rank, which waits for the signal.
func BenchmarkPutNotifyWait(b *testing.B) {
	measurePair(b, func(w *comm.Window, rounds int) error {
		peer := 1 - w.Comm().Rank()
		data := make([]byte, 8)
		for i := range rounds {
			if peer == 0 {
				if err := w.WaitSignal(0, tl.GE, int64(i)+1); err != nil {
					return err
				}
			}
			if err := w.Put(peer, 0, data); err != nil {
				return err
			}
			if err := w.Notify(peer, 0, tl.Add, 1); err != nil {
				return err
			}
			if peer == 1 {
				if err := w.WaitSignal(0, tl.GE, int64(i)+1); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
