package builtin

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// TestMilestoneGEMMFiles checks that the bench writes all files. The bytes of the files
// must not depend on the number of threads or on an interruption.
func TestMilestoneGEMMFiles(t *testing.T) {
	folder := t.TempDir()
	r := runGemm(t, bench.Options{Folder: folder, Options: torch.Options{Threads: 1}})
	first := readFolder(t, folder)
	if len(first) != len(r.Artifacts) || len(first) != 29 {
		t.Errorf("%d files and %d artifacts, want 29: 12 figures in two forms, 2 tables, points, the topology and a page", len(first), len(r.Artifacts))
	}
	checkFiles(t, "milestone-1h-gemm", r.Artifacts)
	checkGemmTables(t, folder, len(r.Rows.Rows))
	lines := strings.SplitAfter(first["points.jsonl"], "\n")
	part := strings.Join(append(lines[:1:1], lines[9:20]...), "") + lines[3][:20] // as if the run was killed while it wrote a point
	if err := os.WriteFile(filepath.Join(folder, "points.jsonl"), []byte(part), 0o666); err != nil {
		t.Fatal(err)
	}
	again := runGemm(t, bench.Options{Folder: folder, Resume: true, Options: torch.Options{Threads: 3}})
	for _, name := range slices.Sorted(maps.Keys(first)) {
		if now := readFolder(t, folder)[name]; now != first[name] {
			t.Errorf("%s has other bytes after a resumed run with 3 threads: %d, and %d before", name, len(now), len(first[name]))
		}
	}
	if diff := cmp.Diff([]any{r.Rows, r.Metrics, r.Checks, r.Crit, r.Artifacts}, []any{again.Rows, again.Metrics, again.Checks, again.Crit, again.Artifacts}); diff != "" {
		t.Errorf("results (-at first +resumed):\n%s", diff)
	}
}

// checkGemmTables checks the columns and the number of rows of the CSV files, and that
// points.jsonl reads as a table with the same number of rows.
func checkGemmTables(t *testing.T, folder string, want int) {
	t.Helper()
	rows := 0
	for name, sweep := range map[string]string{"gemm.csv": "pe", "device.csv": "device"} {
		in := csv.NewReader(strings.NewReader(readFolder(t, folder)[name]))
		in.Comment = '#'
		records, err := in.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		columns := "sweep,operands,m,k,n,pes,crit_ns,roofline_ns,roofline_share,gflops,gemm_utilization,gemm_count,composite_window_ns," +
			"dma_read_ns,fetch_ns,gemm_ns,math_ns,store_ns,dma_write_ns,flops,bytes,intensity_flop_per_byte"
		if got := strings.Join(records[0], ","); got != columns {
			t.Errorf("%s has columns\n%s, want\n%s", name, got, columns)
		}
		for _, record := range records[1:] {
			rows++
			if record[0] != sweep || strings.Trim(strings.Join(record[2:], ""), "0123456789.") != "" {
				t.Errorf("%s: %v: want numbers of %s without exponents or units", name, record, sweep)
			}
		}
	}
	points, _, err := experiment.ReadFile(t.Context(), filepath.Join(folder, "points.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if rows != want || len(points[0].Rows) != want {
		t.Errorf("%d rows in CSV files and %d in points.jsonl, want %d", rows, len(points[0].Rows), want)
	}
}

// TestMilestoneGEMMPage runs all products on one PE without values, and compares the times
// with docs/use/milestones.md.
func TestMilestoneGEMMPage(t *testing.T) {
	dir := t.TempDir()
	var m *gemmMilestone
	b, _ := bench.Find("milestone-1h-gemm")
	b.Experiment = bench.NewExperiment(func(e *bench.E) (*gemmMilestone, error) {
		m = newGemmSweeps(e.Topology.Spec(), gemmGrids["all"][:1])
		return m, nil
	})
	o := bench.Options{Folder: dir, Params: map[string]string{"sizes": "all"}, Options: torch.Options{NoData: true}}
	r, err := b.Execute(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	one := &m.sweeps[0]
	if check := checkAboveRoofline(one.rows); check.Wrong != "" || len(one.rows) != 398 {
		t.Errorf("%d products, want 398, and none below the roofline: %s", len(one.rows), check.Wrong)
	}
	if best := r.Metrics.Get("pe_best_roofline_share"); best != json.Number("0.9301") {
		t.Errorf("got metric %v, want 0.9301", best)
	}
	var got strings.Builder
	for _, m := range one.m {
		fmt.Fprintf(&got, "| %d |", m)
		for _, o := range operandVariants {
			if r := one.row(o, one.curve(m)); r != nil {
				fmt.Fprintf(&got, " %.3f | %.3f |", r.Crit.NS()/1000, r.Roofline.NS()/1000)
			} else {
				got.WriteString(" - | - |")
			}
		}
		got.WriteByte('\n')
	}
	page, err := os.ReadFile("../../docs/use/milestones.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), got.String()) {
		t.Errorf("docs/use/milestones.md has another table than this:\n%s", got.String())
	}
	if r := one.row(operandVariants[0], topology.Dims3{M: 512, K: 64, N: 32}); r.Share != 0.9301 {
		t.Errorf("512×64×32 ref_ref has %v of the roofline, and docs/use/milestones.md says 93 %%", r.Share)
	}
	part := runPoint(t, newGemmPoint("pe", operandVariants[2], 128, 2048, 256))
	if got, want := part[0].Crit.String(), "30797.03374ns"; got != want || math.Round(128*part[0].GFlops/1000) != 558 {
		t.Errorf("the part of a PE takes %s at %v GFLOP/s, want %s, and docs/use/milestones.md says 30.8 µs and 558 TFLOP/s", got, part[0].GFlops, want)
	}
	checkDocFigures(t, dir, "gemm_", "roofline_pe.svg", "time_pe.svg", "utilization_load_load_pe.svg")
}
