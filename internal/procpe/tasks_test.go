package procpe

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/inproc"
	"github.com/kernbench/kernbench/tl"
)

// TestRandomTasks runs random programs of tasks and checks that all tasks end. Each task is
// a kernel on a random worker of a random rank. The task waits for all or for any of some
// earlier tasks, and then notifies all ranks. The test also checks that no task continues
// too early.
func TestRandomTasks(t *testing.T) {
	type task struct {
		rank, worker int
		after        []int
		any          bool // wait for any task of after, not for all
	}
	rapid.Check(t, func(rt *rapid.T) {
		ranks := rapid.IntRange(1, 3).Draw(rt, "ranks")
		workers := rapid.IntRange(1, 4).Draw(rt, "workers")
		tasks := make([]task, rapid.IntRange(1, 24).Draw(rt, "tasks"))
		for i := range tasks {
			tasks[i] = task{
				rank:   rapid.IntRange(0, ranks-1).Draw(rt, "rank"),
				worker: rapid.IntRange(0, workers-1).Draw(rt, "worker"),
				any:    rapid.Bool().Draw(rt, "any"),
			}
			if i > 0 {
				tasks[i].after = rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, min(i, 3), rapid.ID).Draw(rt, "after")
			}
		}
		run := func(t *tl.PE, i int) {
			var cases []tl.Case
			for _, before := range tasks[i].after {
				cases = append(cases, tl.CanSignal(before, tl.EQ, 1))
				if !tasks[i].any {
					t.WaitSignal(before, tl.EQ, 1)
				}
			}
			if len(cases) > 0 {
				chosen := tasks[i].after[t.Select(cases...)]
				t.Assert(t.Test(chosen, tl.EQ, 1), "task %d continues before task %d", i, chosen)
			}
			for peer := range ranks {
				t.Notify(peer, i, tl.Add, 1)
			}
		}
		errs := runSessions(t, inproc.Name, ranks, setup{Signals: len(tasks), Delay: randomDelay()}, func(c *comm.Comm, s *Session) error {
			var list []*Worker
			var waiting [][]int // tasks of each worker
			for k := range workers {
				list, waiting = append(list, s.NewWorker()), append(waiting, nil)
				for i, x := range tasks {
					if x.rank == c.Rank() && x.worker == k {
						waiting[k] = append(waiting[k], i)
					}
				}
			}
			for {
				busy := list[:0:0]
				for k, w := range list {
					w.Resume()
					for !w.Running() && len(waiting[k]) > 0 && w.Err() == nil {
						i := waiting[k][0]
						waiting[k] = waiting[k][1:]
						start(w, fmt.Sprint("task ", i), func(t *tl.PE, _ tl.Ptr) { run(t, i) })
					}
					if err := w.Err(); err != nil {
						return err
					}
					if w.Running() {
						busy = append(busy, w)
					}
				}
				if len(busy) == 0 {
					break
				}
				if err := s.Wait(busy); err != nil {
					return err
				}
			}
			return c.Barrier()
		})
		for rank, err := range errs {
			if err != nil {
				rt.Fatalf("rank %d: %v\ntasks %s", rank, err, strings.ReplaceAll(fmt.Sprintf("%+v", tasks), "} {", "}\n{"))
			}
		}
	})
}
