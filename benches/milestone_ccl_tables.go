package benches

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/results"
	"github.com/kernbench/kernbench/torch"
)

// writeTables writes the CSV files.
func (m *cclMilestone) writeTables(ctx *bench.B) error {
	return errors.Join(writeTable(ctx, milestoneCCL.tables[0], m.summary()), writeTable(ctx, milestoneCCL.tables[1], m.bufferKinds()))
}

// summary is the points of the latency sweep.
func (m *cclMilestone) summary() *results.Table {
	t := &results.Table{Columns: []string{"algorithm", "sip_topology", "n_sips", "n_elem", "bytes_per_pe", "bytes_per_sip", "latency_ns", "bound_ns", "wrong"}}
	for _, p := range m.points {
		if r := p.row; p.sweep == latencySweep {
			t.Rows = append(t.Rows, cells(r.Algorithm, p.at.shape, r.SIPs, p.elems, r.BytesPerPE, r.BytesPerSIP, r.Latency, r.Bound, r.wrong()))
		}
	}
	return t
}

// bufferKinds is the points of the sweep of memories.
func (m *cclMilestone) bufferKinds() *results.Table {
	t := &results.Table{Columns: []string{"buffer_kind", "n_elem", "bytes_per_pe", "latency_ns", "bound_ns", "wrong"}}
	for _, p := range m.points {
		if r := p.row; p.sweep == bufferSweep {
			t.Rows = append(t.Rows, cells(p.kind, p.elems, r.BytesPerPE, r.Latency, r.Bound, r.wrong()))
		}
	}
	return t
}

// cells is values as text; what is not known is empty.
func cells(values ...any) (row []string) {
	for _, v := range values {
		switch t := v.(type) {
		case nil:
			v = ""
		case torch.Time:
			v = nanoseconds(t)
		}
		row = append(row, fmt.Sprint(v))
	}
	return row
}
