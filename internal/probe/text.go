package probe

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/table"
)

// WriteText writes the report as text: a table of the transfers, and for the smallest
// transfer of each case a table of its hops.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "# topology: %v\n", r.Topology)
	fmt.Fprintf(w, "# fidelity: %s\n", r.Fidelity)
	fmt.Fprintf(w, "# launch: %d PEs start together at %v; they were ready within %v\n\n", r.Launch.PEs, r.Launch.StartNS, r.Launch.Spread)
	header := []string{"case", "size", "formula ns", "simulated ns", "equal", "bottleneck GB/s", "GB/s", "used"}
	if err := table.WriteList(w, header, r.Rows, func(row Row) []string {
		return []string{
			row.Case, row.Bytes.String(), optional(row.FormulaNS, decimal), decimal(row.SimulatedNS), optional(row.Match, verdict),
			optional(row.Bottleneck, fixed(1)), optional(row.Bandwidth, fixed(2)), optional(row.Utilization, percent),
		}
	}); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d of %d transfers have a formula", r.Compared, len(r.Rows))
	switch {
	case !r.OK:
		fmt.Fprintln(w, "; NOT all are equal to it")
	case r.Compared > 0:
		fmt.Fprintln(w, "; all are equal to it")
	default:
		fmt.Fprintln(w)
	}
	var whys []string
	for _, row := range r.Rows {
		if why := row.NoFormula; why != "" && !slices.Contains(whys, why) {
			whys = append(whys, why)
			fmt.Fprintf(w, "no formula: %s\n", why)
		}
	}
	for _, s := range r.Skipped {
		size := ""
		if s.Bytes > 0 {
			size = " " + s.Bytes.String()
		}
		fmt.Fprintf(w, "skipped: %s%s: %s\n", s.Case, size, s.Why)
	}
	fmt.Fprintln(w, "\nBelow, for the smallest size: head is when the first flit reaches a link, tail when\n"+
		"the last has left it, queued how long a flit waits in front of it on average.")
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

// writeHops writes the table of a transfer's hops.
func (r *Row) writeHops(w io.Writer) error {
	fmt.Fprintf(w, "\n%s, %v: %s to %s, %d hops\n", r.Case, r.Bytes, r.From, r.To, len(r.Hops))
	return table.WriteList(w, []string{"head ns", "tail ns", "busy ns", "queued ns", "GB/s", "flit ns", "wire ns", "node ns", "link"}, r.Hops, func(h Hop) []string {
		return []string{
			decimal(h.HeadNS), decimal(h.TailNS), decimal(h.BusyNS), decimal(h.QueuedNS), optional(h.Bandwidth, fixed(1)), decimal(h.FlitNS), decimal(h.LatencyNS), decimal(h.OverheadNS), h.Link,
		}
	})
}

// decimal formats a time in ns, exactly.
func decimal(t simtime.Time) string { return strings.TrimSuffix(t.String(), "ns") }

// optional returns the text of a value, or "-" for nil.
func optional[T any](v *T, text func(T) string) string {
	if v == nil {
		return "-"
	}
	return text(*v)
}

func verdict(match bool) string { return map[bool]string{true: "yes", false: "NO"}[match] }

// fixed returns a function that formats a number with the given number of decimals.
func fixed(digits int) func(float64) string {
	return func(v float64) string { return fmt.Sprintf("%.*f", digits, v) }
}

func percent(v float64) string { return fmt.Sprintf("%.1f%%", v*100) }
