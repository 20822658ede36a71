package compare

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/table"
)

const (
	tried = 1 << 20  // bytes at which all algorithms are tried
	large = 16 << 20 // bytes of a large message, for the best of them
)

// boundsRow has times in M/b.
type boundsRow struct {
	Topology   string      `json:"topology" table:",setting"`
	Nodes      json.Number `json:"nodes" table:",setting"`
	Optimum    json.Number `json:"optimum" table:"M/b,bound"`
	EqualShard json.Number `json:"equal_shard" table:"M/b,bound"`
	Bound      json.Number `json:"bound" table:"M/b,bound"`
	BoundRatio json.Number `json:"bound_ratio" table:",result"`
	Best       string      `json:"best" table:",result"`
	Takes      json.Number `json:"takes" table:"M/b,lower,time"`
	Ratio      json.Number `json:"ratio" table:",result"`
}

// runBounds measures our bound and the fastest algorithm on each fabric. All algorithms are
// tried at 1 MiB, and the fastest is measured at 16 MiB.
func runBounds(l *lab, r *Reference) (*table.Table, error) {
	var rows []boundsRow
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
		rows = append(rows, boundsRow{
			fabric, r.digits(i, "nodes"), r.digits(i, "optimum"), r.digits(i, "equal_shard"),
			fixed(row.BoundUS/unit, 3), ratio(row.BoundUS/unit, optimum),
			row.Algorithm, fixed(*row.TimeUS/unit, 3), ratio(*row.TimeUS/unit, optimum),
		})
	}
	return table.From(rows)
}

// fabricSets returns a fabric, "torus_2d 2x3", as changes of a preset.
func fabricSets(fabric, nodes string) []string {
	kind, grid, _ := strings.Cut(fabric, " ")
	sets := []string{"system.sips.topology=" + kind, "system.sips.count=" + nodes}
	if w, h, ok := strings.Cut(grid, "x"); ok {
		sets = append(sets, "system.sips.w="+w, "system.sips.h="+h)
	}
	return sets
}
