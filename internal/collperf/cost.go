package collperf

import (
	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
)

// slowness is how many times as long as the best each algorithm takes by its formula. It
// has none of those without a formula.
func (o *Options) slowness(p *problem) (map[string]float64, error) {
	s, err := o.settings("")
	if err != nil {
		return nil, err
	}
	plan := p.plan()
	plan.Reduction, plan.Divisor, plan.Layout, plan.RootCube = p.reduction, p.ranks, o.layout(p.ranks), s.RootCube
	// No more of a machine than its graph says how queues are.
	queues := (&machine.Machine{Graph: o.Topology}).Queues(s.Queues())
	chunk := s.Chunk(queues)
	plan.Chunk = max(1, int(chunk)/p.dtype.Size())
	plan.Slots = max(1, queues.NSlots/int((chunk+queues.SlotSize-1)/queues.SlotSize))
	network := ccl.NewNetwork(o.Topology, o.pes(p.ranks), queues)
	times, least := map[string]float64{}, float64(sim.Never)
	for _, a := range ccl.Algorithms(p.collective) {
		if t, ok := ccl.Cost(a, plan, network); ok && t > 0 {
			times[a.Name] = float64(t)
			least = min(least, float64(t))
		}
	}
	for name := range times {
		times[name] /= least
	}
	return times, nil
}

// layout is where ranks are that are all SIPs of the system.
func (o *Options) layout(ranks int) ccl.Layout {
	s := o.Topology.Spec()
	if o.RanksPer != PerSIP || ranks != s.System.SIPs.Count {
		return ccl.Layout{}
	}
	l := ccl.Layout{Fabric: s.System.SIPs.Topology, CubeW: 1, CubeH: 1}
	l.W, l.H = o.Topology.SIPGrid()
	if o.Partial {
		l.CubeW, l.CubeH = s.SIP.CubeMesh.W, s.SIP.CubeMesh.H
	}
	return l
}
