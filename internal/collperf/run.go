package collperf

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/torch"
)

// Summary is the totals of all rows.
type Summary struct {
	Ranks    int
	AvgBusBW float64 // GB/s
	Wrong    int     // wrong elements of all rows
	Wins     []Win   // in a comparison of algorithms only
	// Failed lists the algorithms of a comparison that failed. Their rows have errors. It
	// is nil if none failed.
	Failed *experiment.Failed
}

// Run measures a collective. It returns all rows and their totals. Unless onRow is nil, Run
// calls onRow with each row, in order. The rows of one size, with all algorithms, follow
// each other. Several simulated rows are measured at the same time, so Run calls onRow with
// the rows of a size as soon as these rows and all earlier rows are complete. For real
// ranks, Run calls onRow after all rows have been measured.
func Run(ctx context.Context, o Options, onRow func(Row)) ([]Row, Summary, error) {
	n, err := o.Ranks()
	if err := cmp.Or(err, o.Validate()); err != nil {
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
		err = o.simulate(ctx, o.problems(n), t)
	}
	t.sum.AvgBusBW /= float64(max(1, len(t.rows)))
	if o.Algorithm == AllAlgorithms && o.Experiment.Shard.N == 0 {
		t.sum.Wins = wins(t.rows)
	}
	return t.rows, t.sum, err
}

// tally is the rows that have been measured so far, and their totals.
type tally struct {
	rows  []Row
	sum   Summary
	onRow func(Row)
}

// add appends `latest`, the rows of one size, to the rows of t, updates the totals and
// calls onRow with each row. It first marks the best row, but only if several algorithms
// are compared, `latest` has a row for each of them, and the collective moves data.
func (t *tally) add(o *Options, latest []Row) {
	moves := t.sum.Ranks*o.addends() > 1 && (o.Collective == ccl.Barrier || latest[0].Count > 0)
	if all := len(o.algorithms()); moves && all > 1 && len(latest) == all { // a shard may have only some of the algorithms
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

// problems returns a problem for each size of each series, in order.
func (o *Options) problems(ranks int) (all []*problem) {
	for _, s := range o.series() {
		for size := range o.sizes() {
			all = append(all, newProblem(o, s, ranks, size))
		}
	}
	return all
}

// measure measures a problem with an algorithm on a new machine. It returns an error and
// measures nothing if the algorithm is predicted to be far slower than the fastest one.
func (o *Options) measure(ctx context.Context, p *problem, algorithm string) (row Row, err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *torch.Failure:
			err = v.Err
		case *torch.Error: // for example more elements than a tensor can have
			err = v
		default:
			panic(v)
		}
	}()
	if err := p.prepare(ctx, o); err != nil {
		return row, err
	}
	if times := p.slow[algorithm]; times > maxSlowness {
		return row, &tooSlowError{times}
	}
	sim.Expect(ctx, func() simtime.Time { return o.expectedEnd(p, algorithm) })
	c, err := torch.New(ctx, torch.Options{Topology: o.Topology, CCL: o.CCL, Flit: o.Flit, NoData: !o.checks(), Threads: o.Threads, Trace: o.Trace})
	if err != nil {
		return row, err
	}
	defer c.Close()
	defer func() {
		if err != nil {
			err = errors.Join(err, hosted.DropTrace(c))
		}
	}()
	if row, err = o.measureOn(c.Main(), p, algorithm); err != nil {
		return row, err
	}
	return row, hosted.SaveTrace(c, trace.About{Version: version.Version, Program: o.Collective.String()})
}

// MeasureOn measures the first of the problems that the options describe, on the machine of
// r. The machine must have the same topology, configuration of collectives and fidelity as
// the options, and must compute values unless NoCheck is set. `compared` is the number of
// elements that were checked. MeasureOn panics in the same cases as package torch.
func MeasureOn(r *torch.Rank, o Options) (row Row, compared int, err error) {
	n, err := o.Ranks()
	if err := cmp.Or(err, o.Validate()); err != nil {
		return row, 0, err
	}
	p := o.problems(n)[0]
	if err := p.prepare(r.GoContext(), &o); err != nil {
		return row, 0, err
	}
	if o.checks() {
		compared = p.numCompared() * o.iters()
	}
	row, err = o.measureOn(r, p, o.Algorithm)
	return row, compared, err
}

// measureOn measures a problem with an algorithm on the machine of r.
func (o *Options) measureOn(r *torch.Rank, p *problem, algorithm string) (row Row, err error) {
	settings, err := o.settings(algorithm)
	if err != nil {
		return row, err
	}
	wrong, total, used, chunk := 0, simtime.Time(0), "", 0
	ranks := make([]simtime.Time, p.ranks)
	for range o.iters() {
		result, err := p.execute(r, settings, o.RanksPer)
		if err != nil {
			return row, err
		}
		total += result.end - result.start
		used, chunk = result.algorithm, max(chunk, result.chunk)
		for rank, end := range result.ends {
			ranks[rank] += end - result.start
		}
		if o.checks() {
			wrong += p.countWrong(result.outputs)
		}
	}
	row = o.row(p, used, total, ranks, wrong)
	row.Chunk = &chunk
	return row, nil
}

// row returns the row of an algorithm. `total` is the sum of the times of all iterations,
// and `ranks` holds the same sum for each rank. `wrong` is the number of wrong elements.
func (o *Options) row(p *problem, algorithm string, total simtime.Time, ranks []simtime.Time, wrong int) Row {
	iters := simtime.Time(o.iters())
	r := p.row(total / iters)
	r.Algorithm = algorithm
	if o.PerRank {
		r.PEExec = lists.Make(len(ranks), func(rank int) simtime.Time { return ranks[rank] / iters })
	}
	if o.checks() {
		r.Wrong = &wrong
	}
	return r
}

// checks reports whether values are checked.
func (o *Options) checks() bool { return !o.NoCheck && o.Collective != ccl.Barrier }
