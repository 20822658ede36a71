package cpu

import (
	"errors"
	"strconv"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// System is what the CPUs of a machine share: its clock, its fabric, its op log, and the
// functions by which a CPU asks the machine around it. The exported fields are set before the
// first PE is made, Data, Print and Measuring at any time.
type System struct {
	Engine *sim.Engine
	Graph  *topology.Graph
	Fabric *fabric.Fabric

	Log   *oplog.Log        // of kernels and hosts; nil if none is kept
	Data  Data              // computes values from the log; nil in a run without values
	Print func(text string) // shows what kernels print; may be nil

	Lines     bool // record the lines of kernels in the log
	Measuring bool // record when the PEs of the programs that start are at work

	// Find appends the parts of memory behind a range of virtual addresses, in row-major
	// order: one if the range is in one shard.
	Find func(to []pe.Access, va memory.VA, rows int64, rowBytes, stride memory.Bytes) ([]pe.Access, error)
	// Route appends the links of a transfer between two memories, which may be the same.
	Route func(to []topology.LinkID, from, dest memory.ID) []topology.LinkID
	// Reserve allocates scratch memory in a PE's TCM and maps it. Release frees it.
	Reserve func(p *Element, n memory.Bytes) (memory.VA, pe.Access, error)
	Release func(p *Element, va memory.VA)

	callers       tl.Callers
	costs         pe.Costs
	target        sim.Target
	transfers     sim.Pool[transfer]
	receives      map[oplog.ID]*receive // of the op log, under way
	notifications sim.Pool[notification]
}

// The events of a System, whose arguments are numbers in its pools, or operations of the log.
const (
	evBegun    sim.Kind = iota // a part of a transfer begins to be read
	evEnded                    // a part of a transfer is written
	evMatched                  // a receive knows its message
	evReceived                 // a receive has its message in TCM
	evNotified                 // a notification is at its PE
	evApplied                  // and what its sender did before it is done
)

// Data computes values for kernels that ask for them.
type Data interface {
	// Flush computes what has been logged so far.
	Flush() error
	// Value returns the bytes of an operation's tile.
	Value(oplog.ID) ([]byte, error)
	// Forget says that no later operation will use a tile.
	Forget(oplog.ID)
}

// ErrNoValues is the error of reading a value in a run without values.
var ErrNoValues = errors.New("values are not computed in this run: leave out --data=off, or do not branch on them")

// Init registers the system with its engine.
func (m *System) Init() {
	m.costs = pe.NewCosts(&m.Graph.Spec().PE)
	m.target = m.Engine.Register(m)
	m.receives = map[oplog.ID]*receive{}
}

func (m *System) event(kind sim.Kind, arg uint64) sim.Event {
	return sim.Event{Target: m.target, Kind: kind, Arg: arg}
}

// Handle handles the events of transfers, receives and notifications.
func (m *System) Handle(kind sim.Kind, arg uint64) {
	switch kind {
	case evBegun:
		t := m.transfers.At(int32(arg))
		if t.begins--; t.begins <= 0 && t.id != 0 {
			m.begun(t.id)
		}
	case evEnded:
		t := m.transfers.At(int32(arg))
		if t.ends--; t.ends <= 0 {
			m.transferred(m.transfers.Take(int32(arg)))
		}
	case evMatched:
		m.matched(oplog.ID(arg))
	case evReceived:
		m.received(oplog.ID(arg))
	case evNotified:
		n := m.notifications.At(int32(arg))
		n.from.DMA.After(n.order, m.event(evApplied, arg))
	case evApplied:
		m.notify(m.notifications.Take(int32(arg)))
	}
}

// ID is the number of a PE in its machine: cube by cube, SIP by SIP.
type ID int32

// Element is a processing element: its place, the engines that its CPU commands, and its
// signals.
type Element struct {
	ID            ID
	SIP, Cube, PE int
	DMA           pe.DMA
	Tiles         pe.Tiles
	Pipeline      pe.Pipeline
	Polled        simtime.Time // spent by its CPU on looking for credits

	system      *System
	trace       *pe.Trace // nil in a run without a trace
	signals     map[int]*signal
	listeners   []*sim.Proc // wait for one of its signals
	lastCommand oplog.ID    // of its engines, in the op log
}

// Init makes the engines of a PE, which record their activities in a trace unless that is nil.
func (p *Element) Init(m *System, t *pe.Trace) {
	s := &m.Graph.Spec().PE
	p.system, p.trace = m, t
	p.Tiles.Init(s.TCM.Size)
	p.DMA.Init(m.Engine, m.Fabric, s.DMA, s.TCM, &p.Tiles)
	p.Pipeline.Init(m.Engine, &p.Tiles, &p.DMA)
	p.DMA.Trace, p.Pipeline.Trace = t, t
	if m.Log != nil {
		p.Pipeline.Scheduled = p.command
		p.DMA.Followed = m.followed
		m.Log.NamePE(int(p.ID), p.String())
	}
}

// Memory returns the name of one of the PE's memories: its HBM slice, its TCM, or the SRAM of
// its cube.
func (p *Element) Memory(kind topology.Kind) memory.ID {
	id := memory.ID{Kind: memory.Kinds[kind], SIP: int32(p.SIP), Cube: int32(p.Cube), PE: int32(p.PE)}
	if kind == topology.KindSRAM {
		id.PE = 0
	}
	return id
}

// String returns the PE's name: "sip0.cube5.pe3".
func (p *Element) String() string {
	return "sip" + strconv.Itoa(p.SIP) + ".cube" + strconv.Itoa(p.Cube) + ".pe" + strconv.Itoa(p.PE)
}
