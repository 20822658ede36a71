package collperf

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// readPoints reads a file of points.
func readPoints(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestKept checks that a file of points has a line for each algorithm at each size, and
// that the row in a line does not repeat the settings. A measurement that resumes from some
// of the lines must have the same rows and write the same bytes. Merged shards must have
// the same bytes, too.
func TestKept(t *testing.T) {
	folder := t.TempDir()
	o := Options{Topology: system(t, "alpha_beta"), Algorithm: AllAlgorithms, Min: 64, Max: 128, RanksPer: PerSIP, World: 2}
	o.Experiment.File = filepath.Join(folder, "whole.jsonl")
	rows, sum, err := Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := readPoints(t, o.Experiment.File)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	if n := len(o.algorithms()); len(rows) != 2*n || len(lines) != 2*n+2 {
		t.Fatalf("%d rows and %d lines, want 2 of each of %d algorithms, and a header", len(rows), len(lines)-1, n)
	}
	header, first := string(lines[0]), string(lines[1])
	for _, want := range []string{
		`"identity":"coll all_reduce, 2 ranks per sip, partial false, algo all, buffer as ccl says, values integers, check true, iters 1, per-rank false, flit false, topology `,
		`"schema":{"row":[{"name":"time_us","unit":"µs","role":"lower","label":"time"},`,
		`"settings":[{"name":"size","unit":"B","role":"setting","label":"message size"},`,
		`{"name":"algorithm","role":"setting"}]}`,
	} {
		if !strings.Contains(header, want) {
			t.Errorf("the header has no %s: %s", want, header)
		}
	}
	if want := `{"point":0,"settings":{"size":"64","count":"32","type":"f16","redop":"sum","root":"-1","algorithm":"bidirectional_ring"},"row":{"time_us":`; !strings.HasPrefix(first, want) {
		t.Errorf("got %s, want it to begin with %s", first, want)
	}
	if strings.Contains(first, `"best"`) || strings.Count(first, `"algorithm"`) != 1 {
		t.Errorf("the row repeats settings, or has what only a comparison knows: %s", first)
	}

	part := o
	part.Experiment.File, part.Experiment.Resume = filepath.Join(folder, "part.jsonl"), true
	if err := os.WriteFile(part.Experiment.File, bytes.Join([][]byte{lines[0], lines[3], lines[7]}, nil), 0o666); err != nil {
		t.Fatal(err)
	}
	again, sumAgain, err := Run(t.Context(), part, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows, again) + cmp.Diff(sum, sumAgain); diff != "" || !bytes.Equal(readPoints(t, part.Experiment.File), whole) {
		t.Errorf("the bytes differ, or rows (-at once +resumed):\n%s", diff)
	}

	var files []string
	for i := range 2 {
		part := o
		part.Experiment.File, part.Experiment.Shard = filepath.Join(folder, string(rune('a'+i))+".jsonl"), experiment.Shard{I: i + 1, N: 2}
		files = append(files, part.Experiment.File)
		some, _, err := Run(t.Context(), part, nil)
		if err != nil {
			t.Fatal(err)
		}
		for j, r := range some {
			want := rows[i+2*j]
			want.Best = nil // the other shard has the other algorithms
			if diff := cmp.Diff(want, r); diff != "" {
				t.Errorf("row %d of shard %d (-whole +shard):\n%s", j, i+1, diff)
			}
		}
	}
	merged := filepath.Join(folder, "merged.jsonl")
	if _, err := experiment.Merge(t.Context(), merged, experiment.MergeOptions{}, files...); err != nil || !bytes.Equal(readPoints(t, merged), whole) {
		t.Errorf("merged with error %v, want the bytes of the whole", err)
	}
}

// TestIdentity checks that a measurement cannot resume from a file whose rows were measured
// with different options.
func TestIdentity(t *testing.T) {
	o := Options{Topology: system(t, "ring6"), Min: 64, Max: 64, RanksPer: PerSIP}
	o.Experiment.File = filepath.Join(t.TempDir(), "rows.jsonl")
	measure(t, o)
	o.Experiment.Resume = true
	measure(t, o)
	config, err := ccl.Load(t.Context(), "default", "defaults.n_slots=5")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"collective": func(o *Options) { o.Collective = ccl.AllGather },
		"topology":   func(o *Options) { o.Topology = system(t, "torus2x3") },
		"ccl":        func(o *Options) { o.CCL = config },
		"world":      func(o *Options) { o.World = 5 },
		"ranks per":  func(o *Options) { o.RanksPer, o.World = PerPE, 6 },
		"partial":    func(o *Options) { o.Partial = true },
		"algorithm":  func(o *Options) { o.Algorithm = Auto },
		"buffer":     func(o *Options) { o.Buffer = topology.BufferHBM },
		"values":     func(o *Options) { o.Values = Reals },
		"check":      func(o *Options) { o.NoCheck = true },
		"iters":      func(o *Options) { o.Iters = 2 },
		"per rank":   func(o *Options) { o.PerRank = true },
		"fidelity":   func(o *Options) { o.Flit = true },
		"dtype":      func(o *Options) { o.DTypes = []tl.DType{tl.F32} },
		"size":       func(o *Options) { o.Max = 128 },
	} {
		other := o
		change(&other)
		var refused *experiment.FileError
		if _, _, err := Run(t.Context(), other, nil); !errors.As(err, &refused) {
			t.Errorf("with another %s: got %v, want the file refused", name, err)
		}
	}
}

// TestCost checks that Cost is higher for measurements that take longer to simulate.
func TestCost(t *testing.T) {
	cost := func(c ccl.Collective, algorithm string, ranks int, size topology.Bytes) float64 {
		o := Options{Topology: system(t, "alpha_beta"), Collective: c, Algorithm: algorithm, RanksPer: PerSIP, World: ranks, Min: size, Max: size}
		return o.Cost()
	}
	for _, c := range ccl.Collectives() {
		for _, a := range ccl.Algorithms(c) {
			base := cost(c, a.Name, 2, 1<<16)
			if base <= 0 || cost(c, a.Name, 4, 1<<16) <= base {
				t.Errorf("%v by %s: 4 ranks cost %v, and 2 cost %v", c, a.Name, cost(c, a.Name, 4, 1<<16), base)
			}
			if larger := cost(c, a.Name, 2, 1<<20); larger <= base && c != ccl.Barrier {
				t.Errorf("%v by %s: 1 MiB costs %v, and 64 KiB cost %v", c, a.Name, larger, base)
			}
		}
	}
	if a, b := cost(ccl.AllReduce, "direct_one_phase", 4, 1<<20), cost(ccl.AllReduce, "ring", 4, 1<<20); a <= b {
		t.Errorf("from each to each costs %v, and a ring %v", a, b)
	}
	if got, want := cost(ccl.AllReduce, "ring", 4, 1<<20), 4*8+2*3*256.0; got != want {
		t.Errorf("a ring of 4 and 1 MiB: got %v, want %v", got, want)
	}
}

// TestProgress checks that Progress is called with the total number of rows and the number
// of rows that are done.
func TestProgress(t *testing.T) {
	o := Options{Topology: system(t, "alpha_beta"), Min: 64, Max: 256, RanksPer: PerSIP, Threads: 1}
	var done []int
	o.Experiment.Progress = func(n, total int, _ time.Duration) {
		if done = append(done, n); total != 3 {
			t.Errorf("%d rows, want 3", total)
		}
	}
	measure(t, o)
	if diff := cmp.Diff([]int{0, 1, 2, 3}, done); diff != "" {
		t.Errorf("rows done (-want +got):\n%s", diff)
	}
}

// TestInterruptedComparison checks that rows that were interrupted are neither stored nor
// shown as failed.
func TestInterruptedComparison(t *testing.T) {
	o := Options{Topology: system(t, "ring6"), Algorithm: AllAlgorithms, Min: 1 << 12, Max: 1 << 20, RanksPer: PerSIP}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	_, _, err := Run(ctx, o, func(r Row) {
		if cancel(); r.Error != nil {
			t.Errorf("%s at %d: %s", r.Algorithm, r.Size, *r.Error)
		}
		seen++
	})
	if !errors.Is(err, context.Canceled) || seen != len(o.algorithms()) {
		t.Errorf("%d rows and %v, want those of the first size and %v", seen, err, context.Canceled)
	}
}
