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

// Backends lists them.
var Backends = []string{SHM, InProc, Sim}

// DefaultBackend is processes.
const DefaultBackend = SHM

// job is a run that is settled.
type job struct {
	*Options
	plan   *scenario.Plan
	values values
}

// values is where a run has its inputs from, and where its outputs go to.
type values interface {
	// input is the values of a buffer at a rank before a round.
	input(b *scenario.Buffer, rank, round int) ([]byte, error)
	// output takes those of an output after a round.
	output(o *scenario.Output, rank, round int, got []byte) error
}

// computed makes inputs as they are needed, and compares outputs at once. Its errors are
// those of a rank: what can be known before a run has been refused.
type computed struct {
	ctx  context.Context // of the run
	plan *scenario.Plan
	Report
}

func (c *computed) input(b *scenario.Buffer, rank, round int) ([]byte, error) {
	in, err := c.plan.Input(b, rank, round)
	if err != nil {
		return nil, &RankError{rank, err}
	}
	return in, nil
}

func (c *computed) output(o *scenario.Output, rank, round int, got []byte) error {
	want, err := c.plan.Golden(o, rank, round)
	if err == nil {
		err = c.compare(c.ctx, o, rank, round, got, want)
	}
	if err != nil {
		return &RankError{rank, err}
	}
	return nil
}

// Run runs a scenario and compares its outputs. Wrong values are no error: they are in
// the result.
func Run(ctx context.Context, o Options) (*Result, error) {
	ctx, cancel := o.limit(ctx)
	defer cancel()
	if o.Keep != "" {
		return o.keep(ctx)
	}
	plan, err := o.settle(ctx)
	if err != nil {
		return nil, refused(ctx, err)
	}
	c := &computed{ctx: ctx, plan: plan}
	r, err := (&job{&o, plan, c}).run(ctx)
	if err != nil {
		return nil, err
	}
	r.add(c.Report)
	r.OK = r.settle() && len(r.Races) == 0
	return r, nil
}

// limit is ctx for as long as the options allow.
func (o *Options) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("not done within %v", o.Timeout))
}

// stopped reports whether the end of ctx is the reason of an error.
func stopped(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
}

// refused is an error from before the run: a mistake, unless ctx has ended.
func refused(ctx context.Context, err error) error {
	if stopped(ctx, err) {
		return err
	}
	return &InputError{err}
}

// settle checks the scenario and the options.
func (o *Options) settle(ctx context.Context) (*scenario.Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s, err := scenario.Load(ctx, o.Scenario)
	if err != nil {
		return nil, err
	}
	return s.Plan(ctx, o.Choice)
}

// runs refuses a plan that has nothing to run, or makes an option mean nothing.
func (o *Options) runs(pl *scenario.Plan) error {
	if o.Seed != nil && pl.Rounds == 1 {
		return fmt.Errorf("--seed %d: there are random delays with several rounds (--rounds) alone, and this is one: delete it", *o.Seed)
	}
	if pl.Func == nil && o.Runtime == "" {
		return fmt.Errorf("the scenario %s has tasks and no kernel: add --runtime %s", pl.Name, strings.Join(printable.Words(task.Runtimes), "|"))
	}
	return nil
}

// check refuses options that no run has.
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

// run runs the kernels on the backend.
func (j *job) run(ctx context.Context) (*Result, error) {
	pl := j.plan
	r := newResult(pl)
	r.Backend = j.Backend
	if err := j.runs(pl); err != nil {
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
	if input, ok := errors.AsType[*InputError](err); ok && stopped(ctx, err) {
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

// newResult returns the result of a plan that has not run.
func newResult(pl *scenario.Plan) *Result {
	r := &Result{Scenario: pl.Name, NRanks: pl.Ranks, Root: -1, Rounds: pl.Rounds, Devices: pl.Devices, Params: pl.Params()}
	if pl.Rooted() {
		r.Root = pl.Root
	}
	return r
}

// failure is the error of a run, and that of its machine if it ended, for whoever wrote
// the kernel: without the insides of the machine.
func failure(err, ended error) error {
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
