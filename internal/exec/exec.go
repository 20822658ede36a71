package exec

import (
	"fmt"
	"sync"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/oplog"
)

// Executor computes the values of a log while the log grows. Its methods must be called
// from the goroutine that appends to the log. Flush may start other goroutines.
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

	keepTiles   bool                              // keep tiles until Forget or End
	onRead      func(op *oplog.Op, digest uint64) // called with what a host has read
	launchTiles map[int32][]oplog.ID              // the tiles of each launch that has not ended
	unsent      []oplog.ID                        // receives whose send is not known yet
	err         error                             // the first error, which ends the execution

	applied int // effects that have been applied
	active  int // number of operations, from the first, that are computed once their operands exist

	// The fields below are shared with the workers.
	mu          sync.Mutex
	nodes       []node // by ID - 1
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
}

// New returns an executor at the start of the log. The function `mem` returns the memory
// that holds the bytes of a space. `threads` is the number of goroutines that may compute
// at a time.
func New(log *oplog.Log, mem func(oplog.Space) *memory.Store, threads int) *Executor {
	e := &Executor{
		log: log, mem: mem, threads: max(1, threads), grain: defaultGrain, keepTiles: true,
		onRead:      func(op *oplog.Op, digest uint64) { op.Digest = digest },
		launchTiles: map[int32][]oplog.ID{},
		inputs:      map[oplog.ID][]*value{},
		freeEdges:   none,
	}
	e.progress.L = &e.mu
	e.scratches.New = func() any { return new(scratch) }
	return e
}

// Flush applies all effects that were logged since the last call, and computes every value
// that can be computed now. After an error the executor does nothing more, and every later
// call of Flush returns the same error.
func (e *Executor) Flush() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.flush()
	e.drain()
	return e.err
}

// effectsPerPoll is the number of effects that are applied between two calls of Poll.
const effectsPerPoll = 1 << 10

// poll calls Poll, if Poll is set and no error has occurred before. It records the error
// that Poll returns.
func (e *Executor) poll() {
	if e.Poll != nil && e.err == nil {
		e.err = e.Poll()
	}
}

// flush applies all effects that were logged since the last call, and makes all operations
// whose operands exist ready to be computed.
func (e *Executor) flush() {
	e.registerOps()
	e.matchReceives()
	for e.err == nil && e.applied < len(e.log.Effects) {
		if e.applied%effectsPerPoll == 0 {
			if e.poll(); e.err != nil {
				return
			}
		}
		effect := e.log.Effects[e.applied]
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
	e.activate(oplog.ID(len(e.log.Ops)))
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
	if id < 1 || int(id) > len(e.nodes) {
		return nil, fmt.Errorf("%s has no value", e.log.Describe(id))
	}
	n := e.node(id)
	switch {
	case n.value != nil:
		return n.value.bytes, nil
	case n.done:
		return nil, fmt.Errorf("%s: its value is no longer there: ask before the tile is freed and its kernel ends", e.log.Describe(id))
	case !hasValue[e.log.Op(id).Kind]:
		return nil, fmt.Errorf("%s has no value", e.log.Describe(id))
	}
	return nil, e.unavailable(id)
}

// Result returns the bytes that the host read with operation id, or nil if that read has
// not happened yet. The bytes are valid until Forget.
func (e *Executor) Result(id oplog.ID) []byte {
	if int(id) > len(e.nodes) || e.node(id).value == nil {
		return nil
	}
	return e.node(id).value.bytes
}

// Forget declares that no operation logged from now on will use the value of operation id,
// because its tile has left TCM or the host has its Result. The value is kept only until
// the operations that are already logged have used it.
func (e *Executor) Forget(id oplog.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.registerOps(); e.err != nil {
		return
	}
	e.node(id).held = false
	e.drop(id)
}

// End calls Forget for all tiles of a launch that has ended.
func (e *Executor) End(launch int32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.registerOps(); e.err != nil {
		return
	}
	for _, id := range e.launchTiles[launch] {
		e.node(id).held = false
		e.drop(id)
	}
	delete(e.launchTiles, launch)
}

// fail returns an error with the given text that names operation id.
func (e *Executor) fail(id oplog.ID, format string, args ...any) error {
	return fmt.Errorf("%s: %w", e.log.Describe(id), fmt.Errorf(format, args...))
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
