package benches

import (
	"fmt"
	"math"
	"strconv"

	"github.com/kernbench/kernbench/internal/report"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/torch"
)

// writeTables writes the CSV files.
func (m *gemmMilestone) writeTables(ctx *torch.Context) error {
	for i, name := range milestoneGEMM.tables {
		if err := writeTable(ctx, name, m.sweeps[i].table()); err != nil {
			return err
		}
	}
	return nil
}

// table is all rows of a sweep.
func (s *gemmSweep) table() *table.Table {
	t := &table.Table{}
	for _, c := range (&gemmRow{}).columns() {
		t.Columns = append(t.Columns, table.Column{Name: c.Name})
	}
	for _, r := range s.rows {
		var row []any
		for _, c := range r.columns() {
			row = append(row, exactly(c.Value))
		}
		t.Rows = append(t.Rows, record(row...))
	}
	return t
}

// exactly is a value as CSV has it: times without a unit, numbers without an exponent.
func exactly(value any) any {
	switch v := value.(type) {
	case torch.Time:
		return torch.Time(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return value
}

// summary is a line for each variant of a sweep that has products.
func (s *gemmSweep) summary() report.PageTable {
	t := report.PageTable{
		Caption: fmt.Sprintf("The variants on %s; shares of the roofline are geometric means over all products.", s.title),
		Columns: []string{"operands", "products", "too large for TCM", "best GFLOP/s", "at M×K×N", "its share of the roofline, %", "share of the roofline, %", "GEMM utilization, %"},
	}
	for _, o := range operandVariants {
		best, n, logs, busy := &gemmRow{}, 0, 0.0, 0.0
		for i := range s.rows {
			r := &s.rows[i]
			if r.operands != o {
				continue
			}
			n++
			logs += math.Log(r.Share)
			busy += r.Utilization
			if r.GFlops > best.GFlops {
				best = r
			}
		}
		if n == 0 {
			continue
		}
		t.Rows = append(t.Rows, []string{
			o.name, strconv.Itoa(n), strconv.Itoa(s.tooLarge[o.name]), fmt.Sprintf("%.0f", best.GFlops), best.shape().String(),
			percent(best.Share), percent(math.Exp(logs / float64(n))), percent(busy / float64(n)),
		})
	}
	return t
}

// shown is the rows that the curve of times shows.
func (s *gemmSweep) shown() report.PageTable {
	t := report.PageTable{
		Caption: fmt.Sprintf("Times on %s, %s, in ns.", s.title, s.along),
		Columns: []string{"operands", "M×K×N", "simulated", "theory", "share of the roofline, %", "composite window", "tile products", "DMA read", "fetch", "GEMM", "store", "DMA write"},
	}
	for _, o := range operandVariants {
		for _, m := range s.m {
			r := s.row(o, s.curve(m))
			if r == nil {
				continue
			}
			window, count := "", ""
			if r.Window != nil {
				window, count = nanoseconds(*r.Window), strconv.Itoa(*r.Count)
			}
			t.Rows = append(t.Rows, cells(o.name, r.shape(), r.Crit, r.Roofline, percent(r.Share), window, count, r.DMARead, r.Fetch, r.GEMM, r.Store, r.DMAWrite))
		}
	}
	return t
}

// percent is a share to a tenth of a percent.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) }
