package exec

import (
	"slices"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/oplog"
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

// apply lets an operation touch memory. The lock is held, and given up while bytes
// move: only this goroutine touches memory.
func (e *Executor) apply(effect oplog.Effect) error {
	id := effect.Op
	if id < 1 || int(id) > len(e.nodes) {
		return e.fail(id, "an effect names it; the log is damaged")
	}
	n := e.node(id)
	if n.touched[effect.Phase] {
		return e.fail(id, "its %v is in the log twice; an operation touches memory once", effect.Phase)
	}
	n.touched[effect.Phase] = true
	if effect.Phase == oplog.Read {
		return e.read(e.log.Op(id))
	}
	return e.write(e.log.Op(id))
}

func (e *Executor) read(op *oplog.Op) error {
	switch op.Kind {
	case oplog.Load, oplog.Get:
		v := e.pool.take(e.bytes(op))
		if masked(op) && len(v.bytes) > 0 { // the box is from memory, the rest is Fill
			fillWith(v.bytes, op.DType, op.Fill)
		}
		if err := e.moveBox(op, v.bytes, (*memory.Store).Read); err != nil {
			return err
		}
		e.finish(op.ID, v)
	case oplog.HostRead:
		v, err := e.gather(op.ID, op.Mem, e.bytes(op))
		if err != nil {
			return err
		}
		e.onRead(op, digest(v.bytes))
		e.finish(op.ID, v)
	case oplog.Send:
		if len(op.Args[0].Mem) == 0 {
			return nil
		}
		v, err := e.gather(op.ID, op.Args[0].Mem, operandBytes(&op.Args[0]))
		if err != nil {
			return err
		}
		e.finish(op.ID, v)
	case oplog.Gemm, oplog.Stream, oplog.ReducePeers:
		return e.readInputs(op)
	default:
		return e.fail(op.ID, "a %v reads no memory, but the log says that it did", op.Kind)
	}
	return nil
}

// readInputs takes what a composite's operands in memory hold.
func (e *Executor) readInputs(op *oplog.Op) error {
	var inputs []*value
	for o := range operands(op) {
		if len(o.Mem) == 0 {
			continue
		}
		v, err := e.gather(op.ID, o.Mem, operandBytes(o))
		if err != nil {
			return err
		}
		inputs = append(inputs, v)
	}
	if inputs != nil {
		e.inputs[op.ID] = inputs
		e.arrived(op.ID)
	}
	return nil
}

func (e *Executor) write(op *oplog.Op) error {
	switch op.Kind {
	case oplog.Store, oplog.Put:
		return e.store(op, op.Args[0].From)
	case oplog.Gemm, oplog.Stream, oplog.ReducePeers, oplog.Recv:
		if len(op.Mem) == 0 {
			return nil
		}
		return e.store(op, op.ID)
	case oplog.HostWrite:
		e.mu.Unlock()
		defer e.mu.Lock()
		return e.move(op.ID, &cursor{mem: op.Mem}, op.Data, (*memory.Store).Write)
	case oplog.Scratch, oplog.Zero:
		return e.zero(op)
	}
	return e.fail(op.ID, "a %v writes no memory, but the log says that it did", op.Kind)
}

// store writes the value of an operation, once it is there, to the memory of another.
func (e *Executor) store(op *oplog.Op, from oplog.ID) error {
	if err := e.await(from); err != nil {
		return err
	}
	if err := e.moveBox(op, e.node(from).value.bytes, (*memory.Store).Write); err != nil {
		return err
	}
	e.used(from)
	return nil
}
