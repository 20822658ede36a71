package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// The backends.
const (
	Sim    = "sim"    // the simulated machine
	InProc = "inproc" // goroutines
	SHM    = "shm"    // processes that share memory
)

// Backends lists the backends.
var Backends = []string{SHM, InProc, Sim}

// DefaultBackend is the backend of a run that names none.
const DefaultBackend = SHM

// job is a run whose options and plan have been checked.
type job struct {
	*Options
	plan   *scenario.Plan
	values values
}

// values supplies the inputs of a run and receives its outputs.
type values interface {
	// input returns the values of a buffer at a rank before a round.
	input(b *scenario.Buffer, rank, round int) ([]byte, error)
	// output receives the values of an output at a rank after a round.
	output(o *scenario.Output, rank, round int, got []byte) error
}

// computedValues computes inputs when they are needed and compares outputs immediately. Its
// errors are RankErrors, because mistakes that can be found before a run were refused.
type computedValues struct {
	ctx  context.Context // the context of the run
	plan *scenario.Plan
	Report
}

// input computes the initial values of buffer b at a rank before a round.
func (c *computedValues) input(b *scenario.Buffer, rank, round int) ([]byte, error) {
	in, err := c.plan.Input(b, rank, round)
	if err != nil {
		return nil, &RankError{rank, err}
	}
	return in, nil
}

// output compares `got`, the values of output o at a rank after a round, with the golden
// values. It adds the counts and mismatches to the report.
func (c *computedValues) output(o *scenario.Output, rank, round int, got []byte) error {
	want, err := c.plan.Golden(o, rank, round)
	if err == nil {
		err = c.compare(c.ctx, o, rank, round, got, want)
	}
	if err != nil {
		return &RankError{rank, err}
	}
	return nil
}

// Run runs a scenario and compares its outputs with the golden values. Wrong values are
// reported in the result, not as an error.
func Run(ctx context.Context, o Options) (*Result, error) {
	ctx, cancel := o.withTimeout(ctx)
	defer cancel()
	if o.Keep != "" {
		return o.runWithFiles(ctx)
	}
	plan, err := o.loadPlan(ctx)
	if err != nil {
		return nil, inputError(ctx, err)
	}
	c := &computedValues{ctx: ctx, plan: plan}
	r, err := (&job{&o, plan, c}).run(ctx)
	if err != nil {
		return nil, err
	}
	r.add(c.Report)
	r.OK = r.finish() && len(r.Races) == 0
	return r, nil
}

// withTimeout returns a context that ends when ctx ends, or after the timeout in the
// options.
func (o *Options) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("not done within %v", o.Timeout))
}

// stoppedBy reports whether ctx has ended and err was caused by that.
func stoppedBy(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
}

// inputError wraps err, an error from before the run, in an InputError. If err was caused
// by the end of ctx, it returns err unchanged.
func inputError(ctx context.Context, err error) error {
	if stoppedBy(ctx, err) {
		return err
	}
	return &InputError{err}
}

// loadPlan checks the options, loads the scenario and returns its plan for the choice in
// the options.
func (o *Options) loadPlan(ctx context.Context) (*scenario.Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s, err := scenario.Load(ctx, o.Scenario)
	if err != nil {
		return nil, err
	}
	return s.Plan(ctx, o.Choice)
}

// checkPlan returns an error if the options cannot run plan pl, or if an option has no
// effect on it.
func (o *Options) checkPlan(pl *scenario.Plan) error {
	if o.Seed != nil && pl.Rounds == 1 {
		return fmt.Errorf("--seed %d: there are random delays with several rounds (--rounds) alone, and this is one: delete it", *o.Seed)
	}
	if pl.Func == nil && o.Runtime == "" {
		return fmt.Errorf("the scenario %s has tasks and no kernel: add --runtime %s", pl.Name, strings.Join(printable.Words(task.Runtimes), "|"))
	}
	return nil
}

// check returns an error if the options are invalid. It sets the default backend.
func (o *Options) check() error {
	if err := o.ResolvePlatform(); err != nil {
		return err
	}
	o.Backend = cmp.Or(o.Backend, DefaultBackend)
	switch {
	case !slices.Contains(Backends, o.Backend):
		return fmt.Errorf("no backend %.60q: use one of %s", o.Backend, strings.Join(Backends, ", "))
	case o.Backend != Sim && o.Preset != "":
		return fmt.Errorf("-t %s: only the backend sim has a system to choose: add --backend sim, or delete it", o.Preset)
	case o.Backend != Sim && o.Race:
		return errors.New("--check race: only the backend sim looks for races: add --backend sim, or delete it")
	case o.Backend == Sim && o.Seed != nil:
		return fmt.Errorf("--seed %d: the simulated machine has no random delays: delete it", *o.Seed)
	case o.Ranks < 0 || o.Rounds < 0 || o.Timeout < 0:
		return errors.New("ranks, rounds and timeout are 0 or more")
	}
	return nil
}

// run runs all rounds on the backend of the options. The result has the times and, if the
// ranks compare their outputs themselves, the mismatches.
func (j *job) run(ctx context.Context) (*Result, error) {
	pl := j.plan
	r := newResult(pl)
	r.Backend = j.Backend
	if err := j.checkPlan(pl); err != nil {
		return nil, &InputError{err}
	}
	if pl.Staged() {
		r.Staging = new(float64)
	}
	if j.Runtime != "" {
		if j.Tasks == nil {
			j.Tasks = task.Default()
		}
		r.Runtime, r.Config = j.Runtime, &topology.Origin{Source: j.Tasks.Source(), Hash: j.Tasks.Hash()}
	}
	var err error
	if j.Backend == Sim {
		err = j.simulate(ctx, r)
	} else {
		err = j.launch(ctx, r)
	}
	if input, ok := errors.AsType[*InputError](err); ok && stoppedBy(ctx, err) {
		err = &RankError{-1, input.Err}
	}
	if err != nil {
		return nil, err
	}
	if j.Race && r.Races == nil {
		r.Races = []string{}
	}
	return r, nil
}

// newResult returns a result that has the settings of plan pl and no measurements yet.
func newResult(pl *scenario.Plan) *Result {
	r := &Result{Scenario: pl.Name, NRanks: pl.Ranks, Root: -1, Rounds: pl.Rounds, Devices: pl.Devices, Params: pl.Params()}
	if pl.Rooted() {
		r.Root = pl.Root
	}
	return r
}

// userError returns the error of a simulated run in a form for the author of the kernel.
// `err` is the error of the run. `ended` is the error that stopped the machine, or nil. If
// a kernel caused `ended`, the result leaves out the internals of the machine.
func userError(err, ended error) error {
	if failed, ok := errors.AsType[*RankError](err); ok {
		return failed
	}
	if input, ok := errors.AsType[*InputError](err); ok {
		return input
	}
	if misuse, ok := errors.AsType[*tl.Error](ended); ok {
		err = misuse
	} else if panicked, ok := errors.AsType[*sim.PanicError](ended); ok {
		err = panicked
	}
	return &RankError{-1, err}
}
