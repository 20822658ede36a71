package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/torch"
)

// Options choose the machine that a bench runs on and what is kept of the run.
type Options struct {
	torch.Options
	Log string // file to write the op log to; "" writes none
}

// Execute runs the bench on a machine of its own. Wrong values are in the result;
// an error means that the run failed: a kernel was misused, panicked or never
// ended, or ctx did.
func (b Bench) Execute(ctx context.Context, o Options) (*Result, error) {
	o.KeepLog = o.KeepLog || o.Log != ""
	var err error
	if o.Params, err = b.params(o.Params, o.CCL); err != nil {
		return nil, err
	}
	if err := b.folder(&o); err != nil {
		return nil, err
	}
	c, err := torch.New(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	err = b.run(c)
	var stalled *torch.Stalled
	if !errors.As(err, &stalled) { // a machine in an endless loop cannot be ended
		defer c.Close()
	}
	if err == nil {
		err = c.Synchronize() // what the bench has not waited for, or errors it overlooked
	}
	if err != nil {
		return nil, errors.Join(explain(err, c.Err()), c.DropTrace())
	}
	r, err := b.result(c, o)
	if err == nil && o.Log != "" {
		err = r.save(c, o.Log)
	}
	if err == nil && o.Trace != "" {
		err = c.SaveTrace(trace.About{Version: version.Version, Program: b.Name})
		r.Artifacts = append(r.Artifacts, o.Trace)
	}
	return r, err
}

// CostOf returns the Cost of a run, 1 for a bench that has none and for wrong parameters.
func (b Bench) CostOf(o Options) float64 {
	params, err := b.params(o.Params, o.CCL)
	if b.Cost == nil || err != nil {
		return 1
	}
	return b.Cost(params, o.Topology)
}

// folder chooses the folder that the bench writes its files to.
func (b Bench) folder(o *Options) error {
	many := "bench %s runs many machines, and this is of one: take a bench of one, or kernbench coll"
	switch {
	case b.Folder != "" && o.Log != "":
		return &ParamError{"log", fmt.Errorf(many, b.Name)}
	case b.Folder != "" && o.Trace != "":
		return &ParamError{"trace", fmt.Errorf(many, b.Name)}
	case b.Folder != "" && o.PerRank:
		return &ParamError{"per-rank", fmt.Errorf(many, b.Name)}
	case b.Folder != "":
		o.Folder = cmp.Or(o.Folder, b.Folder)
	case o.Folder != "":
		return &ParamError{"out", fmt.Errorf("bench %s writes no files", b.Name)}
	case o.Resume:
		return &ParamError{"resume", fmt.Errorf("bench %s keeps no results to go on from", b.Name)}
	}
	return nil
}

// run is the bench's Run with panics as errors.
func (b Bench) run(c *torch.Context) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = torch.Recovered(value)
		}
	}()
	return b.Run(c)
}

// result is what the bench reported, ready to be printed.
func (b Bench) result(c *torch.Context, o Options) (*Result, error) {
	r := &Result{
		Bench: b.Name, Crit: c.Report.Crit, Notes: c.Report.Notes, Metrics: c.Report.Metrics,
		Rows: []Values{}, Artifacts: append([]string{}, c.Report.Files...), Checks: c.Report.Checks, Launches: c.Report.Launches,
		Config: Config{
			Version: version.Version, Topology: config.UsedBy(c.Topology().Spec()), Params: o.Params,
			Fidelity: "train", Data: "on", Check: "none",
		},
	}
	if c.Collective.Name != "" { // there was one
		r.Config.CCL = &config.Used{Source: c.CCL().Source(), Hash: c.CCL().Hash()}
	}
	for _, u := range c.Report.Used {
		used := config.Used{Source: u.Source, Hash: u.Hash}
		switch {
		case u.Kind != "tasks":
		case r.Config.Tasks == nil:
			r.Config.Tasks = &used
		default:
			r.Config.TasksAlso = append(r.Config.TasksAlso, used)
		}
	}
	if o.Flit {
		r.Config.Fidelity = "flit"
	}
	if o.NoData {
		r.Config.Data = "off"
	}
	if o.Race {
		r.Config.Check = "race"
	}
	for _, row := range c.Report.Rows {
		r.Rows = append(r.Rows, Values(row))
	}
	for _, values := range append([]Values{r.Metrics}, r.Rows...) {
		if err := values.validate(); err != nil {
			return nil, fmt.Errorf("bench %s: %w", b.Name, err)
		}
	}
	if o.Race {
		races, err := c.Races()
		if err != nil {
			return nil, err
		}
		r.Races = races
	}
	r.OK = c.Report.OK() && len(r.Races) == 0
	return r, nil
}
