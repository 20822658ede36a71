package exec

import (
	"fmt"
	"sync"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/oplog"
)

// Executor computes the values of a log while it grows. Its methods belong to one
// goroutine, the one that appends to the log; Flush may use others meanwhile.
//
// What an operation computes must be in the log when it is appended, except for
// the send that a receive gets its value from: Args[0].From is 0 until it is known.
type Executor struct {
	// Poll, if set, is called now and then by whoever computes, from any goroutine
	// but one at a time. An error ends everything.
	Poll func() error

	log     *oplog.Log
	mem     func(oplog.Space) *memory.Store
	threads int
	grain   int // work worth a goroutine

	keep   bool                              // values until they are forgotten
	onRead func(op *oplog.Op, digest uint64) // what a host has read
	kernel map[int32][]oplog.ID              // tiles of the launches that run
	unsent []oplog.ID                        // receives that no send is known for
	err    error                             // the first, which ends everything

	effects int // applied
	active  int // operations that are computed once their operands are there

	// What follows is shared with the workers.
	mu       sync.Mutex
	nodes    []node // by ID - 1
	edges    []edge
	unused   int32                 // head of the list of edges that are free
	inputs   map[oplog.ID][]*value // memory operands of composites, once read
	finished []oplog.ID
	ready    []job
	queued   int // cost of what is ready
	workers  int
	stepped  sync.Cond // a worker has done something
	pool     pool
	spare    sync.Pool // of scratches, for workers
	own      scratch   // of the walk
}

// New returns an executor at the start of a log. mem finds the memories of the
// machine; threads is how many goroutines may compute at a time.
func New(log *oplog.Log, mem func(oplog.Space) *memory.Store, threads int) *Executor {
	e := &Executor{
		log: log, mem: mem, threads: max(1, threads), grain: defaultGrain, keep: true,
		onRead: func(op *oplog.Op, digest uint64) { op.Digest = digest },
		kernel: map[int32][]oplog.ID{},
		inputs: map[oplog.ID][]*value{},
		unused: none,
	}
	e.stepped.L = &e.mu
	e.spare.New = func() any { return new(scratch) }
	return e
}

// Flush applies all effects logged since the last call, and computes every value
// that can be computed now. After an error the executor stays where it is and
// Flush returns the error again.
func (e *Executor) Flush() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.flush()
	e.drain()
	return e.err
}

// effectsPerPoll is how many effects are applied between calls of Poll.
const effectsPerPoll = 1 << 10

// poll calls Poll and keeps its error, unless there is one.
func (e *Executor) poll() {
	if e.Poll != nil && e.err == nil {
		e.err = e.Poll()
	}
}

func (e *Executor) flush() {
	e.count()
	e.match()
	for e.err == nil && e.effects < len(e.log.Effects) {
		if e.effects%effectsPerPoll == 0 {
			if e.poll(); e.err != nil {
				return
			}
		}
		effect := e.log.Effects[e.effects]
		// Operations are computed from when they were issued, not before, so that
		// values exist for about as long as the tiles did.
		if e.activate(effect.Op); e.err != nil {
			return
		}
		if err := e.apply(effect); err != nil && e.err == nil {
			e.err = err
		}
		e.effects++
	}
	e.activate(oplog.ID(len(e.log.Ops)))
}

// Value is the bytes of the tile that an operation produces, computed first if
// need be. They are the executor's, and valid until the next call.
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

// Result is the bytes that a host read has read, nil if it has not happened. They
// stay until Forget.
func (e *Executor) Result(id oplog.ID) []byte {
	if int(id) > len(e.nodes) || e.node(id).value == nil {
		return nil
	}
	return e.node(id).value.bytes
}

// Forget says that no operation will use the value of this one, except for those
// already logged: its tile has left TCM, or the host has its Result.
func (e *Executor) Forget(id oplog.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.count(); e.err != nil {
		return
	}
	e.node(id).held = false
	e.drop(id)
}

// End forgets all tiles of a launch that has ended.
func (e *Executor) End(launch int32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.count(); e.err != nil {
		return
	}
	for _, id := range e.kernel[launch] {
		e.node(id).held = false
		e.drop(id)
	}
	delete(e.kernel, launch)
}

// fail is an error of an operation.
func (e *Executor) fail(id oplog.ID, format string, args ...any) error {
	return fmt.Errorf("%s: %w", e.log.Describe(id), fmt.Errorf(format, args...))
}

// Eager computes operations one at a time, when they are asked for: for machines that
// have values at once and need no log. The bits are those of an Executor. The zero
// Eager is ready for use, by one goroutine.
type Eager struct{ scratch scratch }

// Compute computes the value of an operation of the engines, Full to Gemm and Stream,
// into dst. data is the bytes of its operands, those of the epilogue behind its own,
// and nil for numbers; what is no number has a From, whichever. Shapes and dtypes are
// the caller's to check. A Reshape, whose value is its operand's, leaves dst as it is.
func (e *Eager) Compute(op *oplog.Op, dst []byte, data [][]byte) {
	s := &e.scratch
	s.dst, s.args = dst, s.args[:0]
	for o := range operands(op) {
		s.args = append(s.args, source{o, data[len(s.args)]})
	}
	units, _ := divisible(op)
	s.compute(op, 0, units)
}
