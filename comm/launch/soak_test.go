//go:build linux

package launch

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/tl"
)

var soak = flag.Bool("soak", false, "run a million generations of barriers and signals between processes")

func init() { Register("soak", soakJob) }

// soakJob synchronizes with the other ranks many times, with random delays, alternately by
// a barrier and by signals. Each rank stores in its window the generation that it has
// entered: the number of synchronizations so far. After each synchronization, soakJob
// returns an error if another rank is behind, which means an early release, or is two
// generations ahead.
func soakJob(_ context.Context, c *comm.Comm, arg []byte) ([]byte, error) {
	var generations uint64
	if err := json.Unmarshal(arg, &generations); err != nil {
		return nil, err
	}
	w, err := c.AllocWindow(64, 1)
	if err != nil {
		return nil, err
	}
	lap := func(rank int) *uint64 { return (*uint64)(unsafe.Pointer(&w.Peer(rank)[0])) }
	delays := rand.New(rand.NewPCG(1, uint64(c.Rank())))
	for g := uint64(1); g <= generations; g++ {
		switch n := delays.IntN(20_000); {
		case n == 0:
			time.Sleep(12 * time.Millisecond) // long enough for the other ranks to stop polling and sleep
		case n < 200:
			runtime.Gosched()
		}
		atomic.StoreUint64(lap(c.Rank()), g)
		if g%2 == 0 {
			err = c.Barrier()
		} else {
			err = notifyAndWait(c, w, int64(g+1)/2)
		}
		if err != nil {
			return nil, err
		}
		for rank := range c.Size() {
			if at := atomic.LoadUint64(lap(rank)); at < g || at > g+1 {
				return nil, fmt.Errorf("rank %d leaves generation %d while rank %d is in %d", c.Rank(), g, rank, at)
			}
		}
	}
	return nil, nil
}

// notifyAndWait notifies all other ranks. Then it waits until the number of notifications
// that this rank has received in total is `times` multiplied by the number of other ranks.
// `times` is the number of calls so far, including this call.
func notifyAndWait(c *comm.Comm, w *comm.Window, times int64) error {
	for rank := range c.Size() {
		if rank == c.Rank() {
			continue
		}
		if err := w.Notify(rank, 0, tl.Add, 1); err != nil {
			return err
		}
	}
	return w.WaitSignal(0, tl.GE, times*int64(c.Size()-1))
}

// TestSoak runs soakJob in processes. It checks that barriers and signals never release a
// rank too early, and always release it in the end.
func TestSoak(t *testing.T) {
	arg := "2000"
	if *soak {
		arg = "1000000"
	}
	if _, err := Run(t.Context(), Options{Ranks: 4, Output: t.Output()}, "soak", []byte(arg)); err != nil {
		t.Error(err)
	}
}
