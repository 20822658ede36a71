package compare

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/topology"
)

type torus6Row struct {
	Kind   string      `json:"buffer_kind" table:",setting"`
	Elems  json.Number `json:"n_elem" table:",setting,elements"`
	Bytes  json.Number `json:"bytes_per_pe" table:"B,setting"`
	Theirs json.Number `json:"theirs_ns" table:"ns,result"`
	Ours   sim.Time    `json:"ours_ns" table:"ns,lower"`
	Ratio  json.Number `json:"ratio" table:",result"`
}

// runTorus6 does what the bench center_root_buffers does.
func runTorus6(l *lab, r *Reference) (*table.Table, error) {
	g, err := l.system("torus2x3", "system.sips.w=3", "system.sips.h=2")
	if err != nil {
		return nil, err
	}
	var rows []torus6Row
	for i := range r.Table.Rows {
		kind, size := r.Text(i, "buffer_kind"), r.Number(i, "bytes_per_pe")
		row, err := l.one(collperf.Options{
			Topology: g, Collective: ccl.AllReduce, Algorithm: ccl.CenterRoot.Name, Partial: true, Buffer: topology.BufferKind(kind),
		}, topology.Bytes(size))
		if err != nil {
			return nil, fmt.Errorf("slots in %s, %v bytes: %w", kind, size, err)
		}
		rows = append(rows, torus6Row{
			kind, r.digits(i, "n_elem"), r.digits(i, "bytes_per_pe"), r.digits(i, "latency_ns"),
			sim.Time(math.Round(*row.TimeUS * 1e9)), ratio(*row.TimeUS*1000, r.Number(i, "latency_ns")),
		})
	}
	return table.From(rows)
}
