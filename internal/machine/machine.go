package machine

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/kernbench/kernbench/internal/cpu"
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/ipcq"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// Machine is a simulated system.
type Machine struct {
	cpu.System                // shared by the CPUs of all PEs
	Space      memory.Space   // virtual addresses of tensors
	scratch    []memory.Space // virtual addresses of scratch buffers, by SIP

	// Configs and Races are filled by packages that run their own programs on the machine.
	// Configs has the configuration of each program once; Races has the races that the op
	// log does not show.
	Configs []topology.Origin
	Races   []string

	memoryLock sync.Mutex               // for memories, which the data phase uses at the same time
	memories   [oplog.TCM + 1][]*Memory // by kind and PE, see memory.ID; nil until first used

	tracer   *tracer
	pes      []*PE // by PEID; nil until first used
	launcher launcher
	queues   *ipcq.Queues
}

// PEID is the number of a PE in its machine, from 0.
type PEID = cpu.ID

// Numbers returns the given PE numbers as a slice of ints.
func Numbers(pes []PEID) []int {
	return lists.Map(pes, func(pe PEID) int { return int(pe) })
}

// PE is a processing element of a machine.
type PE struct {
	cpu.Element
	machine  *Machine
	launches []*Launch // launches that have not ended, in order; the first may be running
}

// Options selects how a machine is simulated and what it records.
type Options struct {
	Fidelity fabric.Fidelity
	Limit    simtime.Time // simulated time after which a run fails; 0 is DefaultLimit
	Log      bool         // keep an op log
	// Transient removes operations from the op log when the data phase has taken them, and
	// omits what the data phase does not need.
	Transient bool
	NoLines   bool // omit the source lines of kernels, a quarter of the log's cost
	Trace     *trace.Recorder
	// Threads is how many threads may run the SIPs of a launch. A run with an op log or a trace
	// uses one, and so does the fidelity Flit.
	Threads int
}

// DefaultLimit is the default limit of simulated time. It stops endless kernels.
const DefaultLimit = 10 * simtime.Second

// New returns an idle machine with the nodes and links of g, at time 0.
func New(g *topology.Graph, o Options) *Machine {
	s := g.Spec()
	m := &Machine{
		System: cpu.System{Engine: sim.New(), Graph: g, Lines: !o.NoLines},
		pes:    make([]*PE, s.System.SIPs.Count*s.CubesPerSIP()*s.PEsPerCube()),
	}
	if lookahead := g.Lookahead(); lookahead > 0 {
		threads := max(1, o.Threads)
		if o.Log || o.Trace != nil || o.Fidelity == fabric.Flit {
			threads = 1
		}
		m.Engine.Partition(s.System.SIPs.Count, lookahead, g.SIPColours(), threads)
	}
	m.Fabric = fabric.New(m.Engine, network{g}, fabric.Config{
		Fidelity: o.Fidelity,
		Flit:     s.System.Flit,
		HBM:      memory.NewHBM(s.Cube.HBM),
		Slices:   len(m.pes),
	})
	m.Engine.Limit = cmp.Or(o.Limit, DefaultLimit)
	if o.Log {
		m.Log = &oplog.Log{Transient: o.Transient}
	}
	m.scratch = make([]memory.Space, s.System.SIPs.Count)
	for i := range m.scratch {
		m.scratch[i].From(scratchBase + memory.VA(i)*m.scratchPerSIP())
	}
	m.Addresses = m.space
	m.Find, m.Route, m.Reserve, m.Release = m.translate, m.findRoute, m.reserveTCM, m.releaseTCM
	m.queues = ipcq.New(m.Engine, m.Fabric)
	m.queues.OnVisible = m.RecordVisible
	m.launcher = launcher{machine: m, target: m.Engine.Register(&m.launcher), dense: densePartition}
	m.Init()
	if o.Trace != nil {
		m.startTrace(o.Trace)
	}
	return m
}

// scratchBase is the virtual address of the first scratch buffer. Each SIP has a range of
// addresses, so that the address of a buffer does not depend on what other SIPs do at the same
// time.
const scratchBase = memory.VA(1) << 62

// scratchPerSIP returns the size of the range of a SIP.
func (m *Machine) scratchPerSIP() memory.VA { return scratchBase / memory.VA(len(m.scratch)) }

// space returns the space that maps virtual address va.
func (m *Machine) space(va memory.VA) *memory.Space {
	if va < scratchBase {
		return &m.Space
	}
	return &m.scratch[min((va-scratchBase)/m.scratchPerSIP(), memory.VA(len(m.scratch)-1))]
}

// Close cancels the kernels that are still running.
func (m *Machine) Close() { m.Engine.Close() }

// network adapts the compiled graph to the fabric. The overhead of a node is part of each
// hop that enters the node.
type network struct{ *topology.Graph }

func (n network) Hop(id topology.LinkID) fabric.Hop {
	l := n.Link(id)
	return fabric.Hop{Bandwidth: l.Bandwidth, Latency: l.Latency + n.Node(l.To).Overhead}
}

// Partitions returns the partition of the SIP that a link leaves, and of the SIP that it leads
// to. A link from the central switch belongs to the SIP that it leads to.
func (n network) Partitions(id topology.LinkID) (of, after int32) {
	from, to := n.SIPsOf(id)
	after = pe.PartitionOf(to)
	if of = pe.PartitionOf(from); of == 0 {
		of = after
	}
	return of, after
}

// FedBySlice reports whether link `id` leaves an HBM slice: all its traffic is read there.
func (n network) FedBySlice(id topology.LinkID) bool {
	return n.Node(n.Link(id).From).Kind == topology.KindHBM
}

// Hops returns the bandwidth and latency of each link of a path. Closed forms, such as
// fabric.Uncontended, compute times from them.
func (m *Machine) Hops(path []topology.LinkID) []fabric.Hop {
	return lists.Map(path, network{m.Graph}.Hop)
}

// NumPEs returns the number of PEs in the system.
func (m *Machine) NumPEs() int { return len(m.pes) }

// ID returns the number of a PE, given its SIP, its cube in the SIP and its index in the
// cube.
func (m *Machine) ID(sip, cube, pe int) PEID {
	s := m.Graph.Spec()
	return PEID((sip*s.CubesPerSIP()+cube)*s.PEsPerCube() + pe)
}

// PE returns the PE with number id. It builds the PE on first use.
func (m *Machine) PE(id PEID) *PE {
	if m.pes[id] == nil {
		s := m.Graph.Spec()
		perCube, cubes := s.PEsPerCube(), s.CubesPerSIP()
		cube := int(id) / perCube
		p := &PE{machine: m, Element: cpu.Element{ID: id, SIP: cube / cubes, Cube: cube % cubes, PE: int(id) % perCube}}
		p.Init(&m.System, m.tracer.newPETrace(&p.Element))
		m.pes[id] = p
	}
	return m.pes[id]
}

// Node returns the node of the compiled graph that stands for memory id.
func (m *Machine) Node(id memory.ID) topology.NodeID {
	sip, cube, pe := int(id.SIP), int(id.Cube), int(id.PE)
	switch id.Kind {
	case oplog.HBM:
		return m.Graph.HBM(sip, cube, pe)
	case oplog.SRAM:
		return m.Graph.SRAM(sip, cube)
	case oplog.TCM:
		return m.Graph.PENode(sip, cube, pe, topology.KindTCM)
	}
	panic(fmt.Sprintf("machine: %v is no memory", id))
}

// Access describes region r of memory id as one end of a transfer.
func (m *Machine) Access(id memory.ID, r memory.Region) pe.Access {
	return pe.Access{Memory: id, Region: r, Slice: m.Slice(id)}
}

// Memory is the content of a memory: an allocator and the values of its bytes. Unused parts
// take no host memory.
type Memory struct {
	Allocator memory.Allocator
	Store     memory.Store
}

// Memory returns the allocator and the content of memory id. It creates them on first use.
// The data phase may call Memory at any time.
func (m *Machine) Memory(id memory.ID) *Memory {
	m.memoryLock.Lock()
	defer m.memoryLock.Unlock()
	list := &m.memories[id.Kind]
	if *list == nil {
		*list = make([]*Memory, len(m.pes))
	}
	at := &(*list)[m.ID(int(id.SIP), int(id.Cube), int(id.PE))]
	if *at == nil {
		size := m.size(id)
		*at = &Memory{memory.Allocator{Memory: id, Size: size}, memory.Store{Memory: id, Size: size}}
	}
	return *at
}

// size returns the size of memory id in bytes, as the topology gives it.
func (m *Machine) size(id memory.ID) memory.Bytes {
	s := m.Graph.Spec()
	switch id.Kind {
	case oplog.HBM:
		return s.Cube.HBM.SliceSize
	case oplog.SRAM:
		return s.Cube.SRAM.Size
	}
	return s.PE.TCM.Size
}
