package collperf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/topology"
)

// simulation is a measurement on simulated machines: an experiment with a point for each
// algorithm of each problem.
type simulation struct {
	*Options
	problems   []*problem
	algorithms []string
	points     []experiment.Point
	rows       []*Row // by point; in a comparison also rows of failures
	tally      *tally
	next       int // index of the first problem whose rows are not in the tally yet
}

// simulate measures problems on simulated machines and adds their rows to t. If it compares
// all algorithms, the failure of an algorithm does not stop the others.
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
	if !o.checks() { // rows that run at the same time share the threads
		total := cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
		own := *s.Options
		own.Threads, s.Options = max(1, total/max(1, len(s.points))), &own
	}
	x := o.Experiment
	x.About = fmt.Sprintf("%v over %d ranks of %s", o.Collective, t.sum.Ranks, o.Topology.Spec().Source())
	x.Identity, x.Schema, x.Workers, x.Stop = o.identity(t.sum.Ranks), o.schema(), o.Threads, o.Algorithm != AllAlgorithms
	groups := lists.Map(s.algorithms, func(a string) uint64 { return o.groupMemory(t.sum.Ranks, a) })
	x.Memory = func(index int) int64 { return o.memory(s.problem(index), groups[index%len(groups)]) }
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

// Cost estimates how long the simulation of the first row takes. The unit is that of
// problem.cost, so the estimate serves only for comparison with other rows. Cost returns 0
// if the number of ranks is not valid.
func (o *Options) Cost() float64 {
	n, err := o.Ranks()
	if err != nil {
		return 0
	}
	return o.problems(n)[0].cost(o.algorithms()[0]) * float64(o.iters())
}

// point returns the settings of a problem as a point of an experiment. The algorithm is one
// of the settings if it was chosen by name.
func (o *Options) point(p *problem, algorithm string) (experiment.Point, error) {
	point, err := experiment.PointOf(p.rowCase())
	if o.isNamed() {
		point = append(point, experiment.Setting{Name: "algorithm", Value: algorithm})
	}
	return point, err
}

// identity returns a text with everything that rows depend on, except the points and the
// program.
func (o *Options) identity(ranks int) string {
	return fmt.Sprintf("coll %v, %d ranks per %s, partial %t, algo %s, buffer %s, values %s, check %t, iters %d, per-rank %t, flit %t, topology %s, ccl %s",
		o.Collective, ranks, cmp.Or(o.RanksPer, PerPE), o.Partial, cmp.Or(o.Algorithm, "as ccl says"), cmp.Or(o.Buffer, "as ccl says"),
		cmp.Or(o.Values, Integers), o.checks(), o.iters(), o.PerRank, o.Flit,
		topology.OriginOf(o.Topology.Spec()).Hash, topology.OriginOf(o.configuration()).Hash)
}

// run measures the point with the given index. The row that it returns does not repeat the
// settings of the point. If a comparison skips the algorithm, the row has the reason
// instead of a time.
func (s *simulation) run(ctx context.Context, index int, _ experiment.Point) (storedRow, error) {
	p, algorithm := s.problem(index), s.algorithm(index)
	row, err := s.measure(ctx, p, algorithm)
	switch {
	case err != nil && s.Algorithm != AllAlgorithms:
		return storedRow{}, fmt.Errorf("%v of %d bytes: %w", s.Collective, p.size, err)
	case err != nil:
		skip := skipReason(err)
		text := cmp.Or(skip, err.Error())
		row = p.row(-1)
		row.Algorithm, row.Error = algorithm, &text
		if skip == "" {
			s.rows[index] = &row
			return storedRow{}, err
		}
	}
	if s.isNamed() {
		row.Algorithm = ""
	}
	return storedRow{row.Measured, row.Comparison}, nil
}

// add records the row of a point. The experiment calls add in the order of the points.
func (s *simulation) add(index int, k storedRow) {
	k.Algorithm = cmp.Or(k.Algorithm, s.algorithm(index))
	s.rows[index] = &Row{s.problem(index).rowCase(), k.Measured, k.Comparison}
	s.flush((index + 1) / len(s.algorithms))
}

// flush adds the rows of all problems whose index is below `until` to the tally, and frees
// the values of these problems.
func (s *simulation) flush(until int) {
	for n := len(s.algorithms); s.next < until; s.next++ {
		var latest []Row
		for _, r := range s.rows[s.next*n : (s.next+1)*n] {
			if r != nil { // a shard may not have this point
				latest = append(latest, *r)
			}
		}
		if len(latest) > 0 {
			s.tally.add(s.Options, latest)
		}
		s.problems[s.next].inputs, s.problems[s.next].result = nil, nil
	}
}
