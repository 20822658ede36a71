package collperf

import (
	"context"
	"fmt"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// Summary is what was found out about all rows.
type Summary struct {
	Ranks    int
	AvgBusBW float64 // GB/s
	Wrong    int
	Wins     []Win // of a comparison of algorithms
	LeftOut  []LeftOut
}

// Run measures a collective, several rows at a time. onRow, if it is not nil, gets the
// rows in order, those of all algorithms at a size together, when they are done.
func Run(ctx context.Context, o Options, onRow func(Row)) ([]Row, Summary, error) {
	if err := o.Validate(); err != nil {
		return nil, Summary{}, err
	}
	n, err := o.Ranks()
	if err != nil {
		return nil, Summary{}, err
	}
	var jobs []job
	algorithms := o.algorithms()
	for _, s := range o.series() {
		for _, size := range o.sizes() {
			p := newProblem(&o, s, n, size)
			for _, a := range algorithms {
				jobs = append(jobs, o.job(p, a, size))
			}
		}
	}
	without := o.leaveOut(jobs)
	sum := Summary{Ranks: n}
	var rows, latest []Row
	var nothing error // of a size at which no algorithm is left
	group := len(algorithms)
	ended := 0
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err = inOrder(ctx, jobs, o.threads(), func(r Row) {
		if nothing != nil {
			return
		}
		if without[ended] == nil {
			latest = append(latest, r)
		}
		if ended++; ended%group > 0 {
			return
		}
		failed := without[ended-group : ended]
		if len(latest) == 0 {
			nothing = failed[0]
			cancel(nothing)
			return
		}
		for i, err := range failed {
			if err != nil {
				sum.LeftOut = addLeftOut(sum.LeftOut, *leftOut(algorithms[i], err))
			}
		}
		if moves := n*o.addends() > 1 && (o.Collective == ccl.Barrier || latest[0].Count > 0); moves {
			markBest(latest)
		}
		for _, r := range latest {
			sum.AvgBusBW += r.BusBW
			if r.Wrong != nil {
				sum.Wrong += *r.Wrong
			}
			if onRow != nil {
				onRow(r)
			}
		}
		rows, latest = append(rows, latest...), latest[:0]
	})
	if nothing != nil {
		err = nothing
	}
	sum.AvgBusBW /= float64(max(1, len(rows)))
	if o.Algorithm == AllAlgorithms {
		sum.Wins = wins(rows)
	}
	return rows, sum, err
}

// leaveOut has jobs of a comparison go on without an algorithm that does not fit or is
// hopeless, and says why, by job.
func (o *Options) leaveOut(jobs []job) []error {
	without := make([]error, len(jobs))
	if o.Algorithm != AllAlgorithms {
		return without
	}
	for i := range jobs {
		run := jobs[i].run
		jobs[i].run = func(ctx context.Context) (Row, error) {
			row, err := run(ctx)
			if leftOut("", err) == nil {
				return row, err
			}
			without[i] = err
			return row, nil
		}
	}
	return without
}

// job is the measurement of a problem with an algorithm.
func (o *Options) job(p *problem, algorithm string, size topology.Bytes) job {
	return job{
		weight: o.memory(p),
		run: func(ctx context.Context) (Row, error) {
			row, err := o.measure(ctx, p, algorithm)
			if err != nil {
				return row, fmt.Errorf("%v of %d bytes%s: %w", o.Collective, size, by(o, algorithm), together(err))
			}
			return row, nil
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
	c, err := torch.New(ctx, torch.Options{Topology: o.Topology, CCL: o.CCL, Flit: o.Flit, NoData: !o.checks(), Threads: o.Threads})
	if err != nil {
		return row, err
	}
	defer c.Close()
	wrong, total, iters := 0, sim.Time(0), max(1, o.Iters)
	for range iters {
		result, err := p.execute(c, settings, o.RanksPer)
		if err != nil {
			return row, err
		}
		total += result.end - result.start
		if o.checks() {
			wrong += p.wrong(result.outputs)
		}
	}
	row = p.row(total / sim.Time(iters))
	row.Algorithm = c.Collective.Algorithm
	if o.checks() {
		row.Wrong = &wrong
	}
	return row, nil
}

// checks reports whether there are values to compare.
func (o *Options) checks() bool { return !o.NoCheck && o.Collective != ccl.Barrier }
