package reference

import (
	"fmt"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/results"
	"github.com/kernbench/kernbench/topology"
)

// runTorus6 does what the bench center_root_buffers does.
func runTorus6(l *lab, r *Reference) (*results.Table, error) {
	g, err := l.system("torus2x3", "system.sips.w=3", "system.sips.h=2")
	if err != nil {
		return nil, err
	}
	t := &results.Table{Columns: []string{"buffer_kind", "n_elem", "bytes_per_pe", "theirs_ns", "ours_ns", "ratio"}}
	for i := range r.Table.Rows {
		kind, size := r.Text(i, "buffer_kind"), r.Number(i, "bytes_per_pe")
		row, err := l.one(collperf.Options{
			Topology: g, Collective: ccl.AllReduce, Algorithm: ccl.CenterRoot.Name, Partial: true, Buffer: topology.BufferKind(kind),
		}, topology.Bytes(size))
		if err != nil {
			return nil, fmt.Errorf("slots in %s, %v bytes: %w", kind, size, err)
		}
		t.Rows = append(t.Rows, []string{
			kind, r.Text(i, "n_elem"), r.Text(i, "bytes_per_pe"), r.Text(i, "latency_ns"), ns(*row.TimeUS),
			ratio(*row.TimeUS*1000, r.Number(i, "latency_ns")),
		})
	}
	return t, nil
}
