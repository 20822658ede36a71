package collperf

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rows come in the order of the jobs, whichever ends first: here each but the last of
// three waits for the one after it.
func TestInOrder(t *testing.T) {
	var ended [4]chan struct{}
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	close(ended[3])
	var jobs []job
	for i := range 3 {
		jobs = append(jobs, job{run: func(context.Context) (Row, error) {
			<-ended[i+1]
			close(ended[i])
			return Row{Count: i}, nil
		}})
	}
	var got []int
	err := inOrder(t.Context(), jobs, 3, func(r Row) { got = append(got, r.Count) })
	if diff := cmp.Diff([]int{0, 1, 2}, got); diff != "" || err != nil {
		t.Errorf("error %v, rows (-want +got):\n%s", err, diff)
	}
}

// The first error in the order of jobs counts, after all rows before it; jobs after it
// are cancelled.
func TestInOrderFails(t *testing.T) {
	for atATime := 1; atATime <= 6; atATime++ {
		var jobs []job
		for i := range 6 {
			jobs = append(jobs, job{run: func(ctx context.Context) (Row, error) {
				switch i {
				case 2, 3:
					return Row{}, fmt.Errorf("job %d", i)
				case 4: // only if somebody stops it
					<-ctx.Done()
				}
				return Row{Count: i}, context.Cause(ctx)
			}})
		}
		var got []int
		err := inOrder(t.Context(), jobs, atATime, func(r Row) { got = append(got, r.Count) })
		if diff := cmp.Diff([]int{0, 1}, got); diff != "" || err == nil || err.Error() != "job 2" {
			t.Errorf("%d at a time: error %v, want job 2; rows (-want +got):\n%s", atATime, err, diff)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	waits := job{run: func(ctx context.Context) (Row, error) {
		cancel()
		<-ctx.Done()
		return Row{}, context.Cause(ctx)
	}}
	if err := inOrder(ctx, []job{waits, waits}, 2, func(Row) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: got %v, want %v", err, context.Canceled)
	}
}

// Jobs that take much memory run alone.
func TestInOrderMemory(t *testing.T) {
	running := 0 // without a lock: only one job at a time touches it
	large := job{weight: mostMemory + 1, run: func(context.Context) (Row, error) {
		running++
		defer func() { running-- }()
		return Row{Count: running}, nil
	}}
	err := inOrder(t.Context(), []job{large, large, large}, 3, func(r Row) {
		if r.Count != 1 {
			t.Errorf("%d jobs at a time, want 1", r.Count)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
