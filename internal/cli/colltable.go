package cli

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/page"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
)

// collResult is a measurement and how it is printed: the head, each row when it is ready, and
// the foot.
type collResult struct {
	collperf.Options
	w      io.Writer
	format string
	ranks  int
	above  *collperf.Case // of the row that was printed last
	rows   []collperf.Row // when all have been measured
	sum    collperf.Summary
}

// ranksText describes simulated ranks.
func ranksText(o collperf.Options, ranks int) string {
	switch {
	case o.Partial:
		cubes := o.Topology.Spec().CubesPerSIP()
		return fmt.Sprintf("SIPs, with addends on the first PEs of %s each: %s", printable.Count(cubes, "cube"), printable.Count(ranks*cubes, "addend"))
	case o.RanksPer == collperf.PerSIP:
		return "SIPs, the first PE of each"
	}
	return "PEs"
}

// Columns of the text table.
const (
	collHeader = "#%11s %12s %6s %6s %6s %11s %12s %12s %7s %18s %7s %8s\n"
	collRow    = " %11d %12d %6s %6s %6d %11s %12s %12s %7s %18s %7s %8s%s\n"

	// Of the table of ranks.
	rankHeader = "#\n#%11s %6s %6s %6s %18s %6s %18s\n"
	rankRow    = " %11d %6s %6s %6d %18s %6d %18s\n"
)

// decimal returns a number that may be missing, with some places.
func decimal(x *float64, places int) string {
	if x == nil {
		return "-"
	}
	return strconv.FormatFloat(*x, 'f', places, 64)
}

// head prints what comes before the rows.
func (c *collResult) head() error {
	switch c.format {
	case "json":
		return nil
	case "csv":
		return c.writeCSV(nil, (*table.Table).WriteCSV)
	}
	fmt.Fprintf(c.w, "# kernbench %s %v\n", version.Version, c.Collective)
	if c.Real() {
		fmt.Fprintf(c.w, "# nranks: %s\n# buffer: %s\n# iters: %d, after %d to warm up\n", realText(c.Options), realBuffer(c.Options), c.Iters, c.Warmups)
	} else {
		fmt.Fprintf(c.w, "# topology: %v\n# ccl: %v\n# nranks: %d (%s)\n",
			topology.OriginOf(c.Topology.Spec()), topology.OriginOf(c.CCL), c.ranks, ranksText(c.Options, c.ranks))
	}
	if c.Buffer != "" {
		fmt.Fprintf(c.w, "# buffer: %s\n", c.Buffer)
	}
	_, err := fmt.Fprintf(c.w, "#\n"+collHeader, "size(B)", "count", "type", "redop", "root", "time(us)", "algbw(GB/s)", "busbw(GB/s)", "#wrong", "algorithm", "%bound", "bound")
	return err
}

// row prints a row.
func (c *collResult) row(r collperf.Row) error {
	switch c.format {
	case "json":
		return nil
	case "csv":
		return c.writeCSV([]collperf.Row{r}, (*table.Table).WriteCSVRows)
	}
	wrong, kind, end := "N/A", r.BoundKind, ""
	if c.Real() {
		kind = "-" // real ranks have none
	}
	if r.Wrong != nil {
		wrong = strconv.Itoa(*r.Wrong)
	}
	switch {
	case r.Error != nil:
		end, _, _ = strings.Cut("  "+*r.Error, "\n")
	case r.Best != nil && *r.Best:
		end = " *"
	}
	if c.Algorithm == collperf.AllAlgorithms && c.above != nil && *c.above != r.Case {
		fmt.Fprintln(c.w, "#")
	}
	c.above = &r.Case
	_, err := fmt.Fprintf(c.w, collRow, r.Size, r.Count, r.Type, r.RedOp, r.Root,
		decimal(r.TimeUS, 3), decimal(r.AlgBW, 3), decimal(r.BusBW, 3), wrong, r.Algorithm, decimal(r.BoundShare, 1), kind, end)
	return err
}

// foot prints what comes after the rows.
func (c *collResult) foot() (err error) {
	switch c.format {
	case "json":
		return c.writeJSON()
	case "csv":
		return nil
	}
	if c.PerRank {
		ranksTable(c.w, c.rows)
	}
	line := func(name, text string) { _, err = fmt.Fprintf(c.w, "# %-21s: %s\n", name, text) }
	switch {
	case c.sum.Wrong > 0:
		line("Out of bounds values", fmt.Sprintf("%d FAILED", c.sum.Wrong))
	case valuesCompared(c.rows):
		line("Out of bounds values", "0 OK")
	default:
		line("Out of bounds values", "not checked")
	}
	if c.Algorithm != collperf.AllAlgorithms {
		line("Avg bus bandwidth", fmt.Sprintf("%.2f", c.sum.AvgBusBW))
	}
	if wins := winsText(c.sum.Wins); wins != "" {
		line("Sizes won (*)", wins)
	}
	for _, b := range bounds(c.rows) {
		line("Bound by "+b.BoundKind, b.Bound)
	}
	for _, name := range []string{c.Trace, c.Experiment.File} {
		if name != "" {
			line("Written", name)
		}
	}
	return err
}

// valuesCompared reports whether the values of some row were compared.
func valuesCompared(rows []collperf.Row) bool {
	return slices.ContainsFunc(rows, func(r collperf.Row) bool { return r.Wrong != nil })
}

// ranksTable prints a row for each rank of each measurement.
func ranksTable(w io.Writer, rows []collperf.Row) {
	fmt.Fprintf(w, rankHeader, "size(B)", "type", "redop", "root", "algorithm", "rank", "pe_exec(ns)")
	for _, r := range rows {
		for rank, t := range r.PEExec {
			fmt.Fprintf(w, rankRow, r.Size, r.Type, r.RedOp, r.Root, r.Algorithm, rank, exactNS(t))
		}
	}
	fmt.Fprintln(w, "#")
}

// winsText returns at how many sizes each algorithm was best, without those that never were.
func winsText(wins []collperf.Win) string {
	var list []string
	for _, w := range wins {
		if w.Sizes > 0 {
			list = append(list, fmt.Sprintf("%s %d", w.Algorithm, w.Sizes))
		}
	}
	return strings.Join(list, ", ")
}

// bounds returns a row for each sentence about bounds.
func bounds(rows []collperf.Row) (list []collperf.Row) {
	for _, r := range rows {
		if r.BoundUS > 0 && !slices.ContainsFunc(list, func(seen collperf.Row) bool { return seen.Bound == r.Bound }) {
			list = append(list, r)
		}
	}
	return list
}

// writeCSV writes rows, or what comes before them.
func (c *collResult) writeCSV(rows []collperf.Row, write func(*table.Table, io.Writer) error) error {
	t, err := c.Table(rows)
	if err != nil {
		return err
	}
	return write(t, c.w)
}

// measured is the object that `kernbench coll --format json` prints.
type measured struct {
	Collective string         `json:"collective"`
	Ranks      int            `json:"ranks"`
	RanksPer   string         `json:"ranks_per,omitempty"` // pe or sip; not of real ranks
	Partial    bool           `json:"partial,omitempty"`   // tensors have an addend on each cube
	Rows       []collperf.Row `json:"rows"`
	AvgBusBW   *float64       `json:"avg_busbw,omitempty"` // GB/s; not of a comparison
	Wrong      *int           `json:"wrong"`               // null if values were not compared
	Wins       []collperf.Win `json:"wins,omitempty"`
	File       string         `json:"file,omitempty"` // that keeps the rows
	Config     collConfig     `json:"config"`
	Schema     table.Schema   `json:"schema"`
}

// collConfig is the configuration of a measurement in JSON.
type collConfig struct {
	Version  string          `json:"version"`            // of kernbench
	On       string          `json:"on,omitempty"`       // shm or inproc, of real ranks
	NRanks   int             `json:"nranks,omitempty"`   // of them
	Cores    int             `json:"cores,omitempty"`    // that they have
	Topology topology.Origin `json:"topology,omitzero"`  // of simulated ones
	CCL      topology.Origin `json:"ccl,omitzero"`       // of them
	Algo     string          `json:"algo,omitempty"`     // if it was chosen
	Buffer   string          `json:"buffer,omitempty"`   // of queue slots, if it was chosen; of real ranks
	Data     string          `json:"data,omitempty"`     // on or off, of simulated ranks
	Values   string          `json:"values"`             // integers or reals
	Iters    int             `json:"iters"`              // that were averaged
	Warmups  *int            `json:"warmups,omitempty"`  // before those, of real ranks
	Fidelity string          `json:"fidelity,omitempty"` // train or flit, of simulated ranks
}

// writeReport writes the page of --report.
func (c *collResult) writeReport(cmd *cobra.Command, name string) error {
	o := c.Options
	o.PerRank = false
	t, err := o.Table(c.rows)
	if err != nil {
		return err
	}
	p := page.Page{Title: fmt.Sprintf("%v over %d ranks", c.Collective, c.ranks)}
	if c.Real() {
		p.Facts = [][2]string{{"ranks", realText(c.Options)}, {"buffer", realBuffer(c.Options)}}
	} else {
		p.Facts = [][2]string{{"topology", topology.OriginOf(c.Topology.Spec()).String()}, {"ccl", topology.OriginOf(c.CCL).String()}, {"ranks", ranksText(c.Options, c.ranks)}}
		p.Config = []page.File{{Name: "topology.yaml", Text: string(c.Topology.Spec().YAML())}, {Name: "ccl.yaml", Text: string(c.CCL.YAML())}}
	}
	return writeReport(cmd, name, p, t)
}

func (c *collResult) writeJSON() error {
	m := measured{
		Collective: c.Collective.String(), Ranks: c.ranks, RanksPer: string(c.RanksPer), Partial: c.Partial, Rows: append([]collperf.Row{}, c.rows...),
		Wins: c.sum.Wins, File: c.Experiment.File, Schema: table.Schema{"rows": c.Columns()},
		Config: collConfig{Version: version.Version, Algo: c.Algorithm, Values: string(c.Values), Iters: c.Iters},
	}
	if k := &m.Config; c.Real() {
		k.On, k.NRanks, k.Cores, k.Buffer, k.Warmups = string(c.Backend), c.NRanks, runtime.NumCPU(), realBuffer(c.Options), &c.Warmups
	} else {
		k.Topology, k.CCL, k.Buffer = topology.OriginOf(c.Topology.Spec()), topology.OriginOf(c.CCL), string(c.Buffer)
		k.Data, k.Fidelity = map[bool]string{false: "on", true: "off"}[c.NoCheck], map[bool]string{false: "train", true: "flit"}[c.Flit]
	}
	if c.Algorithm != collperf.AllAlgorithms {
		m.AvgBusBW = &c.sum.AvgBusBW
	}
	if valuesCompared(c.rows) {
		m.Wrong = &c.sum.Wrong
	}
	return table.WriteJSON(c.w, m)
}
