package exec

import (
	"fmt"
	"slices"
	"sync"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/oplog"
)

// Executor computes the values of a log while the log grows. Its methods must be called
// from the goroutine that appends to the log. Other goroutines compute: from a transient
// log while the caller goes on, and from another log during Flush.
//
// What an operation computes must be in the log when the operation is appended. The only
// exception is the send that a receive takes its value from: Args[0].From is 0 until the
// send is known.
type Executor struct {
	// Poll, unless nil, is called from time to time while values are computed: from any
	// goroutine, but never from two at once. If it returns an error, the execution ends
	// with that error.
	Poll func() error

	log     *oplog.Log
	mem     func(oplog.Space) *memory.Store
	threads int
	grain   int // the cost that justifies another goroutine

	keepTiles bool                              // keep tiles until Forget
	onRead    func(op *oplog.Op, digest uint64) // called with what a host has read; may be nil
	queue     queue                             // of a transient log

	// The fields below are shared with the workers, under the lock.
	mu          sync.Mutex
	err         error      // the first error, which ends the execution
	unsent      []oplog.ID // receives whose send is not known yet; not of a transient log
	applied     int        // effects that have been applied
	active      int        // number of operations, from the first, that are computed once their operands exist
	nodes       nodes
	edges       []edge
	freeEdges   int32                 // head of the list of free edges, or none
	inputs      map[oplog.ID][]*value // operands that composites have read from memory
	finished    []oplog.ID
	ready       []job
	queuedCost  int // total cost of ready
	workers     int
	progress    sync.Cond // signalled when a worker has ended a job
	pool        pool
	scratches   sync.Pool // *scratch for workers
	walkScratch scratch   // for the goroutine that walks over the effects
	pages       [1][]byte // for page
}

// New returns an executor at the start of the log. The function `mem` returns the memory
// that holds the bytes of a space. `threads` is the number of goroutines that may compute
// at a time. From a transient log, the executor takes a batch of operations whenever the
// log has enough.
func New(log *oplog.Log, mem func(oplog.Space) *memory.Store, threads int) *Executor {
	e := &Executor{
		log: log, mem: mem, threads: max(1, threads), grain: defaultGrain, keepTiles: true,
		inputs:    map[oplog.ID][]*value{},
		freeEdges: none,
	}
	if log.Transient {
		log.Full = e.handOver
		e.nodes.transient = true
	} else {
		e.onRead = func(op *oplog.Op, digest uint64) { op.Digest = digest }
	}
	e.queue.changed.L = &e.queue.mu
	e.progress.L = &e.mu
	e.scratches.New = func() any { return new(scratch) }
	return e
}

// Flush applies all effects that were logged since the last call, and computes every value
// that can be computed now. After an error the executor does nothing more, and every later
// call of Flush returns the same error.
func (e *Executor) Flush() error {
	if e.log.Transient {
		e.handOver()
		e.queue.wait()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.log.Transient {
		e.registerOps()
		e.matchReceives()
		e.walk(e.log.Effects[e.applied:])
		e.drain()
	}
	return e.err
}

// effectsPerPoll is the number of effects that are applied between two calls of Poll.
const effectsPerPoll = 1 << 10

// poll calls Poll, if Poll is set and no error has occurred before. It records the error
// that Poll returns. After Stop, it records errStopped instead.
func (e *Executor) poll() {
	switch {
	case e.err != nil:
	case e.queue.stopped.Load():
		e.err = errStopped
	case e.Poll != nil:
		e.err = e.Poll()
	}
}

// walk applies the next effects, and makes all operations whose operands exist ready to be
// computed.
func (e *Executor) walk(effects []oplog.Effect) {
	for _, effect := range effects {
		if e.applied%effectsPerPoll == 0 {
			e.poll()
		}
		// Do not compute operations before they were issued. This way, values exist for
		// about as long as their tiles existed in TCM.
		if e.activate(effect.Op); e.err != nil {
			return
		}
		if err := e.apply(effect); err != nil && e.err == nil {
			e.err = err
		}
		e.applied++
	}
	e.activate(oplog.ID(e.nodes.last))
}

// Value returns the bytes of the tile that operation id produces. It computes them first if
// necessary. It returns an error if the operation has no value, if the value cannot be
// computed yet, or if the value has been dropped. The bytes belong to the executor and are
// valid until the next call of one of its methods.
func (e *Executor) Value(id oplog.ID) ([]byte, error) {
	if err := e.Flush(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.nodes.find(id)
	switch {
	case n == nil && id > 0 && int(id) <= e.nodes.last, n != nil && n.done && n.value == nil:
		return nil, fmt.Errorf("%s: its value is no longer there: ask before the tile is freed and its kernel ends", e.describe(id))
	case n == nil || !hasValue[n.kind]:
		return nil, fmt.Errorf("%s has no value", e.describe(id))
	case n.value != nil && n.value.parts != nil:
		return slices.Concat(n.value.parts...), nil
	case n.value != nil:
		return n.value.bytes, nil
	}
	return nil, e.unavailable(id)
}

// Result returns the bytes that the host read with operation id, in parts, or nil if that
// read has not happened yet. The caller must not change the bytes. Flush must have been
// called before.
func (e *Executor) Result(id oplog.ID) [][]byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := e.nodes.find(id); n != nil && n.value != nil {
		return n.value.parts
	}
	return nil
}

// Forget declares that no operation logged from now on will use the value of operation id,
// because its tile has left TCM or the host has its Result. The value is kept only until
// the operations that are already logged have used it.
func (e *Executor) Forget(id oplog.ID) {
	if e.log.Transient {
		e.queue.forgotten = append(e.queue.forgotten, id)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.registerOps()
	e.forget(id)
}

// forget implements Forget after operation id and its users have been registered.
func (e *Executor) forget(id oplog.ID) {
	if n := e.nodes.find(id); n != nil && e.err == nil {
		n.held = false
		e.drop(id)
	}
}

// fail returns an error with the given text that names operation id.
func (e *Executor) fail(id oplog.ID, format string, args ...any) error {
	return fmt.Errorf("%s: %w", e.describe(id), fmt.Errorf(format, args...))
}

// Eager computes operations one at a time, for machines that need values at once and keep
// no log. The results are the same bits as those of an Executor. The zero Eager is ready
// for use by one goroutine.
type Eager struct{ scratch scratch }

// Compute computes the value of op into dst. op must be an operation of the engines: one of
// the kinds from Full to Gemm, or Stream. `data` holds the bytes of each operand, followed
// by those of the operands of the epilogue; the entry of an operand that is a number is
// nil. An operand that is not a number must have a From, with any ID. The caller must have
// checked shapes and dtypes. A Reshape has the same value as its operand, so Compute leaves
// dst unchanged.
func (e *Eager) Compute(op *oplog.Op, dst []byte, data [][]byte) {
	s := &e.scratch
	s.dst, s.args = dst, s.args[:0]
	for o := range operands(op) {
		s.args = append(s.args, source{o, data[len(s.args)]})
	}
	units, _ := parallelUnits(op)
	s.compute(op, 0, units)
}
