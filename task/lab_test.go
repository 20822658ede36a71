package task

import (
	"os"
	"testing"

	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// TestMain draws the same cases every time, so that a change is what makes a test
// fail. Explore others with -rapid.seed and -rapid.checks.
func TestMain(m *testing.M) { os.Exit(commtest.Main(m)) }

// tester is what the lab needs of a *testing.T, a *testing.B or a *rapid.T.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// system is a context on a preset with changes.
func system(t testing.TB, preset string, o torch.Options, sets ...string) *torch.Rank {
	t.Helper()
	spec, err := topology.Load(t.Context(), preset, sets...)
	if err != nil {
		t.Fatal(err)
	}
	if o.Topology, err = topology.Compile(spec); err != nil {
		t.Fatal(err)
	}
	ctx, err := torch.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	c := ctx.Main()
	t.Cleanup(c.Close)
	return c
}

// configured is the default configuration with changes.
func configured(t testing.TB, sets ...string) *Config {
	t.Helper()
	c, err := Load(t.Context(), "default", sets...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// count is a kernel that does so many operations, each of which takes a dispatch cycle,
// and touches no memory.
func count(t *tl.PE, n int) {
	for range n {
		t.Zeros(tl.Shape{1}, tl.F32)
	}
}

// alone is how long the kernel count takes by itself.
func alone(t testing.TB, r *torch.Rank, n int) Time {
	t.Helper()
	l, err := r.Launch("count", count, n, torch.PEs(0))
	if err != nil {
		t.Fatal(err)
	}
	return l.Crit()
}
