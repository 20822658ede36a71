package ccl

// Auto is the name by which a group asks for the algorithm that costs least.
const Auto = "auto"

// mostNear is how many neighbours a rank of an algorithm may have to be picked: more
// would never pay, and finding that out takes longer than the collective.
const mostNear = 1024

// Pick is the algorithm that costs least by its formula, and that cost; of those that
// cost the same, the first by name. It is nil if none of those that do the collective has
// a formula.
func Pick(p *Plan, n *Network) (best *Algorithm, cost Time) {
	for _, a := range Algorithms(p.Collective) {
		if p.Ranks > mostNear && len(a.Neighbors(p, 0)) > mostNear {
			continue
		}
		if t, ok := Cost(a, p, n); ok && (best == nil || t < cost) {
			best, cost = a, t
		}
	}
	return best, cost
}
