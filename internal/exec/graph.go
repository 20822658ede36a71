package exec

import (
	"iter"
	"math"

	"github.com/kernbench/kernbench/oplog"
)

// node is the state of an operation of the log.
type node struct {
	op      *oplog.Op // the operation, if the log is transient; nil after it has ended
	value   *value
	out     int32 // head of the list of edges to operations that wait for value
	waiting int32 // missing operands; while the operation is computed, unfinished parts
	uses    int32 // logged operations that have not used value yet
	held    bool  // a kernel, a queue or a host may add uses
	done    bool  // value exists or has existed
	exists  bool  // the node has been added and not removed
	kind    oplog.Kind
	effects int8 // effects that have not been applied

	touched [oplog.Write + 1]bool // the effects that were applied, by phase
}

// edge leads from an operation to another one that waits for its value.
type edge struct {
	to   oplog.ID
	next int32
}

// none is the index of no edge, and the size class of no buffer.
const none = -1

// hasValue has an element for each kind of operation that says whether operations of the
// kind have a value. Its length covers invalid kinds, too.
var hasValue = [math.MaxUint8 + 1]bool{
	oplog.Load: true, oplog.Get: true, oplog.HostRead: true, oplog.Send: true, oplog.Recv: true,
	oplog.Full: true, oplog.Arange: true, oplog.Math: true, oplog.Reduce: true, oplog.Softmax: true, oplog.Dot: true,
	oplog.Cast: true, oplog.Trans: true, oplog.Reshape: true, oplog.Broadcast: true,
	oplog.Gemm: true, oplog.Stream: true, oplog.ReducePeers: true,
}

// operands returns an iterator over the operands of op, followed by the operands of its
// epilogue.
func operands(op *oplog.Op) iter.Seq[*oplog.Operand] {
	return func(yield func(*oplog.Operand) bool) {
		for i := range op.Args {
			if !yield(&op.Args[i]) {
				return
			}
		}
		for i := range op.Epilogue {
			for j := range op.Epilogue[i].Args {
				if !yield(&op.Epilogue[i].Args[j]) {
					return
				}
			}
		}
	}
}

// usesOperands reports whether operations of kind k use the values of their operands.
// Signals and waits do not: their operands only name operations that must come first.
func usesOperands(k oplog.Kind) bool { return hasValue[k] || k == oplog.Store || k == oplog.Put }

// registerOps adds the operations that have been logged since the last call.
func (e *Executor) registerOps() {
	if e.err == nil {
		e.addOps(e.log.Ops[e.nodes.last:])
	}
}

// addOps adds a node for each of the next operations. It counts how often each value is
// used as an operand, so that the value is kept until all uses have ended.
func (e *Executor) addOps(ops []oplog.Op) {
	first := e.nodes.last + 1
	for i := range ops {
		e.nodes.add(&ops[i])
	}
	for id := oplog.ID(first); int(id) <= e.nodes.last && e.err == nil; id++ {
		e.hold(id)
		e.countUses(id)
	}
}

// matchReceives calls countUses again for every receive whose send was unknown at the
// previous call. The send may have become known since; if it has not, countUses adds the
// receive to e.unsent again.
func (e *Executor) matchReceives() {
	unsent := e.unsent
	e.unsent = unsent[:0]
	for _, id := range unsent {
		if e.err != nil {
			return
		}
		e.countUses(id)
	}
}

// hold records how long the value of operation id must be kept, apart from the operations
// that use the value as an operand. The value of a send is kept until it is received. If a
// composite or a receive writes its result to memory, the result is kept until it is
// written. If e.keepTiles is set, a tile is kept until Forget.
func (e *Executor) hold(id oplog.ID) {
	op, n := e.op(id), e.node(id)
	switch {
	case op.Kind == oplog.Send: // kept until it is received
		n.held = true
	case op.Kind.IsComposite(), op.Kind == oplog.Recv && len(op.Mem) > 0:
		n.uses += int32(min(1, len(op.Mem))) // kept until it is written
	case hasValue[op.Kind]:
		n.held = e.keepTiles
	}
}

// countUses counts operation id as a user of each of its operands. It sets e.err if an
// operand is not in the log, or if its value was forgotten. A receive whose send is unknown
// is added to e.unsent. When the send becomes known, a later call of countUses makes the
// receive wait for the value of the send.
func (e *Executor) countUses(id oplog.ID) {
	op := e.op(id)
	if !usesOperands(op.Kind) {
		return
	}
	for o := range operands(op) {
		from := e.nodes.find(o.From)
		switch {
		case o.From < 0 || int(o.From) > e.nodes.last:
			e.err = e.fail(id, "an operand is the value of operation %d, the last in the log is %d; log operations before what uses them", o.From, e.nodes.last)
			return
		case o.From > 0 && (from == nil || from.done && from.value == nil):
			e.err = e.fail(id, "it uses the value of %s, which was forgotten; forget tiles after their last use, and receive a message once", e.describe(o.From))
			return
		case o.From > 0:
			from.uses++
			if e.active >= int(id) { // a receive whose send was unknown
				if e.err = e.verify(op); e.err != nil {
					return
				}
				e.link(id, o.From)
				e.deliverOperand(id)
			}
		case op.Kind == oplog.Recv && !e.nodes.transient:
			e.unsent = append(e.unsent, id)
		}
	}
}

// activate allows all operations up to number id to be computed as soon as their operands
// exist.
func (e *Executor) activate(id oplog.ID) {
	for e.active < min(int(id), e.nodes.last) && e.err == nil {
		next := oplog.ID(e.active + 1)
		op := e.op(next)
		if e.err = e.verify(op); e.err != nil {
			return
		}
		e.active++
		if !hasValue[op.Kind] {
			e.retire(next)
			continue
		}
		n := e.node(op.ID)
		n.waiting = 1 // until the loop below has added all operands, or until memory is read
		fromMemory := readsMemory(op)
		for o := range operands(op) {
			switch {
			case o.From > 0:
				e.link(op.ID, o.From)
			case op.Kind == oplog.Recv:
				fromMemory = true // waits for its send: see countUses
			}
		}
		if !fromMemory {
			e.deliverOperand(op.ID)
		}
	}
}

// readsMemory reports whether op can be computed only after its read effect has been
// applied.
func readsMemory(op *oplog.Op) bool {
	switch op.Kind {
	case oplog.Load, oplog.Get, oplog.HostRead:
		return true
	case oplog.Send, oplog.Gemm, oplog.Stream, oplog.ReducePeers:
		for o := range operands(op) {
			if len(o.Mem) > 0 {
				return true
			}
		}
	}
	return false
}

// link makes operation id wait for the value of the operation `from`, unless that value
// exists already.
func (e *Executor) link(id, from oplog.ID) {
	f := e.node(from)
	if f.done {
		return
	}
	e.node(id).waiting++
	i := e.freeEdges
	if i == none {
		i = int32(len(e.edges))
		e.edges = append(e.edges, edge{})
	} else {
		e.freeEdges = e.edges[i].next
	}
	e.edges[i] = edge{id, f.out}
	f.out = i
}

// deliverOperand records that one more operand of operation id has its value. When all
// operands have their values, the operation becomes ready to be computed.
func (e *Executor) deliverOperand(id oplog.ID) {
	n := e.node(id)
	if n.waiting--; n.waiting > 0 {
		return
	}
	op := e.op(id)
	switch op.Kind {
	case oplog.Reshape, oplog.Send, oplog.Recv: // the value is the same bytes
		from := op.Args[0].From
		v := e.node(from).value
		v.refs++
		if op.Kind == oplog.Recv {
			e.node(from).held = false
		}
		e.endUse(from)
		e.finish(id, v)
	default:
		e.push(job{id: id, cost: cost(op)})
	}
}

// finish sets the value of operation id to v and delivers it to the operations that wait
// for it. Some of these operations finish at once, which calls finish again. The nested
// call only queues the operation, and the outer call processes it, because chains of
// operations can be too long for recursion.
func (e *Executor) finish(id oplog.ID, v *value) {
	n := e.node(id)
	n.value, n.done = v, true
	e.finished = append(e.finished, id)
	if len(e.finished) > 1 {
		return
	}
	for i := 0; i < len(e.finished); i++ {
		id := e.finished[i]
		n := e.node(id)
		for n.out != none {
			next := e.edges[n.out]
			e.edges[n.out].next, e.freeEdges = e.freeEdges, n.out
			n.out = next.next
			e.deliverOperand(next.to)
		}
		e.drop(id)
	}
	e.finished = e.finished[:0]
}

// endUse records that one of the operations that use the value of operation id no longer
// needs it.
func (e *Executor) endUse(id oplog.ID) {
	e.node(id).uses--
	e.drop(id)
}

// drop releases the value of operation id if no operation, kernel, queue or host needs it
// any longer.
func (e *Executor) drop(id oplog.ID) {
	n := e.nodes.find(id)
	if n == nil {
		return
	}
	if n.value != nil && n.done && !n.held && n.uses == 0 {
		e.pool.release(n.value)
		n.value = nil
	}
	e.retire(id)
}

// unavailable returns an error that says that the value of operation id does not exist yet.
// The error names the operation that must happen first, or says that operation id depends
// on itself.
func (e *Executor) unavailable(id oplog.ID) error {
	const wait = "let the simulation continue until it has"
	at, steps := id, 0
	for next := e.missing(at); next > 0; next = e.missing(at) {
		at = next
		if steps++; steps > e.nodes.last {
			return e.fail(id, "its value does not exist: it depends on %s, and so on itself; correct what made the log", e.describe(at))
		}
	}
	what, read := "it", "its read"
	if at != id {
		what = e.describe(at)
		read = "the read of " + what
	}
	if e.op(at).Kind == oplog.Recv {
		return e.fail(id, "its value does not exist: %s has no message yet; %s", what, wait)
	}
	return e.fail(id, "its value does not exist: %s has not happened; %s", read, wait)
}

// missing returns an operand of operation id that has no value yet, or 0 if all operands
// have values.
func (e *Executor) missing(id oplog.ID) oplog.ID {
	for o := range operands(e.op(id)) {
		if from := e.nodes.find(o.From); from != nil && !from.done {
			return o.From
		}
	}
	return 0
}
