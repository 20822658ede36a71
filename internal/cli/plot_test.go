package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/internal/table"
	"github.com/kernbench/kernbench/internal/version"
)

func TestQuantities(t *testing.T) {
	tests := []struct {
		column, name string
		v            float64
		text         string // of v, "" if as written
		suited       string // of numbers up to v
	}{
		{"latency_ns", "latency", 1500, "1.5 µs", "latency (µs)"},
		{"time_us", "time", 1500, "1.5 ms", "time (ms)"},
		{"time_ms", "time", 0.5, "500 µs", "time (µs)"},
		{"elapsed_s", "elapsed", 2, "2 s", "elapsed (s)"},
		{"bytes_per_pe", "bytes per pe", 4096, "4 KiB", "bytes per pe (KiB)"},
		{"slice_bytes", "slice", 512, "512 B", "slice (B)"},
		{"size", "size", 1 << 20, "1 MiB", "size (MiB)"},
		{"bandwidth_gbs", "bandwidth (GB/s)", 5, "", "bandwidth (GB/s)"},
		{"busbw", "busbw (GB/s)", 5, "", "busbw (GB/s)"},
		{"n_elem", "n_elem", 8, "", "n_elem"},
		{"_ns", "_ns", 8, "", "_ns"},
	}
	for _, tt := range tests {
		q := quantityOf(tt.column)
		if got := q.name(); got != tt.name {
			t.Errorf("%s: got name %q, want %q", tt.column, got, tt.name)
		}
		if got := q.text(tt.v, ""); got != tt.text {
			t.Errorf("%s of %v: got text %q, want %q", tt.column, tt.v, got, tt.text)
		}
		if suited, _ := q.suit(tt.v); suited.name() != tt.suited {
			t.Errorf("%s up to %v: got %q, want %q", tt.column, tt.v, suited.name(), tt.suited)
		}
	}
}

func plotTable(t *testing.T, csv string) *table.Table {
	t.Helper()
	got, err := table.ReadCSV(strings.NewReader(csv))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestPlotTellsApart wants as few settings as tell rows apart, and never a measurement or a hash.
func TestPlotTellsApart(t *testing.T) {
	lines := "#role,setting,lower,lower,origin,setting,setting\nn,latency_ns,crit_ns,topology_hash,kind,dtype\n"
	for i, kind := range []string{"tcm", "sram", "hbm"} {
		for _, dtype := range []string{"f16", "f32"} {
			for _, n := range []string{"8", "16"} {
				lines += strings.Join([]string{n, "1." + n, kind + n + dtype + strings.Repeat("0", i), kind + dtype, kind, dtype}, ",") + "\n"
			}
		}
	}
	tests := []struct {
		by   []string
		want string
	}{
		{nil, "6 rows for n = 8 (rows 1 and 3): tell them apart with --by dtype,kind, or draw some with --where dtype=f16 --where kind=tcm"},
		{[]string{"kind"}, "2 rows for n = 8 of tcm (rows 1 and 3): tell them apart with --by kind,dtype, or draw some with --where dtype=f16"},
		{[]string{"dtype"}, "3 rows for n = 8 of f16 (rows 1 and 5): tell them apart with --by dtype,kind, or draw some with --where kind=tcm"},
		{[]string{"kind", "dtype"}, ""},
	}
	for _, tt := range tests {
		r := plotRequest{x: "n", y: []string{"latency_ns"}, by: tt.by, kind: "lines"}
		_, err := r.read(plotTable(t, lines))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("--by %v: got  %q\nwant %q", tt.by, got, tt.want)
		}
	}
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"n_elem=8": "n_elem=8", "link.bandwidth=64 GB/s": "'link.bandwidth=64 GB/s'", "k=it's": `'k=it'\''s'`, "k=$(x)": "'k=$(x)'", "k=": "k=",
	} {
		if got := shellWord(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestPlotFits: numbers of hundreds of digits are refused, wherever they would be written.
func TestPlotFits(t *testing.T) {
	for _, tt := range []struct {
		x, y, by, want string
	}{
		{"1", "1e18", "a", ""},
		{"-1e-18", "0", "1e300", ""}, // of --by as it is written
		{"inf", "5", "1", ""},        // a word
		{"1", "1e300", "1", "row 1 has t_ns = 1e300, and numbers are drawn from 1e-18 to 1e+18: leave such rows out with --where, or draw another column"},
		{"-1e300", "1", "1", "row 1 has n = -1e300, and numbers are drawn from 1e-18 to 1e+18: leave such rows out with --where, or draw another column"},
		{"1e-300", "1", "1", "row 1 has n = 1e-300, and numbers are drawn from 1e-18 to 1e+18: leave such rows out with --where, or draw another column"},
	} {
		r := plotRequest{x: "n", y: []string{"t_ns"}, by: []string{"k"}, kind: "bars"}
		_, err := r.read(plotTable(t, "n,t_ns,k\n"+tt.x+","+tt.y+","+tt.by+"\n"))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("x %s, y %s, by %s:\n got %s\nwant %s", tt.x, tt.y, tt.by, got, tt.want)
		}
	}
}

// TestPlotNearNumbers: numbers that look the same when rounded are different series.
func TestPlotNearNumbers(t *testing.T) {
	r := plotRequest{x: "n", y: []string{"t_ns"}, by: []string{"bytes_per_pe"}, kind: "lines"}
	d, err := r.read(plotTable(t, "bytes_per_pe,n,t_ns\n1000000,1,5\n1000001,2,6\n1000000,4,9\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []plotSeries{
		{Name: "bytes per pe 976.6 KiB", Column: "t_ns", Points: []plotPoint{{1.0, 5}, {4.0, 9}}},
		{Name: "1000001", Column: "t_ns", Points: []plotPoint{{2.0, 6}}},
	}
	if diff := cmp.Diff(want, d.series, cmp.AllowUnexported(plotSeries{})); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestPlotJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.csv", []byte("kind,t_ns\ntcm,1.5\nhbm,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := decode[plotted](t, run(t, "plot", "a.csv", "-x", "kind", "-y", "t_ns", "--kind", "bars", "-o", "a.svg", "--format", "json"))
	want := plotted{Version: version.Version, File: "a.csv", Kind: "bars", X: "kind", Y: []string{"t_ns"}, Log: "none", Out: "a.svg",
		Series: []plotSeries{{Name: "t", Column: "t_ns", Points: []plotPoint{{"tcm", 1.5}, {"hbm", 2}}}}}
	if diff := cmp.Diff(want, p, cmp.AllowUnexported(plotSeries{})); diff != "" {
		t.Errorf("what was drawn (-want +got):\n%s", diff)
	}
}

// TestPlotLimits: a figure with the most marks is drawn and of a bounded size; one mark more is
// refused before any is made.
func TestPlotLimits(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(file string, xs, bys int) {
		text := []byte("n,k,t_ns,empty_ns\n")
		for by := range bys {
			for x := range xs {
				text = fmt.Appendf(text, "%d,w%d,%d.25,\n", x+1, by, (x*7919+by)%1000+1)
			}
		}
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("most.csv", 10_000, 1)
	write("more.csv", 10_001, 1)
	write("table.csv", 100, 101)
	write("huge.csv", 1_000_000, 1)
	write("series.csv", 1, 101)
	for _, tt := range []struct{ args, refused string }{
		{"most.csv -x n -y t_ns,empty_ns -o f.svg", ""},
		{"most.csv -x n -y t_ns --kind bars -o f.svg", ""},
		{"table.csv -x n -y t_ns --by k --kind heat --where k=w1 --where k=w2 -o f.svg", ""},
		{"more.csv -x n -y t_ns -o f.svg", "10001 points, and a figure has at most 10000: take fewer rows with --where, or fewer columns with -y"},
		{"more.csv -x n -y t_ns --kind bars -o f.png", "10001 points, and a figure has at most 10000: take fewer rows with --where, or fewer columns with -y"},
		{"huge.csv -x n -y t_ns -o f.svg", "1000000 points, and a figure has at most 10000: take fewer rows with --where, or fewer columns with -y"},
		{"table.csv -x n -y t_ns --by k --kind heat -o f.svg", "100 × 101 = 10100 cells, and a figure has at most 10000: take fewer rows with --where, or other columns for -x and --by"},
		{"series.csv -x n -y t_ns --by k -o f.svg", "101 series, and a figure has at most 100: take fewer rows with --where, or another column for --by"},
		{"series.csv -x n -y t_ns --by k --kind bars -o f.svg", "101 series, and a figure has at most 100: take fewer rows with --where, or another column for --by"},
		{"series.csv -x n -y t_ns --by k --kind heat -o f.svg", ""},
	} {
		args := append([]string{"plot"}, strings.Fields(tt.args)...)
		wantCode, want := exitOK, ""
		if tt.refused != "" {
			wantCode, want = exitUsage, "kernbench: "+args[1]+": "+tt.refused+"\n"
		}
		var out, errs bytes.Buffer
		if code := Run(t.Context(), args, &out, &errs); code != wantCode || errs.String() != want {
			t.Errorf("%v: exit status %d and %q, want %d and %q", args, code, errs.String(), wantCode, want)
		}
		info, err := os.Stat("f.svg")
		if (err == nil) != (tt.refused == "") {
			t.Errorf("%v: the figure is there: %v, want %v", args, err == nil, tt.refused == "")
		}
		if err == nil {
			if most := int64(maxPlotMarks * 1000); info.Size() > most {
				t.Errorf("%v: %d bytes, want at most %d", args, info.Size(), most)
			}
			if err := os.Remove("f.svg"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
