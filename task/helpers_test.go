package task

import (
	"os"
	"testing"

	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// TestMain makes random tests draw the same cases in every run, so that only a change of
// the code can make a test fail. Use -rapid.seed and -rapid.checks for other cases.
func TestMain(m *testing.M) { os.Exit(commtest.Main(m)) }

// tester is the methods that helpers need of a *testing.T, a *testing.B or a *rapid.T.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// newSystem returns the first rank of a new context. The context has the topology of a
// preset, in which each of `sets` changes one value.
func newSystem(t testing.TB, preset string, o torch.Options, sets ...string) *torch.Rank {
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

// loadConfig returns the default configuration, in which each of `sets` changes one value.
func loadConfig(t testing.TB, sets ...string) *Config {
	t.Helper()
	c, err := Load(t.Context(), "default", sets...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// count runs n operations that access no memory. Each operation takes one dispatch cycle.
func count(t *tl.PE, n int) {
	for range n {
		t.Zeros(tl.Shape{1}, tl.F32)
	}
}

// kernelTime returns how long a launch of the kernel `count` takes on one PE, with n
// operations.
func kernelTime(t testing.TB, r *torch.Rank, n int) Time {
	t.Helper()
	l, err := r.Launch("count", count, n, torch.PEs(0))
	if err != nil {
		t.Fatal(err)
	}
	return l.Crit()
}
