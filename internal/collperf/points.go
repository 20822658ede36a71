package collperf

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/experiment"
)

// simulation is a measurement on simulated machines: an experiment with a point for each
// algorithm of each problem.
type simulation struct {
	*Options
	problems   []*problem
	algorithms []string
	points     []experiment.Point
	failed     []*Row // of a comparison, by point
	tally      *tally

	next   int   // index of the first point that has no row yet
	group  int   // index of the problem of latest
	latest []Row // that the tally does not have yet
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
	s.failed = make([]*Row, len(s.points))
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
		s.addFailed(len(s.points))
		s.flush()
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
		config.UsedBy(o.Topology.Spec()).Hash, config.UsedBy(o.configuration()).Hash)
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
			s.failed[index] = &row
			return kept{}, err
		}
	}
	if s.named() {
		row.Algorithm = ""
	}
	return kept{row.Measured, row.Comparison}, nil
}

// add adds the row of a point to the tally, after those of points before it that failed.
func (s *simulation) add(index int, k kept) {
	s.addFailed(index)
	k.Algorithm = cmp.Or(k.Algorithm, s.algorithm(index))
	s.put(index, Row{s.problem(index).about(), k.Measured, k.Comparison})
	s.next = index + 1
}

// addFailed adds the rows of points that failed, up to an index.
func (s *simulation) addFailed(until int) {
	for ; s.next < until; s.next++ {
		if r := s.failed[s.next]; r != nil {
			s.put(s.next, *r)
		}
	}
}

// put adds a row to those of its size.
func (s *simulation) put(index int, r Row) {
	group := index / len(s.algorithms)
	if len(s.latest) > 0 && group != s.group {
		s.flush()
	}
	s.group, s.latest = group, append(s.latest, r)
	if len(s.latest) == len(s.algorithms) {
		s.flush()
	}
}

// flush hands over the rows of a size, whose values are of no use any more.
func (s *simulation) flush() {
	if len(s.latest) == 0 {
		return
	}
	s.tally.add(s.Options, s.latest)
	s.latest = s.latest[:0]
	s.problems[s.group].inputs, s.problems[s.group].result = nil, nil
}
