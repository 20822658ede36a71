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

// The results of kernbench trace: a traceReport, or a traceProfile with --by.
type (
	traceReport struct {
		traceSource
		*analysis.Report
	}
	traceProfile struct {
		traceSource
		*analysis.Profile
		top int // number of rows to show
	}
	traceSource struct {
		Version string `json:"version"` // version of this kernbench, not of the recording
		File    string `json:"file"`
		all     bool   // --all: show the whole path or all rows
	}
)

func traceCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace FILE",
		Short: "Show where the time of a recorded run went",
		Long: `Trace reads a file that --trace recorded, lists the longest launches, and prints
for the whole program:

  the critical path: the chain of dependent activities that determines the
  makespan, summed by kind and then step by step
  the utilization of the engines of PEs
  the utilization of links, and how long heads of trains waited for them

--launch N prints the same for one launch, with all segments of the path and the
PEs that the path visits. It also compares the slowest PE with the median PE,
and lists the PEs that the slowest PE waited for.

--by prints a profile by operation and engine, or by line of the kernels: the
count, the time and the share of the critical path. The shares of all rows add
up to the whole path.

docs/use/traces.md describes the format and the kinds of latency on the path. A
file that violates the format is refused, and the error lists the first
mistakes. A trace also opens in ui.perfetto.dev and chrome://tracing.

--format json prints an object with the keys trace (version and topology of the
recording), events, launches, longest, program, launch, path (kinds, steps,
segments, visits; always complete), slowest, engines and links. With --by the
keys are trace, program, launch, by, ns and rows.`,
		Example: `  kernbench run qkv_gemm --trace run.json
  kernbench trace run.json
  kernbench trace run.json --launch 0 --all
  kernbench trace run.json --by line --top 20`,
		Args: oneArg("FILE", "no file: name a trace, as kernbench run --trace records it"),
	}
	var launch, top int
	intFlag(cmd, &launch, "launch", analysis.Whole, "number `N` of the launch, -1 for the whole program")
	intFlag(cmd, &top, "top", 10, "list `N` launches, links, PEs and rows of a profile")
	all := cmd.Flags().Bool("all", false, "print the whole path, or all rows of a profile")
	by := wordFlag(cmd, "by", "", "print a profile by operation or by source line", "", []string{string(analysis.ByOp), string(analysis.ByLine)})
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
			source := traceSource{version.Version, args[0], *all}
			if *by != "" {
				p := &traceProfile{traceSource: source, top: top}
				if p.Profile, err = t.Profile(analysis.By(*by), int64(launch)); err == nil {
					return printResult(cmd, *format, p)
				}
			} else {
				r := &traceReport{traceSource: source}
				if r.Report, err = t.Analyse(int64(launch), top); err == nil {
					return printResult(cmd, *format, r)
				}
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

// Lists that are shortened in the middle show this number of elements at each end.
const (
	pathEnds  = 15 // steps or segments of a path
	visitEnds = 4  // PEs that a path visits
)

// WriteText writes the report in tables.
func (r *traceReport) WriteText(w io.Writer) error {
	r.writeHeader(w, &r.About, r.Program, r.Launch, r.Launches)
	if r.Path == nil {
		writeTraceLinks(w, &r.Links)
		return nil
	}
	if r.Launches > 1 {
		fmt.Fprint(w, "\nlongest launches\n")
		table.WriteList(w, []string{"launch", "name", "pes", "start_ns", "crit_ns"}, r.Longest, func(l analysis.Launch) []string {
			return []string{fmt.Sprint(l.Number), l.Name, numberOrDash(int(l.PEs)), exactNS(l.Start), exactNS(l.Critical)}
		})
	}
	writePath(w, r.Path, r.all)
	if r.Slowest != nil {
		writeSlowest(w, r.Slowest)
	}
	whole := "launch"
	if r.Launch == nil {
		whole = "makespan"
	}
	fmt.Fprintf(w, "\nengines, as shares of the %s\n", whole)
	table.WriteList(w, []string{"engine", "mean", "max", "on"}, r.Engines, func(e analysis.EngineUse) []string {
		return []string{e.Engine.String(), percent(e.Mean), percent(e.Max), e.Most}
	})
	writeTraceLinks(w, &r.Links)
	return nil
}

// writeHeader writes lines that name the trace and the launch or program that a report is
// about.
func (r *traceSource) writeHeader(w io.Writer, about *analysis.About, p *analysis.Program, l *analysis.Launch, launches int) {
	fmt.Fprintf(w, "# trace: %s, recorded by kernbench %s, topology hash %s\n", r.File, cmp.Or(about.Version, "?"), cmp.Or(about.Topology, "?"))
	if about.Bench != "" {
		fmt.Fprintf(w, "# bench: %s\n", about.Bench)
	}
	switch {
	case l != nil:
		fmt.Fprintf(w, "# launch: %d of %d: %s, on %s, from %s on\n", l.Number, launches, l.Name, printable.Count(int(l.PEs), "PE"), l.Start.Text())
		fmt.Fprintf(w, "# crit_ns: %s\n", exactNS(l.Critical))
	case p != nil:
		fmt.Fprintf(w, "# program: %s\n# makespan_ns: %s\n", printable.Count(launches, "launch"), exactNS(p.Makespan))
	default:
		fmt.Fprint(w, "# launches: none\n")
	}
}

// WriteText writes the profile as a table.
func (p *traceProfile) WriteText(w io.Writer) error {
	p.writeHeader(w, &p.About, p.Program, p.Launch, p.Launches)
	rows := p.Rows
	if !p.all {
		rows = rows[:min(p.top, len(rows))]
	}
	fmt.Fprintf(w, "\n%d of %s, by their time on the critical path of %s\n", len(rows), printable.Count(len(p.Rows), "row"), p.Time.Text())
	if p.By == analysis.ByLine {
		return table.WriteList(w, []string{"line", "operations", "busy_ns", "path_ns", "share"}, rows, func(k analysis.Work) []string {
			return []string{k.Name, numberOrDash(k.Count), orDash(k.Busy, decimalNS(k.Busy)), orDash(k.Path, decimalNS(k.Path)), percent(k.Share)}
		})
	}
	return table.WriteList(w, []string{"operation", "engine", "count", "busy_ns", "mean_ns", "max_ns", "path_ns", "share"}, rows, func(k analysis.Work) []string {
		return []string{
			k.Name, cmp.Or(k.Engine, "-"), numberOrDash(k.Count), orDash(k.Busy, decimalNS(k.Busy)), orDash(k.Busy, decimalNS(k.Mean)),
			orDash(k.Busy, decimalNS(k.Max)), orDash(k.Path, decimalNS(k.Path)), percent(k.Share),
		}
	})
}

// elide returns a row for each element of a list. Unless `all` is true, it replaces the
// middle of a long list by one row with the number of elements left out.
func elide[E any](list []E, all bool, row func(E) []string) (rows [][]string) {
	cut := len(list) - 2*pathEnds
	if all || cut <= 1 {
		cut = 0
	}
	for i, e := range list {
		if i < pathEnds || i >= pathEnds+cut {
			rows = append(rows, row(e))
		} else if i == pathEnds {
			gap := make([]string, len(rows[0]))
			gap[len(gap)-2], gap[len(gap)-1] = "...", fmt.Sprintf("%d more; --all shows them", cut)
			rows = append(rows, gap)
		}
	}
	return rows
}

func writePath(w io.Writer, p *analysis.Path, all bool) {
	pes := slices.Compact(slices.Sorted(slices.Values(p.Visits)))
	pes = slices.DeleteFunc(pes, func(where string) bool { return !isPE(where) })
	fmt.Fprintf(w, "\ncritical path: %s on %s\n", printable.Count(len(p.Segments), "segment"), printable.Count(len(pes), "PE"))
	table.WriteList(w, []string{"kind", "ns", "share", "activities", "queued_ns"}, p.Kinds, func(k analysis.KindSum) []string {
		return []string{k.Kind, decimalNS(k.Time), percent(k.Share), numberOrDash(k.Activities), orDash(k.Queued, decimalNS(k.Queued))}
	})

	fmt.Fprintln(w)
	if p.Steps != nil {
		table.WriteTable(w, []string{"at_ns", "for_ns", "share", "launch", "step", "mostly"}, elide(p.Steps, all, func(s analysis.Step) []string {
			launch, mostly := "-", s.Mostly
			if s.Launch != nil {
				launch, mostly = fmt.Sprint(*s.Launch), fmt.Sprintf("%s %s", mostly, percent(float64(s.Most)/float64(s.For)))
			}
			return []string{decimalNS(s.At), decimalNS(s.For), percent(s.Share), launch, s.Name, mostly}
		}))
		return
	}
	table.WriteTable(w, []string{"at_ns", "for_ns", "where", "what"}, elide(p.Segments, all, func(s analysis.Segment) []string {
		return []string{decimalNS(s.At), decimalNS(s.For), s.Where, segmentText(s)}
	}))

	visits := p.Visits
	if cut := len(visits) - 2*visitEnds; !all && cut > 1 {
		visits = slices.Concat(visits[:visitEnds], []string{fmt.Sprintf("(%d more)", cut)}, visits[visitEnds+cut:])
	}
	fmt.Fprintf(w, "\nvisits: %s\n", strings.Join(visits, " -> "))
}

// isPE reports whether `where` is a PE rather than the host or a control core. `where` is
// the place of one part of a path.
func isPE(where string) bool { return strings.Contains(where, ".pe") }

// segmentText describes what happens in a segment of a path: its kind, its operation, the
// number of its activities, its bytes, its wait for links and its line in the source.
func segmentText(s analysis.Segment) string {
	text := s.Kind
	switch {
	case s.Name != "" && !isPE(s.Where):
		text = s.Name
	case s.Name != "" && s.Name != "run" && !strings.HasSuffix(text, s.Name):
		text += " " + s.Name
	}
	if s.Count > 1 {
		text += fmt.Sprintf(" x%d", s.Count)
	}
	if s.Bytes > 0 {
		text += fmt.Sprintf(", %d B", s.Bytes)
	}
	if s.Queued > 0 {
		text += fmt.Sprintf(", queued %s", s.Queued.Rounded())
	}
	if s.Line != "" {
		text += ", " + s.Line
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
	writeNonEmpty(w, []string{"waited for", "of", "ns"}, s.From, func(f analysis.Source) []string { return []string{f.Wait, f.PE, decimalNS(f.Time)} })
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
	writeNonEmpty(w, []string{"busiest", "kind", "bytes", "busy_ns", "share", "whole trace"}, l.Busiest, func(k analysis.Link) []string {
		return []string{k.Name, k.Kind, fmt.Sprint(k.Bytes), decimalNS(k.Busy), percent(k.Share), percent(k.Whole)}
	})
	writeNonEmpty(w, []string{"most waited for", "kind", "trains", "queued_ns", "mean_ns"}, l.Queued, func(k analysis.Link) []string {
		return []string{k.Name, k.Kind, fmt.Sprint(k.Trains), decimalNS(k.Queued), decimalNS(k.Mean)}
	})
}

func exactNS(t simtime.Time) string { return strings.TrimSuffix(t.String(), "ns") }

func decimalNS(t simtime.Time) string { return fmt.Sprintf("%.3f", t.NS()) }

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// writeNonEmpty writes an empty line and a table with a row for each element of a list. It
// writes nothing if the list is empty.
func writeNonEmpty[E any](w io.Writer, header []string, list []E, cells func(E) []string) {
	if len(list) > 0 {
		fmt.Fprintln(w)
		table.WriteList(w, header, list, cells)
	}
}

// orDash returns text, or a dash if value is zero.
func orDash[T comparable](value T, text string) string {
	if value == *new(T) {
		return "-"
	}
	return text
}

func numberOrDash(n int) string { return orDash(n, strconv.Itoa(n)) }
