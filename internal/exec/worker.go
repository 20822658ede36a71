package exec

import (
	"github.com/kernbench/kernbench/oplog"
)

// job is an operation whose operands exist, or a part of one: the units in [from, to).
// Units are rows of products and elements of other operations.
type job struct {
	id       oplog.ID
	cost     int
	from, to int // to is 0 until the operation is divided into parts
}

// defaultGrain is the cost of waiting work, in additions of f32, that justifies starting a
// worker: a few times the cost of starting one. A part of an operation costs at least
// that.
const defaultGrain = 1 << 15

// push adds a job to the ready jobs and starts a worker if there is enough work. Workers
// take the job that was added last, because its operands are still in the processor cache
// and because fewer values then exist at a time.
func (e *Executor) push(t job) {
	e.ready = append(e.ready, t)
	e.queuedCost += t.cost
	if e.workers < e.threads-1 && e.queuedCost >= e.grain*(e.workers+1) {
		e.workers++
		go e.work()
	}
}

// work runs jobs until none is ready, then returns. A worker does not wait for more jobs:
// push starts a new worker whenever there is enough work.
func (e *Executor) work() {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.scratches.Get().(*scratch)
	defer e.scratches.Put(s)
	for len(e.ready) > 0 {
		e.step(s)
		e.progress.Signal()
	}
	e.workers--
	e.progress.Signal()
}

// step takes a ready job and runs it. The caller holds the lock; step releases the lock
// while it computes.
func (e *Executor) step(s *scratch) {
	e.poll()
	t := e.ready[len(e.ready)-1]
	e.ready = e.ready[:len(e.ready)-1]
	e.queuedCost -= t.cost
	op, n := e.op(t.id), e.node(t.id)
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
			e.endUse(o.From)
		}
	}
	for _, v := range e.inputs[t.id] {
		e.pool.release(v)
	}
	delete(e.inputs, t.id)
	e.finish(t.id, n.value)
}

// cut divides the operation of job t into parts if the operation is large. It makes all
// parts but the first ready and returns the first part. Neither rows nor elements depend on
// each other, so the parts give the same bytes as the whole.
func (e *Executor) cut(op *oplog.Op, t job) job {
	units, least := parallelUnits(op)
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

// await runs jobs until operation id has its value. It returns an error if the value cannot
// be computed.
func (e *Executor) await(id oplog.ID) error {
	for !e.node(id).done {
		switch {
		case e.err != nil && e.workers == 0:
			return e.err
		case len(e.ready) > 0:
			e.step(&e.walkScratch)
		case e.workers > 0:
			e.progress.Wait()
		case e.active < e.nodes.last:
			// Through a queue, id may depend on an operation that was issued later.
			e.activate(oplog.ID(e.active + 1))
		default:
			return e.unavailable(id)
		}
	}
	return nil
}

// drain runs jobs until none is ready. After an error it discards the ready jobs instead.
func (e *Executor) drain() {
	for len(e.ready) > 0 || e.workers > 0 {
		if e.err != nil {
			e.ready = e.ready[:0]
		}
		if len(e.ready) > 0 {
			e.step(&e.walkScratch)
		} else if e.workers > 0 {
			e.progress.Wait()
		}
	}
}

// parallelUnits returns the number of units, such as rows or elements, into which op can be
// divided. Units are computed independently of each other. `least` is the smallest number
// of units that is worth a separate job.
func parallelUnits(op *oplog.Op) (units, least int) {
	switch op.Kind {
	case oplog.Dot, oplog.Gemm:
		return int(op.Shape.Dim[0]), 32
	case oplog.Math, oplog.Stream, oplog.ReducePeers:
		return op.Shape.Elems(), 4 * block
	}
	return 1, 1
}

// cost estimates how long op takes to compute, as an equivalent number of f32 additions.
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
