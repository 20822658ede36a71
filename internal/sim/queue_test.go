package sim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/simtime"
)

// TestQueueOrder runs random sequences of pushes and of pops with a limit. It checks that
// events leave the queue as a stable sort by time would order them.
func TestQueueOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type event struct {
			at  Time
			arg uint64
		}
		var q queue
		var model []event
		now, pushed := Time(0), uint64(0)
		delta := rapid.OneOf(
			rapid.Int64Range(0, 3),
			rapid.Int64Range(0, 1<<20),
			rapid.Int64Range(0, 1<<62),
		)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "push") {
				at := now + Time(delta.Draw(t, "delta"))
				if at < now {
					at = simtime.Never
				}
				q.push(at, 1, 2, pushed)
				model = append(model, event{at, pushed})
				slices.SortStableFunc(model, func(a, b event) int {
					if a.at < b.at {
						return -1
					}
					return int(min(a.at-b.at, 1))
				})
				pushed++
				continue
			}
			limit := simtime.Never
			if rapid.Bool().Draw(t, "limited") {
				limit = now + Time(delta.Draw(t, "limit"))
				if limit < now {
					limit = simtime.Never
				}
			}
			at, e, ok := q.pop(limit)
			if want := len(model) > 0 && model[0].at <= limit; ok != want {
				t.Fatalf("pop(%d) = %v, want %v", limit, ok, want)
			}
			if !ok {
				if limit != simtime.Never {
					now = limit
				}
				continue
			}
			if got := (event{at, e.Arg}); got != model[0] {
				t.Fatalf("pop gave %v, want %v", got, model[0])
			}
			if e.Target != 1 || e.Kind != 2 {
				t.Fatalf("event lost its target or kind: %+v", e)
			}
			now, model = at, model[1:]
			if q.pending != len(model) {
				t.Fatalf("pending = %d, want %d", q.pending, len(model))
			}
		}
	})
}

func TestQueueAllocatesNothing(t *testing.T) {
	var q queue
	for i := range 1000 {
		q.push(Time(i*7919%4096), 0, 0, 0)
	}
	allocs := testing.AllocsPerRun(1000, func() {
		at, _, _ := q.pop(simtime.Never)
		q.push(at+at%100_003, 0, 0, 0)
	})
	if allocs != 0 {
		t.Errorf("%v allocations per event, want 0", allocs)
	}
}
