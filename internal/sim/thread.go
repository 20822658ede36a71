package sim

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// threads are the goroutines that run the shares of the engines other than the host's.
type threads struct {
	windows []chan window // by thread, without the first; nil while no goroutine runs
	running sync.WaitGroup
	ended   sync.WaitGroup
}

// start starts a goroutine for each of the engines but the first, unless it has started.
func (t *threads) start(engines []*Engine) {
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
func (t *threads) run(w window) {
	t.running.Add(len(t.windows))
	for _, windows := range t.windows {
		windows <- w
	}
}

// wait waits until all goroutines have run their window.
func (t *threads) wait() { t.running.Wait() }

// stop ends the goroutines.
func (t *threads) stop() {
	for _, windows := range t.windows {
		close(windows)
	}
	t.windows = nil
	t.ended.Wait()
}

// crash is a panic of a model in a goroutine of threads. The engine panics with it in the
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
