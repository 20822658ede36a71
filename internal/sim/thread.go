package sim

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// thread is the state of a thread that runs events.
type thread struct {
	// By is the activity that caused the current event; 0 without a trace. Activities that
	// start now are released by it.
	By Mark

	handlers  []Handler // by Target
	queue     *queue    // of the current partition
	now       Time
	ran       uint64
	nextCheck uint64       // the value of ran at which run checks the context again
	woken     FIFO[uint64] // processes to resume at the current instant
	unusedIDs []int32      // ids of processes that have ended
	err       error        // ends the run: set by Stop or fail

	current    int32 // the current partition; 0 unless the engine is split
	end        Time  // the current partition runs up to this time
	latest     Time  // of all events of the partitions
	latestLeft Time  // when the last process left its partition
	failures   []failed
	outbox     []crossing // events that partitions have scheduled in this window for each other
	counted    uint64     // events that the meter has counted
	crash      *crash     // a panic of a model
}

// goroutines are those that run the shares of the engines other than the host's.
type goroutines struct {
	windows []chan window // by thread, without the first; nil while no goroutine runs
	running sync.WaitGroup
	ended   sync.WaitGroup
}

// start starts a goroutine for each of the engines but the first, unless it has started.
func (t *goroutines) start(engines []*Engine) {
	if t.windows != nil {
		return
	}
	for i, e := range engines[1:] {
		windows := make(chan window, 1)
		t.windows = append(t.windows, windows)
		t.ended.Go(func() {
			for w := range windows {
				e.runGuarded(i+1, w)
				t.running.Done()
			}
		})
	}
}

// run starts window w in all goroutines.
func (t *goroutines) run(w window) {
	t.running.Add(len(t.windows))
	for _, windows := range t.windows {
		windows <- w
	}
}

// wait waits until all goroutines have run their window.
func (t *goroutines) wait() { t.running.Wait() }

// stop ends the goroutines.
func (t *goroutines) stop() {
	for _, windows := range t.windows {
		close(windows)
	}
	t.windows = nil
	t.ended.Wait()
}

// crash is a panic of a model in one of the goroutines. The engine panics with it in the
// goroutine of the run.
type crash struct {
	value any
	stack string
}

func (c *crash) Error() string { return fmt.Sprintf("%v\n%s", c.value, c.stack) }

// runGuarded runs the share of window w of thread number `thread`, and keeps a panic.
func (e *Engine) runGuarded(thread int, w window) {
	defer func() {
		if value := recover(); value != nil {
			e.crash = &crash{value, string(debug.Stack())}
		}
	}()
	e.runShare(thread, w)
}
