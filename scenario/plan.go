package scenario

import (
	"context"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/procpe"
	"github.com/kernbench/kernbench/numeric"
)

// Plan is a scenario for a number of ranks, a root and parameters: all that runs.
type Plan struct {
	Name                string
	Ranks, Root, Rounds int
	Devices             []int // by rank
	Bind                bool  // Devices were named: ranks that are processes are bound to the cores of these numbers
	Windows             []Memory
	Domains             []Domain // in alphabetical order; Rank is -1
	Buffers             []*Buffer
	Outputs             []*Output
	Kernel              string // "" if there is none
	Func                any    // the kernel
	Orchestration       string // "" if there is none
	Tasks               any    // the orchestration, which makes the program of tasks of a rank

	ctx      context.Context // values are made until it ends
	scenario *Scenario
	params   map[string]Param
	values   []number // of the names in expressions, but for i, rank, round and device
}

// mostRounds bounds the rounds of a run: more are a digit too many.
const mostRounds = 10_000_000

// Memory is a window that ranks share: that of all, or of a domain.
type Memory struct {
	Domain   *Domain  // nil: all ranks
	Signals  int      // that a kernel has; each lies in the window SignalBanks times
	Matrices []Matrix // the last of these signals
	Bytes    int64    // of each rank's part, signals included
}

// Data is where the bytes after the signals begin.
func (m Memory) Data() int64 { return SignalBanks * int64(m.Signals) * SignalBytes }

// Signals lie in a window one after the other, and that twice: kernels begin with
// signals that are 0, so that runs of one take turns with two banks of them.
const (
	SignalBanks = procpe.Banks
	SignalBytes = comm.SignalBytes
)

// Buffer is memory that each rank, or each member of a domain, has.
type Buffer struct {
	Name   string
	DType  numeric.DType
	Shape  []int
	Window int   // which of the plan's it lies in; -1: memory of the rank's own
	Offset int64 // in the window
	Staged bool  // inputs begin in memory of the rank's own, and are copied into the window before each round
	Domain *Domain

	index int
}

// Elems is the number of elements.
func (b *Buffer) Elems() int {
	n := 1
	for _, d := range b.Shape {
		n *= d
	}
	return n
}

// Bytes is the size.
func (b *Buffer) Bytes() int64 { return int64(b.Elems()) * int64(b.DType.Size()) }

// On reports whether a rank has the buffer.
func (b *Buffer) On(rank int) bool { return b.Domain == nil || slices.Contains(b.Domain.Ranks, rank) }

// Output is a buffer whose values are compared.
type Output struct {
	*Buffer

	// An element may differ from the golden value by Absolute + Relative·|golden value|.
	// If both are 0, no bit differs.
	Relative, Absolute float64

	index int
	at    Where
	root  int
}

// On reports whether the output is compared at a rank.
func (o *Output) On(rank int) bool {
	return o.Buffer.On(rank) && (o.at != AtRoot || rank == o.root)
}

// Plan settles what a run is. The error has a line for every mistake. When ctx ends, the plan
// makes no more values, here or later, and the error is the cause of ctx.
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

func (s *Scenario) plan(c Choice, p *problems) *Plan {
	before := len(p.errs)
	pl := &Plan{Name: s.Name, scenario: s, params: map[string]Param{}, Rounds: max(c.Rounds, 1)}
	if pl.Rounds > mostRounds {
		p.chosen(c, "rounds", "--rounds", fmt.Sprintf("%d: write 1 to %d", pl.Rounds, mostRounds))
	}
	pl.chooseParams(c, p)
	if pl.chooseRanks(c, p) {
		pl.chooseRoot(c, p)
		pl.chooseDevices(c, p)
		for _, name := range s.domains {
			pl.addDomain(p, name)
		}
	}
	if len(p.errs) > before { // sizes would follow from mistakes
		return nil
	}
	pl.values = make([]number, len(s.names))
	pl.values[slotRanks], pl.values[slotRoot] = whole(pl.Ranks), whole(pl.Root)
	for i, name := range s.paramNames() {
		pl.values[slotParams+i] = pl.params[name].number
	}
	for i := range s.file.Buffers {
		pl.addBuffer(p, i)
	}
	pl.place(p)
	for i, o := range s.file.Outputs {
		if k := s.buffer(o.Buffer); k >= 0 {
			pl.Outputs = append(pl.Outputs, &Output{Buffer: pl.Buffers[k], Relative: float64(o.Relative), Absolute: float64(o.Absolute), index: i, at: o.Ranks, root: pl.Root})
		}
	}
	pl.Kernel, pl.Func = pl.settle(p, &s.kernel)
	pl.Orchestration, pl.Tasks = pl.settle(p, &s.tasks)
	return pl
}

func (pl *Plan) addDomain(p *problems, name string) {
	ranks := pl.scenario.file.Domains[name]
	for i, r := range ranks {
		if path := fmt.Sprintf("domains.%s[%d]", name, i); r >= pl.Ranks && !p.known(path) {
			p.at(path, "rank %d does not exist: with nranks %d the ranks are 0 to %d", r, pl.Ranks, pl.Ranks-1)
		}
	}
	pl.Domains = append(pl.Domains, Domain{Name: name, Ranks: ranks, Rank: -1})
}

func (pl *Plan) domain(name string) *Domain {
	for i := range pl.Domains {
		if pl.Domains[i].Name == name {
			return &pl.Domains[i]
		}
	}
	return nil
}

// Staged reports whether any buffer is staged.
func (pl *Plan) Staged() bool {
	return slices.ContainsFunc(pl.Buffers, func(b *Buffer) bool { return b.Staged })
}

// Rooted reports whether the scenario has a root: something in the file uses it, or the file
// names one for its functions.
func (pl *Plan) Rooted() bool { return pl.scenario.rooted }

// Args is what the kernel is given at a rank in a round: a *Buffer for each tl.Ptr, and
// numbers, texts, a [Domain], a [Matrix] or the context as they are.
func (pl *Plan) Args(rank, round int, ctx comm.Context) ([]any, error) {
	return pl.args(&pl.scenario.kernel, rank, round, ctx)
}

// TaskArgs returns what the orchestration is given at a rank in a round, after the Builder: a
// *Buffer for each *task.Tensor, and the rest as Args has it. Without an orchestration they
// are those of the kernel, as the only task.
func (pl *Plan) TaskArgs(rank, round int, ctx comm.Context) ([]any, error) {
	if pl.Tasks == nil {
		return pl.Args(rank, round, ctx)
	}
	return pl.args(&pl.scenario.tasks, rank, round, ctx)
}

func (pl *Plan) args(c *call, rank, round int, ctx comm.Context) ([]any, error) {
	var all []any
	for _, a := range c.args {
		v, err := pl.arg(a, rank, round, ctx)
		if err != nil {
			return nil, pl.failed(a.expr, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// failed is an expression that cannot be computed, as an error with its place.
func (pl *Plan) failed(x *expr, err error) error {
	p := &problems{doc: pl.scenario.doc}
	p.in(x, err)
	return p.errs.Err()
}

// at is the values of names at a rank in a round.
func (pl *Plan) at(rank, round int) []number {
	v := slices.Clone(pl.values)
	v[slotRank], v[slotRound], v[slotDevice] = whole(rank), whole(round), whole(pl.Devices[rank])
	return v
}

// SomeRounds returns the rounds that are tried before a run: the first and the last.
func (pl *Plan) SomeRounds() []int { return slices.Compact([]int{0, pl.Rounds - 1}) }

// Source is where the file is, as errors say it.
func (pl *Plan) Source() string { return pl.scenario.Source }

// Text is the file that the plan was made of.
func (pl *Plan) Text() []byte { return pl.scenario.Text }
