package collperf

import (
	"cmp"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/cost"
	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
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
// algorithm ends. It returns 0 if there is no prediction, or if the algorithm connects so many
// ranks that the prediction would take longer than the measurement.
func (o *Options) expectedEnd(p *problem, algorithm string) simtime.Time {
	s, err := o.settings(algorithm)
	if err != nil {
		return 0
	}
	all := cost.Candidates(p.plan())
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

// Bytes of memory of this computer that a row takes, from measurements.
const (
	perPE = 32 << 10

	// For each pair of ranks:
	perBlock    = 128  // a block of a tensor that has a block for each rank
	perShard    = 1024 // a shard of the tensors of a gather or scatter, if each is over all PEs
	perMessage  = 384  // likewise, of a sendrecv
	perPeer     = 512  // an inbox for each rank, if the algorithm connects all ranks
	perExchange = 2048 // likewise, if all ranks send at once
	perStep     = 192  // a step of halving and doubling
)

// memory estimates how many bytes of memory of this computer a row takes. `group` is the
// result of groupMemory for the algorithm. The values of the ranks are in the memory of the
// machine, in the op log and in this package.
func (o *Options) memory(p *problem, group uint64) int64 {
	if o.checks() {
		group += uint64(min(4*p.bytes(), 1<<60))
	}
	return int64(min(group, 1<<61))
}

// groupMemory estimates how many bytes of memory of this computer the PEs of the ranks take
// if the collective uses the given algorithm, or the algorithm that takes most if the library
// chooses. It counts what the PEs keep for each pair of ranks, which many algorithms do not.
func (o *Options) groupMemory(ranks int, algorithm string) uint64 {
	p := newProblem(o, series{dtype: tl.U8, root: max(0, o.Root)}, ranks, o.Max)
	plan := p.plan()
	plan.Layout = ccl.NewLayout(o.Topology, o.pes(ranks))
	n := uint64(p.holders())
	most := uint64(0)
	for _, a := range o.candidates(plan, algorithm) {
		most = max(most, host.Product(n, o.pairBytes(plan, a)))
	}
	return n*perPE + most
}

// candidates returns the algorithms that may run if the given algorithm is chosen.
func (o *Options) candidates(plan *ccl.Plan, algorithm string) []*ccl.Algorithm {
	s, err := o.settings(algorithm)
	if err != nil {
		return nil
	}
	if s.Algorithm == ccl.Auto {
		return cost.Candidates(plan)
	}
	a, err := ccl.Find(s.Algorithm, plan.Collective)
	if err != nil { // the configuration names an algorithm that does not perform the collective
		a, err = ccl.Find(ccl.Usual(plan.Collective), plan.Collective)
	}
	if err != nil {
		return nil
	}
	return []*ccl.Algorithm{a}
}

// pairBytes returns how many bytes of memory of this computer a rank takes for all other
// ranks together, with algorithm a.
func (o *Options) pairBytes(plan *ccl.Plan, a *ccl.Algorithm) uint64 {
	others, perSIP := uint64(plan.Ranks), o.RanksPer == PerSIP
	var bytes uint64
	switch c := o.Collective; {
	case c == ccl.AllGather || c == ccl.ReduceScatter:
		bytes = others * perBlock
	case c == ccl.AllToAll:
		bytes = 2 * others * perBlock
	case (c == ccl.Gather || c == ccl.Scatter) && !perSIP: // else only the root has a list of tensors
		bytes = others * perShard
	case c == ccl.SendRecv && !perSIP:
		bytes = others * perMessage
	}
	switch a.Name {
	case ccl.HalvingDoubling.Name:
		bytes += others * perStep
	case ccl.DirectOnePhase.Name:
		return bytes + others*perExchange
	}
	if neighbors := meanNeighbors(plan, a); neighbors > o.Topology.Spec().PE.IPCQ.MaxPorts {
		bytes += uint64(neighbors) * perPeer
	}
	return bytes
}

// meanNeighbors returns the mean number of neighbours of a rank, from a few ranks. The root,
// which may be the neighbour of all ranks, does not count.
func meanNeighbors(plan *ccl.Plan, a *ccl.Algorithm) int {
	const few = 8
	sum, n := 0, 0
	for rank := 0; rank < plan.Ranks; rank += tl.CDiv(plan.Ranks, few) {
		if rank != plan.Root {
			sum += cost.Neighbors(a, plan, rank)
			n++
		}
	}
	return sum / max(1, n)
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
	group := uint64(0)
	for _, a := range o.algorithms() {
		group = max(group, o.groupMemory(ranks, a))
	}
	if err := host.Check(uint64(o.memory(largest, group))); err != nil {
		fix := "take fewer ranks"
		if o.checks() {
			fix = "add --data off, take smaller sizes, or fewer ranks"
		}
		return optionErrorf("size", "%v of %d bytes between %d ranks: %w: %s", o.Collective, o.Max, ranks, err, fix)
	}
	return nil
}
