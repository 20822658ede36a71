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

// CopyIn copies bytes from the host to a range of virtual addresses, from the present
// instant on; done is called at its end. In a run without values, data may be nil.
func (m *Machine) CopyIn(va memory.VA, n memory.Bytes, data []byte, done sim.Event) error {
	_, err := m.copyHost(oplog.HostWrite, va, n, data, done)
	return err
}

// CopyOut copies a range of virtual addresses to the host. The operation's value
// is the bytes.
func (m *Machine) CopyOut(va memory.VA, n memory.Bytes, done sim.Event) (oplog.ID, error) {
	return m.copyHost(oplog.HostRead, va, n, nil, done)
}

// Clear makes a range of virtual addresses zero, as newly allocated memory is: it
// takes no time and no bytes.
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

// Peek returns bytes of memory as they are now: it computes what has been written so far.
// It takes no simulated time, and the op log does not have it.
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

// HostPeek takes the time of copying bytes to the host, from the present instant on. The op
// log does not have it: Peek returns the bytes when done is called.
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

func (m *Machine) copyHost(kind oplog.Kind, va memory.VA, n memory.Bytes, data []byte, done sim.Event) (oplog.ID, error) {
	pieces, err := m.translate(nil, va, 1, n, n)
	if err != nil {
		return 0, err
	}
	var id oplog.ID
	if m.Log != nil {
		op := m.newHostOp(kind, pieces, n)
		op.Data = data
		id = m.Log.Add(op)
	}
	begun, ended := m.Copy(id, len(pieces), done)
	if len(pieces) == 0 {
		m.Engine.Call(begun)
		m.Engine.Call(ended)
	}
	for _, p := range pieces {
		m.HostCopy(kind == oplog.HostWrite, p.Memory, p.Region, ended)
		m.Engine.Call(begun)
	}
	return id, nil
}

// newHostOp begins the record of a host's operation on plain bytes.
func (m *Machine) newHostOp(kind oplog.Kind, pieces []pe.Access, n memory.Bytes) oplog.Op {
	return oplog.Op{
		Kind: kind, PE: -1, Launch: -1, Peer: -1, Port: -1, Issue: m.Engine.Now(),
		DType: numeric.U8, Shape: oplog.Shape{Rank: 1, Dim: [oplog.MaxRank]int32{int32(n)}},
		Mem: cpu.Accesses(pieces),
	}
}

// LogBarrier notes in the log that everything so far happened before everything that
// follows: the host waited for it.
func (m *Machine) LogBarrier() {
	if m.Log != nil {
		op := m.newHostOp(oplog.Barrier, nil, 0)
		op.Start, op.End = op.Issue, op.Issue
		m.Log.Add(op)
	}
}

// HostCopy copies a region of a device's memory to the host, or writes it from there.
func (m *Machine) HostCopy(op memory.Op, at memory.ID, r memory.Region, done sim.Event) {
	t := fabric.Transfer{Bytes: r.Bytes(), Class: fabric.Compute, Done: done}
	if op == memory.Read {
		t.Path, t.Read = m.path(nil, m.Node(at), m.Graph.Host()), m.Access(at, r).Bank()
	} else {
		t.Path, t.Write = m.path(nil, m.Graph.Host(), m.Node(at)), m.Access(at, r).Bank()
	}
	m.Fabric.Send(&t)
}

// Message sends a message of a signal's size from one PE's TCM to that of another, over
// the fabric but without a DMA engine: those who schedule kernels tell each other what
// has happened. done is called when it is there.
func (m *Machine) Message(from, to PEID, done sim.Event) {
	path := m.findRoute(nil, m.PE(from).Memory(topology.KindTCM), m.PE(to).Memory(topology.KindTCM))
	m.Fabric.Send(&fabric.Transfer{Path: path, Bytes: m.Graph.Spec().PE.IPCQ.CreditBytes, Class: fabric.Comm, Done: done})
}
