package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/trace/analysis"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/table"
)

// traced is what `kernbench trace --format json` prints.
type traced struct {
	Version string `json:"version"` // of kernbench, now
	File    string `json:"file"`
	*analysis.Report
	all bool // the whole path is shown
}

// WriteText writes the report in tables.
func (r *traced) WriteText(w io.Writer) error { return writeTrace(w, r, r.all) }

func traceCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace FILE",
		Short: "Say where the time of a recorded run went",
		Long: `Trace reads a trace that --trace has recorded, lists its longest launches, and prints of
the first of these, or of --launch N:

  the critical path: the chain of activities that took as long as the launch, each begun
  by the one before; summed up by kind, then step by step, and the PEs it visits
  the slowest PE, what it spent its time on, for whom it waited, beside the median PE
  how busy the engines of PEs were, as shares of the launch's time
  how busy links were meanwhile, and how long the heads of trains waited for them

docs/traces.md has the format, and what the kinds of latency on the path are. A file
that breaks the rules of the format is refused, with the first mistakes. The same file
opens in ui.perfetto.dev and in chrome://tracing.

--format json has all of the path, with trace (recorded by which version, with which
topology), events, launches, longest, launch, path (kinds, segments, visits), slowest
(cpu, engines, waited_from, text), engines and links (kinds, busiest, most_queued).`,
		Example: `  kernbench run qkv_gemm --trace run.json
  kernbench trace run.json
  kernbench trace run.json --launch 0 --all
  kernbench trace run.json.gz --top 3 --format json`,
		Args: oneArg("FILE", "no file: name a trace, as kernbench run --trace records it"),
	}
	var launch, top int
	intFlag(cmd, &launch, "launch", analysis.Longest, "`N`umber of the launch to tell of, or -1 for the longest")
	intFlag(cmd, &top, "top", 10, "launches, links, and PEs waited for, to list")
	all := cmd.Flags().Bool("all", false, "the whole path, not only its ends")
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if top < 0 {
			return badInput(fmt.Errorf("--top %d: write how many to list", top))
		}
		if err := new(file.Uses).Reads("trace", args[0]).Check(); err != nil {
			return err
		}
		t, err := analysis.Open(cmd.Context(), args[0])
		if err == nil {
			r := &traced{Version: version.Version, File: args[0], all: *all}
			if r.Report, err = t.Analyse(int64(launch), top); err == nil {
				return printResult(cmd, *format, r)
			}
		}
		var list []error
		for _, e := range config.Flatten(err) {
			list = append(list, fmt.Errorf("trace %s: %w", args[0], e))
		}
		return badInput(errors.Join(list...))
	}
	return cmd
}

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
		writeTraceLinks(w, &r.Links)
		return nil
	}
	l := r.Launch
	fmt.Fprintf(w, "# launch: %d of %d: %s, on %s, from %s on\n", l.Number, r.Launches, l.Name, printable.Count(int(l.PEs), "PE"), l.Start.Text())
	fmt.Fprintf(w, "# crit_ns: %s\n", exactNS(l.Critical))
	if r.Launches > 1 {
		fmt.Fprint(w, "\nlongest launches\n")
		table.WriteList(w, []string{"launch", "name", "pes", "start_ns", "crit_ns"}, r.Longest, func(l analysis.Launch) []string {
			return []string{fmt.Sprint(l.Number), l.Name, numberOrDash(int(l.PEs)), exactNS(l.Start), exactNS(l.Critical)}
		})
	}
	writePath(w, r.Path, all)
	if r.Slowest != nil {
		writeSlowest(w, r.Slowest)
	}
	fmt.Fprint(w, "\nengines, as shares of the launch\n")
	table.WriteList(w, []string{"engine", "mean", "max", "on"}, r.Engines, func(e analysis.EngineUse) []string {
		return []string{e.Engine.String(), percent(e.Mean), percent(e.Max), e.Most}
	})
	writeTraceLinks(w, &r.Links)
	return nil
}

func writePath(w io.Writer, p *analysis.Path, all bool) {
	pes := slices.Compact(slices.Sorted(slices.Values(p.Visits)))
	fmt.Fprintf(w, "\ncritical path: %s on %s\n", printable.Count(len(p.Segments), "segment"), printable.Count(len(pes), "PE"))
	table.WriteList(w, []string{"kind", "ns", "share", "activities", "queued_ns"}, p.Kinds, func(k analysis.KindSum) []string {
		return []string{k.Kind, decimalNS(k.Time), percent(k.Share), numberOrDash(k.Activities), orDash(k.Queued, decimalNS(k.Queued))}
	})

	fmt.Fprintln(w)
	var rows [][]string
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
		visits = slices.Concat(visits[:visitEnds], []string{fmt.Sprintf("(%d more)", cut)}, visits[visitEnds+cut:])
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
	spent := slices.Clone(s.CPU)
	for i := range spent {
		spent[i].What = "cpu " + spent[i].What
	}
	table.WriteList(w, []string{"what", "ns", "share", "median PE ns"}, append(spent, s.Engines...), func(c analysis.Spent) []string {
		return []string{c.What, decimalNS(c.Time), percent(c.Share), decimalNS(c.Median)}
	})
	writeSome(w, []string{"waited for", "of", "ns"}, s.From, func(f analysis.Source) []string { return []string{f.Wait, f.PE, decimalNS(f.Time)} })
}

func writeTraceLinks(w io.Writer, l *analysis.Links) {
	if len(l.Kinds) == 0 {
		fmt.Fprint(w, "\nlinks: none carried anything\n")
		return
	}
	fmt.Fprintf(w, "\nlinks, as shares of %s\n", l.Time.Rounded())
	table.WriteList(w, []string{"kind", "links", "bytes", "mean", "max", "on", "queued_ns"}, l.Kinds, func(k analysis.LinkKind) []string {
		return []string{k.Kind, numberOrDash(k.Links), fmt.Sprint(k.Bytes), percent(k.Mean), percent(k.Max), k.Most, decimalNS(k.Queued)}
	})
	writeSome(w, []string{"busiest", "kind", "bytes", "busy_ns", "share", "whole trace"}, l.Busiest, func(k analysis.Link) []string {
		return []string{k.Name, k.Kind, fmt.Sprint(k.Bytes), decimalNS(k.Busy), percent(k.Share), percent(k.Whole)}
	})
	writeSome(w, []string{"most waited for", "kind", "trains", "queued_ns", "mean_ns"}, l.Queued, func(k analysis.Link) []string {
		return []string{k.Name, k.Kind, fmt.Sprint(k.Trains), decimalNS(k.Queued), decimalNS(k.Mean)}
	})
}

func exactNS(t simtime.Time) string { return strings.TrimSuffix(t.String(), "ns") }

func decimalNS(t simtime.Time) string { return fmt.Sprintf("%.3f", t.NS()) }

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// writeSome writes a table after an empty line, or nothing if the list is empty.
func writeSome[E any](w io.Writer, header []string, list []E, cells func(E) []string) {
	if len(list) > 0 {
		fmt.Fprintln(w)
		table.WriteList(w, header, list, cells)
	}
}

// orDash returns a text, or a dash if the value that it tells of is zero.
func orDash[T comparable](value T, text string) string {
	if value == *new(T) {
		return "-"
	}
	return text
}

func numberOrDash(n int) string { return orDash(n, strconv.Itoa(n)) }
