package exec

import (
	"slices"

	"github.com/kernbench/kernbench/oplog"
)

// add processes op, the next operation of the log.
func (o *order) add(op *oplog.Op) {
	o.now = op.ID
	if op.Kind == oplog.Barrier && op.PE < 0 && op.Launch >= 0 { // see oplog.Order
		o.predecessors[op.Peer] = append(o.predecessors[op.Peer], op.Launch)
		return
	}
	if op.PE < 0 || op.Kind == oplog.Barrier {
		o.barrier()
		return
	}
	if i := op.Launch; i >= 0 && int(i) < len(o.launched) && !o.launched[i] {
		o.launched[i] = true
		o.beginLaunch(i)
	}
	t := o.thread(op.PE)
	o.resume(t)
	if len(t.inFlight) > 0 {
		for x := range operands(op) {
			o.wait(t, x.From)
		}
	}
	switch op.Kind {
	case oplog.Load, oplog.Get:
		o.touchAll(t, op, nil, t.own, oplog.Read, op.Mem)
	case oplog.Store, oplog.Put:
		o.touchAll(t, op, nil, t.own, oplog.Write, op.Mem)
	case oplog.Scratch:
		for _, m := range op.Mem {
			o.renew(regionOf(m), m.Space)
		}
		o.touchAll(t, op, nil, t.own, oplog.Write, op.Mem)
	case oplog.Send:
		for i := range op.Args {
			o.touchAll(t, op, nil, t.own, oplog.Read, op.Args[i].Mem)
		}
		o.release(t, op.ID)
		for _, k := range o.unsent[op.ID] {
			o.writeReceived(k)
		}
		delete(o.unsent, op.ID)
	case oplog.Notify:
		o.release(t, op.ID)
	case oplog.TaskEnd:
		o.finishAll(t) // a task ends when its PE has drained
		o.release(t, op.ID)
	case oplog.WaitSignal, oplog.TaskBegin:
		t.blocked = append(t.blocked, &asyncOp{id: op.ID, pe: op.PE, from: op.Args})
	case oplog.Recv:
		o.startRecv(t, op)
	case oplog.Gemm, oplog.Stream, oplog.ReducePeers:
		o.startComposite(t, op)
	}
}

// resume is called before the next operation of a PE. It calls finish for each operation
// that blocks the PE, if everything that the operation waits for has been issued. If not,
// the operation cannot have blocked the PE, because the PE has continued. It then becomes
// an operation in flight.
func (o *order) resume(t *thread) {
	for _, k := range t.blocked {
		if k.resolved(o.now - 1) {
			o.finish(t, k)
		} else {
			t.inFlight = append(t.inFlight, k)
		}
	}
	t.blocked = t.blocked[:0]
}

// wait records that a PE waits for operation id. If id is in flight and everything that id
// waits for has been issued, everything that the PE does later comes after id.
func (o *order) wait(t *thread, id oplog.ID) {
	for _, k := range t.inFlight {
		if k.id == id && k.resolved(o.now-1) {
			o.finish(t, k)
			return
		}
	}
}

// beginLaunch orders all operations of launch i after everything that its PEs did before,
// and after everything that the PEs of its predecessors did.
func (o *order) beginLaunch(i int32) {
	pes := o.log.Launches[i].PEs
	in := make(map[int32]bool, len(pes))
	for _, pe := range pes {
		in[pe] = true
	}
	all := true
	for pe := range o.pes {
		all = all && in[pe]
	}
	if all {
		o.now--
		o.barrier()
		o.now++
		return
	}
	before := slices.Clone(pes)
	for _, first := range o.predecessors[i] {
		if int(first) < len(o.log.Launches) {
			before = append(before, o.log.Launches[first].PEs...)
		}
	}
	delete(o.predecessors, i)
	var joined clock
	for _, pe := range before {
		t := o.thread(pe)
		o.resume(t)
		o.finishAll(t)
		joined.join(t.clock)
	}
	for _, pe := range pes {
		t := o.thread(pe)
		t.clock.join(joined)
		t.advance()
		t.base = nil
	}
}

// startRecv starts the receive `op`. It adds the receive to the operations in flight of its
// PE or, if no Wait names the receive, to the operations that block the PE. It ignores a
// receive that never got a message. If the receive writes to memory and its send has been
// issued, startRecv also processes the write. If the send has not been issued, the write is
// processed when it is issued.
func (o *order) startRecv(t *thread, op *oplog.Op) {
	if len(op.Args) == 0 || op.Args[0].From == 0 {
		return // the run ended before the message came
	}
	k := &asyncOp{id: op.ID, pe: op.PE, from: op.Args[:1], write: op.Mem}
	if o.hasWait[op.ID-1] {
		t.inFlight = append(t.inFlight, k)
	} else {
		t.blocked = append(t.blocked, k)
	}
	if len(k.write) == 0 {
		return
	}
	k.view = slices.Clone(t.clock)
	t.advance()
	if from := op.Args[0].From; from > op.ID {
		o.unsent[from] = append(o.unsent[from], k)
		return
	}
	o.writeReceived(k)
}

// writeReceived processes the write of receive k to memory. The write comes after
// everything that the PE did before the receive, and after the send.
func (o *order) writeReceived(k *asyncOp) {
	t := o.thread(k.pe)
	if k.id <= o.roundStart { // everything that the PE did before the receive is before this round
		k.view = nil
	}
	o.acquire(&k.view, k.from[0].From)
	o.assignEpochs(t, k, 1)
	o.touchAll(t, o.log.Op(k.id), k, k.last, oplog.Write, k.write)
}

// startComposite starts the composite `op`. It adds the composite to the operations in
// flight of its PE and processes its accesses: first the reads, then the writes.
func (o *order) startComposite(t *thread, op *oplog.Op) {
	k := &asyncOp{id: op.ID, pe: op.PE}
	o.assignEpochs(t, k, 2)
	read := epoch{k.last.component, k.last.number - 1}
	for x := range operands(op) {
		o.touchAll(t, op, k, read, oplog.Read, x.Mem)
	}
	o.touchAll(t, op, k, k.last, oplog.Write, op.Mem)
	t.inFlight = append(t.inFlight, k)
}

// touchAll calls touch for every access in mem that is not empty. The accesses belong to op
// and to epoch e. If op is asynchronous, k is its state. If not, k is nil.
func (o *order) touchAll(t *thread, op *oplog.Op, k *asyncOp, e epoch, phase oplog.Phase, mem []oplog.Access) {
	for _, m := range mem {
		if r := regionOf(m); r.rowBytes > 0 {
			o.touch(access{id: op.ID, pe: op.PE, line: op.Line, epoch: e, async: k, region: r}, phase, m.Space, t)
		}
	}
}
