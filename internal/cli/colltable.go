package cli

import (
	"encoding/csv"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/internal/version"
)

// collPrinter prints a measurement: what comes before the rows, each row when it is
// done, and what comes after them.
type collPrinter struct {
	head func()
	row  func(collperf.Row) error
	foot func([]collperf.Row, collperf.Summary) error
}

// collPrinters is those of each --format.
var collPrinters = map[string]func(w io.Writer, o collperf.Options, ranks int) collPrinter{
	"text": collText, "json": collJSON, "csv": collCSV,
}

// ranksText is what ranks are.
func ranksText(o collperf.Options, ranks int) string {
	switch {
	case o.Partial:
		cubes := o.Topology.Spec().CubesPerSIP()
		return fmt.Sprintf("SIPs, with addends on the first PEs of %s each: %s", counted(cubes, "cube"), counted(ranks*cubes, "addend"))
	case o.RanksPer == collperf.PerSIP:
		return "SIPs, the first PE of each"
	}
	return "PEs"
}

// counted is a number of things: "1 cube", "2 cubes".
func counted(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "s"):
		return fmt.Sprintf("%d %ses", n, thing)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Columns of the text table.
const (
	collHeader = "#%11s %12s %6s %6s %6s %11s %12s %12s %7s %18s %7s %8s\n"
	collRow    = " %11d %12d %6s %6s %6d %11.3f %12.3f %12.3f %7s %18s %7s %8s%s\n"
	collFooter = "# %-21s: %s\n"

	// Of the table of ranks.
	rankHeader = "#\n#%11s %6s %6s %6s %18s %6s %18s\n"
	rankRow    = " %11d %6s %6s %6d %18s %6d %18s\n"
)

func collText(w io.Writer, o collperf.Options, ranks int) collPrinter {
	var above *collperf.Row
	return collPrinter{
		head: func() {
			fmt.Fprintf(w, "# kernbench %s %v\n", version.Version, o.Collective)
			if o.Real() {
				fmt.Fprintf(w, "# nranks: %s\n# buffer: %s\n# iters: %d, after %d to warm up\n", realText(o), realBuffer(o), o.Iters, o.Warmups)
			} else {
				fmt.Fprintf(w, "%s\n%s\n# nranks: %d (%s)\n",
					config.UsedBy(o.Topology.Spec()).Line("topology"), config.UsedBy(o.CCL).Line("ccl"), ranks, ranksText(o, ranks))
			}
			if o.Buffer != "" {
				fmt.Fprintf(w, "# buffer: %s\n", o.Buffer)
			}
			fmt.Fprintln(w, "#")
			fmt.Fprintf(w, collHeader, "size(B)", "count", "type", "redop", "root", "time(us)", "algbw(GB/s)", "busbw(GB/s)", "#wrong", "algorithm", "%bound", "bound")
		},
		row: func(r collperf.Row) error {
			wrong, share, kind, best := "N/A", "-", r.BoundKind, ""
			if o.Real() {
				kind = "-" // nobody knows it
			}
			if r.Wrong != nil {
				wrong = strconv.Itoa(*r.Wrong)
			}
			if r.BoundShare != nil {
				share = fmt.Sprintf("%.1f", *r.BoundShare)
			}
			if r.Best {
				best = " *"
			}
			if o.Algorithm == collperf.AllAlgorithms && above != nil && !above.SameCase(r) {
				fmt.Fprintln(w, "#")
			}
			above = &r
			_, err := fmt.Fprintf(w, collRow, r.Size, r.Count, r.Type, r.RedOp, r.Root, r.TimeUS, r.AlgBW, r.BusBW, wrong, r.Algorithm, share, kind, best)
			return err
		},
		foot: func(rows []collperf.Row, sum collperf.Summary) error {
			if o.PerRank {
				ranksTable(w, rows)
			}
			wrong := fmt.Sprintf("%d OK", sum.Wrong)
			switch {
			case sum.Wrong > 0:
				wrong = fmt.Sprintf("%d FAILED", sum.Wrong)
			case rows[0].Wrong == nil:
				wrong = "not checked"
			}
			_, err := fmt.Fprintf(w, collFooter, "Out of bounds values", wrong)
			if o.Algorithm != collperf.AllAlgorithms {
				_, err = fmt.Fprintf(w, collFooter, "Avg bus bandwidth", fmt.Sprintf("%.2f", sum.AvgBusBW))
			}
			if wins := winsText(sum.Wins); wins != "" {
				_, err = fmt.Fprintf(w, collFooter, "Sizes won (*)", wins)
			}
			for _, l := range sum.LeftOut {
				_, err = fmt.Fprintf(w, collFooter, "Left out", fmt.Sprintf("%s at %s (%s)", l.Algorithm, counted(l.Sizes, "size"), l.Reason))
			}
			for _, b := range bounds(rows) {
				_, err = fmt.Fprintf(w, collFooter, "Bound by "+b.BoundKind, b.Bound)
			}
			if o.Trace != "" {
				_, err = fmt.Fprintf(w, collFooter, "Written", o.Trace)
			}
			return err
		},
	}
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

// winsText is at how many sizes each algorithm was best, without those that never were.
func winsText(wins []collperf.Win) string {
	var list []string
	for _, w := range wins {
		if w.Sizes > 0 {
			list = append(list, fmt.Sprintf("%s %d", w.Algorithm, w.Sizes))
		}
	}
	return strings.Join(list, ", ")
}

// bounds is a row for each sentence about bounds.
func bounds(rows []collperf.Row) (list []collperf.Row) {
	for _, r := range rows {
		if r.BoundUS > 0 && !slices.ContainsFunc(list, func(seen collperf.Row) bool { return seen.Bound == r.Bound }) {
			list = append(list, r)
		}
	}
	return list
}

func collCSV(w io.Writer, o collperf.Options, _ int) collPrinter {
	out := csv.NewWriter(w)
	write := func(cells ...string) error {
		out.Write(cells) // an error stays
		out.Flush()
		return out.Error()
	}
	float := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return collPrinter{
		head: func() {
			columns := []string{"size", "count", "type", "redop", "root", "time_us", "algbw", "busbw", "wrong", "algorithm", "bound_share", "bound_kind", "best"}
			if o.PerRank {
				columns = append(columns, "rank", "pe_exec_ns")
			}
			write(columns...)
		},
		row: func(r collperf.Row) error {
			wrong, share, best := "", "", ""
			if r.Wrong != nil {
				wrong = strconv.Itoa(*r.Wrong)
			}
			if r.BoundShare != nil {
				share = float(*r.BoundShare)
			}
			if o.Algorithm == collperf.AllAlgorithms {
				best = strconv.FormatBool(r.Best)
			}
			cells := []string{strconv.FormatInt(r.Size, 10), strconv.Itoa(r.Count), r.Type, r.RedOp, strconv.Itoa(r.Root),
				float(r.TimeUS), float(r.AlgBW), float(r.BusBW), wrong, r.Algorithm, share, r.BoundKind, best}
			if !o.PerRank {
				return write(cells...)
			}
			for rank, t := range r.PEExec {
				if err := write(append(cells[:len(cells):len(cells)], strconv.Itoa(rank), exactNS(t))...); err != nil {
					return err
				}
			}
			return nil
		},
		foot: func([]collperf.Row, collperf.Summary) error { return out.Error() },
	}
}

// measured is what `kernbench coll --format json` prints.
type measured struct {
	Collective string             `json:"collective"`
	Ranks      int                `json:"ranks"`
	RanksPer   string             `json:"ranks_per,omitempty"` // pe or sip; not of real ranks
	Partial    bool               `json:"partial,omitempty"`   // tensors have an addend on each cube
	Rows       []collperf.Row     `json:"rows"`
	AvgBusBW   *float64           `json:"avg_busbw,omitempty"` // GB/s; not of a comparison
	Wrong      *int               `json:"wrong"`               // null if nobody looked
	Wins       []collperf.Win     `json:"wins,omitempty"`
	LeftOut    []collperf.LeftOut `json:"left_out,omitempty"`
	Config     collConfig         `json:"config"`
}

// collConfig is what a measurement was made with.
type collConfig struct {
	Version  string      `json:"version"`            // of kernbench
	On       string      `json:"on,omitempty"`       // shm or inproc, of real ranks
	NRanks   int         `json:"nranks,omitempty"`   // of them
	Cores    int         `json:"cores,omitempty"`    // that they have
	Topology config.Used `json:"topology,omitzero"`  // of simulated ones
	CCL      config.Used `json:"ccl,omitzero"`       // of them
	Algo     string      `json:"algo,omitempty"`     // if it was chosen
	Buffer   string      `json:"buffer,omitempty"`   // of queue slots, if it was chosen; of real ranks
	Data     string      `json:"data,omitempty"`     // on or off, of simulated ranks
	Values   string      `json:"values"`             // integers or reals
	Iters    int         `json:"iters"`              // that were averaged
	Warmups  *int        `json:"warmups,omitempty"`  // before those, of real ranks
	Fidelity string      `json:"fidelity,omitempty"` // train or flit, of simulated ranks
}

func collJSON(w io.Writer, o collperf.Options, ranks int) collPrinter {
	return collPrinter{
		head: func() {},
		row:  func(collperf.Row) error { return nil },
		foot: func(rows []collperf.Row, sum collperf.Summary) error {
			m := measured{
				Collective: o.Collective.String(), Ranks: ranks, RanksPer: string(o.RanksPer), Partial: o.Partial, Rows: rows,
				Wins: sum.Wins, LeftOut: sum.LeftOut,
				Config: collConfig{Version: version.Version, Algo: o.Algorithm, Values: string(o.Values), Iters: o.Iters},
			}
			if o.Real() {
				m.Config.real(o)
			} else {
				m.Config.simulated(o)
			}
			if o.Algorithm != collperf.AllAlgorithms {
				m.AvgBusBW = &sum.AvgBusBW
			}
			if rows[0].Wrong != nil {
				m.Wrong = &sum.Wrong
			}
			return table.WriteJSON(w, m)
		},
	}
}

func (c *collConfig) simulated(o collperf.Options) {
	c.Topology, c.CCL, c.Buffer, c.Data, c.Fidelity = config.UsedBy(o.Topology.Spec()), config.UsedBy(o.CCL), string(o.Buffer), "on", "train"
	if o.NoCheck {
		c.Data = "off"
	}
	if o.Flit {
		c.Fidelity = "flit"
	}
}

func (c *collConfig) real(o collperf.Options) {
	c.On, c.NRanks, c.Cores, c.Buffer, c.Warmups = string(o.Backend), o.NRanks, runtime.NumCPU(), realBuffer(o), &o.Warmups
}
