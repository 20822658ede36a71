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

// Core is the control CPU of a PE while it runs a kernel. It charges the dispatch time of
// each operation of the tile language and passes the operation to an engine. It implements
// tl.Machine.
//
// The CPU has its own clock, which runs ahead of the clock of the simulation engine:
// dispatching a command is not an event. Effects on the rest of the machine are scheduled
// at the CPU's time. Before the CPU reads the state of other parts, it waits until the
// simulation engine has reached the CPU's time (sync).
type Core struct {
	// What every operation uses, in few cache lines.
	m         *System
	eng       *sim.Engine
	pe        *Element
	proc      *sim.Proc
	now       simtime.Time // the CPU's clock
	limit     simtime.Time // the clock must not pass it; endedLimit after the kernel's end
	dispatch  simtime.Time // dispatch time of an operation
	scheduler simtime.Time // from the dispatch of a command to its arrival at the engines
	calls     uint         // calls since the CPU last let other processes run
	idle      int          // calls since the CPU's clock last moved; only counted if dispatch is 0
	last      simtime.Time // when the CPU's clock last moved; likewise
	trace     *pe.Trace    // nil in a run without a trace
	usage     *pe.Usage    // nil if usage is not measured
	poll      simtime.Time // interval of polls for a credit; 0 means to sleep instead
	ports     []port       // by tl.Port

	unusedReceives []*receive // for reuse

	launch  *Launch
	rank    int
	home    *Element    // the element that holds this rank's signals
	name    string      // of the kernel
	turn    int         // the port that RecvAny examines first
	scratch []memory.VA // allocated by Scratch
	handles uint64      // number of handles returned so far
	pending []pending
	awaits  awaited   // the condition of WaitSignal
	selects selection // the cases of Select

	cpu cpuTrace

	tiles map[int32][]oplog.ID // operations that made the tile in each slot; nil without values

	// Buffers that every operation uses again.
	pieces                []pe.Access // the parts of memory that the current operation accesses
	path                  []topology.LinkID
	routes                []route    // between memories that the kernel has accessed first; at most maxRoutes
	lastRead, lastWritten knownShard // the shards that the kernel read and wrote last
}

// Launch is the state that the cores of one launch share.
type Launch struct {
	Ranks   []ID                    // the PEs, by rank
	Home    func(rank int) *Element // the element that holds the signals of a rank
	Windows [][]memory.Part         // for each tensor argument, the part that each rank holds
	Poll    simtime.Time            // interval of polls for a credit; 0 means to sleep instead
	Log     int32                   // number of the launch in the op log
	Trace   int64                   // number of the launch in the trace
}

// New returns an idle core of PE p for launch l, and clears the signals of the rank.
func New(l *Launch, p *Element, rank int) *Core {
	m := p.system
	s := &m.Graph.Spec().PE
	c := &Core{
		m: m, eng: m.Engine, pe: p, launch: l, rank: rank, home: l.Home(rank), limit: endedLimit, trace: p.trace,
		dispatch: s.CPU.Clock.Cycles(s.CPU.DispatchCycles), scheduler: s.Scheduler.Overhead, poll: l.Poll,
	}
	if m.main().Measuring {
		c.usage = &pe.Usage{}
	}
	p.DMA.Usage, p.Pipeline.Usage = c.usage, c.usage
	clear(c.home.signals)
	return c
}

// Start sets the process in which the core's kernels run from now on.
func (c *Core) Start(proc *sim.Proc) {
	c.proc = proc
	proc.Where = c.m.callers.Line
	c.Attach(proc)
	c.cpu.ended = c.eng.Now()
}

// maxCallsAhead is the number of calls that a kernel may make before other processes run.
// It bounds the work that is lost when the run is interrupted.
const maxCallsAhead = 4096

// maxIdleCalls is the number of consecutive calls that may take no time, on a machine whose
// dispatch time is 0.
const maxIdleCalls = 1 << 24

// beatEvery is the number of calls between two beats of the simulation engine. From the
// beats, a goroutine that watches the run can see that the kernel makes progress.
const beatEvery = 64

// tick charges the dispatch time of an operation. It returns an error if the kernel has
// ended, exceeds the time limit, or makes too many calls that take no time.
func (c *Core) tick() error {
	c.now += c.dispatch
	if c.trace != nil {
		c.trace.Line = c.m.callers.Line()
	}
	if c.dispatch == 0 {
		if c.now > c.last {
			c.last, c.idle = c.now, 0
		}
		if c.idle++; c.idle > maxIdleCalls {
			return c.idleError()
		}
	}
	if c.calls++; c.calls%beatEvery == 0 {
		c.beat()
	}
	if c.now > c.limit {
		return c.limitError()
	}
	return nil
}

// beat reports progress to the simulation engine. After many calls it lets other processes
// run.
func (c *Core) beat() {
	c.eng.Beat()
	if c.calls >= maxCallsAhead {
		c.eng.CheckContext()
		c.sync()
	}
}

// idleError returns the error of a kernel that makes too many calls that take no time.
func (c *Core) idleError() error {
	return fmt.Errorf("%d operations in a row took no time, at %v: an endless loop, such as one of Test where WaitSignal is meant", maxIdleCalls, c.now)
}

// limitError returns the error of a call after the time limit or the kernel's end.
func (c *Core) limitError() error {
	if c.limit == endedLimit {
		return errors.New("its kernel has ended: a PE is for the kernel that was given it")
	}
	return &sim.TimeLimit{Limit: c.limit}
}

// arrival returns the time at which a command dispatched now reaches the engines.
func (c *Core) arrival() simtime.Time { return c.now + c.scheduler }

// sync waits until the clock of the simulation engine has reached the CPU's clock.
func (c *Core) sync() {
	c.calls = 0
	if c.now > c.eng.Now() {
		c.proc.SleepUntil(c.now)
	}
}

// catchUp advances the CPU's clock to the simulation engine's clock, after a wait.
func (c *Core) catchUp() {
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

// Print prints a line for the user.
func (c *Core) Print(text string) {
	c.m.print(text)
}

// makeSpace evicts tiles from TCM until n bytes are free, and waits until the evicted tiles
// are no longer in use. It does not evict the tiles in `keep`.
func (c *Core) makeSpace(n memory.Bytes, keep ...int32) error {
	for {
		at, ok, err := c.pe.Tiles.MakeSpace(n, keep...)
		if err != nil {
			return err
		}
		began := c.now
		if at > began {
			c.now = at
			c.traceWait("TCM", began, c.pe.Tiles.FreedBy())
		}
		if ok {
			return nil
		}
		began = c.now
		c.pe.Pipeline.Await(c.proc, "room in TCM", c.now)
		c.catchUp()
		c.traceWait("TCM", began, c.proc.Woken)
	}
}

// newTile allocates tile v in TCM. The tile becomes ready after `parts` transfers.
func (c *Core) newTile(v *tl.Value, parts int) error {
	return c.newTileOf(v, memory.Bytes(v.Bytes()), parts, nil)
}

// newTileOf allocates tile v of n bytes in TCM, like newTile. It does not evict the tiles in
// `keep`.
func (c *Core) newTileOf(v *tl.Value, n memory.Bytes, parts int, keep []int32) error {
	if err := c.makeSpace(n, keep...); err != nil {
		return err
	}
	v.Slot, v.Turn = c.pe.Tiles.New(n, parts)
	return nil
}

// recordMaker records the operation that made a tile. When the tile is freed or evicted,
// forget passes this operation to Data, which then drops the value.
func (c *Core) recordMaker(v *tl.Value) {
	if c.m.main().Data == nil {
		return
	}
	if c.pe.Tiles.Forget == nil {
		c.tiles = map[int32][]oplog.ID{}
		c.pe.Tiles.Forget = c.forget
	}
	c.tiles[v.Slot] = append(c.tiles[v.Slot], v.ID)
}

// forget makes Data drop the values of the tile in the given slot. No later operation uses
// this tile.
func (c *Core) forget(slot int32) {
	for _, id := range c.tiles[slot] {
		c.m.main().Data.Forget(id)
	}
	c.tiles[slot] = c.tiles[slot][:0]
}

// use marks a tile as the most recently used. It returns an error if the tile is no longer
// in TCM.
func (c *Core) use(v *tl.Value) error {
	if gone := c.pe.Tiles.Use(v.Slot, v.Turn); gone != nil {
		return goneError(gone, v)
	}
	return nil
}

// goneError completes the error for the use of tile v, which is no longer in TCM.
func goneError(gone *pe.Overflow, v *tl.Value) error {
	gone.Asked = memory.Bytes(v.Bytes())
	return gone
}

// Pin protects a tile from eviction.
func (c *Core) Pin(v tl.Value) (err error) {
	if err = c.use(&v); err == nil {
		c.pe.Tiles.Pin(v.Slot)
	}
	return err
}

// Free removes a tile from TCM.
func (c *Core) Free(v tl.Value) (err error) {
	if err = c.use(&v); err == nil {
		c.pe.Tiles.Free(v.Slot)
	}
	return err
}

// Scratch allocates n bytes of scratch memory in TCM, maps them and returns their virtual
// address.
func (c *Core) Scratch(n int64) (int64, error) {
	if err := c.tick(); err != nil {
		return 0, err
	}
	if err := c.makeSpace(memory.Bytes(n)); err != nil {
		return 0, err
	}
	va, access, err := c.m.Reserve(c.pe, memory.Bytes(n))
	if err != nil {
		return 0, err
	}
	c.scratch = append(c.scratch, va)
	if log := c.m.Log; log != nil {
		op := c.newRecord(oplog.Scratch)
		op.Start, op.End = c.now, c.now
		op.Mem = Accesses([]pe.Access{access})
		c.sync() // earlier accesses to the same bytes must come before it in the log
		log.Effect(log.Add(op), oplog.Write)
	}
	return int64(va), nil
}

// Bytes waits until a tile is ready, and returns its value. It returns ErrNoValues if
// values are not computed.
func (c *Core) Bytes(v tl.Value) ([]byte, error) {
	if c.m.main().Data == nil {
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
		c.catchUp()
	}
	c.now = max(c.now, c.pe.Tiles.Ready(v.Slot))
	c.traceWait("value", began, c.pe.Tiles.MadeBy(v.Slot))
	c.sync()
	if err := c.m.main().Data.Flush(); err != nil {
		return nil, err
	}
	return c.m.main().Data.Value(v.ID)
}

var _ tl.Machine = (*Core)(nil)

// endedLimit is the time limit after a kernel has ended: every later call fails.
const endedLimit simtime.Time = -1

// Run runs a kernel from now until everything that it starts has ended.
func (c *Core) Run(name string, body func(m tl.Machine)) {
	c.name, c.now, c.calls, c.limit = name, c.eng.Now(), 0, cmp.Or(c.eng.Limit, simtime.Never)
	c.pe.lastCommand = 0
	c.beginRun(c.cpu.last)
	body(c)
	c.end()
}

// end waits for everything that the kernel started, and frees its tiles and scratch memory.
// It panics if the kernel started a receive and has not waited for it.
func (c *Core) end() {
	c.sync()
	began := c.now
	c.pe.Pipeline.Drain(c.proc)
	c.traceEnd(began)
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
	c.limit = endedLimit
}
