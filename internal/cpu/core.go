package cpu

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// Core is the control CPU of a PE while it runs a kernel: it gives each operation
// of the tile language its dispatch cycle and hands it to an engine. It implements
// tl.Machine.
//
// The CPU has a clock of its own, which runs ahead of the engine's: dispatching a
// command is not an event. What it does to the rest of the machine is scheduled at
// its time; where it looks at what others have done, it waits for them to catch up
// first (sync).
type Core struct {
	m      *System
	eng    *sim.Engine
	pe     *Element
	proc   *sim.Proc
	launch *Launch
	rank   int
	home   *Element // where its signals lie
	name   string   // of the kernel

	now       simtime.Time
	limit     simtime.Time
	dispatch  simtime.Time
	scheduler simtime.Time
	poll      simtime.Time // between two looks for a credit; 0 is asleep
	calls     int          // since the last time it let others run
	idle      int          // since its clock moved
	last      simtime.Time // when that was

	ports   []port // by tl.Port
	turn    int    // port that RecvAny looks at first
	scratch []memory.VA
	handles uint64 // given out so far
	pending []pending
	awaits  awaited // what it waits for in WaitSignal
	selects selection

	unusedReceives []*receive
	usage          *pe.Usage // if it is wanted

	trace *pe.Trace // likewise
	cpu   cpuTrace

	tiles map[int32][]oplog.ID // who made what is in each slot, if values are computed

	pieces   []pe.Access // buffers of the operation at hand
	requests []pe.Request
	path     []topology.LinkID
}

// Launch is what the cores of one launch share.
type Launch struct {
	Ranks   []ID                    // the PEs, by rank
	Home    func(rank int) *Element // where the signals of a rank lie
	Windows [][]memory.Part         // for each tensor argument, the part that each rank holds
	Poll    simtime.Time            // between two looks for a credit; 0 is asleep
	Log     int32                   // number of the launch in the op log
	Trace   int64                   // number of the launch in the trace
}

// New returns the core of a PE for a launch, idle.
func New(m *System, l *Launch, p *Element, rank int) *Core {
	s := &m.Graph.Spec().PE
	c := &Core{
		m: m, eng: m.Engine, pe: p, launch: l, rank: rank, home: l.Home(rank), limit: over, trace: p.trace,
		dispatch: s.CPU.Clock.Cycles(s.CPU.DispatchCycles), scheduler: s.Scheduler.Overhead, poll: l.Poll,
	}
	if m.Measuring {
		c.usage = &pe.Usage{}
	}
	p.DMA.Usage, p.Pipeline.Usage = c.usage, c.usage
	clear(c.home.signals)
	return c
}

// Start gives the core the process in which its kernels run, from now on.
func (c *Core) Start(proc *sim.Proc) {
	c.proc = proc
	proc.Where = c.m.callers.Line
	c.Attach(proc)
	c.cpu.ended = c.eng.Now()
}

// ahead is how many calls a kernel may make before others get on: it bounds what
// is lost when the run is interrupted.
const ahead = 4096

// mostIdle is how many calls may take no time on a machine on which calls take none.
const mostIdle = 1 << 24

// beatEvery is how many calls a kernel may make before the engine counts a beat, by which a
// guard sees that the kernel gets on.
const beatEvery = 64

// tick charges a dispatch cycle.
func (c *Core) tick() error {
	c.now += c.dispatch
	if c.trace != nil {
		c.trace.Line = c.m.callers.Line()
	}
	if c.dispatch == 0 {
		if err := c.idles(); err != nil {
			return err
		}
	}
	if c.calls++; c.calls%beatEvery == 0 {
		c.eng.Beat()
		if c.calls >= ahead {
			c.eng.CheckContext()
			c.sync()
		}
	}
	if c.now > c.limit {
		if c.limit == over {
			return errors.New("its kernel has ended: a PE is for the kernel that was given it")
		}
		return &sim.TimeLimit{Limit: c.limit, Events: c.eng.Events()}
	}
	return nil
}

// idles counts calls that take no time, on a machine on which calls take none.
func (c *Core) idles() error {
	if c.now > c.last {
		c.last, c.idle = c.now, 0
	}
	if c.idle++; c.idle > mostIdle {
		return fmt.Errorf("%d operations in a row took no time, at %v: an endless loop, such as one of Test where WaitSignal is meant", mostIdle, c.now)
	}
	return nil
}

// arrival returns when a command that is dispatched now reaches the engines.
func (c *Core) arrival() simtime.Time { return c.now + c.scheduler }

// sync waits until the engine's clock has reached the CPU's.
func (c *Core) sync() {
	c.calls = 0
	if c.now > c.eng.Now() {
		c.proc.SleepUntil(c.now)
	}
}

// caughtUp moves the clock to the present, after a wait.
func (c *Core) caughtUp() {
	c.now = max(c.now, c.eng.Now())
	c.calls = 0
}

// Place returns where the kernel runs.
func (c *Core) Place() tl.Place {
	s := c.m.Graph.Spec()
	return tl.Place{
		PE: c.pe.PE, Cube: c.pe.Cube, SIP: c.pe.SIP,
		PEs: s.PEsPerCube(), Cubes: s.CubesPerSIP(), SIPs: s.System.SIPs.Count,
		Rank: c.rank, Ranks: len(c.launch.Ranks), Name: c.pe.String(),
	}
}

// Now returns the CPU's clock.
func (c *Core) Now() simtime.Time { return c.now }

// Print shows a line to the user.
func (c *Core) Print(text string) {
	if c.m.Print != nil {
		c.m.Print(text)
	}
}

// room makes room for n bytes in TCM, waiting for tiles that have to go. The tiles to keep stay.
func (c *Core) room(n memory.Bytes, keep ...int32) error {
	for {
		at, ok, err := c.pe.Tiles.MakeSpace(n, keep...)
		if err != nil {
			return err
		}
		began := c.now
		c.now = max(c.now, at)
		c.waitedFor("TCM", began, c.pe.Tiles.FreedBy())
		if ok {
			return nil
		}
		began = c.now
		c.pe.Pipeline.Await(c.proc, "room in TCM", c.now)
		c.caughtUp()
		c.waitedFor("TCM", began, c.proc.Woken)
	}
}

// newTile puts a new tile into TCM, which is there after a number of transfers. The tiles to
// keep stay.
func (c *Core) newTile(v *tl.Value, parts int, keep ...int32) error {
	n := memory.Bytes(v.Bytes())
	if err := c.room(n, keep...); err != nil {
		return err
	}
	v.Slot, v.Turn = c.pe.Tiles.New(n, parts)
	return nil
}

// made records which operation made a tile, so that its value can be forgotten when
// the tile goes.
func (c *Core) made(v *tl.Value) {
	if c.m.Data == nil {
		return
	}
	if c.pe.Tiles.Forget == nil {
		c.tiles = map[int32][]oplog.ID{}
		c.pe.Tiles.Forget = c.forget
	}
	c.tiles[v.Slot] = append(c.tiles[v.Slot], v.ID)
}

func (c *Core) forget(slot int32) {
	for _, id := range c.tiles[slot] {
		c.m.Data.Forget(id)
	}
	c.tiles[slot] = c.tiles[slot][:0]
}

// use marks a tile as used last, or returns the error that it is gone.
func (c *Core) use(v *tl.Value) error {
	if gone := c.pe.Tiles.Use(v.Slot, v.Turn); gone != nil {
		gone.Asked = memory.Bytes(v.Bytes())
		return gone
	}
	return nil
}

// Pin keeps a tile in TCM.
func (c *Core) Pin(v tl.Value) (err error) {
	if err = c.use(&v); err == nil {
		c.pe.Tiles.Pin(v.Slot)
	}
	return err
}

// Free ends a tile.
func (c *Core) Free(v tl.Value) (err error) {
	if err = c.use(&v); err == nil {
		c.pe.Tiles.Free(v.Slot)
	}
	return err
}

// Scratch allocates scratch memory and maps it into the virtual addresses.
func (c *Core) Scratch(n int64) (int64, error) {
	if err := c.tick(); err != nil {
		return 0, err
	}
	if err := c.room(memory.Bytes(n)); err != nil {
		return 0, err
	}
	va, access, err := c.m.Reserve(c.pe, memory.Bytes(n))
	if err != nil {
		return 0, err
	}
	c.scratch = append(c.scratch, va)
	if log := c.m.Log; log != nil {
		op := c.op(oplog.Scratch)
		op.Start, op.End = c.now, c.now
		op.Mem = Accesses([]pe.Access{access})
		c.sync() // no earlier access to the same bytes may come after it
		log.Effect(log.Add(op), oplog.Write)
	}
	return int64(va), nil
}

// Bytes computes a tile's value, once the tile is there.
func (c *Core) Bytes(v tl.Value) ([]byte, error) {
	if c.m.Data == nil {
		return nil, ErrNoValues
	}
	if err := c.tick(); err != nil {
		return nil, err
	}
	if err := c.use(&v); err != nil {
		return nil, err
	}
	began := c.now
	for c.pe.Tiles.Ready(v.Slot) == simtime.Never {
		c.pe.Pipeline.Await(c.proc, "the value of a tile", c.now)
		c.caughtUp()
	}
	c.now = max(c.now, c.pe.Tiles.Ready(v.Slot))
	c.waitedFor("value", began, c.pe.Tiles.MadeBy(v.Slot))
	c.sync()
	if err := c.m.Data.Flush(); err != nil {
		return nil, err
	}
	return c.m.Data.Value(v.ID)
}

var _ tl.Machine = (*Core)(nil)

// over is the limit of a kernel that has ended: nothing can be done after it.
const over simtime.Time = -1

// Run runs a kernel, from the present instant to the end of everything that it starts.
func (c *Core) Run(name string, body func(m tl.Machine)) {
	c.name, c.now, c.calls, c.limit = name, c.eng.Now(), 0, cmp.Or(c.eng.Limit, simtime.Never)
	c.pe.lastCommand = 0
	c.runs(c.cpu.last)
	body(c)
	c.end()
}

// end waits for everything the kernel started, gives back what it took, and checks
// that it left nothing undone.
func (c *Core) end() {
	c.sync()
	began := c.now
	c.pe.Pipeline.Drain(c.proc)
	c.drained(began)
	for _, p := range c.pending {
		if p.receive != nil {
			panic(&tl.Error{
				Kernel: c.name, PE: c.pe.String(), Op: "RecvAsync", Shapes: p.receive.port.String(),
				Err: errors.New("the kernel ended without having waited for the message"),
			})
		}
	}
	clear(c.pending)
	c.pending = c.pending[:0]
	c.pe.Tiles.Clear()
	c.pe.Tiles.Forget = nil
	for _, va := range c.scratch {
		c.m.Release(c.pe, va)
	}
	c.scratch = c.scratch[:0]
	c.limit = over
}
