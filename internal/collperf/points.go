package collperf

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/topology"
)

// simulation is a measurement on simulated machines: an experiment with a point for each
// algorithm of each problem.
type simulation struct {
	*Options
	problems   []*problem
	algorithms []string
	points     []experiment.Point
	rows       []*Row // by point, those of failures in a comparison too
	tally      *tally
	next       int // index of the first problem whose rows the tally does not have yet
}

// simulate measures problems on simulated machines. In a comparison the failure of an
// algorithm does not end the others.
func (o *Options) simulate(ctx context.Context, problems []*problem, t *tally) error {
	s := &simulation{Options: o, problems: problems, algorithms: o.algorithms(), tally: t}
	for _, p := range problems {
		for _, a := range s.algorithms {
			point, err := o.point(p, a)
			if err != nil {
				return err
			}
			s.points = append(s.points, point)
		}
	}
	s.rows = make([]*Row, len(s.points))
	x := o.Experiment
	x.About = fmt.Sprintf("%v over %d ranks of %s", o.Collective, t.sum.Ranks, o.Topology.Spec().Source())
	x.Identity, x.Schema, x.Workers, x.Stop = o.identity(t.sum.Ranks), o.schema(), o.Threads, o.Algorithm != AllAlgorithms
	x.Memory = func(index int) int64 { return o.memory(s.problem(index)) }
	x.Cost = func(index int) float64 { return s.problem(index).cost(s.algorithm(index)) }
	_, err := experiment.Run(ctx, x, s.points, s.run, s.add)
	if errors.As(err, &t.sum.Failed) {
		err = nil
	} else if first, ok := errors.AsType[*experiment.PointError](err); ok {
		err = first.Err
	}
	if err == nil {
		s.flush(len(s.problems))
	}
	return err
}

func (s *simulation) problem(index int) *problem { return s.problems[index/len(s.algorithms)] }
func (s *simulation) algorithm(index int) string { return s.algorithms[index%len(s.algorithms)] }

// Cost estimates how long the simulation of the first row takes, relative to other rows; 0 if
// there are no ranks for it.
func (o *Options) Cost() float64 {
	n, err := o.Ranks()
	if err != nil {
		return 0
	}
	return o.problems(n)[0].cost(o.algorithms()[0]) * float64(o.iters())
}

// point returns the settings of a problem, and the algorithm if it was named.
func (o *Options) point(p *problem, algorithm string) (experiment.Point, error) {
	point, err := experiment.PointOf(p.about())
	if o.named() {
		point = append(point, experiment.Setting{Name: "algorithm", Value: algorithm})
	}
	return point, err
}

// identity returns a text of all that rows depend on besides their points and the program.
func (o *Options) identity(ranks int) string {
	return fmt.Sprintf("coll %v, %d ranks per %s, partial %t, algo %s, buffer %s, values %s, check %t, iters %d, per-rank %t, flit %t, topology %s, ccl %s",
		o.Collective, ranks, cmp.Or(o.RanksPer, PerPE), o.Partial, cmp.Or(o.Algorithm, "as ccl says"), cmp.Or(o.Buffer, "as ccl says"),
		cmp.Or(o.Values, Integers), o.checks(), o.iters(), o.PerRank, o.Flit,
		topology.OriginOf(o.Topology.Spec()).Hash, topology.OriginOf(o.configuration()).Hash)
}

// run measures a point. The row that is kept does not repeat the settings of the point.
func (s *simulation) run(ctx context.Context, index int, _ experiment.Point) (kept, error) {
	p, algorithm := s.problem(index), s.algorithm(index)
	row, err := s.measure(ctx, p, algorithm)
	switch {
	case err != nil && s.Algorithm != AllAlgorithms:
		return kept{}, fmt.Errorf("%v of %d bytes: %w", s.Collective, p.size, err)
	case err != nil:
		skip := skipped(err)
		text := cmp.Or(skip, err.Error())
		row = p.row(-1)
		row.Algorithm, row.Error = algorithm, &text
		if skip == "" {
			s.rows[index] = &row
			return kept{}, err
		}
	}
	if s.named() {
		row.Algorithm = ""
	}
	return kept{row.Measured, row.Comparison}, nil
}

// add takes the row of a point. All points before it have ended.
func (s *simulation) add(index int, k kept) {
	k.Algorithm = cmp.Or(k.Algorithm, s.algorithm(index))
	s.rows[index] = &Row{s.problem(index).about(), k.Measured, k.Comparison}
	s.flush((index + 1) / len(s.algorithms))
}

// flush hands over the rows of problems up to one, whose values are of no use any more.
func (s *simulation) flush(until int) {
	for n := len(s.algorithms); s.next < until; s.next++ {
		var latest []Row
		for _, r := range s.rows[s.next*n : (s.next+1)*n] {
			if r != nil { // a shard may have no such point
				latest = append(latest, *r)
			}
		}
		if len(latest) > 0 {
			s.tally.add(s.Options, latest)
		}
		s.problems[s.next].inputs, s.problems[s.next].result = nil, nil
	}
}
