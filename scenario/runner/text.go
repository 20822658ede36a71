package runner

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/kernbench/kernbench/internal/describe"
	"github.com/kernbench/kernbench/internal/printable"
)

// Mistakes returns a message for each listed mismatch and each race, and one for the
// mismatches that are not listed.
func (r *Result) Mistakes() (all []string) {
	for _, m := range r.Mismatches {
		all = append(all, m.String())
	}
	if more := r.Spans - len(r.Mismatches); more > 0 {
		all = append(all, fmt.Sprintf("and %d more spans", more))
	}
	return append(all, r.Races...)
}

// lines builds a text whose lines begin with a name in a column.
type lines struct{ strings.Builder }

// add adds a line that consists of a name, padded to a column, and a formatted text.
func (l *lines) add(name, format string, args ...any) {
	fmt.Fprintf(l, "%-9s %s\n", name, fmt.Sprintf(format, args...))
}

// WriteExecuted writes a summary of a result of [Execute] to w. The values have not been
// compared. dir is the folder with the outputs.
func (r *Result) WriteExecuted(w io.Writer, dir string) error {
	var l lines
	fmt.Fprintf(&l, "%s has the outputs of %s; next: kernbench comm verify %[1]s\n", dir, r.Scenario)
	l.addBinding(r)
	l.addTasks(r)
	l.addRaces(r)
	_, err := io.WriteString(w, l.String())
	return err
}

// WriteText writes the result to w as lines of text, each with a name and a value.
func (r *Result) WriteText(w io.Writer) error {
	var l lines
	l.add("scenario", "%s%s", r.Scenario, describe.ParamText(r.Params))
	ranks := strconv.Itoa(r.NRanks)
	switch r.Backend {
	case SHM:
		ranks = printable.Count(r.NRanks, "process")
	case InProc:
		ranks = printable.Count(r.NRanks, "goroutine")
	case Sim:
		ranks = fmt.Sprintf("%s of %s", printable.Count(r.NRanks, "SIP"), r.System)
	}
	l.add("ranks", "%s%s, devices %s", ranks, describe.RootText(r.Root), describe.Numbers(r.Devices))
	l.addBinding(r)
	if r.Backend != "" {
		l.add("backend", "%s", r.Backend)
		delays := ""
		if r.Rounds > 1 && r.Backend != Sim {
			delays = ", with random delays"
		}
		if r.Staging != nil {
			l.add("staging", "%v into windows, %s", time.Duration(math.Round(*r.Staging)), printable.Count(r.Rounds, "round"))
		}
		where := "in the kernel"
		if r.Runtime != "" {
			where = "for all tasks"
		}
		l.add("time", "%v %s, %s%s", time.Duration(math.Round(r.TimeNS)), where, printable.Count(r.Rounds, "round"), delays)
	}
	l.addTasks(r)
	values := "all right"
	if r.Wrong > 0 {
		values = fmt.Sprintf("%d wrong, in %s", r.Wrong, printable.Count(r.Spans, "span"))
	}
	l.add("values", "%d compared, %s", r.Compared, values)
	l.addRaces(r)
	_, err := io.WriteString(w, l.String())
	return err
}

// addBinding adds a line with the cores that ranks are bound to, or with the reason why
// they are not bound. It adds nothing if no devices were named.
func (l *lines) addBinding(r *Result) {
	if r.Binding == nil {
		return
	}
	switch b := r.Binding; {
	case r.Backend == InProc:
		l.add("cores", "not bound: ranks are goroutines of one process")
	case len(b.Cores) > 0:
		l.add("cores", "%s: each rank is bound to the core of its device", describe.Numbers(b.Cores))
	case len(b.Allowed) > 0:
		l.add("cores", "not bound: devices %s, and this process may use the cores %s", describe.Numbers(r.Devices), describe.Numbers(b.Allowed))
	default:
		l.add("cores", "not bound: the cores of this computer are not known")
	}
}

// addRaces adds a line with the number of races and a line that says which kinds of races a
// run cannot find. It adds nothing if the run did not look for races.
func (l *lines) addRaces(r *Result) {
	switch {
	case r.Races == nil:
		return
	case len(r.Races) == 0:
		l.add("races", "no races")
	default:
		l.add("races", "%d", len(r.Races))
	}
	l.add("", "not looked for: accesses of different rounds, those that other inputs would make, Go variables that kernels share")
}

// addTasks adds lines with the runtime and with the parts of the tasks' time: building,
// dispatching, computing and so on. It adds nothing without a runtime.
func (l *lines) addTasks(r *Result) {
	if r.Runtime == "" {
		return
	}
	t, last := r.Tasks, ""
	if r.Rounds > 1 && t != nil {
		last = "; in the last round:"
	}
	if t == nil {
		l.add("runtime", "%s", r.Runtime)
	} else {
		l.add("runtime", "%s, %s on %s", r.Runtime, printable.Count(t.Tasks, "task"), printable.Count(t.Ranks*t.Cores, "PE"))
	}
	l.add("tasks", "%v%s", r.Config, last)
	if t == nil {
		return
	}
	l.add("control", "building %s, dispatching %s, noticing %s", t.Build.Rounded(), t.Dispatch.Rounded(), t.Notice.Rounded())
	c := &t.Critical
	l.add("critical", "%s: building %s, stalled %s, waiting %s, scheduling %s, computing %s, communicating %s", printable.Count(c.Tasks, "task"),
		c.Build.Rounded(), c.Stall.Rounded(), c.Wait.Rounded(), c.Schedule.Rounded(), c.Compute.Rounded(), c.Communicate.Rounded())
	l.add("PE time", "computing %s, communicating %s, scheduling %s, idle %s", t.Compute.Rounded(), t.Communicate.Rounded(), t.Schedule.Rounded(), t.Idle.Rounded())
}
