package reference

import (
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/results"
)

const (
	tried = 1 << 20  // bytes at which all algorithms are tried
	large = 16 << 20 // bytes of a large message, for the best of them
)

// runBounds has our bound and the fastest algorithm beside the optimum of each fabric. All
// algorithms are tried at 1 MiB, and the fastest is measured at 16 MiB.
func runBounds(l *lab, r *Reference) (*results.Table, error) {
	t := &results.Table{Columns: []string{"topology", "nodes", "optimum", "equal_shard", "bound", "bound_ratio", "best", "takes", "ratio"}}
	for i := range r.Table.Rows {
		fabric, optimum := r.Text(i, "topology"), r.Number(i, "optimum")
		g, err := l.system("alpha_beta", fabricSets(fabric, r.Text(i, "nodes"))...)
		if err != nil {
			return nil, err
		}
		o := collperf.Options{Topology: g, Collective: ccl.AllReduce}
		best, err := l.best(o, tried)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fabric, err)
		}
		o.Algorithm = best.Algorithm
		row, err := l.one(o, large)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fabric, err)
		}
		unit := large / float64(g.Spec().System.SIPs.Link.Bandwidth) * 1e6 // M/b in µs
		t.Rows = append(t.Rows, []string{
			fabric, r.Text(i, "nodes"), r.Text(i, "optimum"), r.Text(i, "equal_shard"),
			fixed(row.BoundUS/unit, 3), ratio(row.BoundUS/unit, optimum),
			row.Algorithm, fixed(*row.TimeUS/unit, 3), ratio(*row.TimeUS/unit, optimum),
		})
	}
	return t, nil
}

// fabricSets is a fabric as changes of a preset: "torus_2d 2x3".
func fabricSets(fabric, nodes string) []string {
	kind, grid, _ := strings.Cut(fabric, " ")
	sets := []string{"system.sips.topology=" + kind, "system.sips.count=" + nodes}
	if w, h, ok := strings.Cut(grid, "x"); ok {
		sets = append(sets, "system.sips.w="+w, "system.sips.h="+h)
	}
	return sets
}
