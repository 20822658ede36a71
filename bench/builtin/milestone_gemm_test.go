package builtin

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/bench"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// runGemm runs the bench milestone-1h-gemm with the smallest set of sizes.
func runGemm(t *testing.T, o bench.Options) *bench.Result {
	t.Helper()
	o.Params = map[string]string{"sizes": "few"}
	return execute(t, "milestone-1h-gemm", o)
}

// findGemmRow returns the row of a point.
func findGemmRow(t *testing.T, rows []table.Record, p gemmPoint) table.Record {
	t.Helper()
	i := slices.IndexFunc(rows, func(r table.Record) bool {
		shape := topology.Dims3{M: value[int](t, r, "m"), K: value[int](t, r, "k"), N: value[int](t, r, "n")}
		return value[string](t, r, "sweep") == p.Sweep && value[string](t, r, "operands") == p.operands.name && shape == p.shape()
	})
	if i < 0 {
		t.Fatalf("no row of %v", p)
	}
	return rows[i]
}

// TestGemmRows checks that the busy times of engines equal closed forms. It checks that
// roofline_ns is the longer of two times on each PE: the time of the operations, at 8192
// per ns, and the time of the bytes, at 256 per ns. It also checks that the column `bytes`
// equals the number of bytes that passed the DMA.
func TestGemmRows(t *testing.T) {
	const ns torch.Time = 1e6 // fs
	rows := rowsOf(runGemm(t, bench.Options{}))
	g := compilePreset(t, "default").Spec().PE.GEMM
	for _, tt := range []struct {
		point              gemmPoint
		tile               topology.Dims3 // size of a tile
		tiles, pes         int            // number of tiles on each PE, and number of PEs
		read, write, least torch.Time
		bytes              int64
	}{
		// A and B are 32 KiB each, with 2 tiles along N and M; the result is 8 KiB.
		{newGemmPoint("pe", operandVariants[0], 64, 256, 64), g.Tile, 16, 1, 512 * ns, 32 * ns, 544 * ns, 136 << 10},
		{newGemmPoint("pe", operandVariants[1], 64, 256, 64), g.Tile, 16, 1, 384 * ns, 32 * ns, 416 * ns, 104 << 10},
		{newGemmPoint("pe", operandVariants[2], 64, 256, 64), g.Tile, 16, 1, 256 * ns, 32 * ns, 288 * ns, 72 << 10},
		// Half a tile: 2 KiB and 2 KiB of operands, 512 B of result, 4 + 8 cycles.
		{newGemmPoint("pe", operandVariants[0], 16, 64, 16), topology.Dims3{M: 16, K: 64, N: 16}, 1, 1, 16 * ns, 2 * ns, 18 * ns, 4608},
		// 16 cubes with 4 rows each, and in each cube 8 PEs with 16 columns each.
		{newGemmPoint("device", operandVariants[2], 64, 64, 128), topology.Dims3{M: 4, K: 64, N: 16}, 1, 128, 10 * ns, ns / 2, 10*ns + ns/2, 128 * (512 + 2048 + 128)},
	} {
		row := findGemmRow(t, rows, tt.point)
		for name, want := range map[string]torch.Time{
			"gemm_ns":     torch.Time(tt.tiles) * pe.GemmTime(g, tt.tile.M, tt.tile.K, tt.tile.N),
			"dma_read_ns": tt.read, "dma_write_ns": tt.write, "math_ns": 0, "roofline_ns": tt.least,
		} {
			if got := value[torch.Time](t, row, name); got != want {
				t.Errorf("%v: %s %v, want %v", tt.point, name, got, want)
			}
		}
		if got, want := value[int](t, row, "gemm_count"), tt.tiles*tt.pes; got != want {
			t.Errorf("%v: gemm_count %d, want %d", tt.point, got, want)
		}
		if got := value[int64](t, row, "bytes"); got != tt.bytes {
			t.Errorf("%v: bytes %d, want %d", tt.point, got, tt.bytes)
		}
		if got := value[int](t, row, "pes"); got != tt.pes {
			t.Errorf("%v: pes %d, want %d", tt.point, got, tt.pes)
		}
	}
	for _, row := range rows {
		if value[string](t, row, "sweep") != "pe" {
			continue
		}
		busy := value[torch.Time](t, row, "dma_read_ns") + value[torch.Time](t, row, "dma_write_ns")
		if want := torch.Time(value[int64](t, row, "bytes")) * ns / 256; busy != want {
			t.Errorf("%v: the DMA was busy for %v, and bytes take %v", row, busy, want)
		}
	}
}

// TestGemmDeviceIsItsParts checks that a product on a device takes as long as one PE takes
// for its part of the product, because the PEs share nothing.
func TestGemmDeviceIsItsParts(t *testing.T) {
	for _, o := range operandVariants {
		device, one := newGemmPoint("device", o, 1024, 128, 512), newGemmPoint("pe", o, 64, 128, 64)
		a, b := runPoint(t, device), runPoint(t, one)
		if len(a) != 1 || len(b) != 1 || a[0].Crit != b[0].Crit || a[0].GFlops/b[0].GFlops < 127.9 {
			t.Errorf("%v is %+v and %v is %+v: want the same crit_ns, and 128 times as many operations a second", device, a, one, b)
		}
	}
}

// runPoint runs a point on the default system without values.
func runPoint(t *testing.T, p gemmPoint) []gemmRow {
	t.Helper()
	c, err := torch.New(t.Context(), torch.Options{NoData: true})
	if err != nil {
		t.Fatal(err)
	}
	on := c.Main()
	defer on.Close()
	return p.run(on, nil)
}

// TestGemmTooLarge checks that a TCM of 2 MiB cannot hold two operands of 1 MiB each in
// addition to the buffers of a composite, and that it can hold one. It also checks the note
// for a product that does not fit into a TCM of 64 KiB.
func TestGemmTooLarge(t *testing.T) {
	for _, tt := range []struct {
		operands operands
		m        int
		want     int
	}{
		{operandVariants[0], 512, 1}, {operandVariants[1], 512, 1}, {operandVariants[2], 256, 1}, {operandVariants[2], 512, 0},
	} {
		p := newGemmPoint("pe", tt.operands, tt.m, 1024, 512)
		if got := runPoint(t, p); len(got) != tt.want {
			t.Errorf("%v: %d rows, want %d", p, len(got), tt.want)
		}
	}
	spec, err := topology.Load(t.Context(), "default", "pe.ipcq.slot_size=256 B", "pe.tcm.size=64 KiB")
	if err != nil {
		t.Fatal(err)
	}
	small, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	r := runGemm(t, bench.Options{Options: torch.Options{Topology: small, NoData: true}})
	want := []string{"pe load_load: without a row, as TCM (64KiB) does not hold what is to be loaded: 1 of 8"}
	if diff := cmp.Diff(want, r.Notes); diff != "" || len(r.Rows.Rows) != 29 {
		t.Errorf("%d rows, want 29; notes (-want +got):\n%s", len(r.Rows.Rows), diff)
	}
}

// TestGemmBest checks that each metric is the largest value of its column, even if the
// largest values of two columns are in different rows. It also checks that the verdict
// counts only the elements of products as compared.
func TestGemmBest(t *testing.T) {
	m := gemmMilestone{system: compilePreset(t, "default").Spec(), sweeps: []gemmSweep{{gemmGrid: gemmGrid{name: "pe"}, rows: []gemmResult{
		{gemmRow: gemmRow{Crit: 10, Roofline: 9, GFlops: 100, Share: 0.9301, Checked: 6}}, {gemmRow: gemmRow{Crit: 10, Roofline: 6, GFlops: 200, Share: 0.6136, Checked: 8}},
	}}}}
	want := gemmMetrics{PEPoints: 2, PEGFlops: 200, PEShare: 0.9301}
	if diff := cmp.Diff(want, m.metrics()); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if got, want := bench.Verdict(true, m.checks(true)), "ok: 14 elements compared in 2 checks; 1 other check passed"; got != want {
		t.Errorf("verdict: got %q, want %q", got, want)
	}
}

// TestGemmVerdict checks that a wrong value and a time below the roofline make the bench
// fail. A time at the roofline, or below it by a rounding error, does not.
func TestGemmVerdict(t *testing.T) {
	const ns = 1e6
	for _, tt := range []struct {
		name string
		row  gemmRow
		want string
	}{
		{"slower", gemmRow{Crit: 101 * ns, Roofline: 100 * ns}, ""},
		{"as fast", gemmRow{Crit: 100 * ns, Roofline: 100 * ns}, ""},
		{"rounded", gemmRow{Crit: 99.995 * ns, Roofline: 100 * ns}, ""},
		{"faster", gemmRow{Crit: 99.98 * ns, Roofline: 100 * ns}, "pe 1×2×3 ref_ref took 99.98ns, and the theory says at least 100ns"},
		{"wrong", gemmRow{Crit: 100 * ns, Roofline: 100 * ns, Checked: 3, Wrong: "element 1 is 2, want 3"}, "element 1 is 2, want 3"},
	} {
		point := newGemmPoint("pe", operandVariants[0], 1, 2, 3)
		m := gemmMilestone{system: compilePreset(t, "default").Spec(), sweeps: []gemmSweep{{gemmGrid: gemmGrid{name: "pe"}, rows: []gemmResult{{point, tt.row}}}}}
		checks := m.checks(true)
		var got []string
		for _, c := range checks {
			if c.Wrong != "" {
				got = append(got, c.Wrong)
			}
		}
		if strings.Join(got, ", ") != tt.want || checks.OK() != (tt.want == "") {
			t.Errorf("%s: ok %v and wrong %q, want %q", tt.name, checks.OK(), got, tt.want)
		}
	}
}

// TestGemmRoofline checks the ceilings and the lower bound of one and of many PEs of the
// default system, and of PEs with faster channels, a slower DMA or a faster clock.
func TestGemmRoofline(t *testing.T) {
	for _, tt := range []struct {
		sets          []string
		pes           int
		read, written topology.Bytes
		least         torch.Time
		text          string
	}{
		{nil, 1, 2560, 2560, 20e6, "8.192 TFLOP/s and 256 GB/s, 32 operations for each byte"},
		{nil, 128, 128 * 5120, 0, 20e6, "1049 TFLOP/s and 32768 GB/s, 32 operations for each byte"},
		{[]string{"cube.hbm.channels=16"}, 1, 2560, 2560, 10e6, "8.192 TFLOP/s and 512 GB/s, 16 operations for each byte"},
		{[]string{"cube.hbm.channels=16"}, 1, 5120, 0, 20e6, "8.192 TFLOP/s and 512 GB/s, 16 operations for each byte"},
		{[]string{"pe.dma.bandwidth=64 GB/s"}, 1, 5120, 0, 80e6, "8.192 TFLOP/s and 128 GB/s, 64 operations for each byte"},
		{[]string{"pe.gemm.clock=2 GHz"}, 1, 0, 0, 5e6, "16.38 TFLOP/s and 256 GB/s, 64 operations for each byte"},
	} {
		spec, err := topology.Load(t.Context(), "default", tt.sets...)
		if err != nil {
			t.Fatal(err)
		}
		r := newRoofline(spec, tt.pes)
		if got := r.String(); got != tt.text {
			t.Errorf("%v: %q, want %q", tt.sets, got, tt.text)
		}
		if got := r.minTime(81920*float64(tt.pes), tt.read, tt.written); got != tt.least {
			t.Errorf("%v: %d bytes read and %d written take %v at least, want %v", tt.sets, tt.read, tt.written, got, tt.least)
		}
	}
}

// TestGemmWithoutTime checks that the bench reports rows but draws no figures on a system
// where products take no time.
func TestGemmWithoutTime(t *testing.T) {
	r := runGemm(t, bench.Options{Options: torch.Options{Topology: compilePreset(t, "alpha_beta")}})
	if len(r.Rows.Rows) != 30 || !r.OK || len(r.Artifacts) != 5 || len(r.Notes) != 1 || r.Notes[0] != noRoofline {
		t.Errorf("%d rows, ok %v, files %v, notes %q: want 30 that are right, 5 files and the note %q", len(r.Rows.Rows), r.OK, r.Artifacts, r.Notes, noRoofline)
	}
}

// TestMatmul checks that matmul returns the same bits as a plain sum in ascending k.
func TestMatmul(t *testing.T) {
	plain := func(a, b []float32, m, k, n int) []float32 {
		c := make([]float32, m*n)
		for i := range m {
			for j := range n {
				for l := range k {
					c[i*n+j] += float32(a[i*k+l] * b[l*n+j])
				}
			}
		}
		return c
	}
	for _, d := range []topology.Dims3{{M: 1, K: 1, N: 1}, {M: 3, K: 5, N: 7}, {M: 2, K: 64, N: 3}, {M: 7, K: 131, N: 33}, {M: 4, K: 0, N: 2}} {
		a, b := values(d.M*d.K, 7), values(d.K*d.N, 11)
		if diff := cmp.Diff(plain(a, b, d.M, d.K, d.N), matmul(a, b, d.M, d.K, d.N)); diff != "" {
			t.Errorf("%v (-plain +matmul):\n%s", d, diff)
		}
	}
}

// BenchmarkMatmul measures the time of matmul, which computes the expected results, for a
// product of 256×1024 by 1024×256.
func BenchmarkMatmul(b *testing.B) {
	x, y := values(256*1024, 7), values(1024*256, 11)
	for b.Loop() {
		matmul(x, y, 256, 1024, 256)
	}
}
