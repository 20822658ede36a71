package builtin

import (
	"fmt"
	"math"
	"strings"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// writePage writes the figures as files, and the page report.html that shows all figures.
func (m *gemmMilestone) writePage(e *bench.E) error {
	p := e.Page("Matrix products and the roofline",
		"Products of f16, M × K by K × N, as composite commands on one PE and on a device. "+
			"ref_ref streams both operands from HBM tile by tile, load_ref has the first in TCM beforehand, load_load both. "+
			"Every point is a simulation of its own, whose result is compared bit for bit with a computation in plain Go.")
	for i := range m.sweeps {
		s := &m.sweeps[i]
		p.Fact("at best, "+s.title, s.roofline.String())
		p.Section("On "+s.title, s.text(m.system))
		p.Table(fmt.Sprintf("The variants on %s; shares of the roofline are geometric means over all products.", s.title), s.summary())
		p.Table(fmt.Sprintf("Times on %s, %s.", s.title, s.curveLabel), s.curveTable())
		for _, f := range s.figures() {
			torch.OK(p.Figure(f.name+"_"+s.name, f.caption, pageFigure{f.Figure}))
		}
	}
	return p.Write()
}

// noRoofline is the text that replaces the figures of a system without a roofline.
const noRoofline = "The arithmetic or the memory of this system takes no time: there is no roofline, and no figure of it."

// text returns a description of what the figures of a sweep show.
func (s *gemmSweep) text(spec *topology.Spec) string {
	if !s.roofline.finite() {
		return noRoofline
	}
	if s.name == "device" {
		return s.roofline.formula() + fmt.Sprintf(".\n\nA device has %d PEs. Cubes divide the rows of the result and PEs of a cube its columns, each with copies of what it needs in its own HBM: nothing passes between PEs, so that a device is as fast as one PE with its part. The copies from the host come before and are not counted.", s.roofline.pes)
	}
	g, elem := spec.PE.GEMM, torch.F16.Size()
	cycles, burst := tileCycles(g), int(spec.Cube.HBM.Burst)
	return strings.Join([]string{
		s.roofline.formula() + ".",
		fmt.Sprintf("A tile of %v is %d cycles of the MAC array and %d to fill it: at most %g %% of the peak, the second dashed line of the roofline.",
			g.Tile, cycles, g.FillCycles, percent(float64(cycles)/float64(cycles+g.FillCycles))),
		fmt.Sprintf("What is streamed comes again for every tile of the result. With both operands streamed that is %d operations for each byte at most, with the second %d, and from %.3g on arithmetic is the limit instead of memory.",
			g.Tile.M*g.Tile.N*2/((g.Tile.M+g.Tile.N)*elem), g.Tile.M*2/elem, s.roofline.ridge()),
		fmt.Sprintf("A row of such a tile is %d B of the first operand and %d B of the second, and HBM reads whole bursts of %d B: of matrices that are wider than a tile the first takes %.3g times as long as its bytes, the second %.3g times. That, and not the roofline, is what streamed operands wait for.",
			g.Tile.K*elem, g.Tile.N*elem, burst, max(1, float64(burst)/float64(g.Tile.K*elem)), max(1, float64(burst)/float64(g.Tile.N*elem))),
		"Loading both operands first reads each once, in whole bursts, and then computes at the rate of filled tiles; but nothing is computed meanwhile, which is what small products and those with a small M or N pay.",
	}, "\n\n")
}

// tileCycles returns the number of cycles that the MAC array takes for a tile, without the
// cycles to fill the array.
func tileCycles(g topology.GEMM) int {
	return tl.CDiv(g.Tile.M, g.Array.M) * tl.CDiv(g.Tile.K, g.Array.K) * tl.CDiv(g.Tile.N, g.Array.N)
}

// gemmSummary is a line of the table with a summary of each variant.
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

// summary returns a table with a row for each variant that has results. The row has the
// number of results, the best result and the averages.
func (s *gemmSweep) summary() *table.Table {
	var lines []gemmSummary
	for _, o := range operandVariants {
		best, n, logs, busy := &gemmResult{}, 0, 0.0, 0.0
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
	return torch.Must(table.From(lines))
}

// curveTable returns a table of the products that drawTimes draws.
func (s *gemmSweep) curveTable() *table.Table {
	var rows []gemmResult
	for _, o := range operandVariants {
		for _, m := range s.m {
			if r := s.row(o, s.curve(m)); r != nil {
				rows = append(rows, *r)
			}
		}
	}
	return torch.Must(table.From(rows)).Select("operands", "m", "k", "n", "crit_ns", "roofline_ns", "roofline_share", "composite_window_ns", "gemm_count",
		"dma_read_ns", "fetch_ns", "gemm_ns", "store_ns", "dma_write_ns")
}

// percent returns a share in percent, rounded to a tenth.
func percent(share float64) float64 { return roundTo(100*share, 1) }
