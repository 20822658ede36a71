package cli

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// identity returns a text of all that rows depend on beside their point and the program:
// how benches are run, and the configurations and parameters of all points.
func (p *sweepPlan) identity() string {
	sum := sha256.New()
	for _, point := range p.points {
		s := p.setup(point)
		fmt.Fprintf(sum, "%v %s", point, p.hashes[s.key()])
		for _, name := range slices.Sorted(maps.Keys(s.params)) {
			fmt.Fprintf(sum, " %q=%q", name, s.params[name])
		}
		fmt.Fprintln(sum)
	}
	return fmt.Sprintf("bench %s, data %s, check %s, fidelity %s, configuration %s", p.Bench,
		cmp.Or(p.Data, "on"), cmp.Or(p.Check, "none"), cmp.Or(p.Fidelity, "train"), hex.EncodeToString(sum.Sum(nil)[:6]))
}
