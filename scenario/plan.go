package scenario

import (
	"context"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/procpe"
	"github.com/kernbench/kernbench/numeric"
)

// Plan is a scenario evaluated for a number of ranks, a root and parameters. It holds
// everything that a run needs.
type Plan struct {
	Name                string
	Ranks, Root, Rounds int
	Devices             []int // the device of each rank
	Bind                bool  // the user or the file named the devices; processes are bound to the cores with these numbers
	Windows             []Memory
	Domains             []Domain // in alphabetical order; their Rank is -1
	Buffers             []*Buffer
	Outputs             []*Output
	Kernel              string // the name of the kernel; "" if there is none
	Func                any    // the kernel
	Orchestration       string // the name of the orchestration; "" if there is none
	Tasks               any    // the orchestration, which submits the tasks of a rank

	ctx      context.Context // values are computed until ctx ends
	scenario *Scenario
	params   map[string]Param
	values   []number // the value of each slot, except i, rank, round and device
}

// maxRounds bounds the rounds of a run, to catch mistyped numbers.
const maxRounds = 10_000_000

// Memory is a window of all ranks or of the members of a domain.
type Memory struct {
	Domain   *Domain  // nil: all ranks
	Signals  int      // the signals of a kernel; the window holds SignalBanks copies of each
	Matrices []Matrix // signal matrices; they use the last of the signals
	Bytes    int64    // the size at each rank, signals included
}

// Data returns the offset of the first byte after the signals of the window.
func (m Memory) Data() int64 { return SignalBanks * int64(m.Signals) * SignalBytes }

// A window begins with SignalBanks banks of signals. A kernel must start with signals that
// are 0, so successive runs of a kernel alternate between the banks.
const (
	SignalBanks = procpe.Banks
	SignalBytes = comm.SignalBytes
)

// Buffer is memory of each rank, or of each member of a domain.
type Buffer struct {
	Name   string
	DType  numeric.DType
	Shape  []int
	Window int   // the index of its window in Plan.Windows; -1: private memory of the rank
	Offset int64 // bytes from the start of the window
	Staged bool  // inputs start in private memory and are copied into the window before each round
	Domain *Domain

	index int
}

// Elems returns the number of elements of the buffer at one rank.
func (b *Buffer) Elems() int {
	n := 1
	for _, d := range b.Shape {
		n *= d
	}
	return n
}

// Bytes returns the size of the buffer at one rank in bytes.
func (b *Buffer) Bytes() int64 { return int64(b.Elems()) * int64(b.DType.Size()) }

// On reports whether the given rank has the buffer. Ranks outside the buffer's domain do
// not.
func (b *Buffer) On(rank int) bool { return b.Domain == nil || slices.Contains(b.Domain.Ranks, rank) }

// Output is a buffer whose values are compared.
type Output struct {
	*Buffer

	// An element may differ from the golden value by Absolute + Relative·|golden value|.
	// If both are 0, all bits must be equal.
	Relative, Absolute float64

	index int
	at    Where
	root  int
}

// On reports whether the output of the given rank is compared with golden values.
func (o *Output) On(rank int) bool {
	return o.Buffer.On(rank) && (o.at != AtRoot || rank == o.root)
}

// Plan evaluates the scenario for the number of ranks, root, parameters and other settings
// in choice c. The error has a line for every mistake. After ctx has ended, neither Plan
// nor the methods of the plan compute values; they return the cause of ctx.
func (s *Scenario) Plan(ctx context.Context, c Choice) (*Plan, error) {
	p := &problems{doc: s.doc, ctx: ctx}
	pl := s.plan(c, p)
	if len(p.errs) == 0 {
		pl.ctx = ctx
		if !c.Trusted {
			pl.checkValues(p)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := p.errs.Err(); err != nil {
		return nil, err
	}
	return pl, nil
}

// plan evaluates the scenario with choice c and records mistakes in p. It returns nil if
// the number of ranks, the root, the devices, the parameters or the domains have mistakes.
// It does not compute values of buffers.
func (s *Scenario) plan(c Choice, p *problems) *Plan {
	before := len(p.errs)
	pl := &Plan{Name: s.Name, scenario: s, params: map[string]Param{}, Rounds: max(c.Rounds, 1)}
	if pl.Rounds > maxRounds {
		p.addInChoice(c, "rounds", "--rounds", fmt.Sprintf("%d: write 1 to %d", pl.Rounds, maxRounds))
	}
	pl.chooseParams(c, p)
	if pl.chooseRanks(c, p) {
		pl.chooseRoot(c, p)
		pl.chooseDevices(c, p)
		for _, name := range s.domains {
			pl.addDomain(p, name)
		}
	}
	if len(p.errs) > before { // sizes computed from mistakes would only add more errors
		return nil
	}
	pl.values = make([]number, len(s.names))
	pl.values[slotRanks], pl.values[slotRoot] = wholeNumber(pl.Ranks), wholeNumber(pl.Root)
	for i, name := range s.paramNames() {
		pl.values[slotParams+i] = pl.params[name].number
	}
	for i := range s.file.Buffers {
		pl.addBuffer(p, i)
	}
	pl.placeBuffers(p)
	for i, o := range s.file.Outputs {
		if k := s.bufferIndex(o.Buffer); k >= 0 {
			pl.Outputs = append(pl.Outputs, &Output{Buffer: pl.Buffers[k], Relative: float64(o.Relative), Absolute: float64(o.Absolute), index: i, at: o.Ranks, root: pl.Root})
		}
	}
	pl.Kernel, pl.Func = pl.resolveCall(p, &s.kernel)
	pl.Orchestration, pl.Tasks = pl.resolveCall(p, &s.tasks)
	return pl
}

// addDomain adds a domain of the file to the plan and records a mistake for each member
// that is not a rank of the run.
func (pl *Plan) addDomain(p *problems, name string) {
	ranks := pl.scenario.file.Domains[name]
	for i, r := range ranks {
		if path := fmt.Sprintf("domains.%s[%d]", name, i); r >= pl.Ranks && !p.hasMistake(path) {
			p.addAt(path, "rank %d does not exist: with nranks %d the ranks are 0 to %d", r, pl.Ranks, pl.Ranks-1)
		}
	}
	pl.Domains = append(pl.Domains, Domain{Name: name, Ranks: ranks, Rank: -1})
}

// domain returns the domain with the given name, or nil if there is none.
func (pl *Plan) domain(name string) *Domain {
	for i := range pl.Domains {
		if pl.Domains[i].Name == name {
			return &pl.Domains[i]
		}
	}
	return nil
}

// Staged reports whether the scenario has a buffer that is staged.
func (pl *Plan) Staged() bool {
	return slices.ContainsFunc(pl.Buffers, func(b *Buffer) bool { return b.Staged })
}

// Rooted reports whether the scenario has a root: an expression, an argument or an output
// uses the root, or the file has the key root because a Go function uses it.
func (pl *Plan) Rooted() bool { return pl.scenario.rooted }

// Args returns the arguments of the kernel at a rank in a round. A parameter of type tl.Ptr
// gets a *Buffer. Other arguments are numbers, strings, a [Domain], a [Matrix] or ctx.
func (pl *Plan) Args(rank, round int, ctx comm.Context) ([]any, error) {
	return pl.argValues(&pl.scenario.kernel, rank, round, ctx)
}

// TaskArgs returns the arguments of the orchestration at a rank in a round, without the
// Builder. A parameter of type *task.Tensor gets a *Buffer. Other arguments are as in Args.
// Without an orchestration, the kernel is the only task, and TaskArgs returns the arguments
// of the kernel.
func (pl *Plan) TaskArgs(rank, round int, ctx comm.Context) ([]any, error) {
	if pl.Tasks == nil {
		return pl.Args(rank, round, ctx)
	}
	return pl.argValues(&pl.scenario.tasks, rank, round, ctx)
}

// argValues returns the values of all arguments of call c at a rank in a round.
func (pl *Plan) argValues(c *call, rank, round int, ctx comm.Context) ([]any, error) {
	var all []any
	for _, a := range c.args {
		v, err := pl.argValue(a, rank, round, ctx)
		if err != nil {
			return nil, pl.errorInExpr(a.expr, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// errorInExpr returns err with the position of expression x in the file.
func (pl *Plan) errorInExpr(x *expr, err error) error {
	p := &problems{doc: pl.scenario.doc}
	p.addInExpr(x, err)
	return p.errs.Err()
}

// valuesAt returns the values of all names at a rank in a round, indexed by slot. The value
// of the name i is not set.
func (pl *Plan) valuesAt(rank, round int) []number {
	v := slices.Clone(pl.values)
	v[slotRank], v[slotRound], v[slotDevice] = wholeNumber(rank), wholeNumber(round), wholeNumber(pl.Devices[rank])
	return v
}

// SomeRounds returns the first and the last round. Values are computed for these rounds
// before a run, to find mistakes.
func (pl *Plan) SomeRounds() []int { return slices.Compact([]int{0, pl.Rounds - 1}) }

// Source returns the name of the scenario file as errors print it.
func (pl *Plan) Source() string { return pl.scenario.Source }

// Text returns the text of the scenario file.
func (pl *Plan) Text() []byte { return pl.scenario.Text }
