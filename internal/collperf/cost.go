package collperf

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/cost"
	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/simtime"
)

// predict returns the predicted time of each given algorithm by name, with the settings s.
// Algorithms without a prediction are omitted.
func (o *Options) predict(p *problem, s ccl.Settings, algorithms []*ccl.Algorithm) map[string]float64 {
	plan, pes := p.plan(), o.pes(p.ranks)
	plan.Reduction, plan.Divisor, plan.Layout, plan.RootCube = p.reduction, p.ranks, ccl.NewLayout(o.Topology, pes), s.RootCube
	queues := o.Topology.Spec().PE.IPCQ.Override(s.Queues())
	s.Size(plan, queues)
	network := cost.NewNetwork(o.Topology, pes, queues)
	times := map[string]float64{}
	for _, a := range algorithms {
		if t, ok := cost.Cost(a, plan, network); ok && t > 0 {
			times[a.Name] = float64(t)
		}
	}
	return times
}

// expectedEnd predicts the simulated time at which the measurement of a problem with an
// algorithm ends. It returns 0 if there is no prediction.
func (o *Options) expectedEnd(p *problem, algorithm string) simtime.Time {
	s, err := o.settings(algorithm)
	if err != nil {
		return 0
	}
	all := ccl.Algorithms(p.collective)
	i := slices.IndexFunc(all, func(a *ccl.Algorithm) bool { return a.Name == algorithm })
	if i < 0 {
		return 0
	}
	return simtime.Time(o.predict(p, s, all[i:i+1])[algorithm] * float64(o.iters()))
}

// slowness returns, for each algorithm by name, its predicted time divided by the lowest
// predicted time. Algorithms without a prediction are omitted.
func (o *Options) slowness(p *problem) (map[string]float64, error) {
	s, err := o.settings("")
	if err != nil {
		return nil, err
	}
	times := o.predict(p, s, ccl.Algorithms(p.collective))
	least := float64(simtime.Never)
	for _, t := range times {
		least = min(least, t)
	}
	for name := range times {
		times[name] /= least
	}
	return times, nil
}

// cost estimates how long the simulation of the problem takes, in units of messages. An
// experiment predicts its remaining time from these estimates. Every rank has a fixed
// amount of work, and the data that an algorithm moves is divided into messages.
func (p *problem) cost(algorithm string) float64 {
	const perRank, message = 8, 4096
	n, size := float64(p.holders()), float64(p.rowCase().Size)
	var moved float64
	switch c := p.collective; {
	case c == ccl.AllReduce && algorithm == ccl.DirectOnePhase.Name:
		moved = n * (n - 1) * size
	case c == ccl.AllReduce:
		moved = 2 * (n - 1) * size
	case c == ccl.AllToAll && algorithm == ccl.Ring.Name: // through all ranks on the way
		moved = n * (n - 1) / 2 * size
	case c == ccl.AllGather || c == ccl.ReduceScatter || c == ccl.AllToAll || c == ccl.SendRecv:
		moved = n * size
	default:
		moved = (n - 1) * size
	}
	return n*perRank + moved/message
}

// memory estimates how many bytes of memory of this computer a row takes. It counts the PEs
// of the ranks, the routes and costs between all pairs of ranks, and the values of the
// ranks. The values are in the memory of the machine, in the op log and in this package.
func (o *Options) memory(p *problem) int64 {
	const (
		perPE     = 32 << 10
		perPair   = 128
		perQueues = 512 // bytes of a pair, if all ranks have queues to all others
	)
	each := uint64(perPair)
	if o.Collective == ccl.AllToAll {
		each = perQueues
	}
	n := uint64(p.holders())*perPE + host.Product(uint64(p.ranks), uint64(p.ranks), each)
	if o.checks() {
		n += uint64(min(4*p.bytes(), 1<<60))
	}
	return int64(min(n, 1<<61))
}

// validateValues returns an error if a row needs more memory than this computer has, or has
// too many values to compute.
func (o *Options) validateValues(ranks int) error {
	all := o.series()
	problems := lists.Make(len(all), func(i int) *problem { return newProblem(o, all[i], ranks, o.Max) })
	largest := slices.MaxFunc(problems, func(a, b *problem) int { return cmp.Compare(a.bytes(), b.bytes()) })
	if bytes := largest.bytes(); o.checks() && bytes > maxValueBytes {
		return optionErrorf("size", "%v of %d bytes: the values of all ranks are %s, too many to compute here: add --data off, or take smaller sizes", o.Collective, largest.size, host.GB(bytes))
	}
	if err := host.Check(uint64(o.memory(largest))); err != nil {
		fix := "take fewer ranks"
		if o.checks() {
			fix = "add --data off, take smaller sizes, or fewer ranks"
		}
		return optionErrorf("size", "%v of %d bytes between %d ranks: %w: %s", o.Collective, o.Max, ranks, err, fix)
	}
	return nil
}
