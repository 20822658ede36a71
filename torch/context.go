package torch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/exec"
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// Time is simulated time.
type Time = simtime.Time

// Options selects the machine of a Context and what a run records. The zero value selects
// the preset "default" with values, and without traces and race detection.
type Options struct {
	Topology *topology.Graph // the system; nil means the preset "default"
	Flit     bool            // simulate every flit: slower, but the reference for the default fidelity, train
	NoData   bool            // timing only: compute no values and store no tensor bytes
	Threads  int             // number of threads that compute values, or without values simulate SIPs; 0 means one per core
	Race     bool            // detect races between PEs; implies an op log
	KeepLog  bool            // keep the whole op log, so that it can be saved
	PerRank  bool            // record the times of every rank of every launch, for Launches
	Limit    Time            // limit on simulated time, for endless kernels; 0 means 10 s
	// Stall is how long, in wall-clock time, a kernel may compute without an operation of
	// the tile language before the run is abandoned; 0 means 10 s.
	Stall  time.Duration
	Trace  string      // file for a trace of the machine; "" means none
	Output io.Writer   // receives Printf of kernels; nil discards it
	CCL    *ccl.Config // configuration of collectives; nil means the default
	// Settings holds values for packages that build on this one, by type: see Setting.
	Settings []any
}

// Context is a simulated machine with its tensors, and the results of a program that uses
// the machine. The program uses the machine through a [Rank].
type Context struct {
	ctx     context.Context
	options Options
	s       *stream.Scheduler
	m       *machine.Machine
	trace   *trace.File // the trace in progress; nil means none
	tensors int         // number of tensors made so far

	crit     Time        // the longest time of a launch, from its start to the end of its last PE
	checks   Checks      // results of Check, CheckFunc and CheckWithin so far
	launches []RankTimes // times of all launches; nil without Options.PerRank

	used     []bool                // by PE: whether the PE holds a tensor or has run a kernel
	usedPEs  int                   // number of used PEs
	reserved map[*storage][]func() // functions that release the memory of this computer reserved for a storage; the key nil stands for the context

	main  *Rank   // the program itself
	ranks []*Rank // ranks of Spawn, by number
}

// New returns a Context with a new machine. The run ends when ctx is done.
func New(ctx context.Context, o Options) (*Context, error) {
	if o.Topology == nil {
		spec, err := topology.Preset("default")
		if err != nil {
			return nil, err
		}
		if o.Topology, err = topology.Compile(spec); err != nil {
			return nil, err
		}
	}
	o.Threads = cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
	if o.Stall <= 0 {
		o.Stall = 10 * time.Second
	}
	fidelity := fabric.Train
	if o.Flit {
		fidelity = fabric.Flit
	}
	c := &Context{ctx: ctx, options: o, reserved: map[*storage][]func(){}}
	how := machine.Options{
		Fidelity: fidelity, Limit: o.Limit, Log: !o.NoData || o.Race || o.KeepLog,
		Transient: !c.KeepsLog(), NoLines: !c.KeepsLog(), // only the data phase reads the log
		Threads: o.Threads,
	}
	if o.Trace != "" {
		var err error
		if c.trace, err = trace.Create(o.Trace); err != nil {
			return nil, err
		}
		how.Trace = c.trace.Recorder
	}
	c.m = machine.New(o.Topology, how)
	c.used = make([]bool, c.NumPEs())
	c.s = stream.New(stream.Options{
		Context: ctx, Machine: c.m, Data: !o.NoData, Threads: o.Threads, Stall: o.Stall,
		Misuse:    func(op, text string) error { return misuse(op, "%s", text) },
		Recovered: Recovered,
		Stalled:   func(rank bool, line string) error { return &Stalled{o.Stall, rank, line} },
	})
	c.main = c.newRank(c.s.Main())
	if o.Output != nil {
		c.m.Print = func(text string) { fmt.Fprintln(o.Output, text) }
	}
	return c, nil
}

// Close ends all kernels and workers that still run. It cannot end an endless loop of Go
// code.
func (c *Context) Close() {
	for owner := range c.reserved {
		c.unreserve(owner)
	}
	c.s.Close()
}

// saveTrace ends the trace, if there is one, and gives the trace file its final name.
// `about` describes the program; saveTrace adds the tool, the topology and the links.
func (c *Context) saveTrace(about trace.About) error {
	if c.trace == nil {
		return nil
	}
	about.Tool = "kernbench"
	c.m.TraceProgram(c.s.Makespan())
	about.Topology, about.Links = c.Topology().Spec().Hash(), c.m.TraceLinks()
	err := c.trace.Close(about)
	c.trace = nil
	return err
}

// dropTrace discards the trace, if there is one.
func (c *Context) dropTrace() error {
	if c.trace == nil {
		return nil
	}
	err := c.trace.Discard()
	c.trace = nil
	return err
}

// Topology returns the topology of the machine.
func (c *Context) Topology() *topology.Graph { return c.options.Topology }

// HasData reports whether values are computed, so that they can be checked.
func (c *Context) HasData() bool { return c.s.Values != nil }

// NumPEs returns the number of PEs of the system.
func (c *Context) NumPEs() int { return c.m.NumPEs() }

// counts returns the number of SIPs, the number of cubes per SIP, and the number of PEs per
// cube.
func (c *Context) counts() (sips, cubes, pes int) {
	s := c.Topology().Spec()
	return s.System.SIPs.Count, s.CubesPerSIP(), s.PEsPerCube()
}

// PE returns the number of a PE. sip is its SIP, cube is its cube in the SIP, and pe is its
// index in the cube.
func (c *Context) PE(sip, cube, pe int) int {
	sips, cubes, pes := c.counts()
	outside := sip < 0 || cube < 0 || pe < 0 || sip >= sips || cube >= cubes || pe >= pes
	refuse(outside, "PE", "no SIP %d, cube %d, PE %d: the system has %d, %d and %d", sip, cube, pe, sips, cubes, pes)
	return int(c.m.ID(sip, cube, pe))
}

// LooksForRaces reports whether Options.Race is set.
func (c *Context) LooksForRaces() bool { return c.options.Race }

// Races returns a text for each race between PEs found so far. Options.Race must be set.
// Each text names two accesses that are not ordered, their kernels, and their lines of
// code.
func (c *Context) Races() ([]string, error) {
	refuse(!c.options.Race, "Races", "the context was made without Race")
	if err := c.main.Synchronize(); err != nil {
		return nil, err
	}
	races, err := exec.Races(c.m.Log)
	texts := slices.Clone(c.m.Races)
	for _, r := range races {
		texts = append(texts, r.String())
	}
	return texts, err
}

// GoContext returns the context.Context that was passed to New.
func (c *Context) GoContext() context.Context { return c.ctx }

// Flit reports whether Options.Flit is set, so that every flit is simulated.
func (c *Context) Flit() bool { return c.options.Flit }

// CCL returns the configuration of collectives: Options.CCL, or the default.
func (c *Context) CCL() *ccl.Config {
	if c.options.CCL == nil {
		c.options.CCL = ccl.Default()
	}
	return c.options.CCL
}

// Crit returns the time of the longest launch or collective so far (crit_ns). This time is
// from the start of the launch or collective until its last PE has ended.
func (c *Context) Crit() Time { return c.crit }

// Makespan returns the simulated time from the first command of the host, at which the
// clock starts, to the end of the last launch, collective or copy so far.
func (c *Context) Makespan() Time {
	end, _ := c.s.Makespan()
	return end
}

// Launches returns the times of each rank in all launches and collectives, in the order in
// which the launches and collectives ended. It returns nil unless Options.PerRank is set.
func (c *Context) Launches() []RankTimes { return c.launches }

// Now returns the current simulated time.
func (c *Context) Now() Time { return c.m.Engine.Now() }

// KeepsLog reports whether the op log is needed for more than the data phase: Options.Race
// or Options.KeepLog is set.
func (c *Context) KeepsLog() bool { return c.options.Race || c.options.KeepLog }

// Log returns the op log, or nil if none is recorded. Unless KeepsLog is true, it has only
// operations that the data phase has not taken yet.
func (c *Context) Log() *oplog.Log { return c.m.Log }

// Err returns the error that ended the machine, or nil while the machine can be used. The
// error is a deadlock, an exceeded limit, a panic of a kernel with its stack, or the error
// of the context.Context. After an error, no kernel can be launched.
func (c *Context) Err() error { return c.s.Err() }

// The element types, the same as in package tl.
const (
	F16  = tl.F16
	BF16 = tl.BF16
	F32  = tl.F32
	F64  = tl.F64
	I8   = tl.I8
	I16  = tl.I16
	I32  = tl.I32
	I64  = tl.I64
	U8   = tl.U8
	U16  = tl.U16
	U32  = tl.U32
	U64  = tl.U64
)

// DType is the type of a tensor's elements. Shape lists the extents of a tensor's axes.
type (
	DType = tl.DType
	Shape = tl.Shape
)

// Error describes a mistake in a program that uses this package. Functions panic with an
// *Error.
type Error struct {
	Op  string // the function, such as "FromSlice"
	Err error
}

func (e *Error) Error() string { return "torch: " + e.Op + ": " + e.Err.Error() }

// Unwrap returns the description of the mistake, without the name of the function.
func (e *Error) Unwrap() error { return e.Err }

// refuse panics with an *Error if `mistake` is true. The error names the function `op`.
// `format` and `args` describe the mistake.
func refuse(mistake bool, op, format string, args ...any) {
	if mistake {
		panic(misuse(op, format, args...))
	}
}

// misuse returns the error for a mistake in a call of the function op. format and args
// describe the mistake.
func misuse(op, format string, args ...any) *Error {
	return &Error{op, fmt.Errorf(format, args...)}
}
