package compare

import (
	"encoding/json"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/topology"
)

type fsimRow struct {
	System string      `json:"system" table:",setting"`
	Elems  int         `json:"n_elem" table:",setting,elements"`
	Bytes  int         `json:"bytes_per_pe" table:"B,setting"`
	Theirs json.Number `json:"theirs_us" table:"µs,result"`
	Ours   json.Number `json:"ours_us" table:"µs,lower"`
	Ratio  json.Number `json:"ratio" table:",result"`
}

// runFSIM measures the all-reduce of milestone-1h-ccl, since nothing is known to be alike.
func runFSIM(l *lab, r *Reference) (*table.Table, error) {
	var rows []fsimRow
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
			theirs := r.Number(0, "latency_us")
			rows = append(rows, fsimRow{preset, elems, elems * f16, r.digits(0, "latency_us"), fixed(*row.TimeUS, 3), ratio(*row.TimeUS, theirs)})
		}
	}
	return table.From(rows)
}
