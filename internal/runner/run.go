package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/scenario"
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

// computed makes inputs as they are needed, and compares outputs at once.
type computed struct {
	plan *scenario.Plan
	Report
}

func (c *computed) input(b *scenario.Buffer, rank, round int) ([]byte, error) {
	return c.plan.Input(b, rank, round)
}

func (c *computed) output(o *scenario.Output, rank, round int, got []byte) error {
	want, err := c.plan.Golden(o, rank, round)
	if err == nil {
		c.compare(o, rank, round, got, want)
	}
	return err
}

// Run runs a scenario and compares its outputs. Wrong values are no error: they are in
// the result.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Keep != "" {
		if err := Prepare(o, o.Keep); err != nil {
			return nil, err
		}
		ran, err := Execute(ctx, o.Keep, o)
		if err != nil {
			return nil, err
		}
		found, err := Verify(o.Keep)
		if err != nil {
			return nil, err
		}
		ran.Report, ran.OK = found.Report, found.OK && len(ran.Races) == 0
		return ran, nil
	}
	plan, err := o.settle()
	if err != nil {
		return nil, &InputError{err}
	}
	c := &computed{plan: plan}
	r, err := (&job{&o, plan, c}).run(ctx)
	if err != nil {
		return nil, err
	}
	r.add(c.Report)
	r.OK = r.settle() && len(r.Races) == 0
	return r, nil
}

// settle checks the scenario and the options.
func (o *Options) settle() (*scenario.Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s, err := scenario.Load(o.Scenario)
	if err != nil {
		return nil, err
	}
	return s.Plan(o.Choice)
}

// check refuses options that no run has.
func (o *Options) check() error {
	if o.Backend == "" {
		o.Backend = DefaultBackend
	}
	switch {
	case !slices.Contains(Backends, o.Backend):
		return fmt.Errorf("no backend %.60q: use one of %s", o.Backend, strings.Join(Backends, ", "))
	case o.Backend != Sim && o.Preset != "":
		return fmt.Errorf("-p %s: only the backend sim has a system to choose", o.Preset)
	case o.Backend != Sim && o.Race:
		return errors.New("races are looked for by the backend sim alone")
	case o.Ranks < 0 || o.Rounds < 0 || o.Timeout < 0:
		return errors.New("ranks, rounds and timeout are 0 or more")
	}
	return nil
}

// run runs the kernels on the backend.
func (j *job) run(ctx context.Context) (*Result, error) {
	if j.Timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, j.Timeout, fmt.Errorf("not done within %v", j.Timeout))
		defer cancel()
		ctx = limited
	}
	pl := j.plan
	r := &Result{Scenario: pl.Name, Backend: j.Backend, NRanks: pl.Ranks, Root: rootOf(pl), Rounds: pl.Rounds, Devices: pl.Devices, Params: pl.Params()}
	var err error
	if j.Backend == Sim {
		err = j.simulate(ctx, r)
	} else {
		err = j.launch(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// rootOf is the root of a plan that has one, else -1.
func rootOf(pl *scenario.Plan) int {
	if !pl.Rooted() {
		return -1
	}
	return pl.Root
}
