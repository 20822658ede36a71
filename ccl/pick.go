package ccl

// Auto is the name by which a group asks for the algorithm that costs least.
const Auto = "auto"

// Pick is the algorithm that costs least by its formula, and that cost; of those that
// cost the same, the first by name. It is nil if none of those that do the collective has
// a formula.
func Pick(p *Plan, n *Network) (best *Algorithm, cost Time) {
	for _, a := range Algorithms(p.Collective) {
		if t, ok := Cost(a, p, n); ok && (best == nil || t < cost) {
			best, cost = a, t
		}
	}
	return best, cost
}
