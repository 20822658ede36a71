package machine

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/ipcq"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// Machine is a system at work.
type Machine struct {
	Engine *sim.Engine
	Graph  *topology.Graph
	Fabric *fabric.Fabric
	Space  memory.Space // virtual addresses of tensors

	Log   *oplog.Log        // what kernels and hosts did, if somebody wants to know
	Data  Data              // computes values from it, if they are wanted
	Print func(text string) // shows what kernels print

	// Configs and Races are for packages that run programs of their own on the machine: the
	// configurations of these, each once, and the races that the op log does not show.
	Configs []topology.Origin
	Races   []string

	lines         bool // wanted in the log
	callers       tl.Callers
	measuring     bool // what PEs do
	tracer        *tracer
	pes           []*PE // by PEID; nil until used
	memories      map[memory.ID]*Memory
	launcher      launcher
	costs         pe.Costs
	queues        *ipcq.Queues
	transfers     transfers
	recvs         recvs
	notifications notifications
}

// Data is the data phase as a kernel needs it that asks for a value.
type Data interface {
	// Flush computes what has been logged so far.
	Flush() error
	// Value is the bytes of an operation's tile.
	Value(oplog.ID) ([]byte, error)
	// Forget says that no later operation will use a tile.
	Forget(oplog.ID)
}

// PEID counts the PEs of a machine: cube by cube, SIP by SIP.
type PEID int32

// PE is one processing element.
type PE struct {
	ID            PEID
	SIP, Cube, PE int
	DMA           pe.DMA
	Tiles         pe.Tiles
	Pipeline      pe.Pipeline
	Polled        simtime.Time // spent by its CPU on looking for credits

	machine *Machine
	signals map[int]*signal

	lastCommand oplog.ID    // of its engines, in the op log
	listeners   []*sim.Proc // wait for one of its signals
	launches    []*Launch   // not ended, in order; the first may be running
	trace       *pe.Trace   // of its engines, if it is wanted
}

// Options choose how a machine is simulated.
type Options struct {
	Fidelity fabric.Fidelity
	Limit    simtime.Time // of simulated time, for endless kernels; DefaultLimit if 0
	Log      bool         // keep an op log
	NoLines  bool         // without the lines of kernels, which are a quarter of its cost
	Trace    *trace.Recorder
}

// DefaultLimit is more than any kernel should take.
const DefaultLimit = 10 * simtime.Second

// New returns an idle machine at time 0.
func New(g *topology.Graph, o Options) *Machine {
	s := g.Spec()
	m := &Machine{
		Engine:   sim.New(),
		Graph:    g,
		memories: map[memory.ID]*Memory{},
		lines:    !o.NoLines,
		pes:      make([]*PE, s.System.SIPs.Count*s.CubesPerSIP()*s.PEsPerCube()),
	}
	m.Fabric = fabric.New(m.Engine, network{g}, fabric.Config{
		Fidelity: o.Fidelity,
		Flit:     s.System.Flit,
		HBM:      memory.NewHBM(s.Cube.HBM),
	})
	m.Engine.Limit = cmp.Or(o.Limit, DefaultLimit)
	if o.Log {
		m.Log = &oplog.Log{}
	}
	m.costs = pe.NewCosts(&s.PE)
	m.queues = ipcq.New(m.Engine)
	m.queues.Seen = m.seen
	m.launcher.machine = m
	m.launcher.target = m.Engine.Register(&m.launcher)
	m.transfers.m = m
	m.transfers.target = m.Engine.Register(&m.transfers)
	m.recvs = recvs{m: m, all: map[oplog.ID]*receive{}}
	m.recvs.target = m.Engine.Register(&m.recvs)
	m.notifications.m = m
	m.notifications.target = m.Engine.Register(&m.notifications)
	if o.Trace != nil {
		m.trace(o.Trace)
	}
	return m
}

// Close unwinds the kernels that still run.
func (m *Machine) Close() { m.Engine.Close() }

// network is the compiled graph as the fabric sees it: entering a node is part of
// the hop that leads there.
type network struct{ *topology.Graph }

func (n network) Hop(id topology.LinkID) fabric.Hop {
	l := n.Link(id)
	return fabric.Hop{Bandwidth: l.Bandwidth, Latency: l.Latency + n.Node(l.To).Overhead}
}

// FedBy says that what leaves a PE comes from its TCM, and what enters its TCM from
// its router.
func (n network) FedBy(id topology.LinkID) topology.LinkID {
	l := n.Link(id)
	from, to := n.Node(l.From), n.Node(l.To)
	if from.Kind != topology.KindDMA {
		return -1
	}
	sip, cube, pe := int(from.SIP), int(from.Cube), int(from.Index)
	source := n.PENode(sip, cube, pe, topology.KindTCM)
	if to.Kind == topology.KindTCM {
		source = n.PERouter(sip, cube, pe)
	}
	feeder, _ := n.LinkBetween(source, l.From) // every PE has one
	return feeder
}

// Hops is what each link of a path costs, for closed forms.
func (m *Machine) Hops(path []topology.LinkID) []fabric.Hop {
	hops := make([]fabric.Hop, len(path))
	for i, id := range path {
		hops[i] = network{m.Graph}.Hop(id)
	}
	return hops
}

// NumPEs is the number of PEs in the system.
func (m *Machine) NumPEs() int { return len(m.pes) }

// ID is the number of a PE by its place.
func (m *Machine) ID(sip, cube, pe int) PEID {
	s := m.Graph.Spec()
	return PEID((sip*s.CubesPerSIP()+cube)*s.PEsPerCube() + pe)
}

// PE is a processing element by number.
func (m *Machine) PE(id PEID) *PE {
	if m.pes[id] == nil {
		s := m.Graph.Spec()
		perCube, cubes := s.PEsPerCube(), s.CubesPerSIP()
		cube := int(id) / perCube
		m.pes[id] = &PE{
			ID: id, SIP: cube / cubes, Cube: cube % cubes, PE: int(id) % perCube,
			machine: m,
		}
		m.engines(m.pes[id])
		if m.Log != nil {
			m.Log.NamePE(int(id), m.pes[id].String())
		}
	}
	return m.pes[id]
}

// Memory is the name of one of the PE's memories: its HBM slice, its TCM, or the
// SRAM of its cube.
func (p *PE) Memory(kind topology.Kind) memory.ID {
	id := memory.ID{Kind: kind, SIP: int32(p.SIP), Cube: int32(p.Cube), PE: int32(p.PE)}
	if kind == topology.KindSRAM {
		id.PE = 0
	}
	return id
}

// String is the PE's name: "sip0.cube5.pe3".
func (p *PE) String() string {
	return "sip" + strconv.Itoa(p.SIP) + ".cube" + strconv.Itoa(p.Cube) + ".pe" + strconv.Itoa(p.PE)
}

// Node is the component that a memory is.
func (m *Machine) Node(id memory.ID) topology.NodeID {
	sip, cube, pe := int(id.SIP), int(id.Cube), int(id.PE)
	switch id.Kind {
	case topology.KindHBM:
		return m.Graph.HBM(sip, cube, pe)
	case topology.KindSRAM:
		return m.Graph.SRAM(sip, cube)
	case topology.KindTCM:
		return m.Graph.PENode(sip, cube, pe, topology.KindTCM)
	}
	panic(fmt.Sprintf("machine: %v is no memory", id))
}

// Access is the end of a transfer at a region of a memory.
func (m *Machine) Access(id memory.ID, r memory.Region) pe.Access {
	a := pe.Access{Memory: id, Region: r}
	if id.Kind == topology.KindHBM {
		a.Slice = fabric.SliceID(m.ID(int(id.SIP), int(id.Cube), int(id.PE)) + 1)
	}
	return a
}

// Memory is what a memory holds: which of its bytes are in use, and their values.
// Both cost nothing until used.
type Memory struct {
	Allocator memory.Allocator
	Store     memory.Store
}

// Memory is the contents of a memory.
func (m *Machine) Memory(id memory.ID) *Memory {
	if m.memories[id] == nil {
		size := m.size(id)
		m.memories[id] = &Memory{memory.Allocator{Memory: id, Size: size}, memory.Store{Memory: id, Size: size}}
	}
	return m.memories[id]
}

func (m *Machine) size(id memory.ID) memory.Bytes {
	s := m.Graph.Spec()
	switch id.Kind {
	case topology.KindHBM:
		return s.Cube.HBM.SliceSize
	case topology.KindSRAM:
		return s.Cube.SRAM.Size
	}
	return s.PE.TCM.Size
}
