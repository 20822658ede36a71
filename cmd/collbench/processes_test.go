package main

import (
	"os"
	"testing"

	"github.com/kernbench/kernbench/comm/launch"
)

// TestMain runs the tests. In a process that a test has started as a rank, it runs the
// rank.
func TestMain(m *testing.M) {
	launch.Child()
	os.Exit(m.Run())
}

// TestMeasureProcesses checks that every rank reports a time for every case, and that no
// rank's time is longer than that of the slowest rank.
func TestMeasureProcesses(t *testing.T) {
	cases := []Case{
		{Collective: "all_reduce", DType: "f16", Bytes: 96, Iterations: 5},
		{Collective: "broadcast", DType: "f32", Bytes: 4096, Iterations: 4, Window: true},
	}
	list, err := measureProcesses(t.Context(), 3, cases)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range list {
		if m.Case != cases[i] || len(m.Ranks) != 3 {
			t.Errorf("%+v, want %+v of 3 ranks", m, cases[i])
		}
		for rank, own := range m.Ranks {
			if own <= 0 || own > m.Micros {
				t.Errorf("%s: rank %d takes %v us, the slowest %v", m.Collective, rank, own, m.Micros)
			}
		}
	}
}
