package exec

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/kernbench/kernbench/oplog"
)

// maxBatches is the number of batches that may wait for the executor. If there are as many,
// the goroutine that appends to the log waits.
const maxBatches = 8

// batch is a part of a transient log, with the tiles that were forgotten since the part
// before.
type batch struct {
	oplog.Batch
	forgotten []oplog.ID
}

// queue passes the batches of a transient log from the goroutine that appends to the log to
// the goroutine that executes them. The latter exists only while there are batches.
type queue struct {
	forgotten []oplog.ID  // since the last batch; only for the goroutine that appends
	stopped   atomic.Bool // Stop has been called

	mu      sync.Mutex
	changed sync.Cond // signalled when a batch has been taken and when the execution ends
	batches []*batch
	free    []*batch
	running bool // a goroutine executes batches
}

// handOver moves the contents of the log to the queue. It waits if the queue is full.
func (e *Executor) handOver() {
	q := &e.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.batches) >= maxBatches {
		q.changed.Wait()
	}
	b := &batch{}
	if n := len(q.free); n > 0 {
		b, q.free = q.free[n-1], q.free[:n-1]
	}
	e.log.Take(&b.Batch)
	q.forgotten, b.forgotten = b.forgotten[:0], q.forgotten
	q.batches = append(q.batches, b)
	if !q.running {
		q.running = true
		go e.runBatches()
	}
}

// wait waits until all batches have been executed.
func (q *queue) wait() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.running {
		q.changed.Wait()
	}
}

// next recycles the executed batch `done` and returns the next batch, or nil if there is
// none. In that case, `end` says that the execution is to end.
func (q *queue) next(done *batch, end bool) *batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	if done != nil {
		clear(done.Ops) // so that their operands and data can be freed
		q.free = append(q.free, done)
	}
	if len(q.batches) == 0 {
		q.running = !end
		q.changed.Broadcast()
		return nil
	}
	b := q.batches[0]
	q.batches = append(q.batches[:0], q.batches[1:]...)
	q.changed.Broadcast()
	return b
}

// runBatches executes batches until there is none left.
func (e *Executor) runBatches() {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b *batch
	for {
		if b = e.queue.next(b, false); b == nil {
			e.drain()
			if b = e.queue.next(nil, true); b == nil {
				return
			}
		}
		e.execute(b)
	}
}

// execute executes a batch. Then it computes until no operation is ready, so that values do
// not accumulate.
func (e *Executor) execute(b *batch) {
	if e.poll(); e.err != nil {
		return
	}
	e.addOps(b.Ops)
	for _, m := range b.Matches {
		e.op(m.Recv).Args[0] = m.From
		e.countUses(m.Recv)
	}
	e.walk(b.Effects)
	for _, id := range b.forgotten {
		e.forget(id)
	}
	for len(e.ready) > 0 && e.err == nil {
		e.step(&e.walkScratch)
	}
}

// errStopped is the error of an executor after Stop.
var errStopped = errors.New("the computation of values was stopped")

// Stop ends the execution of a transient log. It returns when no goroutine of the executor
// runs any more. The values that have not been computed are lost.
func (e *Executor) Stop() {
	e.queue.stopped.Store(true)
	e.queue.wait()
}
