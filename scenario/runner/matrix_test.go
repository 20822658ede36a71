package runner_test

import (
	"strings"
	"testing"

	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/tl"
)

func init() {
	// Each rank notifies every rank, itself included, with a value that no other signal
	// receives.
	registerProbe("probe_cells", "signal_matrices: [a, b]\n", `, "matrix:a", "matrix:b"`, "0", func(t *tl.PE, x, out tl.Ptr, a, b scenario.Matrix) {
		n := t.NumRanks()
		number := func(matrix, from, to int) int { return 1 + (matrix*n+from)*n + to }
		for peer := range n {
			t.Notify(peer, a.From(t.Rank()), tl.Set, number(0, t.Rank(), peer))
			t.Notify(peer, b.From(t.Rank()), tl.Add, number(1, t.Rank(), peer))
			t.Notify(peer, 0, tl.Add, 1)
			t.Notify(peer, 1, tl.Add, 2)
		}
		for source := range n {
			t.WaitSignal(a.From(source), tl.EQ, number(0, source, t.Rank()))
			t.WaitSignal(b.From(source), tl.EQ, number(1, source, t.Rank()))
		}
		t.WaitSignal(0, tl.EQ, n)
		t.WaitSignal(1, tl.EQ, 2*n)
		t.Store(out, t.Zeros(tl.Shape{4}, tl.F32))
	})
	registerProbe("probe_no_cell", "signal_matrices: [a]\n", `, "matrix:a"`, "0", func(t *tl.PE, x, out tl.Ptr, a scenario.Matrix) {
		t.WaitSignal(a.From(t.NumRanks()), tl.EQ, 0)
	})
}

// TestSignalMatrix checks that all signals of two signal matrices, and all other signals,
// are separate counters.
func TestSignalMatrix(t *testing.T) {
	for _, tt := range []struct {
		backend string
		ranks   []int
	}{{runner.Sim, []int{1, 3, 7, 64}}, {runner.InProc, []int{1, 3, 7}}, {runner.SHM, []int{1, 3, 7}}} {
		for _, ranks := range tt.ranks {
			o := runner.Options{Scenario: "probe_cells", Backend: tt.backend}
			if tt.backend == runner.Sim {
				o.Preset = "alpha_beta"
			}
			o.Ranks, o.Rounds = ranks, 2
			runRight(t, o)
		}
	}
}

// TestSignalMatrixNoRank checks the error of a kernel that asks a signal matrix for the
// signal of a rank that does not exist.
func TestSignalMatrixNoRank(t *testing.T) {
	for _, backend := range runner.Backends {
		_, err := runner.Run(t.Context(), runner.Options{Scenario: "probe_no_cell", Backend: backend})
		if want := "matrix a: no rank 2: it has a signal for each of the ranks 0 to 1"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", backend, err, want)
		}
	}
}
