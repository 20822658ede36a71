package benches

import (
	"fmt"
	"math"
	"strconv"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/report"
	"github.com/kernbench/kernbench/internal/results"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/torch"
)

// writeTables writes the CSV files.
func (m *gemmMilestone) writeTables(ctx *bench.B) error {
	for i, name := range milestoneGEMM.tables {
		if err := writeTable(ctx, name, m.sweeps[i].table()); err != nil {
			return err
		}
	}
	return nil
}

// table is all rows of a sweep.
func (s *gemmSweep) table() *results.Table {
	var rows []gemmColumns
	for _, r := range s.rows {
		rows = append(rows, r.columns())
	}
	all := torch.Must(table.From(rows))
	t := &results.Table{Columns: all.Names()}
	for i := range all.Rows {
		var row []string
		for c := range all.Columns {
			row = append(row, all.Text(i, c))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
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
