package collperf

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/cost"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/torch"
)

// TestSkipped checks that skipReason returns a reason for an algorithm that does not fit or
// is far too slow, and "" for other errors.
func TestSkipped(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("other"), ""},
		{&pe.Overflow{Freed: true}, ""},
		{fmt.Errorf("InitProcessGroup: %w", &cost.FitError{Algorithm: "ring", Reason: "needs 9 ports"}), "does not fit: needs 9 ports"},
		{&tooSlowError{31.2}, "not measured: by its formula 31 times as long as the best"},
		{&pe.Overflow{Asked: 256, Size: 2 << 20}, "does not fit: TCM has 0B free of 2MiB, asked 256B"},
		{&torch.SpawnError{Ranks: []torch.RankError{{Rank: 0, Err: &memory.OutOfMemory{Free: 1024, Size: 2048, Asked: 4096}}}},
			fmt.Sprintf("does not fit: %v has 1KiB free of 2KiB, asked 4KiB", memory.ID{})},
	} {
		if got := skipReason(tt.err); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.err, got, tt.want)
		}
	}
}

// TestComparesTheRest checks that a comparison has a row for every algorithm, including
// those that are skipped. With 96 addends, direct_one_phase is too slow. In the other
// cases, queues or tensors do not fit into memory.
func TestComparesTheRest(t *testing.T) {
	slots := func(n string) *ccl.Config {
		config, err := ccl.Load(t.Context(), "default", "defaults.n_slots="+n)
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	for _, tt := range []struct {
		name  string
		o     Options
		want  map[string]string // errors by algorithm
		fails int               // number of algorithms with an error
	}{
		{"hopeless", Options{Topology: system(t, "torus2x3"), RanksPer: PerSIP, Partial: true, Min: 1 << 15, Max: 1 << 15, NoCheck: true},
			map[string]string{"direct_one_phase": "not measured: by its formula 45 times as long as the best"}, 1},
		{"does not fit", Options{Topology: system(t, "default"), World: 4, CCL: slots("200"), Min: 1024, Max: 1024},
			map[string]string{"direct": "does not fit: needs 4 × 256B of tiles and 3 ports × 200 slots × 4KiB of queues in tcm, 2401KiB of TCM, and pe.tcm.size is 2MiB"}, 6},
		{"nothing fits", Options{Topology: system(t, "default"), World: 2, Min: 1 << 34, Max: 1 << 34, NoCheck: true},
			map[string]string{"ring": "does not fit: "}, len(ccl.Algorithms(ccl.AllReduce))},
	} {
		tt.o.Algorithm = AllAlgorithms
		rows, sum, err := Run(t.Context(), tt.o, nil)
		if all := len(ccl.Algorithms(ccl.AllReduce)); err != nil || sum.Failed != nil || len(rows) != all {
			t.Fatalf("%s: %d rows, error %v, failures %v, want %d rows and none", tt.name, len(rows), err, sum.Failed, all)
		}
		fails := 0
		for _, r := range rows {
			if (r.Error == nil) != (r.TimeUS != nil && r.AlgBW != nil && r.BusBW != nil) || r.Error != nil && (r.Wrong != nil || r.BoundShare != nil || r.Best != nil && *r.Best) {
				t.Errorf("%s: %+v: want a time or an error", tt.name, r)
			}
			if r.Error != nil {
				fails++
			}
			if want, ok := tt.want[r.Algorithm]; ok && (r.Error == nil || !strings.HasPrefix(*r.Error, want)) {
				t.Errorf("%s: %s is %+v, with error %q, want %s", tt.name, r.Algorithm, r, deref(r.Error), want)
			}
		}
		if fails != tt.fails {
			t.Errorf("%s: %d rows with errors, want %d", tt.name, fails, tt.fails)
		}
	}
}

// TestNothingMoves checks that no algorithm is marked as best if no data moves, because
// there is only one rank or the size is 0.
func TestNothingMoves(t *testing.T) {
	for _, tt := range []struct{ world, size, best int }{{1, 64, 0}, {2, 0, 0}, {2, 64, 1}} {
		o := Options{Topology: system(t, "alpha_beta"), Algorithm: AllAlgorithms, World: tt.world, Min: memory.Bytes(tt.size), Max: memory.Bytes(tt.size)}
		best := 0
		for _, r := range measure(t, o) {
			if r.Best != nil && *r.Best {
				best = 1
			}
		}
		if best != tt.best {
			t.Errorf("%d ranks, %d bytes: got a best one %d, want %d", tt.world, tt.size, best, tt.best)
		}
	}
}

// deref returns *text, or "" if text is nil.
func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
