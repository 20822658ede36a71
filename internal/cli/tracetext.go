package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/internal/trace/analysis"
)

// A path that is longer than pathEnds twice shows so many of its first and last
// segments, and visits likewise.
const (
	pathEnds  = 15
	visitEnds = 4
)

// writeTrace writes a report in tables.
func writeTrace(w io.Writer, r *traced, all bool) error {
	fmt.Fprintf(w, "# trace: %s, recorded by kernbench %s, topology hash %s\n", r.File, cmp.Or(r.About.Version, "?"), cmp.Or(r.About.Topology, "?"))
	if r.About.Bench != "" {
		fmt.Fprintf(w, "# bench: %s\n", r.About.Bench)
	}
	if r.Launch == nil {
		fmt.Fprint(w, "# launches: none\n")
		return writeTraceLinks(w, &r.Links)
	}
	l := r.Launch
	fmt.Fprintf(w, "# launch: %d of %d: %s, on %s, from %s on\n", l.Number, r.Launches, l.Name, printable.Count(int(l.PEs), "PE"), l.Start.Text())
	fmt.Fprintf(w, "# crit_ns: %s\n", exactNS(l.Critical))
	if r.Launches > 1 {
		writeLaunches(w, r.Longest)
	}
	writePath(w, r.Path, all)
	if r.Slowest != nil {
		writeSlowest(w, r.Slowest)
	}
	writeEngines(w, r.Engines)
	return writeTraceLinks(w, &r.Links)
}

func writeLaunches(w io.Writer, list []analysis.Launch) {
	fmt.Fprint(w, "\nlongest launches\n")
	var rows [][]string
	for _, l := range list {
		rows = append(rows, []string{fmt.Sprint(l.Number), l.Name, count(int(l.PEs)), exactNS(l.Start), exactNS(l.Critical)})
	}
	table.WriteTable(w, []string{"launch", "name", "pes", "start_ns", "crit_ns"}, rows)
}

func writePath(w io.Writer, p *analysis.Path, all bool) {
	fmt.Fprintf(w, "\ncritical path: %s on %s\n", printable.Count(len(p.Segments), "segment"), printable.Count(distinct(p.Visits), "PE"))
	var rows [][]string
	for _, k := range p.Kinds {
		rows = append(rows, []string{k.Kind, decimalNS(k.Time), percent(k.Share), count(k.Activities), someNS(k.Queued)})
	}
	table.WriteTable(w, []string{"kind", "ns", "share", "activities", "queued_ns"}, rows)

	fmt.Fprintln(w)
	rows = nil
	for i, s := range p.Segments {
		if cut := len(p.Segments) - 2*pathEnds; !all && cut > 1 && i >= pathEnds && i < pathEnds+cut {
			if i == pathEnds {
				rows = append(rows, []string{"", "", "...", fmt.Sprintf("%d more; --all shows them", cut)})
			}
			continue
		}
		rows = append(rows, []string{decimalNS(s.At), decimalNS(s.For), s.Where, segmentText(s)})
	}
	table.WriteTable(w, []string{"at_ns", "for_ns", "where", "what"}, rows)

	visits := p.Visits
	if cut := len(visits) - 2*visitEnds; !all && cut > 1 {
		visits = append(append(append([]string{}, visits[:visitEnds]...), fmt.Sprintf("(%d more)", cut)), visits[visitEnds+cut:]...)
	}
	fmt.Fprintf(w, "\nvisits: %s\n", strings.Join(visits, " -> "))
}

// segmentText is what happens in a segment.
func segmentText(s analysis.Segment) string {
	text := s.Kind
	if s.Count > 1 {
		text += fmt.Sprintf(" x%d", s.Count)
	}
	if s.Bytes > 0 {
		text += fmt.Sprintf(", %d B", s.Bytes)
	}
	if s.Queued > 0 {
		text += fmt.Sprintf(", queued %s", s.Queued.Rounded())
	}
	return text
}

func writeSlowest(w io.Writer, s *analysis.Slowest) {
	fmt.Fprintf(w, "\nslowest PE: %s\n", s.Text)
	var rows [][]string
	for _, part := range []struct {
		prefix string
		list   []analysis.Spent
	}{{"cpu ", s.CPU}, {"", s.Engines}} {
		for _, c := range part.list {
			rows = append(rows, []string{part.prefix + c.What, decimalNS(c.Time), percent(c.Share), decimalNS(c.Median)})
		}
	}
	table.WriteTable(w, []string{"what", "ns", "share", "median PE ns"}, rows)
	if len(s.From) == 0 {
		return
	}
	fmt.Fprintln(w)
	rows = nil
	for _, f := range s.From {
		rows = append(rows, []string{f.Wait, f.PE, decimalNS(f.Time)})
	}
	table.WriteTable(w, []string{"waited for", "of", "ns"}, rows)
}

func writeEngines(w io.Writer, list []analysis.EngineUse) {
	fmt.Fprint(w, "\nengines, as shares of the launch\n")
	var rows [][]string
	for _, e := range list {
		rows = append(rows, []string{e.Engine.String(), percent(e.Mean), percent(e.Max), e.Most})
	}
	table.WriteTable(w, []string{"engine", "mean", "max", "on"}, rows)
}

func writeTraceLinks(w io.Writer, l *analysis.Links) error {
	if len(l.Kinds) == 0 {
		_, err := fmt.Fprint(w, "\nlinks: none carried anything\n")
		return err
	}
	fmt.Fprintf(w, "\nlinks, as shares of %s\n", l.Time.Rounded())
	var rows [][]string
	for _, k := range l.Kinds {
		rows = append(rows, []string{k.Kind, count(k.Links), fmt.Sprint(k.Bytes), percent(k.Mean), percent(k.Max), k.Most, decimalNS(k.Queued)})
	}
	err := table.WriteTable(w, []string{"kind", "links", "bytes", "mean", "max", "on", "queued_ns"}, rows)
	if len(l.Busiest) > 0 {
		fmt.Fprintln(w)
		rows = nil
		for _, k := range l.Busiest {
			rows = append(rows, []string{k.Name, k.Kind, fmt.Sprint(k.Bytes), decimalNS(k.Busy), percent(k.Share), percent(k.Whole)})
		}
		err = table.WriteTable(w, []string{"busiest", "kind", "bytes", "busy_ns", "share", "whole trace"}, rows)
	}
	if len(l.Queued) > 0 {
		fmt.Fprintln(w)
		rows = nil
		for _, k := range l.Queued {
			rows = append(rows, []string{k.Name, k.Kind, fmt.Sprint(k.Trains), decimalNS(k.Queued), decimalNS(k.Mean)})
		}
		err = table.WriteTable(w, []string{"most waited for", "kind", "trains", "queued_ns", "mean_ns"}, rows)
	}
	return err
}

func exactNS(t sim.Time) string { return strings.TrimSuffix(t.String(), "ns") }

func decimalNS(t sim.Time) string { return fmt.Sprintf("%.3f", t.NS()) }

func someNS(t sim.Time) string {
	if t == 0 {
		return "-"
	}
	return decimalNS(t)
}

func count(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

func distinct(names []string) int {
	seen := map[string]bool{}
	for _, n := range names {
		seen[n] = true
	}
	return len(seen)
}
