package comm_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/kernbench/kernbench/comm"
)

var pid = os.Getpid()

// TestPutNotifyWait passes numbers round a ring: what was put before a notification is
// there after the wait.
func TestPutNotifyWait(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 8} {
		everywhere(t, n, func(c *comm.Comm) error {
			w, err := c.AllocWindow(64, 2)
			if err != nil {
				return err
			}
			next := (c.Rank() + 1) % n
			for round := range 200 {
				if err := w.Put(next, 8, []byte{byte(c.Rank()), byte(round)}); err != nil {
					return err
				}
				if err := w.Notify(next, 0, comm.Add, 1); err != nil {
					return err
				}
				if err := w.WaitSignal(0, comm.GE, int64(round)+1); err != nil {
					return err
				}
				if got, want := [2]byte(w.Local()[8:]), [2]byte{byte((c.Rank() + n - 1) % n), byte(round)}; got != want {
					return fmt.Errorf("round %d: got %v, want %v", round, got, want)
				}
				if err := c.Barrier(); err != nil {
					return err
				}
			}
			return nil
		})
	}
}
