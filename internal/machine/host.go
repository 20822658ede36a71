package machine

import (
	"fmt"

	"github.com/kernbench/kernbench/internal/cpu"
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/topology"
)

// CopyIn starts to copy n bytes from the host to virtual address va. It calls the event
// `done` at the end of the copy. `data` holds the bytes to copy; it may be nil in a run
// that computes no values. The caller must not change `data` afterwards. If `shared` is
// false, the machine may change it.
func (m *Machine) CopyIn(va memory.VA, n memory.Bytes, data []byte, shared bool, done sim.Event) error {
	_, err := m.copyHost(oplog.Op{Kind: oplog.HostWrite, Data: data, Shared: shared}, va, n, done)
	return err
}

// CopyOut starts to copy n bytes at virtual address va to the host. It calls the event
// `done` at the end of the copy. It returns the number of the copy in the op log; the bytes
// are the value of that operation.
func (m *Machine) CopyOut(va memory.VA, n memory.Bytes, done sim.Event) (oplog.ID, error) {
	return m.copyHost(oplog.Op{Kind: oplog.HostRead}, va, n, done)
}

// Clear sets n bytes at virtual address va to zero, as in newly allocated memory. It takes
// no simulated time. Without an op log no values are computed, and Clear does nothing.
func (m *Machine) Clear(va memory.VA, n memory.Bytes) error {
	if m.Log == nil {
		return nil
	}
	pieces, err := m.translate(nil, va, 1, n, n)
	if err != nil {
		return err
	}
	op := m.newHostOp(oplog.Zero, pieces, n)
	op.Start, op.End = op.Issue, op.Issue
	m.Log.Effect(m.Log.Add(op), oplog.Write)
	return nil
}

// Peek returns the current values of n bytes at virtual address va, computing all values
// that have been written so far. It takes no simulated time and adds nothing to the op log.
// In a run that computes no values, the error is cpu.ErrNoValues.
func (m *Machine) Peek(va memory.VA, n memory.Bytes) ([]byte, error) {
	if m.Data == nil {
		return nil, cpu.ErrNoValues
	}
	if err := m.Data.Flush(); err != nil {
		return nil, err
	}
	pieces, err := m.translate(nil, va, 1, n, n)
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, p := range pieces {
		part := make([]byte, p.Region.Bytes())
		if err := m.Memory(p.Memory).Store.Read(p.Region.Addr, part); err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return all, nil
}

// HostPeek simulates how long it takes to copy n bytes from virtual address va to the host,
// and calls the event `done` at the end of that time. The bytes must be in one memory.
// HostPeek adds nothing to the op log. The caller gets the bytes from Peek.
func (m *Machine) HostPeek(va memory.VA, n memory.Bytes, done sim.Event) error {
	pieces, err := m.translate(nil, va, 1, n, n)
	if err != nil {
		return err
	}
	if len(pieces) != 1 {
		return fmt.Errorf("%d bytes at %v are not in one memory", n, va)
	}
	m.HostCopy(memory.Read, pieces[0].Memory, pieces[0].Region, done)
	return nil
}

// copyHost starts a copy between the host and memory. It adds the copy to the op log and
// returns its number there, or 0 if there is no op log. `what` has the kind, which gives
// the direction, and the data of a copy to memory.
func (m *Machine) copyHost(what oplog.Op, va memory.VA, n memory.Bytes, done sim.Event) (oplog.ID, error) {
	pieces, err := m.translate(nil, va, 1, n, n)
	if err != nil {
		return 0, err
	}
	var id oplog.ID
	if m.Log != nil {
		op := m.newHostOp(what.Kind, pieces, n)
		op.Data, op.Shared = what.Data, what.Shared
		id = m.Log.Add(op)
	}
	begun, ended := m.Copy(id, what.Kind, len(pieces), done)
	if len(pieces) == 0 {
		m.Engine.Call(begun)
		m.Engine.Call(ended)
	}
	for _, p := range pieces {
		m.HostCopy(what.Kind == oplog.HostWrite, p.Memory, p.Region, ended)
		m.Engine.Call(begun)
	}
	return id, nil
}

// newHostOp returns an op log entry for an operation of the host on n bytes, which are in
// the given pieces of memory.
func (m *Machine) newHostOp(kind oplog.Kind, pieces []pe.Access, n memory.Bytes) oplog.Op {
	return oplog.Op{
		Kind: kind, PE: -1, Launch: -1, Peer: -1, Port: -1, Issue: m.Engine.Now(),
		DType: numeric.U8, Shape: oplog.Shape{Rank: 1, Dim: [oplog.MaxRank]int32{int32(n)}},
		Mem: cpu.Accesses(pieces),
	}
}

// LogBarrier adds a barrier to the op log: because the host waited, every operation before
// the barrier happened before every operation after it.
func (m *Machine) LogBarrier() {
	if m.Log.Kept() {
		op := m.newHostOp(oplog.Barrier, nil, 0)
		op.Start, op.End = op.Issue, op.Issue
		m.Log.Add(op)
	}
}

// HostCopy copies region r of memory `at` to the host if op is memory.Read, or from the
// host if op is memory.Write. It calls the event `done` at the end of the copy.
func (m *Machine) HostCopy(op memory.Op, at memory.ID, r memory.Region, done sim.Event) {
	m.launcher.join()
	t := fabric.Transfer{Bytes: r.Bytes(), Class: fabric.Compute, Done: done}
	if op == memory.Read {
		t.Path, t.Read = m.path(nil, m.Node(at), m.Graph.Host()), m.Access(at, r).Bank()
	} else {
		t.Path, t.Write = m.path(nil, m.Graph.Host(), m.Node(at)), m.Access(at, r).Bank()
	}
	m.Fabric.Send(&t)
}

// Message sends a message of the size of a signal from the TCM of one PE to the TCM of
// another, over the fabric but without a DMA engine. Control cores use it to report events
// to each other. It calls the event `done` when the message has arrived.
func (m *Machine) Message(from, to PEID, done sim.Event) {
	path := m.findRoute(nil, m.PE(from).Memory(topology.KindTCM), m.PE(to).Memory(topology.KindTCM))
	m.Fabric.Send(&fabric.Transfer{Path: path, Bytes: m.Graph.Spec().PE.IPCQ.CreditBytes, Class: fabric.Comm, Done: done})
}
