package exec

import (
	"slices"

	"github.com/kernbench/kernbench/internal/oplog"
)

// op takes the next operation of the log into account.
func (o *order) op(op *oplog.Op) {
	o.now = op.ID
	if op.Kind == oplog.Barrier && op.PE < 0 && op.Launch >= 0 { // see oplog.Order
		o.after[op.Peer] = append(o.after[op.Peer], op.Launch)
		return
	}
	if op.PE < 0 || op.Kind == oplog.Barrier {
		o.barrier()
		return
	}
	if i := op.Launch; i >= 0 && int(i) < len(o.launched) && !o.launched[i] {
		o.launched[i] = true
		o.launch(i)
	}
	t := o.thread(op.PE)
	o.goOn(t)
	if len(t.tasks) > 0 {
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
			o.receive(k)
		}
		delete(o.unsent, op.ID)
	case oplog.Notify:
		o.release(t, op.ID)
	case oplog.TaskEnd:
		o.finishAll(t) // it has drained the PE
		o.release(t, op.ID)
	case oplog.WaitSignal, oplog.TaskBegin:
		t.blocked = append(t.blocked, &task{id: op.ID, pe: op.PE, from: op.Args})
	case oplog.Recv:
		o.recv(t, op)
	case oplog.Gemm, oplog.Stream, oplog.ReducePeers:
		o.composite(t, op)
	}
}

// goOn lets a PE go on after what it was blocked by. What has not happened when the
// PE goes on did not block it: that it is there is known when it is used.
func (o *order) goOn(t *thread) {
	for _, k := range t.blocked {
		if k.resolved(o.now - 1) {
			o.finish(t, k)
		} else {
			t.tasks = append(t.tasks, k)
		}
	}
	t.blocked = t.blocked[:0]
}

// wait is a PE's wait for an operation, if that is a task under way.
func (o *order) wait(t *thread, id oplog.ID) {
	for _, k := range t.tasks {
		if k.id == id && k.resolved(o.now-1) {
			o.finish(t, k)
			return
		}
	}
}

// launch orders everything that PEs did before what they do in a launch, and so
// everything that those of launches before it did.
func (o *order) launch(i int32) {
	pes := o.log.Launches[i].PEs
	in := make(map[int32]bool, len(pes))
	for _, pe := range pes {
		in[pe] = true
	}
	everyone := true
	for pe := range o.pes {
		everyone = everyone && in[pe]
	}
	if everyone {
		o.now--
		o.barrier()
		o.now++
		return
	}
	before := slices.Clone(pes)
	for _, first := range o.after[i] {
		if int(first) < len(o.log.Launches) {
			before = append(before, o.log.Launches[first].PEs...)
		}
	}
	delete(o.after, i)
	var all clock
	for _, pe := range before {
		t := o.thread(pe)
		o.goOn(t)
		o.finishAll(t)
		all.join(t.clock)
	}
	for _, pe := range pes {
		t := o.thread(pe)
		t.clock.join(all)
		t.advance()
		t.base = nil
	}
}

// recv starts a receive.
func (o *order) recv(t *thread, op *oplog.Op) {
	if len(op.Args) == 0 || op.Args[0].From == 0 {
		return // the run ended before the message came
	}
	k := &task{id: op.ID, pe: op.PE, from: op.Args[:1], write: op.Mem}
	if o.waited[op.ID-1] {
		t.tasks = append(t.tasks, k)
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
	o.receive(k)
}

// receive writes what was received to memory: after what its PE did before, and
// after the send.
func (o *order) receive(k *task) {
	t := o.thread(k.pe)
	if k.id <= o.began { // the PE has forgotten what it did then
		k.view = nil
	}
	o.acquire(&k.view, k.from[0].From)
	o.begin(t, k, 1)
	o.touchAll(t, o.log.Op(k.id), k, k.last, oplog.Write, k.write)
}

// composite starts a composite: it reads, then it writes.
func (o *order) composite(t *thread, op *oplog.Op) {
	k := &task{id: op.ID, pe: op.PE}
	o.begin(t, k, 2)
	read := epoch{k.last.component, k.last.number - 1}
	for x := range operands(op) {
		o.touchAll(t, op, k, read, oplog.Read, x.Mem)
	}
	o.touchAll(t, op, k, k.last, oplog.Write, op.Mem)
	t.tasks = append(t.tasks, k)
}

// touchAll is touch of every piece of memory.
func (o *order) touchAll(t *thread, op *oplog.Op, k *task, e epoch, phase oplog.Phase, mem []oplog.Access) {
	for _, m := range mem {
		if r := regionOf(m); r.rowBytes > 0 {
			o.touch(access{id: op.ID, pe: op.PE, line: op.Line, epoch: e, async: k, region: r}, phase, m.Space, t)
		}
	}
}
