package describe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/table"
)

// Scenario is a scenario for a number of ranks, with the layout of its windows. Its JSON is
// the output of `kernbench comm show --format json`.
type Scenario struct {
	Scenario       string            `json:"scenario"`
	Summary        string            `json:"summary"`
	NRanks         int               `json:"nranks"`
	Root           int               `json:"root"` // -1 if nothing uses a root
	Devices        []int             `json:"devices"`
	Params         map[string]string `json:"params,omitempty"`
	Kernel         string            `json:"kernel"`          // "" if the scenario has no kernel
	Tasks          string            `json:"tasks,omitempty"` // the orchestration of its tasks, "" if there is none
	ContextVersion int               `json:"context_version"`
	Windows        []Window          `json:"windows"`
	Buffers        []Buffer          `json:"buffers"`
}

// Window is the memory that each rank, or each member of a domain, shares.
type Window struct {
	Domain      string   `json:"domain,omitempty"`
	Ranks       []int    `json:"ranks"`
	Bytes       int64    `json:"bytes"`
	Signals     int      `json:"signals"`
	Matrices    []Matrix `json:"matrices,omitempty"` // they take the last signals
	SignalBanks int      `json:"signal_banks"`       // number of banks; each contains all signals
	SignalBytes int64    `json:"signal_bytes"`       // distance between signals in bytes
}

// Matrix is a signal matrix of a window.
type Matrix struct {
	Name    string `json:"name"`
	First   int    `json:"first"`   // index of the signal for notifications from rank 0
	Signals int    `json:"signals"` // one for each rank
}

// Buffer is a buffer of each rank.
type Buffer struct {
	Name   string `json:"name"`
	DType  string `json:"dtype"`
	Shape  []int  `json:"shape"`
	Bytes  int64  `json:"bytes"`
	Window int    `json:"window"` // index of the window; -1: the rank's own memory
	Offset int64  `json:"offset"` // position in the window in bytes
	Staged bool   `json:"staged,omitempty"`
	Domain string `json:"domain,omitempty"`
}

// DescribeScenario describes a scenario for the number of ranks of a plan. Sizes and
// offsets are those that the plan computed.
func DescribeScenario(s *scenario.Scenario, plan *scenario.Plan) *Scenario {
	shown := &Scenario{
		Scenario: plan.Name, Summary: s.Summary, NRanks: plan.Ranks, Root: -1, Devices: plan.Devices, Params: plan.Params(),
		Kernel: plan.Kernel, Tasks: plan.Orchestration, ContextVersion: comm.ContextVersion, Windows: []Window{}, Buffers: []Buffer{},
	}
	if plan.Rooted() {
		shown.Root = plan.Root
	}
	for _, w := range plan.Windows {
		m := Window{Ranks: lists.Count(0, plan.Ranks), Bytes: w.Bytes, Signals: w.Signals, SignalBanks: scenario.SignalBanks, SignalBytes: scenario.SignalBytes}
		if w.Domain != nil {
			m.Domain, m.Ranks = w.Domain.Name, w.Domain.Ranks
		}
		for _, x := range w.Matrices {
			m.Matrices = append(m.Matrices, Matrix{x.Name, x.First, x.Ranks})
		}
		shown.Windows = append(shown.Windows, m)
	}
	for _, b := range plan.Buffers {
		k := Buffer{Name: b.Name, DType: b.DType.String(), Shape: b.Shape, Bytes: b.Bytes(), Window: b.Window, Offset: b.Offset, Staged: b.Staged}
		if b.Domain != nil {
			k.Domain = b.Domain.Name
		}
		shown.Buffers = append(shown.Buffers, k)
	}
	return shown
}

// WriteText writes the scenario with a map of each window.
func (s *Scenario) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s%s: %s\n", s.Scenario, ParamText(s.Params), s.Summary)
	runs := ""
	if s.Kernel != "" {
		runs += "; kernel " + s.Kernel
	}
	if s.Tasks != "" {
		runs += "; tasks " + s.Tasks
	}
	fmt.Fprintf(w, "%s%s, devices %s%s; context version %d\n", printable.Count(s.NRanks, "rank"), RootText(s.Root), Numbers(s.Devices), runs, s.ContextVersion)
	row := func(from, to, what any) { fmt.Fprintf(w, "  %10v  %10v  %v\n", from, to, what) }
	for i, win := range s.Windows {
		name := "window of each rank"
		if win.Domain != "" {
			name = fmt.Sprintf("window of each rank of the domain %s (%s)", win.Domain, Numbers(win.Ranks))
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

// RootText returns the root of a scenario as the continuation of a line, such as ", root
// 0". It returns "" if there is no root.
func RootText(root int) string {
	if root < 0 {
		return ""
	}
	return fmt.Sprintf(", root %d", root)
}

// ParamText returns the parameters of a scenario as the continuation of a line, such as "
// (m=4, n=8)". It returns "" if there are no parameters.
func ParamText(params map[string]string) string {
	if len(params) == 0 {
		return ""
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		list = append(list, name+"="+params[name])
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// Numbers formats a list of numbers with consecutive numbers joined: 0-3,7.
func Numbers(list []int) string { return strings.Join(printable.Runs(list, 2), ",") }

// ScenarioList is the list of registered scenarios. Its JSON is the output of `kernbench
// comm list --format json`.
type ScenarioList []ListedScenario

// ListedScenario is an entry of a ScenarioList.
type ListedScenario struct {
	Name    string `json:"name"`
	NRanks  int    `json:"nranks"`
	Summary string `json:"summary"`
	Broken  string `json:"broken,omitempty"` // first line of the error if the scenario cannot be read
}

// ListScenarios returns the registered scenarios, and the errors of scenarios that cannot
// be read.
func ListScenarios(ctx context.Context) (ScenarioList, error) {
	names := scenario.Names()
	list, broken := make(ScenarioList, len(names)), []error{}
	for i, name := range names {
		s, err := scenario.Load(ctx, name)
		if list[i].Name = name; err != nil {
			broken = append(broken, err)
			list[i].Broken, _, _ = strings.Cut(err.Error(), "\n")
			continue
		}
		list[i].NRanks, list[i].Summary = s.Ranks, s.Summary
	}
	return list, errors.Join(broken...)
}

// WriteText writes the scenarios as a table.
func (l ScenarioList) WriteText(w io.Writer) error {
	return table.WriteList(w, []string{"scenario", "nranks", "summary"}, l, func(s ListedScenario) []string {
		if s.Broken != "" {
			return []string{s.Name, "", "(broken: " + s.Broken + ")"}
		}
		return []string{s.Name, strconv.Itoa(s.NRanks), s.Summary}
	})
}
