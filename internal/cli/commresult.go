package cli

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/scenario/runner"
)

// reportRun prints what came of a run.
func reportRun(cmd *cobra.Command, r *runner.Result, err error, format string) error {
	if err != nil {
		return failed(err)
	}
	err = printResult(cmd, format, r, func(w io.Writer) error {
		_, err := io.WriteString(w, runText(r))
		return err
	})
	if err != nil || r.OK {
		return err
	}
	return wrongRun(r)
}

// wrongRun is the error of a run whose values or accesses are wrong, a message for each.
func wrongRun(r *runner.Result) error {
	var all []string
	for _, m := range r.Mismatches {
		all = append(all, m.String())
	}
	if more := r.Spans - len(r.Mismatches); more > 0 {
		all = append(all, fmt.Sprintf("and %d more spans", more))
	}
	return wrong(append(all, r.Races...)...)
}

// lines is text for people, a name before each line.
type lines struct{ strings.Builder }

func (l *lines) add(name, format string, args ...any) {
	fmt.Fprintf(l, "%-9s %s\n", name, fmt.Sprintf(format, args...))
}

// executedText is what comm execute tells people.
func executedText(dir string, r *runner.Result) string {
	var b lines
	fmt.Fprintf(&b, "%s has the outputs of %s; next: kernbench comm verify %[1]s\n", dir, r.Scenario)
	bindingLine(r, b.add)
	taskLines(r, b.add)
	raceLines(r, b.add)
	return b.String()
}

// runText is a result for people.
func runText(r *runner.Result) string {
	var b lines
	line := b.add
	line("scenario", "%s%s", r.Scenario, paramList(r.Params))
	ranks := strconv.Itoa(r.NRanks)
	switch r.Backend {
	case runner.SHM:
		ranks = printable.Count(r.NRanks, "process")
	case runner.InProc:
		ranks = printable.Count(r.NRanks, "goroutine")
	case runner.Sim:
		ranks = fmt.Sprintf("%s of %s", printable.Count(r.NRanks, "SIP"), r.System)
	}
	line("ranks", "%s%s, devices %s", ranks, rootText(r.Root), numberList(r.Devices))
	bindingLine(r, line)
	if r.Backend != "" {
		line("backend", "%s", r.Backend)
		delays := ""
		if r.Rounds > 1 && r.Backend != runner.Sim {
			delays = ", with random delays"
		}
		if r.Staging != nil {
			line("staging", "%v into windows, %s", time.Duration(math.Round(*r.Staging)), printable.Count(r.Rounds, "round"))
		}
		where := "in the kernel"
		if r.Runtime != "" {
			where = "for all tasks"
		}
		line("time", "%v %s, %s%s", time.Duration(math.Round(r.TimeNS)), where, printable.Count(r.Rounds, "round"), delays)
	}
	taskLines(r, line)
	values := "all right"
	if r.Wrong > 0 {
		values = fmt.Sprintf("%d wrong, in %s", r.Wrong, printable.Count(r.Spans, "span"))
	}
	line("values", "%d compared, %s", r.Compared, values)
	raceLines(r, line)
	return b.String()
}

// bindingLine says which cores ranks are bound to, if devices were named, or why to none.
func bindingLine(r *runner.Result, line func(name, format string, args ...any)) {
	if r.Binding == nil {
		return
	}
	switch b := r.Binding; {
	case r.Backend == runner.InProc:
		line("cores", "not bound: ranks are goroutines of one process")
	case len(b.Cores) > 0:
		line("cores", "%s: each rank is bound to the core of its device", numberList(b.Cores))
	case len(b.Allowed) > 0:
		line("cores", "not bound: devices %s, and this process may use the cores %s", numberList(r.Devices), numberList(b.Allowed))
	default:
		line("cores", "not bound: the cores of this computer are not known")
	}
}

// raceLines tells whether there are races, if they were looked for, and what was not.
func raceLines(r *runner.Result, line func(name, format string, args ...any)) {
	switch {
	case r.Races == nil:
		return
	case len(r.Races) == 0:
		line("races", "no races")
	default:
		line("races", "%d", len(r.Races))
	}
	line("", "not looked for: accesses of different rounds, those that other inputs would make, Go variables that kernels share")
}

// rootText tells of the root, if there is one.
func rootText(root int) string {
	if root < 0 {
		return ""
	}
	return fmt.Sprintf(", root %d", root)
}

func paramList(params map[string]string) string {
	if len(params) == 0 {
		return ""
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		list = append(list, name+"="+params[name])
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// numberList returns numbers with spans of consecutive ones joined: 0-3,7.
func numberList(list []int) string {
	return strings.Join(printable.Runs(list, 2), ",")
}
