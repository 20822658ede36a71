package cost

import (
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
)

// Formula predicts how long the collective of a plan takes on a network of several ranks.
type Formula func(p *ccl.Plan, n *Network) simtime.Time

var formulas = map[*ccl.Algorithm]Formula{}

// Register sets the formula of an algorithm, which then counts instead of its schedule.
func Register(a *ccl.Algorithm, f Formula) { formulas[a] = f }

// formula returns the formula of an algorithm, or nil.
func formula(a *ccl.Algorithm) Formula {
	if f := formulas[a]; f != nil || a.Schedule == nil {
		return f
	}
	return func(p *ccl.Plan, n *Network) simtime.Time { return n.schedule(p, a.Schedule(p)) }
}

// Cost predicts how long a collective takes with an algorithm. It reports false if the algorithm
// has neither a schedule nor a formula.
func Cost(a *ccl.Algorithm, p *ccl.Plan, n *Network) (t simtime.Time, ok bool) {
	f := formula(a)
	if f == nil || p.Ranks == 1 {
		return 0, f != nil
	}
	n.inbox = a.Ports(p) > n.queues.MaxPorts
	if n.Beat != nil {
		n.Beat()
	}
	return f(p, n), true
}

// Pick returns the algorithm that costs least, and its cost. Of those that cost the same it
// returns the first of plain, or else the first by name. It returns nil if no algorithm for the
// collective fits and has a cost.
func Pick(p *ccl.Plan, n *Network) (best *ccl.Algorithm, cost simtime.Time) {
	for _, a := range ccl.Algorithms(p.Collective) {
		if p.Ranks > maxNeighbors && len(a.Neighbors(p, 0)) > maxNeighbors || n.Fits(a, p) != nil {
			continue
		}
		t, ok := Cost(a, p, n)
		if ok && (best == nil || t < cost || t == cost && plainer(a, best)) {
			best, cost = a, t
		}
	}
	return best, cost
}

// maxNeighbors is the largest number of neighbours that a rank of a picked algorithm may have.
// With more an algorithm is never the fastest, and its cost takes longer to compute than
// the collective to run.
const maxNeighbors = 1024

// plain is the algorithms that others become on a fabric without further dimensions, such as a
// mesh of one row, the simplest first.
var plain = []*ccl.Algorithm{ccl.Ring, ccl.BidirectionalRing, ccl.Mesh, ccl.DualMesh, ccl.Torus}

// plainer reports whether an algorithm comes before another in plain.
func plainer(a, b *ccl.Algorithm) bool {
	i, j := slices.Index(plain, a), slices.Index(plain, b)
	return i >= 0 && (j < 0 || i < j)
}

// schedule returns the cost of a schedule.
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

// messages returns the cost of single messages: of the longest alone, or of those on the
// busiest link.
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

// hierarchy returns the cost of a pipeline between the roots of devices, and of the trees from
// their ranks to them and back: those of one segment before the first and after the last,
// or, if they take longer than the pipeline, of all data. Sums and results pass through the
// memory of the roots.
func (n *Network) hierarchy(p *ccl.Plan, s ccl.Schedule) simtime.Time {
	between := n.among(s.Roots).pipeline(p, s.Pipeline)
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

// sample returns the ranks that stand for all: each rank, or some of very many.
func sample(ranks int) func(func(int) bool) {
	const few = 64
	by := max(1, ranks/few)
	return func(yield func(int) bool) {
		for rank := 0; rank < ranks && yield(rank); rank += by {
		}
	}
}
