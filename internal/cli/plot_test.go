package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kernbench/kernbench/internal/plot"
	"github.com/kernbench/kernbench/internal/version"
)

func TestPlotJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.csv", []byte("#role,setting,lower\n#unit,,ns\nkind,t_ns\ntcm,1.5\nhbm,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := decode[plot.Summary](t, run(t, "plot", "a.csv", "-x", "kind", "-y", "t_ns", "--kind", "bars", "-o", "a.svg", "--format", "json"))
	want := plot.Summary{Version: version.Version, File: "a.csv", Kind: "bars", X: "kind", Y: []string{"t_ns"}, Log: "none", Out: "a.svg",
		Series: []plot.Series{{Name: "t", Column: "t_ns", Points: []plot.Point{{X: "tcm", Y: 1.5}, {X: "hbm", Y: 2}}}}}
	if diff := cmp.Diff(want, p, cmpopts.IgnoreUnexported(plot.Series{}, plot.Summary{})); diff != "" {
		t.Errorf("what was drawn (-want +got):\n%s", diff)
	}
}

// TestPlotLimits checks that a figure with the largest allowed number of marks is drawn,
// with a bounded file size, and that a figure with one mark more is refused and not
// written.
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
			if most := int64(10_000 * 1000); info.Size() > most {
				t.Errorf("%v: %d bytes, want at most %d", args, info.Size(), most)
			}
			if err := os.Remove("f.svg"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
