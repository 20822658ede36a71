package dist_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// enqueueMany runs four workers that each enqueue n operations before they wait for the
// first. `kind` is "all-reduces", "one tensor" for all-reduces of the same tensor, or
// "messages". enqueueMany returns the main rank.
func enqueueMany(tb testing.TB, kind string, n int) *torch.Rank {
	tb.Helper()
	c, err := torch.New(context.Background(), torch.Options{NoData: true, Topology: hostedtest.System(tb, "ring6", "system.sips.count=4")})
	if err != nil {
		tb.Fatal(err)
	}
	r := c.Main()
	err = r.Spawn(func(r *torch.Rank) error {
		rank := r.Rank()
		if err := dist.InitProcessGroup(r, dist.Backend); err != nil {
			return err
		}
		x := hostedtest.Full(r, rank, 1)
		for i := range n {
			if kind != "one tensor" {
				x = hostedtest.Full(r, rank, 1)
			}
			var err error
			switch {
			case kind != "messages":
				_, err = dist.AllReduceAsync(r, x, dist.SUM)
			case rank%2 == 0:
				_, err = dist.ISend(r, x, rank+1, i)
			default:
				_, err = dist.IRecv(r, x, rank-1, n-1-i)
			}
			if err != nil {
				return err
			}
		}
		return r.Synchronize()
	}, 4)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// BenchmarkPending measures the CPU time per operation for different numbers of pending
// operations.
func BenchmarkPending(b *testing.B) {
	for _, kind := range []string{"all-reduces", "one tensor", "messages"} {
		for _, n := range []int{100, 1000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				began := cpuTime()
				for b.Loop() {
					r := enqueueMany(b, kind, n)
					b.ReportMetric(r.Now().NS(), "sim-ns")
					r.Close()
				}
				b.ReportMetric(float64((cpuTime()-began).Microseconds())/float64(b.N*n), "cpu-µs/operation")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// TestPendingOperationsCostLinearTime checks that the scheduler inspects each operation a
// bounded number of times, no matter how many operations are pending. Most inspections are
// of earlier operations whose commands have been sent to the device. There are at most 64
// such operations in each stream.
func TestPendingOperationsCostLinearTime(t *testing.T) {
	const n, most = 1000, 600
	for _, kind := range []string{"all-reduces", "one tensor", "messages"} {
		r := enqueueMany(t, kind, n)
		if got := hosted.Scheduler(r.Context).Inspections; got > most*n {
			t.Errorf("%d %s: %d looks at operations, want at most %d for each", n, kind, got, most)
		}
		r.Close()
	}
}
