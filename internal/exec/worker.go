package exec

import (
	"github.com/kernbench/kernbench/oplog"
)

// job is an operation whose operands are there, or a part of one: units from to
// to, which are rows of products and elements of other operations.
type job struct {
	id       oplog.ID
	cost     int
	from, to int // to is 0 until the operation is cut into parts
}

// A worker is started for so much work that nobody does yet, in additions of f32: a
// few times what it costs to start one. A part of an operation is at least that.
const defaultGrain = 1 << 15

// push makes a job ready. The last in is the first out: the youngest values are
// still in the processor's cache, and the fewest exist at a time.
func (e *Executor) push(t job) {
	e.ready = append(e.ready, t)
	e.queued += t.cost
	if e.workers < e.threads-1 && e.queued >= e.grain*(e.workers+1) {
		e.workers++
		go e.work()
	}
}

// work does jobs until none is ready. Workers don't linger: the walk starts one
// whenever there is enough to do.
func (e *Executor) work() {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.spare.Get().(*scratch)
	defer e.spare.Put(s)
	for len(e.ready) > 0 {
		e.step(s)
		e.stepped.Signal()
	}
	e.workers--
	e.stepped.Signal()
}

// step does one job. It is called with the lock, and gives it up meanwhile.
func (e *Executor) step(s *scratch) {
	e.poll()
	t := e.ready[len(e.ready)-1]
	e.ready = e.ready[:len(e.ready)-1]
	e.queued -= t.cost
	op, n := e.log.Op(t.id), e.node(t.id)
	if t.to == 0 {
		n.value = e.pool.take(e.bytes(op))
		t = e.cut(op, t)
	}
	s.dst = n.value.bytes
	s.fetch(e, op)
	e.mu.Unlock()
	s.compute(op, t.from, t.to)
	e.mu.Lock()
	if n.waiting--; n.waiting > 0 {
		return
	}
	for o := range operands(op) {
		if o.From > 0 {
			e.used(o.From)
		}
	}
	for _, v := range e.inputs[t.id] {
		e.pool.release(v)
	}
	delete(e.inputs, t.id)
	e.finish(t.id, n.value)
}

// cut makes parts of a large operation ready and returns the first. Neither rows nor
// elements depend on each other, so that parts have the same bytes as the whole.
func (e *Executor) cut(op *oplog.Op, t job) job {
	units, least := divisible(op)
	parts := max(1, min(e.threads, units/least, t.cost/e.grain))
	e.node(t.id).waiting = int32(parts)
	t.cost /= parts
	for i := parts - 1; i > 0; i-- {
		t.from, t.to = i*units/parts, (i+1)*units/parts
		e.push(t)
	}
	t.from, t.to = 0, units/parts
	return t
}

// await works until an operation has its value.
func (e *Executor) await(id oplog.ID) error {
	for !e.node(id).done {
		switch {
		case e.err != nil && e.workers == 0:
			return e.err
		case len(e.ready) > 0:
			e.step(&e.own)
		case e.workers > 0:
			e.stepped.Wait()
		case e.active < len(e.nodes):
			// It may depend on one that was issued later, through a queue.
			e.activate(oplog.ID(e.active + 1))
		default:
			return e.unavailable(id)
		}
	}
	return nil
}

// drain works until nothing is ready, or lets go of it after an error.
func (e *Executor) drain() {
	for len(e.ready) > 0 || e.workers > 0 {
		if e.err != nil {
			e.ready = e.ready[:0]
		}
		if len(e.ready) > 0 {
			e.step(&e.own)
		} else if e.workers > 0 {
			e.stepped.Wait()
		}
	}
}

// divisible is how many units an operation has that can be computed apart, and how
// many of them are the least that should be.
func divisible(op *oplog.Op) (units, least int) {
	switch op.Kind {
	case oplog.Dot, oplog.Gemm:
		return int(op.Shape.Dim[0]), 32
	case oplog.Math, oplog.Stream, oplog.ReducePeers:
		return op.Shape.Elems(), 4 * block
	}
	return 1, 1
}

// cost is about how long an operation takes, in additions of f32.
func cost(op *oplog.Op) int {
	switch op.Kind {
	case oplog.Dot, oplog.Gemm:
		return op.Shape.Elems() * (int(op.Args[0].Shape.Dim[1])/4 + 1 + len(op.Epilogue))
	case oplog.Reduce:
		return op.Args[0].Shape.Elems()
	case oplog.ReducePeers:
		return op.Shape.Elems() * (len(op.Args) + len(op.Epilogue))
	case oplog.Softmax:
		return op.Shape.Elems() * 32
	}
	return op.Shape.Elems() * (1 + len(op.Epilogue))
}
