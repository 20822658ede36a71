package collperf

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/torch"
)

// TestLeftOut: what concerns one algorithm alone is told from what ends the comparison.
func TestLeftOut(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want *LeftOut
	}{
		{nil, nil},
		{errors.New("other"), nil},
		{&pe.Overflow{Freed: true}, nil},
		{fmt.Errorf("InitProcessGroup: %w", &ccl.FitError{Algorithm: "ring", Reason: "needs 9 ports"}), &LeftOut{"ring", 1, 0, "does not fit: needs 9 ports"}},
		{&hopelessError{31.2}, &LeftOut{"ring", 1, 31.2, "by its formula 31 times as long as the best"}},
		{&pe.Overflow{Asked: 256, Size: 2 << 20}, &LeftOut{"ring", 1, 0, "does not fit: TCM has 0B free of 2MiB, asked 256B"}},
		{&torch.SpawnError{Ranks: []torch.RankError{{Rank: 0, Err: &memory.OutOfMemory{Free: 1024, Size: 2048, Asked: 4096}}}},
			&LeftOut{"ring", 1, 0, fmt.Sprintf("does not fit: %v has 1KiB free of 2KiB, asked 4KiB", memory.ID{})}},
	} {
		if diff := cmp.Diff(tt.want, leftOut("ring", tt.err)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.err, diff)
		}
	}
}

// TestAddLeftOut: a line for each algorithm and kind of reason, with the worst one.
func TestAddLeftOut(t *testing.T) {
	var got []LeftOut
	for _, l := range []LeftOut{{"direct", 1, 40, "40"}, {"direct", 1, 0, "full"}, {"direct", 1, 90, "90"}, {"tree", 1, 35, "35"}, {"direct", 1, 50, "50"}} {
		got = addLeftOut(got, l)
	}
	want := []LeftOut{{"direct", 3, 90, "90"}, {"direct", 1, 0, "full"}, {"tree", 1, 35, "35"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestComparesTheRest: a comparison over 96 addends goes without the algorithm that sends
// all to all, and has rows of all others; so does one whose queues do not fit.
func TestComparesTheRest(t *testing.T) {
	config, err := ccl.Load("default", "defaults.n_slots=200")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		o    Options
		slow bool
		want string
	}{
		{"hopeless", Options{Topology: system(t, "torus2x3"), RanksPer: PerSIP, Partial: true, Min: 1 << 15, Max: 1 << 15, NoCheck: true}, true, "direct_one_phase"},
		{"does not fit", Options{Topology: system(t, "default"), World: 4, CCL: config, Min: 1024, Max: 1024}, false, "direct"},
	} {
		tt.o.Algorithm = AllAlgorithms
		rows, sum, err := Run(t.Context(), tt.o, nil)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		out := map[string]bool{}
		for _, l := range sum.LeftOut {
			out[l.Algorithm] = true
			if l.Sizes != 1 || (l.Times > hopeless) != tt.slow {
				t.Errorf("%s: left out %+v, want 1 size, and more than %d times as long: %v", tt.name, l, hopeless, tt.slow)
			}
		}
		if all := len(ccl.Algorithms(ccl.AllReduce)); !out[tt.want] || len(rows)+len(out) != all || len(rows) < 2 {
			t.Errorf("%s: %d rows without %v, want %d in all, without %s", tt.name, len(rows), out, all, tt.want)
		}
		for _, r := range rows {
			if out[r.Algorithm] {
				t.Errorf("%s: %s is left out and has a row", tt.name, r.Algorithm)
			}
		}
	}
}

// TestNothingIsLeft: where no algorithm fits, the first one's error ends the comparison.
func TestNothingIsLeft(t *testing.T) {
	o := Options{Topology: system(t, "default"), Algorithm: AllAlgorithms, World: 2, Min: 1 << 34, Max: 1 << 34, NoCheck: true}
	rows, _, err := Run(t.Context(), o, nil)
	var full *memory.OutOfMemory
	if !errors.As(err, &full) || len(rows) != 0 {
		t.Errorf("got %d rows and %v, want none and a memory that is full", len(rows), err)
	}
}

// TestNothingMoves: nobody wins where there is nothing to do.
func TestNothingMoves(t *testing.T) {
	for _, tt := range []struct{ world, size, best int }{{1, 64, 0}, {2, 0, 0}, {2, 64, 1}} {
		o := Options{Topology: system(t, "alpha_beta"), Algorithm: AllAlgorithms, World: tt.world, Min: memory.Bytes(tt.size), Max: memory.Bytes(tt.size)}
		best := 0
		for _, r := range measure(t, o) {
			if r.Best {
				best = 1
			}
		}
		if best != tt.best {
			t.Errorf("%d ranks, %d bytes: got a best one %d, want %d", tt.world, tt.size, best, tt.best)
		}
	}
}
