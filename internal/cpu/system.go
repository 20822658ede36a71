package cpu

import (
	"cmp"
	"errors"
	"slices"
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

// System is the state that the CPUs of a machine share: the simulation engine, the fabric,
// the op log, and the functions through which a CPU uses the rest of the machine. Its
// exported fields are set before the first PE is initialized; Data, Print and Measuring may
// be set at any time. If several threads run the SIPs, each has a System.
type System struct {
	Engine *sim.Engine
	Graph  *topology.Graph
	Fabric *fabric.Fabric

	Log   *oplog.Log        // operations of kernels and hosts; nil if none are recorded, see also oplog.Log.Kept
	Data  Data              // computes values from the log; nil in a run without values
	Print func(text string) // prints the output of kernels; may be nil

	// Composites has the composites that have been issued, in a run with an op log.
	Composites []Composite

	Lines     bool // record the source lines of kernels in the log
	Measuring bool // measure the usage of the PEs of programs that start from now on

	// Addresses returns the space that maps a virtual address to the shard of a tensor.
	Addresses func(va memory.VA) *memory.Space
	// Find appends the parts of memory behind a range of virtual addresses, in row-major
	// order. There is one part if the range is in one shard.
	Find func(to []pe.Access, va memory.VA, rows int64, rowBytes, stride memory.Bytes) ([]pe.Access, error)
	// Route appends the links of a transfer between two memories, which may be the same.
	Route func(to []topology.LinkID, from, dest memory.ID) []topology.LinkID
	// Reserve allocates scratch memory in a PE's TCM and maps it. Release frees it.
	Reserve func(p *Element, n memory.Bytes) (memory.VA, pe.Access, error)
	Release func(p *Element, va memory.VA)

	threads       []*System // by thread; the first is the System that was initialized
	remotes       *pe.Remotes
	printed       []printed // texts that kernels have printed in this window
	callers       tl.Callers
	costs         pe.Costs
	command       pe.Command        // the command that a core passes to its engines
	access        pe.Request        // the request of an access to memory that a core passes to its DMA engine
	found         []topology.LinkID // the route that a core found last
	target        sim.Target
	back          []topology.LinkID // reused by Remote
	landing       pe.Remote         // reused by Core.land
	transfers     sim.Pool[transfer]
	receives      map[oplog.ID]*receive // recorded in the op log and in flight
	notifications sim.Pool[notification]
	_             [64]byte // keeps other objects out of its last cache line, since threads write to them
}

// The events of a System. Their argument is an index of a pool, or for receives an ID in
// the op log.
const (
	evBegun      sim.Kind = iota // a request of a transfer begins to read
	evEnded                      // a request of a transfer has written its data
	evWriteKnown                 // the acknowledgement of a request that writes to another SIP has arrived
	evMatched                    // a receive has been matched with its message
	evReceived                   // a receive has its message in TCM
	evNotified                   // a notification has reached its PE
	evApplied                    // all earlier accesses of the notification's sender have taken effect
	evSettled                    // likewise those that do not end in the SIP of the notification's PE, which is another SIP
	evReported                   // likewise, and the PE of the notification knows
)

// Composite has the times and the number of matrix tiles of a composite. The times are 0
// until it has ended.
type Composite struct {
	Start, End simtime.Time
	Tiles      int
}

// Data computes values for kernels that ask for them.
type Data interface {
	// Flush computes the operations that have been logged so far.
	Flush() error
	// Value returns the bytes of an operation's tile.
	Value(oplog.ID) ([]byte, error)
	// Forget drops the value of a tile that no later operation uses.
	Forget(oplog.ID)
}

// ErrNoValues is the error of reading a value in a run without values.
var ErrNoValues = errors.New("values are not computed in this run: leave out --data=off, or do not branch on them")

// Init registers the system with its simulation engine.
func (m *System) Init() {
	var all []*System
	remotes := pe.NewRemotes(m.Engine, m.Fabric)
	target := m.Engine.RegisterEach(func(e *sim.Engine) sim.Handler {
		t := m
		if len(all) > 0 {
			t = new(*m)
			t.Engine, t.Fabric = e, m.Fabric.OnThread(len(all))
			t.transfers.Share(&m.transfers)
			t.notifications.Share(&m.notifications)
		}
		t.remotes, t.costs = remotes[len(all)], pe.NewCosts(&m.Graph.Spec().PE)
		all = append(all, t)
		return t
	})
	for _, t := range all {
		t.target, t.threads = target, all
	}
	m.receives = map[oplog.ID]*receive{}
	m.Engine.WindowEnded = m.flushPrints
}

// main returns the System of the first thread, which has the settings that may change.
func (m *System) main() *System { return m.threads[0] }

// printed is a text that a kernel has printed.
type printed struct {
	at        simtime.Time
	partition int32
	text      string
}

// print prints a text of a kernel. Texts of kernels in several SIPs appear in order of time.
func (m *System) print(text string) {
	to := m.main().Print
	switch in := m.Engine.Current(); {
	case to == nil:
	case in == 0:
		to(text)
	default:
		m.printed = append(m.printed, printed{m.Engine.Now(), in, text})
	}
}

// flushPrints prints the texts that kernels have printed before the time `reached`.
func (m *System) flushPrints(reached simtime.Time) {
	var all []printed
	for _, t := range m.threads {
		later := t.printed[:0]
		for _, p := range t.printed {
			if p.at < reached {
				all = append(all, p)
			} else {
				later = append(later, p)
			}
		}
		t.printed = later
	}
	slices.SortStableFunc(all, func(a, b printed) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.partition, b.partition))
	})
	for _, p := range all {
		m.Print(p.text)
	}
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
			m.recordBegin(t.id, t.kind)
		}
	case evEnded:
		t := m.transfers.At(int32(arg))
		if t.ends--; t.ends > 0 {
			return
		}
		if m.recordTransfer(t); t.acks == 0 {
			m.endTransfer(m.transfers.Take(int32(arg)))
		}
	case evWriteKnown:
		t := m.transfers.At(int32(arg))
		if t.acks--; t.acks == 0 && t.ends <= 0 {
			m.endTransfer(m.transfers.Take(int32(arg)))
		}
	case evMatched:
		m.recordMatch(oplog.ID(arg))
	case evReceived:
		m.recordReceive(oplog.ID(arg))
	case evNotified:
		n := m.notifications.At(int32(arg))
		if n.way == 0 {
			n.from.DMA.After(n.order, m.event(evApplied, arg))
			return
		}
		n.arrived = true
		m.notifyRemote(n, arg)
	case evSettled:
		n := m.notifications.At(int32(arg))
		n.by = m.Engine.By
		m.Engine.AtIn(pe.PartitionOf(int32(n.to.SIP)), m.Engine.Now()+n.way, m.target, evReported, arg)
	case evReported:
		n := m.notifications.At(int32(arg))
		n.fenced, m.Engine.By = false, n.by
		m.notifyRemote(n, arg)
	case evApplied:
		m.notify(m.notifications.Take(int32(arg)))
	}
}

// ID is the number of a PE in its machine, counted cube by cube and SIP by SIP.
type ID int32

// Element is a processing element: its place, the engines that its CPU commands, and its
// signals.
type Element struct {
	ID            ID
	SIP, Cube, PE int
	DMA           pe.DMA
	Tiles         pe.Tiles
	Pipeline      pe.Pipeline
	Polled        simtime.Time // time that the CPU has spent polling for credits

	system      *System
	trace       *pe.Trace // nil in a run without a trace
	signals     map[int]*signal
	listeners   []*sim.Proc // processes that wait for one of its signals
	lastCommand oplog.ID    // the latest command of its engines, in the op log
}

// Init initializes the engines of a PE. They record their activities in t unless it is nil.
func (p *Element) Init(m *System, t *pe.Trace) {
	m = m.threads[m.Engine.ThreadOf(pe.PartitionOf(int32(p.SIP)))]
	s := &m.Graph.Spec().PE
	p.system, p.trace = m, t
	p.Tiles.Init(s.TCM.Size)
	p.DMA.Init(m.Engine, m.Fabric, &s.DMA, &s.TCM, &p.Tiles)
	p.DMA.SIP, p.DMA.Remotes = int32(p.SIP), m.remotes
	p.Pipeline.Init(m.Engine, &p.Tiles, &p.DMA)
	p.DMA.Trace, p.Pipeline.Trace = t, t
	if m.Log.Kept() {
		p.Pipeline.Scheduled = p.recordCommand
		p.DMA.Followed = m.recordFollow
		m.Log.NamePE(int(p.ID), p.String())
	}
}

// Memory returns the ID of the memory that kind selects: the HBM slice of the PE, its TCM,
// or the SRAM of its cube.
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
