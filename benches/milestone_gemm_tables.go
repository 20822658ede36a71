package benches

import (
	"fmt"
	"math"

	"github.com/kernbench/kernbench/internal/page"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/torch"
)

// gemmSummary is a line about all products of a variant.
type gemmSummary struct {
	Operands    string  `json:"operands" table:",setting"`
	Products    int     `json:"products" table:",result"`
	TooLarge    int     `json:"too_large" table:",result,too large for TCM"`
	Best        float64 `json:"best" table:"GFLOP/s,higher,best performance"`
	At          string  `json:"at" table:",result,at M×K×N"`
	BestShare   float64 `json:"best_share" table:"%,higher,its share of the roofline"`
	Share       float64 `json:"share" table:"%,higher,share of the roofline"`
	Utilization float64 `json:"utilization" table:"%,higher,GEMM utilization"`
}

// summary returns a line for each variant of a sweep that has products.
func (s *gemmSweep) summary() page.Table {
	var lines []gemmSummary
	for _, o := range operandVariants {
		best, n, logs, busy := &gemmFound{}, 0, 0.0, 0.0
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
		if n > 0 {
			lines = append(lines, gemmSummary{
				o.name, n, s.tooLarge[o.name], math.Round(best.GFlops), best.shape().String(),
				percent(best.Share), percent(math.Exp(logs / float64(n))), percent(busy / float64(n)),
			})
		}
	}
	return page.Table{
		Caption: fmt.Sprintf("The variants on %s; shares of the roofline are geometric means over all products.", s.title),
		Table:   torch.Must(table.From(lines)),
	}
}

// shown returns the rows that the curve of times shows.
func (s *gemmSweep) shown() page.Table {
	var rows []gemmFound
	for _, o := range operandVariants {
		for _, m := range s.m {
			if r := s.row(o, s.curve(m)); r != nil {
				rows = append(rows, *r)
			}
		}
	}
	return page.Table{
		Caption: fmt.Sprintf("Times on %s, %s.", s.title, s.along),
		Table: torch.Must(table.From(rows)).Select("operands", "m", "k", "n", "crit_ns", "roofline_ns", "roofline_share", "composite_window_ns", "gemm_count",
			"dma_read_ns", "fetch_ns", "gemm_ns", "store_ns", "dma_write_ns"),
	}
}

// percent returns a share in percent, to a tenth.
func percent(share float64) float64 { return rounded(100*share, 1) }
