package reference

import (
	"strconv"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/results"
	"github.com/kernbench/kernbench/topology"
)

// runFSIM puts the all-reduce of milestone-1h-ccl beside the figure, for want of anything
// that is known to be alike.
func runFSIM(l *lab, r *Reference) (*results.Table, error) {
	t := &results.Table{Columns: []string{"system", "n_elem", "bytes_per_pe", "theirs_us", "ours_us", "ratio"}}
	for _, preset := range []string{"ring6", "torus2x3", "mesh2x3"} {
		g, err := l.system(preset)
		if err != nil {
			return nil, err
		}
		for _, elems := range []int{128, 32768} {
			const f16 = 2 // bytes
			row, err := l.one(collperf.Options{
				Topology: g, Collective: ccl.AllReduce, Algorithm: ccl.CenterRoot.Name, Partial: true,
			}, topology.Bytes(elems*f16))
			if err != nil {
				return nil, err
			}
			t.Rows = append(t.Rows, []string{
				preset, strconv.Itoa(elems), strconv.Itoa(elems * f16), r.Text(0, "latency_us"), fixed(*row.TimeUS, 3),
				ratio(*row.TimeUS, r.Number(0, "latency_us")),
			})
		}
	}
	return t, nil
}
