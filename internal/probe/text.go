package probe

import (
	"fmt"
	"io"
	"strings"

	"github.com/kernbench/kernbench/internal/report"
	"github.com/kernbench/kernbench/internal/sim"
)

// WriteText writes the report for people: the table of transfers, then when the
// smallest of each case passed each link.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintln(w, r.Topology)
	fmt.Fprintf(w, "# fidelity: %s\n", r.Fidelity)
	fmt.Fprintf(w, "# launch: %d PEs start together at %v; they were ready within %v\n\n", r.Launch.PEs, r.Launch.StartNS, r.Launch.Spread)
	var rows [][]string
	for _, row := range r.Rows {
		rows = append(rows, []string{
			row.Case, row.Bytes.String(), formula(row.FormulaNS), decimal(row.SimulatedNS), verdict(row.Match),
			number(row.Bottleneck, 1), number(row.Bandwidth, 2), percent(row.Utilization),
		})
	}
	header := []string{"case", "size", "formula ns", "simulated ns", "equal", "bottleneck GB/s", "GB/s", "used"}
	if err := report.WriteTable(w, header, rows); err != nil {
		return err
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(w, "%s skipped: %s\n", s.Case, s.Why)
	}
	for i, row := range r.Rows {
		if i > 0 && r.Rows[i-1].Case == row.Case {
			continue
		}
		if err := row.writeHops(w); err != nil {
			return err
		}
	}
	return nil
}

func (r *Row) writeHops(w io.Writer) error {
	fmt.Fprintf(w, "\n%s, %v: %s to %s, %d hops\n", r.Case, r.Bytes, r.From, r.To, len(r.Hops))
	var rows [][]string
	for _, h := range r.Hops {
		rows = append(rows, []string{
			decimal(h.HeadNS), decimal(h.TailNS), decimal(h.BusyNS), decimal(h.QueuedNS), number(h.Bandwidth, 1), decimal(h.FlitNS), decimal(h.LatencyNS), h.Link,
		})
	}
	return report.WriteTable(w, []string{"head ns", "tail ns", "busy ns", "queued ns", "GB/s", "flit ns", "latency ns", "link"}, rows)
}

// decimal is a time in ns, to the last digit.
func decimal(t sim.Time) string { return strings.TrimSuffix(t.String(), "ns") }

func formula(t *sim.Time) string {
	if t == nil {
		return "-"
	}
	return decimal(*t)
}

func verdict(match *bool) string {
	switch {
	case match == nil:
		return "-"
	case *match:
		return "yes"
	}
	return "NO"
}

func number(v *float64, digits int) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, *v)
}

func percent(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", *v*100)
}
