package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/ints"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/scenario/runner"
)

// listedScenario is an element of `kernbench comm list --format json`.
type listedScenario struct {
	Name    string `json:"name"`
	NRanks  int    `json:"nranks"`
	Summary string `json:"summary"`
	Broken  string `json:"broken,omitempty"` // the first line of why it cannot be read
}

func commListCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the scenarios that come with the program",
		Long: `List shows the scenarios that comm run knows by name: those that come with kernbench
and, in a program of your own that calls kernbench.Main, those it has registered. If
one of these has mistakes the others are listed all the same, and the exit status is 2.

--format json has a list of name, nranks and summary, and broken, the first mistake, of
those that have one.`,
		Example: `  kernbench comm list
  kernbench comm list --format json`,
		Args: noArgs,
	}
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		list := []listedScenario{}
		var broken []error
		for _, name := range scenario.Names() {
			s, err := scenario.Load(cmd.Context(), name)
			if err != nil {
				broken = append(broken, err)
				why, _, _ := strings.Cut(err.Error(), "\n")
				list = append(list, listedScenario{Name: name, Broken: why})
				continue
			}
			list = append(list, listedScenario{Name: name, NRanks: s.Ranks, Summary: s.Summary})
		}
		err := printResult(cmd, *format, list, func(w io.Writer) error {
			return writeRows(w, []string{"scenario", "nranks", "summary"}, list, func(s listedScenario) []string {
				if s.Broken != "" {
					return []string{s.Name, "", "(broken: " + s.Broken + ")"}
				}
				return []string{s.Name, strconv.Itoa(s.NRanks), s.Summary}
			})
		})
		if err != nil || len(broken) == 0 {
			return err
		}
		return badInput(errors.Join(broken...))
	}
	return cmd
}

// shownScenario is what `kernbench comm show --format json` prints.
type shownScenario struct {
	Scenario       string            `json:"scenario"`
	Summary        string            `json:"summary"`
	NRanks         int               `json:"nranks"`
	Root           int               `json:"root"` // -1 if nothing has to do with one
	Devices        []int             `json:"devices"`
	Params         map[string]string `json:"params,omitempty"`
	Kernel         string            `json:"kernel"`          // "" if there is none
	Tasks          string            `json:"tasks,omitempty"` // the orchestration of its tasks, if there is one
	ContextVersion int               `json:"context_version"`
	Windows        []shownWindow     `json:"windows"`
	Buffers        []shownBuffer     `json:"buffers"`
}

// shownWindow is the memory that each rank, or each member of a domain, shares.
type shownWindow struct {
	Domain      string        `json:"domain,omitempty"`
	Ranks       []int         `json:"ranks"`
	Bytes       int64         `json:"bytes"`
	Signals     int           `json:"signals"`
	Matrices    []shownMatrix `json:"matrices,omitempty"` // the last of the signals
	SignalBanks int           `json:"signal_banks"`       // each has all signals
	SignalBytes int64         `json:"signal_bytes"`       // from one to the next
}

// shownMatrix is signals of a window, one for each rank that notifies.
type shownMatrix struct {
	Name    string `json:"name"`
	First   int    `json:"first"`   // the signal that is for notices of rank 0
	Signals int    `json:"signals"` // one for each rank
}

// shownBuffer is a buffer of each rank.
type shownBuffer struct {
	Name   string `json:"name"`
	DType  string `json:"dtype"`
	Shape  []int  `json:"shape"`
	Bytes  int64  `json:"bytes"`
	Window int    `json:"window"` // which of windows; -1: the rank's own memory
	Offset int64  `json:"offset"` // in the window
	Staged bool   `json:"staged,omitempty"`
	Domain string `json:"domain,omitempty"`
}

func commShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show SCENARIO",
		Short: "Print a scenario and the bytes of its windows",
		Long: `Show prints what a scenario is for a number of ranks: its kernel, and the byte layout
of the windows that ranks share, signals included. Each rank has a part of this layout;
nothing in it depends on the rank. Signals are 64-bit words, each on a line of the cache
of its own, in two banks that runs of the kernel use by turns.

--source prints the file itself, to copy.

--format json has scenario, summary, nranks, root, devices, params, kernel,
tasks, context_version, windows (domain, ranks, bytes, signals, matrices (name, first,
signals), signal_banks, signal_bytes) and buffers (name, dtype, shape, bytes, window,
offset, staged, domain).`,
		Example: `  kernbench comm show allreduce --nranks 8
  kernbench comm show allreduce --source > my-scenario.yaml`,
		Args:              oneScenario,
		ValidArgsFunction: completeScenario,
	}
	options := addScenarioFlags(cmd, nil)
	source := cmd.Flags().Bool("source", false, "print the file")
	format := formatFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := new(files).readsScenario(args[0]).check(); err != nil {
			return err
		}
		s, err := scenario.Load(cmd.Context(), args[0])
		if err != nil {
			return badInput(err)
		}
		if *source {
			if err := alone(cmd, "source"); err != nil {
				return badInput(err)
			}
			forPeople(cmd, false)
			_, err := cmd.OutOrStdout().Write(s.Text)
			return err
		}
		var o runner.Options
		if err := options(&o); err != nil {
			return badInput(err)
		}
		plan, err := s.Plan(cmd.Context(), o.Choice)
		if err != nil {
			return badInput(err)
		}
		shown := describeScenario(s, plan)
		return printResult(cmd, *format, shown, shown.writeText)
	}
	return cmd
}

// alone refuses flags beside one that prints the file as it is.
func alone(cmd *cobra.Command, flag string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != flag && err == nil {
			err = fmt.Errorf("--%s prints the file as it is: delete --%s", flag, f.Name)
		}
	})
	return err
}

func describeScenario(s *scenario.Scenario, plan *scenario.Plan) *shownScenario {
	shown := &shownScenario{
		Scenario: plan.Name, Summary: s.Summary, NRanks: plan.Ranks, Root: -1, Devices: plan.Devices, Params: plan.Params(),
		Kernel: plan.Kernel, Tasks: plan.Orchestration, ContextVersion: comm.ContextVersion, Windows: []shownWindow{}, Buffers: []shownBuffer{},
	}
	if plan.Rooted() {
		shown.Root = plan.Root
	}
	for _, w := range plan.Windows {
		m := shownWindow{Ranks: ints.Count(0, plan.Ranks), Bytes: w.Bytes, Signals: w.Signals, SignalBanks: scenario.SignalBanks, SignalBytes: scenario.SignalBytes}
		if w.Domain != nil {
			m.Domain, m.Ranks = w.Domain.Name, w.Domain.Ranks
		}
		for _, x := range w.Matrices {
			m.Matrices = append(m.Matrices, shownMatrix{x.Name, x.First, x.Ranks})
		}
		shown.Windows = append(shown.Windows, m)
	}
	for _, b := range plan.Buffers {
		k := shownBuffer{Name: b.Name, DType: b.DType.String(), Shape: b.Shape, Bytes: b.Bytes(), Window: b.Window, Offset: b.Offset, Staged: b.Staged}
		if b.Domain != nil {
			k.Domain = b.Domain.Name
		}
		shown.Buffers = append(shown.Buffers, k)
	}
	return shown
}

// writeText writes the scenario for people: a map of each window.
func (s *shownScenario) writeText(w io.Writer) error {
	fmt.Fprintf(w, "%s%s: %s\n", s.Scenario, paramList(s.Params), s.Summary)
	runs := ""
	if s.Kernel != "" {
		runs += "; kernel " + s.Kernel
	}
	if s.Tasks != "" {
		runs += "; tasks " + s.Tasks
	}
	fmt.Fprintf(w, "%s%s, devices %s%s; context version %d\n", printable.Count(s.NRanks, "rank"), rootText(s.Root), numberList(s.Devices), runs, s.ContextVersion)
	row := func(from, to, what any) { fmt.Fprintf(w, "  %10v  %10v  %v\n", from, to, what) }
	for i, win := range s.Windows {
		name := "window of each rank"
		if win.Domain != "" {
			name = fmt.Sprintf("window of each rank of the domain %s (%s)", win.Domain, numberList(win.Ranks))
		}
		fmt.Fprintf(w, "\n%s, %d bytes\n", name, win.Bytes)
		fmt.Fprintf(w, "  %10s  %10s\n", "from", "to")
		for bank := range win.SignalBanks {
			signals := func(first, n int, what string) {
				if n > 0 {
					from := int64(bank*win.Signals+first) * win.SignalBytes
					row(from, from+int64(n)*win.SignalBytes, fmt.Sprintf("signals %d to %d of bank %d, %s", first, first+n-1, bank, what))
				}
			}
			every, others := fmt.Sprintf("one every %d bytes", win.SignalBytes), win.Signals
			if len(win.Matrices) > 0 {
				others = win.Matrices[0].First
			}
			signals(0, others, every)
			for _, m := range win.Matrices {
				signals(m.First, m.Signals, fmt.Sprintf("%s: matrix %s, by source rank", every, m.Name))
			}
		}
		for _, k := range s.Buffers {
			if k.Window == i {
				row(k.Offset, k.Offset+k.Bytes, fmt.Sprintf("%s %s %v", k.Name, k.DType, k.Shape))
			}
		}
	}
	own := false
	for _, k := range s.Buffers {
		if k.Window >= 0 && !k.Staged {
			continue
		}
		if !own {
			fmt.Fprintf(w, "\nmemory of the rank's own\n")
			own = true
		}
		where := ""
		if k.Staged {
			where = ", copied into the window before each round"
		}
		fmt.Fprintf(w, "  %10d bytes     %s %s %v%s\n", k.Bytes, k.Name, k.DType, k.Shape, where)
	}
	return nil
}
