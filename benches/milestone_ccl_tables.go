package benches

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/torch"
)

// writeTables writes the CSV files.
func (m *cclMilestone) writeTables(ctx *torch.Context) error {
	return errors.Join(writeTable(ctx, milestoneCCL.tables[0], m.summary()), writeTable(ctx, milestoneCCL.tables[1], m.bufferKinds()))
}

// measuredColumns are the last columns of both tables.
var measuredColumns = []table.Column{
	{Name: "latency_ns", Unit: "ns", Role: table.Lower}, {Name: "bound_ns", Unit: "ns", Role: table.Bound}, {Name: "wrong", Role: table.Check},
}

// summary is the points of the latency sweep.
func (m *cclMilestone) summary() *table.Table {
	t := &table.Table{Columns: append([]table.Column{
		{Name: "algorithm", Role: table.Setting}, {Name: "sip_topology", Role: table.Setting}, {Name: "n_sips", Role: table.Setting}, {Name: "n_elem", Role: table.Setting},
		{Name: "bytes_per_pe", Unit: "B", Role: table.Setting}, {Name: "bytes_per_sip", Unit: "B", Role: table.Setting},
	}, measuredColumns...)}
	for _, p := range m.points {
		if r := p.row; p.sweep == latencySweep {
			t.Rows = append(t.Rows, record(r.Algorithm, p.at.shape, r.SIPs, p.elems, r.BytesPerPE, r.BytesPerSIP, r.Latency, r.Bound, r.wrong()))
		}
	}
	return t
}

// bufferKinds is the points of the sweep of memories.
func (m *cclMilestone) bufferKinds() *table.Table {
	t := &table.Table{Columns: append([]table.Column{
		{Name: "buffer_kind", Role: table.Setting}, {Name: "n_elem", Role: table.Setting}, {Name: "bytes_per_pe", Unit: "B", Role: table.Setting},
	}, measuredColumns...)}
	for _, p := range m.points {
		if r := p.row; p.sweep == bufferSweep {
			t.Rows = append(t.Rows, record(p.kind, p.elems, r.BytesPerPE, r.Latency, r.Bound, r.wrong()))
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

// record is cells of a table.
func record(values ...any) (row []any) {
	for _, text := range cells(values...) {
		row = append(row, text)
	}
	return row
}
