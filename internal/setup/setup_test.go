package setup

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/task"
)

func init() {
	nothing := func(*bench.B) error { return nil }
	bench.Register(bench.Bench{Name: "plain", Summary: "uses no other settings", Uses: bench.UsesNothing, Run: nothing})
	bench.Register(bench.Bench{Name: "summing", Summary: "does collectives", Uses: bench.UsesCollectives, Run: nothing})
}

// TestGiven checks that Given returns flags as they were written, and only those of the
// given kind.
func TestGiven(t *testing.T) {
	c := Choice{Kinds: Program, CCL: "my.yaml", Sets: []string{"sip.ucie.bandwidth=1GB/s", "ccl.defaults.n_slots=4", "tasks.control.compute_cores=2"}}
	for k, want := range map[*Kind][]string{
		CCL:   {"--ccl my.yaml", "--set ccl.defaults.n_slots=4"},
		Tasks: {"--set tasks.control.compute_cores=2"},
	} {
		if got := c.Given(k); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", k.Name, got, want)
		}
	}
}

// TestCheckEffect checks that a setting that a bench ignores is an error. The error names
// the benches that use the setting. The test also checks that FindBench suggests a similar
// name.
func TestCheckEffect(t *testing.T) {
	c := Choice{Kinds: Program, Topology: "ring6", Sets: []string{"ccl.defaults.n_slots=4"}}
	for name, want := range map[string]string{
		"plain":   "--set ccl.defaults.n_slots=4 has no effect: plain does no collectives: leave it out; benches that do: summing",
		"summing": "<nil>",
	} {
		b, err := FindBench(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.CheckEffect(b); fmt.Sprint(err) != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	if _, err := FindBench(t.Context(), "plane"); fmt.Sprint(err) != `no bench "plane"; benches: plain, summing; did you mean plain?` {
		t.Errorf("got %v", err)
	}
}

// TestLoad checks that values are set in the configuration that their prefix names, and
// that a ./tasks.yaml with mistakes is an error only if a flag names it.
func TestLoad(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("tasks.yaml", []byte("nonsense: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Choice{Kinds: Program, Topology: "ring6", Sets: []string{"ccl.defaults.n_slots=4", "system.sips.count=5"}}
	l, err := c.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	settings, err := l.CCL.Named("")
	if err != nil || settings.NSlots != 4 || l.System.Spec().System.SIPs.Count != 5 {
		t.Errorf("got %d slots, %d SIPs, %v, want 4 and 5", settings.NSlots, l.System.Spec().System.SIPs.Count, err)
	}
	if _, refused := l.Tasks.(*task.Refused); !refused {
		t.Errorf("got tasks %T, want them refused", l.Tasks)
	}
	c.Tasks = "tasks.yaml"
	if _, err := c.Load(t.Context()); err == nil {
		t.Error("--tasks tasks.yaml is accepted, want its mistake")
	}
}

// TestValidate checks that Validate reports the place of every mistake in a configuration,
// and the size of a valid configuration.
func TestValidate(t *testing.T) {
	c := Choice{Kinds: []*Kind{Topology}, Topology: "ring6"}
	if v := c.Validate(t.Context(), Topology); !v.OK || v.PEs != 768 || v.Text != fmt.Sprintf("preset ring6: ok (768 PEs, hash %s)", v.Hash) {
		t.Errorf("got %+v", v)
	}
	c.Sets = []string{"sip.nothing=1", "system.sips.count=0"}
	v := c.Validate(t.Context(), Topology)
	var paths []string
	for _, e := range v.Errors {
		paths = append(paths, e.File+" "+e.Path)
	}
	if want := []string{"--set sip.nothing", "--set system.sips.count"}; v.OK || !slices.Equal(paths, want) {
		t.Errorf("got %v, want %v", paths, want)
	}
}
