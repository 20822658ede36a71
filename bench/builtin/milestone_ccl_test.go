package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// milestoneCCL is the name of the bench.
const milestoneCCL = "milestone-1h-ccl"

// cclFiles are the files that the bench writes, in order.
var cclFiles = []string{
	"points.jsonl", "summary.csv", "buffer_kind.csv",
	"latency_topologies.svg", "latency_topologies.png", "latency_ring_1d.svg", "latency_ring_1d.png",
	"latency_torus_2d.svg", "latency_torus_2d.png", "latency_mesh_2d_no_wrap.svg", "latency_mesh_2d_no_wrap.png",
	"buffer_kind.svg", "buffer_kind.png", "topology.svg", "topology.png", "fsim.svg", "fsim.png", "topology.yaml", "ccl.yaml", "report.html",
}

// readFolder returns the contents of the files of a folder, by name.
func readFolder(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}

// TestMilestoneCCLFew runs the smallest sizes with values. It checks the values, the names
// of the files, and the content of both CSV files.
func TestMilestoneCCLFew(t *testing.T) {
	dir := t.TempDir()
	r := execute(t, milestoneCCL, bench.Options{Params: quickParams[milestoneCCL], Folder: dir})
	// 96 results for each of 15 points: 12 points with 8, 32, 64 and 128 elements on three
	// systems, and 3 points with 128 elements.
	elems := 0
	for _, c := range r.Checks {
		elems += c.Elems
	}
	if want := 96 * (3*(8+32+64+128) + 3*128); !r.OK || elems != want || len(r.Checks) != 15+2*6 {
		t.Errorf("ok %v, %d elements in %d checks, want true, %d in 27:\n%v", r.OK, elems, len(r.Checks), want, r.Wrong())
	}
	files := readFolder(t, dir)
	if got, want := slices.Sorted(maps.Keys(files)), slices.Sorted(slices.Values(cclFiles)); !slices.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
	checkFiles(t, milestoneCCL, r.Artifacts)
	for i, name := range cclFiles {
		if want := filepath.Join(dir, name); r.Artifacts[i] != want {
			t.Errorf("artifact %d: %s, want %s", i, r.Artifacts[i], want)
		}
	}
	for name, want := range map[string]string{
		"summary.csv": `#role,setting,setting,setting,setting,setting,setting,lower,bound,check
#unit,,,,,B,B,ns,ns,
#label,,fabric,number of SIPs,elements of an addend,data on each PE,data on each SIP,,,SIPs with a wrong result
algorithm,sip_topology,n_sips,n_elem,bytes_per_pe,bytes_per_sip,latency_ns,bound_ns,wrong
center_root,ring_1d,6,8,16,256,2072.80485,627.325,0
center_root,ring_1d,6,32,64,1024,2143.5911,627.325,0
center_root,ring_1d,6,64,128,2048,2239.3061,627.325,0
center_root,ring_1d,6,128,256,4096,2462.7361,627.325,0
center_root,torus_2d,6,8,16,256,1485.80237,472.325,0
center_root,torus_2d,6,32,64,1024,1539.75362,472.325,0
center_root,torus_2d,6,64,128,2048,1613.93862,472.325,0
center_root,torus_2d,6,128,256,4096,1786.55862,472.325,0
center_root,mesh_2d_no_wrap,6,8,16,256,1485.80237,627.325,0
center_root,mesh_2d_no_wrap,6,32,64,1024,1539.75362,627.325,0
center_root,mesh_2d_no_wrap,6,64,128,2048,1613.93862,627.325,0
center_root,mesh_2d_no_wrap,6,128,256,4096,1786.55862,627.325,0
`,
		"buffer_kind.csv": `#role,setting,setting,setting,lower,bound,check
#unit,,,B,ns,ns,
#label,memory of queue slots,elements of an addend,data on each PE,,,SIPs with a wrong result
buffer_kind,n_elem,bytes_per_pe,latency_ns,bound_ns,wrong
tcm,128,256,1790.55862,472.325,0
sram,128,256,1974.29862,472.325,0
hbm,128,256,2156.73862,472.325,0
`,
	} {
		if diff := cmp.Diff(want, files[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestMilestoneCCLAll runs all 48 points without values. It checks that all checks of the
// bench pass, that the times are those in docs/use/milestones.md, and that the figures are
// those in docs/img.
func TestMilestoneCCLAll(t *testing.T) {
	dir := t.TempDir()
	r := execute(t, milestoneCCL, bench.Options{Folder: dir, Options: torch.Options{NoData: true}})
	if len(r.Rows.Rows) != 48 || !r.OK || len(r.Checks) != 12 {
		t.Fatalf("%d rows, ok %v after %d checks, want 48, true after 12: %v", len(r.Rows.Rows), r.OK, len(r.Checks), r.Wrong())
	}
	var got strings.Builder
	for i, n := range latencyElems {
		fmt.Fprintf(&got, "| %d |", n)
		for system := range latencySystems {
			row := r.Rows.Record(system*len(latencyElems) + i)
			if now := value[int](t, row, "n_elem"); now != n {
				t.Fatalf("row %v has %d elements, want %d", row, now, n)
			}
			fmt.Fprintf(&got, " %.3f |", value[torch.Time](t, row, "latency_ns").NS()/1000)
		}
		got.WriteByte('\n')
	}
	page, err := os.ReadFile("../../docs/use/milestones.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(page, []byte(got.String())) {
		t.Errorf("docs/use/milestones.md has another table than this:\n%s", got.String())
	}
	checkDocFigures(t, dir, "ccl_", "latency_topologies.svg", "buffer_kind.svg", "topology.svg")
}

// TestMilestoneCCLResume checks that files and results do not depend on interruptions or
// the number of workers, and that a run without values cannot continue a run with values.
func TestMilestoneCCLResume(t *testing.T) {
	whole, resumed := t.TempDir(), t.TempDir()
	o := bench.Options{Params: quickParams[milestoneCCL], Folder: whole, Options: torch.Options{Threads: 1}}
	first := execute(t, milestoneCCL, o)
	lines := strings.SplitAfter(readFolder(t, whole)["points.jsonl"], "\n")
	part := lines[0] + lines[9] + lines[3] + lines[5][:20] // as if the run was killed while it wrote the third point
	if err := os.WriteFile(filepath.Join(resumed, "points.jsonl"), []byte(part), 0o666); err != nil {
		t.Fatal(err)
	}
	var steps []int
	o.Folder, o.Threads, o.Resume, o.Progress = resumed, 3, true, func(done, total int, _ time.Duration) { steps = append(steps, done, total) }
	second := execute(t, milestoneCCL, o)
	if diff := cmp.Diff(readFolder(t, whole), readFolder(t, resumed)); diff != "" {
		t.Errorf("files (-whole +resumed):\n%s", diff)
	}
	second.Artifacts = first.Artifacts // the same files in another folder
	if diff := cmp.Diff(first, second, cmp.AllowUnexported(bench.Result{})); diff != "" {
		t.Errorf("results (-whole +resumed):\n%s", diff)
	}
	if n := len(steps); n < 2 || steps[n-2] != 15 || steps[n-1] != 15 {
		t.Errorf("progress %v, want 15 of 15 in the end", steps)
	}
	o.NoData = true
	b, _ := bench.Find(milestoneCCL)
	var refused *bench.ParamError
	if _, err := b.Execute(t.Context(), o); !errors.As(err, &refused) || refused.Name != "out" {
		t.Errorf("without values, continuing a run with values: got %v, want an error about --out", err)
	}
}

// TestRefusedRunKeepsFiles checks that a run that cannot continue from the results in the
// folder changes nothing there.
func TestRefusedRunKeepsFiles(t *testing.T) {
	dir := t.TempDir()
	o := bench.Options{Params: quickParams[milestoneCCL], Folder: dir, Options: torch.Options{NoData: true}}
	execute(t, milestoneCCL, o)
	before := readFolder(t, dir)
	b, _ := bench.Find(milestoneCCL)
	o.Resume, o.NoData = true, false
	_, err := b.Execute(t.Context(), o)
	var param *bench.ParamError
	if !errors.As(err, &param) || param.Name != "out" || !strings.Contains(err.Error(), "has results of another run") {
		t.Errorf("got %v, want the folder to be refused", err)
	}
	if diff := cmp.Diff(before, readFolder(t, dir)); diff != "" {
		t.Errorf("the folder was changed (-before +after):\n%s", diff)
	}
}

// TestMilestoneCCLWrong changes the saved rows that a run continues from. It checks that a
// wrong value, a latency that falls and a latency below its bound are reported.
func TestMilestoneCCLWrong(t *testing.T) {
	dir := t.TempDir()
	o := bench.Options{Params: quickParams[milestoneCCL], Folder: dir, Resume: true}
	execute(t, milestoneCCL, o)
	points := readFolder(t, dir)["points.jsonl"]
	points = regexp.MustCompile(`,"sum":"[0-9a-f]{8}"`).ReplaceAllString(points, "") // as in files of early versions
	for from, to := range map[string]string{
		`"wrong":0,"algorithm":"center_root","n_sips":6,"bytes_per_sip":2048,"crit_ns":2239.3061`: `"wrong":1,"algorithm":"center_root","n_sips":6,"bytes_per_sip":2048,"difference":"SIP 3: element 0 is 7, want 5","crit_ns":2239.3061`,
		`"latency_ns":2143.5911`:                     `"latency_ns":2072.804849`,
		`"latency_ns":2156.73862,"bound_ns":472.325`: `"latency_ns":2156.73862,"bound_ns":2156.738621`,
	} {
		if strings.Count(points, from) != 1 {
			t.Fatalf("points.jsonl has not one %s:\n%s", from, points)
		}
		points = strings.Replace(points, from, to, 1)
	}
	if err := os.WriteFile(filepath.Join(dir, "points.jsonl"), []byte(points), 0o666); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"wrong value: sweep=latency sip_topology=ring_1d sips=6 buffer_kind=tcm n_elem=64: SIP 3: element 0 is 7, want 5",
		"failed check: latency on ring_1d of 6 SIPs, slots in tcm: latency_ns rises with n_elem: 32 elements take 2072.804849ns, less than the 2072.80485ns of 8",
		"failed check: buffer_kind on torus_2d of 3×2 SIPs, slots in hbm: latency_ns is at least bound_ns: 128 elements take 2156.73862ns, less than the bound of 2156.738621ns",
	}
	r := execute(t, milestoneCCL, o)
	if diff := cmp.Diff(want, r.Wrong()); diff != "" || r.OK {
		t.Errorf("ok %v, wrong (-want +got):\n%s", r.OK, diff)
	}
}

// TestMilestoneCCLTimeless checks that a system whose links take no time has tables and no
// figures.
func TestMilestoneCCLTimeless(t *testing.T) {
	spec, err := topology.Load(t.Context(), "alpha_beta", "system.sips.link.latency=0ns", "system.sips.link.bandwidth=unlimited")
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	r := execute(t, milestoneCCL, bench.Options{Params: quickParams[milestoneCCL], Options: torch.Options{Topology: g, NoData: true}})
	if len(r.Artifacts) != 3 || len(r.Rows.Rows) != 15 || !r.OK {
		t.Errorf("files %v, %d rows, ok %v, want the points and two tables, 15, true", r.Artifacts, len(r.Rows.Rows), r.OK)
	}
}

// TestMilestoneCCLMisuse checks that wrong options return an error before the run begins.
func TestMilestoneCCLMisuse(t *testing.T) {
	b, _ := bench.Find(milestoneCCL)
	for _, test := range []struct {
		name, most, log string
	}{{"max-elems", "127", ""}, {"max-elems", "many", ""}, {"log", "128", "x.oplog"}} {
		var refused *bench.ParamError
		o := bench.Options{Params: map[string]string{"max-elems": test.most}, Folder: t.TempDir(), Log: test.log}
		if _, err := b.Execute(t.Context(), o); !errors.As(err, &refused) || refused.Name != test.name {
			t.Errorf("--max-elems %s, log %q: got %v, want an error about --%s", test.most, test.log, err, test.name)
		}
	}
}

// BenchmarkMilestoneCCL measures the time of a whole run: all 48 points with values, and
// writing the files.
func BenchmarkMilestoneCCL(b *testing.B) {
	program, _ := bench.Find(milestoneCCL)
	dir := b.TempDir()
	for b.Loop() {
		if _, err := program.Execute(b.Context(), bench.Options{Folder: dir}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestMilestoneFolder checks that a run first removes the tables and the page of an earlier
// run but keeps other files, and that a folder with the points of another milestone is an
// error.
func TestMilestoneFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"summary.csv", "report.html", "mine.csv"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b, _ := bench.Find(milestoneCCL)
	ctx, cancel := context.WithCancel(t.Context())
	o := bench.Options{Params: quickParams[milestoneCCL], Folder: dir, Progress: func(done, _ int, _ time.Duration) {
		if done > 0 {
			cancel()
		}
	}, Options: torch.Options{NoData: true}}
	if _, err := b.Execute(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want that it was cancelled", err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if diff := cmp.Diff([]string{"mine.csv", "points.jsonl"}, left); diff != "" {
		t.Errorf("files after the cancelled run (-want +got):\n%s", diff)
	}
	b, _ = bench.Find("milestone-1h-gemm")
	o.Progress = nil
	o.Params = quickParams["milestone-1h-gemm"]
	_, err = b.Execute(t.Context(), o)
	var param *bench.ParamError
	if want := "--out: " + dir + " has the results of milestone-1h-ccl: choose another folder"; !errors.As(err, &param) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
