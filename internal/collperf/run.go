package collperf

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/torch"
)

// Summary is what all rows together show.
type Summary struct {
	Ranks    int
	AvgBusBW float64 // GB/s
	Wrong    int
	Wins     []Win // of a comparison of algorithms
	Failed   error // of algorithms in a comparison, whose rows have errors; nil if there are none
}

// Run measures a collective. onRow, if it is not nil, gets the rows in order, those of
// all algorithms at a size together: as soon as they are done, of simulated ranks,
// several of which are measured at a time; after all are, of others.
func Run(ctx context.Context, o Options, onRow func(Row)) ([]Row, Summary, error) {
	if err := o.Validate(); err != nil {
		return nil, Summary{}, err
	}
	n, err := o.Ranks()
	if err != nil {
		return nil, Summary{}, err
	}
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("not done within %v", o.Timeout))
		defer cancel()
	}
	t := &tally{sum: Summary{Ranks: n}, onRow: onRow}
	if o.Real() {
		err = o.launch(ctx, rankJob, t)
	} else {
		err = o.simulate(ctx, t)
	}
	t.sum.AvgBusBW /= float64(max(1, len(t.rows)))
	if o.Algorithm == AllAlgorithms {
		t.sum.Wins = wins(t.rows)
	}
	return t.rows, t.sum, err
}

// tally is the rows so far.
type tally struct {
	rows  []Row
	sum   Summary
	onRow func(Row)
}

// add adds the rows of all algorithms at a size.
func (t *tally) add(o *Options, latest []Row) {
	moves := t.sum.Ranks*o.addends() > 1 && (o.Collective == ccl.Barrier || latest[0].Count > 0)
	if moves && len(latest) > 1 {
		markBest(latest)
	}
	for _, r := range latest {
		if r.BusBW != nil {
			t.sum.AvgBusBW += *r.BusBW
		}
		if r.Wrong != nil {
			t.sum.Wrong += *r.Wrong
		}
		if t.onRow != nil {
			t.onRow(r)
		}
	}
	t.rows = append(t.rows, latest...)
}

// problems is one for each size of each series, in order.
func (o *Options) problems(ranks int) (all []*problem) {
	for _, s := range o.series() {
		for size := range o.sizes() {
			all = append(all, newProblem(o, s, ranks, size))
		}
	}
	return all
}

// simulate measures on simulated machines. In a comparison the failure of an algorithm does
// not end the others.
func (o *Options) simulate(ctx context.Context, t *tally) error {
	var jobs []job
	algorithms := o.algorithms()
	for _, p := range o.problems(t.sum.Ranks) {
		for _, a := range algorithms {
			jobs = append(jobs, o.job(p, a))
		}
	}
	failed := make([]error, len(jobs))
	if o.Algorithm == AllAlgorithms {
		for i := range jobs {
			run := jobs[i].run
			jobs[i].run = func(ctx context.Context) (row Row, err error) {
				row, err = run(ctx)
				if ctx.Err() == nil && row.Error != nil {
					failed[i], err = err, nil
				}
				return row, err
			}
		}
	}
	var latest []Row
	err := inOrder(ctx, jobs, o.threads(), func(r Row) {
		if latest = append(latest, r); len(latest) == len(algorithms) {
			t.add(o, latest)
			latest = latest[:0]
		}
	})
	t.sum.Failed = errors.Join(failed...)
	return err
}

// job returns the measurement of a problem with an algorithm.
func (o *Options) job(p *problem, algorithm string) job {
	return job{
		weight: o.memory(p),
		run: func(ctx context.Context) (Row, error) {
			row, err := o.measure(ctx, p, algorithm)
			if err == nil {
				return row, nil
			}
			if o.Algorithm == AllAlgorithms {
				skip := skipped(err)
				text := cmp.Or(skip, err.Error())
				row = p.row(-1)
				row.Algorithm, row.Error = algorithm, &text
				if skip != "" {
					return row, nil
				}
			}
			return row, fmt.Errorf("%v of %d bytes%s: %w", o.Collective, p.size, by(o, algorithm), err)
		},
	}
}

// by names an algorithm that is one of several.
func by(o *Options, algorithm string) string {
	if o.Algorithm != AllAlgorithms {
		return ""
	}
	return " by " + algorithm
}

// measure is the row of a problem, done by an algorithm.
func (o *Options) measure(ctx context.Context, p *problem, algorithm string) (row Row, err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *torch.Failure:
			err = v.Err
		case *torch.Error: // such as more elements than a tensor can have
			err = v
		default:
			panic(v)
		}
	}()
	settings, err := o.settings(algorithm)
	if err != nil {
		return row, err
	}
	if err := p.prepare(ctx, o); err != nil {
		return row, err
	}
	if times := p.slow[algorithm]; times > hopeless {
		return row, &hopelessError{times}
	}
	c, err := torch.New(ctx, torch.Options{Topology: o.Topology, CCL: o.CCL, Flit: o.Flit, NoData: !o.checks(), Threads: o.Threads, Trace: o.Trace})
	if err != nil {
		return row, err
	}
	defer c.Close()
	defer func() {
		if err != nil {
			err = errors.Join(err, c.DropTrace())
		}
	}()
	wrong, total, iters := 0, sim.Time(0), o.iters()
	ranks := make([]sim.Time, p.ranks)
	for range iters {
		result, err := p.execute(c, settings, o.RanksPer)
		if err != nil {
			return row, err
		}
		total += result.end - result.start
		for rank, end := range result.ends {
			ranks[rank] += end - result.start
		}
		if o.checks() {
			wrong += p.wrong(result.outputs)
		}
	}
	row = p.row(total / sim.Time(iters))
	row.Algorithm = c.Collective.Algorithm
	o.perRank(&row, ranks)
	if o.checks() {
		row.Wrong = &wrong
	}
	return row, c.SaveTrace(trace.About{Version: version.Version, Program: o.Collective.String()})
}

// perRank gives a row the times of the ranks, which are sums over the iterations, if they
// are wanted.
func (o *Options) perRank(row *Row, sums []sim.Time) {
	if !o.PerRank {
		return
	}
	for _, sum := range sums {
		row.PEExec = append(row.PEExec, sum/sim.Time(o.iters()))
	}
}

// checks reports whether there are values to compare.
func (o *Options) checks() bool { return !o.NoCheck && o.Collective != ccl.Barrier }
