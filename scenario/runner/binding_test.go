package runner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

func init() {
	// The kernel stores the number of cores that the rank may use, then three times the
	// first of these cores.
	registerProbe("probe_bound", "", "", `"1 + min(i, 1)*(device - 1)"`, func(t *tl.PE, x, out tl.Ptr) {
		cores := host.CPUs()
		t.Store(out, t.Full(tl.Shape{1}, tl.F32, float64(len(cores))))
		t.Store(out.At(1), t.Full(tl.Shape{3}, tl.F32, float64(cores[0])))
	})
}

// TestBinding checks that the processes of a run with named devices may use only the cores
// with the numbers of their devices. It also checks the binding that the result reports.
func TestBinding(t *testing.T) {
	allowed := host.CPUs()
	if len(allowed) == 0 {
		t.Skip("the cores of this computer are not known")
	}
	inUse := slices.DeleteFunc(slices.Clone(allowed), func(core int) bool { return core > 63 })
	if len(inUse) == 0 {
		t.Skip("no core that this process may use has the number of a device")
	}
	slices.Reverse(inUse) // so that no rank has the number of its core, if there are enough cores
	cores := inUse[:min(3, len(inUse))]
	devices := strings.Trim(strings.ReplaceAll(fmt.Sprint(cores), " ", ","), "[]")
	bound := &runner.Binding{Cores: cores, Allowed: allowed}
	none := &runner.Binding{Cores: []int{}, Allowed: allowed}
	check := func(what string, o runner.Options, ok bool, want *runner.Binding) {
		t.Helper()
		r := run(t, o)
		if diff := cmp.Diff(want, r.Binding); diff != "" || r.OK != ok {
			t.Errorf("%s on %s: right %v, want %v, binding (-want +got):\n%s%v", what, o.Backend, r.OK, ok, diff, r.Mismatches)
		}
	}

	o := runner.Options{Scenario: "probe_bound", Backend: runner.SHM}
	o.Ranks = 1
	check("no devices", o, len(allowed) == 1 && allowed[0] == 0, nil)
	o.Ranks, o.Devices = 0, devices
	check("devices "+devices, o, true, bound)
	o.Runtime = task.AICPUBuildGraph
	check("tasks, devices "+devices, o, true, bound)
	o.Runtime, o.Keep = "", t.TempDir()
	check("kept, devices "+devices, o, true, bound)
	o.Keep, o.Backend = "", runner.InProc
	check("devices "+devices, o, slices.Equal(allowed, cores), none)
	for device := range 64 {
		if !slices.Contains(allowed, device) {
			o.Backend, o.Devices = runner.SHM, fmt.Sprintf("%d,%d", cores[0], device)
			check("devices "+o.Devices, o, false, none)
			return
		}
	}
}

// TestBindingPrepared checks that the result of executing a prepared folder has a binding
// only if the folder was prepared with devices.
func TestBindingPrepared(t *testing.T) {
	for _, tt := range []struct {
		devices string
		binds   bool
	}{{"0,1", true}, {"", false}} {
		dir := t.TempDir()
		o := runner.Options{Scenario: "probe_sum"}
		o.Ranks, o.Devices = 2, tt.devices
		if err := runner.Prepare(t.Context(), o, dir); err != nil {
			t.Fatal(err)
		}
		r, err := runner.Execute(t.Context(), dir, runner.Options{Backend: runner.InProc})
		if err != nil || (r.Binding != nil) != tt.binds {
			t.Errorf("prepared with devices %q: got %v, %+v, want a binding: %v", tt.devices, err, r, tt.binds)
		}
	}
}
