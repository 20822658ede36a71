package cost

import (
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// Formula is a function that predicts how long the collective of p takes on network n. The
// plan has at least two ranks.
type Formula func(p *ccl.Plan, n *Network) simtime.Time

var formulas = map[*ccl.Algorithm]Formula{}

// Register sets the formula of an algorithm. The formula takes precedence over the schedule
// of the algorithm.
func Register(a *ccl.Algorithm, f Formula) { formulas[a] = f }

// formula returns the registered formula of an algorithm. Without one, it returns a formula
// that is computed from the algorithm's schedule, or nil if there is no schedule.
func formula(a *ccl.Algorithm) Formula {
	if f := formulas[a]; f != nil || a.Schedule == nil {
		return f
	}
	return func(p *ccl.Plan, n *Network) simtime.Time { return n.schedule(p, a.Schedule(p)) }
}

// Cost predicts how long the collective of p takes on network n with algorithm a. It
// reports false if the algorithm has neither a schedule nor a formula.
func Cost(a *ccl.Algorithm, p *ccl.Plan, n *Network) (t simtime.Time, ok bool) {
	f := formula(a)
	if f == nil || p.Ranks == 1 {
		return 0, f != nil
	}
	ports := a.Ports(p)
	n.inbox = ports > n.queues.MaxPorts
	if n.Beat != nil {
		n.Beat()
	}
	if p.Grows {
		sized := *p
		sized.Fit(a, n.freeTCM(ports))
		p = &sized
	}
	return f(p, n), true
}

// freeTCM returns the number of bytes of TCM that are free for tiles if a rank has the
// given number of ports.
func (n *Network) freeTCM(ports int) topology.Bytes {
	free := n.g.Spec().PE.TCM.Size - n.Room
	if !n.inbox && n.queues.BufferKind == topology.BufferTCM {
		free -= topology.Bytes(ports*n.queues.NSlots) * n.queues.SlotSize
	}
	return free
}

// Pick returns the algorithm with the lowest cost, and that cost. If several algorithms
// have the same cost, it prefers the first in the list `plain`, and then the first by name.
// It returns nil if no candidate fits and has a cost.
func Pick(p *ccl.Plan, n *Network) (best *ccl.Algorithm, cost simtime.Time) {
	for _, a := range Candidates(p) {
		if n.Fits(a, p) != nil {
			continue
		}
		t, ok := Cost(a, p, n)
		if ok && (best == nil || t < cost || t == cost && plainer(a, best)) {
			best, cost = a, t
		}
	}
	return best, cost
}

// Candidates returns the algorithms among which Pick chooses. In a large group, it leaves out
// algorithms in which rank 0 has more than maxNeighbors neighbours.
func Candidates(p *ccl.Plan) []*ccl.Algorithm {
	return slices.DeleteFunc(ccl.Algorithms(p.Collective), func(a *ccl.Algorithm) bool {
		return p.Ranks > maxNeighbors && Neighbors(a, p, 0) > maxNeighbors
	})
}

// Neighbors returns the number of neighbours of a rank. It works for any number of ranks,
// also if an algorithm that connects all ranks would need more ports than there are.
func Neighbors(a *ccl.Algorithm, p *ccl.Plan, rank int) int {
	const most = 1 << 14
	if p.Ranks <= most {
		return len(a.Neighbors(p, rank))
	}
	part := *p
	part.Ranks, part.Root = most, 0
	if p.Root != rank {
		rank = 1 + rank%(most-1)
	} else {
		rank = 0
	}
	n := len(a.Neighbors(&part, rank))
	if n == most-1 {
		return p.Ranks - 1
	}
	return n
}

// maxNeighbors is the maximum number of neighbours of a rank for which Pick considers an
// algorithm. An algorithm with more neighbours is never the fastest, and computing its cost
// takes longer than running the collective.
const maxNeighbors = 1024

// plain lists algorithms that are equal on a fabric with fewer dimensions, such as a mesh
// of one row. The simplest is first.
var plain = []*ccl.Algorithm{ccl.Ring, ccl.BidirectionalRing, ccl.Mesh, ccl.DualMesh, ccl.Torus}

// plainer reports whether algorithm a comes before algorithm b in the list `plain`.
func plainer(a, b *ccl.Algorithm) bool {
	i, j := slices.Index(plain, a), slices.Index(plain, b)
	return i >= 0 && (j < 0 || i < j)
}

// schedule computes the cost of the collective of p from the messages of schedule s.
func (n *Network) schedule(p *ccl.Plan, s ccl.Schedule) simtime.Time {
	switch {
	case p.Collective == ccl.SendRecv:
		return n.messages(p)
	case s.Roots != nil:
		return n.hierarchy(p, s)
	case s.Trees != nil:
		return n.trees(p, s.Trees...)
	case s.Pipeline != nil:
		return n.pipeline(p, s.Pipeline)
	case s.Exchange != nil && s.Exchange.Ring:
		return n.ringExchange(p, s.Exchange)
	case s.Exchange != nil:
		return n.exchange(p, s.Exchange)
	}
	return 0
}

// messages computes the cost of the single messages of a SendRecv: the time of the longest
// message, or of all messages on the busiest link, whichever is longer.
func (n *Network) messages(p *ccl.Plan) (t simtime.Time) {
	for _, m := range p.Messages {
		t = max(t, n.Alpha(m.From, m.To, int64(m.Count*p.DType.Size())))
	}
	return max(t, n.Busiest(func(add func(from, to int, bytes int64)) {
		for _, m := range p.Messages {
			add(m.From, m.To, int64(m.Count*p.DType.Size()))
		}
	}))
}

// hierarchy computes the cost of a schedule with two levels: a pipeline between the root
// cubes of the devices, and trees within each device to the root cube and back. The trees
// add the time of one segment before and after the pipeline. If the trees take longer for
// all data than the pipeline, the time of the trees replaces that of the pipeline. Sums and
// results pass through the memory of the root cubes.
func (n *Network) hierarchy(p *ccl.Plan, s ccl.Schedule) simtime.Time {
	between := n.subset(s.Roots).pipeline(p, s.Pipeline)
	device := *p
	device.Ranks /= len(s.Roots)
	within := func(count int) (t simtime.Time) {
		device.Counts = []int{count}
		for _, device.Collective = range []ccl.Collective{ccl.Reduce, ccl.Broadcast} {
			t += n.trees(&device, s.Trees...)
		}
		return t
	}
	memory := 4 * (n.burst() + n.g.Spec().PE.DMA.Setup)
	return within(tl.CDiv(p.Count(0), s.Pipeline.Segments)) + max(between, within(p.Count(0))) + memory
}

// sample yields the ranks for which a formula is evaluated: all ranks if there are few, and
// otherwise about 64 ranks at equal distances.
func sample(ranks int) func(func(int) bool) {
	const few = 64
	stride := max(1, ranks/few)
	return func(yield func(int) bool) {
		for rank := 0; rank < ranks && yield(rank); rank += stride {
		}
	}
}
