package ccl

import (
	"slices"

	"github.com/kernbench/kernbench/topology"
)

// Auto is the name by which a group asks for the algorithm that costs least.
const Auto = "auto"

// mostNear is how many neighbours a rank of an algorithm may have to be picked: more
// would never pay, and finding that out takes longer than the collective.
const mostNear = 1024

// plain is algorithms that others become on a fabric that has nothing else for them, such
// as a mesh of one row: of those that cost the same it is the first of these.
var plain = []*Algorithm{Ring, BidirectionalRing, Mesh, DualMesh, Torus}

// Pick is the algorithm that costs least by its formula, and that cost; of those that
// cost the same, the plain one, or the first by name. It is nil if none of those that do the collective has
// a formula, and queues that fit into TCM.
func Pick(p *Plan, n *Network) (best *Algorithm, cost Time) {
	for _, a := range Algorithms(p.Collective) {
		if p.Ranks > mostNear && len(a.Neighbors(p, 0)) > mostNear || !n.holds(a.Ports(p)) {
			continue
		}
		t, ok := Cost(a, p, n)
		if ok && (best == nil || t < cost || t == cost && plainer(a, best)) {
			best, cost = a, t
		}
	}
	return best, cost
}

// plainer reports whether an algorithm comes before another among the plain ones.
func plainer(a, b *Algorithm) bool {
	i, j := slices.Index(plain, a), slices.Index(plain, b)
	return i >= 0 && (j < 0 || i < j)
}

// holds reports whether messages can go over so many ports: through queues, if these fit
// into TCM with room for tiles, or to inboxes.
func (n *Network) holds(ports int) bool {
	if ports > n.queues.MaxPorts {
		return !n.QueuesAlone
	}
	if n.queues.BufferKind != topology.BufferTCM {
		return true
	}
	slots := topology.Bytes(n.queues.NSlots) * n.queues.SlotSize
	return topology.Bytes(ports)*slots+8*n.queues.SlotSize <= n.g.Spec().PE.TCM.Size
}
