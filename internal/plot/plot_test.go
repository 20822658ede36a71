package plot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kernbench/kernbench/internal/draw"
	"github.com/kernbench/kernbench/table"
)

// read parses a table from CSV.
func read(t *testing.T, csv string) *table.Table {
	t.Helper()
	got, err := table.ReadCSV(strings.NewReader(csv))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// collCSV is the results of two algorithms at two sizes, as coll reports them.
const collCSV = `#role,setting,setting,setting,setting,lower,higher,check,bound,result
#unit,B,,,,µs,GB/s,,ns,
#label,message size,,,,time,bus bandwidth,,,
size,count,type,algorithm,time_us,busbw,wrong,bound_ns,bound_kind
1024,512,f16,ring,2,0.5,0,1500,cut
65536,32768,f16,ring,50,1.3,0,20000,cut
1024,512,f16,tree,3,0.3,1,1500,cut
65536,32768,f16,tree,40,1.6,0,20000,cut
`

// TestDefaults checks that the columns that a request leaves open are chosen by their
// roles.
func TestDefaults(t *testing.T) {
	words := "#role,setting,lower\nkind,t\ntcm,1\nhbm,2\n"
	gbs := "#role,setting,setting,lower\nlink,n,t\n64 GB/s,1,5\n128 GB/s,1,4\n0.5 TB/s,1,2\n64 GB/s,2,9\n"
	many := "#role,setting,setting,lower\nn,k,t\n"
	for i := range 25 {
		many += "1," + strings.Repeat("k", i+1) + ",5\n2," + strings.Repeat("k", i+1) + ",5\n"
	}
	for _, tt := range []struct {
		name, csv string
		r         Request
		want      string // the chosen flags, or the error
	}{
		{"a collective", collCSV, Request{}, "-y time_us,bound_ns -x size --by algorithm"},
		{"another measured column without a bound", collCSV, Request{Y: []string{"busbw"}}, "-x size --by algorithm"},
		{"another x", collCSV, Request{X: "algorithm"}, "-y time_us,bound_ns --kind bars --by size"},
		{"some of the rows", collCSV, Request{Where: []string{"algorithm=ring"}}, "-y time_us,bound_ns -x size"},
		{"one size", collCSV, Request{Where: []string{"size=1024"}}, "-y time_us,bound_ns -x algorithm --kind bars"},
		{"a heat map has no bounds", collCSV, Request{Kind: Heat}, "-y time_us -x size --by algorithm"},
		{"a heat map of one row for each place", gbs, Request{Kind: Heat, Where: []string{"n=1"}}, "--kind heat takes the rows of its table from --by COLUMN"},
		{"only words", words, Request{}, "-y t -x kind --kind bars"},
		{"words have no logarithm", words, Request{Log: "x"}, "--log x says nothing to --kind bars: drop it"},
		{"numbers with a unit", gbs, Request{}, "-y t -x link --by n"},
		{"a value of the point that its row repeats", "#role,setting,lower,lower\nn,point.t,t\n1,5,5\n2,6,6\n", Request{}, "-y t -x n"},
		{"a value of the point, and a row without roles", "#role,setting,lower,\nn,point.t,t\n1,5,5\n2,6,6\n", Request{}, "-y point.t -x n"},
		{"numbers that follow from words", "#role,setting,setting,lower\nname,ranks,t\na,8,5\nb,8,6\nc,4,7\n", Request{}, "-y t -x name --kind bars"},
		{"too many series", many, Request{}, "25 rows for n = 1 (rows 1 and 3): tell them apart with --by k, or draw some with --where k=k"},
		{"no roles", "kind,n,t\na,1,5\n", Request{}, "nothing says which column was measured: name one with -y; there are kind, n, t"},
		{"no roles, words distinguish rows", "kind,n,t\na,1,5\nb,1,6\n", Request{X: "n", Y: []string{"t"}}, "--by kind"},
		{"no roles, numbers do not distinguish rows", "k,n,t\n1,1,5\n2,1,6\n", Request{X: "n", Y: []string{"t"}}, "2 rows for n = 1 (rows 1 and 2): tell them apart with --by k, or draw some with --where k=1"},
		{"nothing to draw over", "#role,setting,lower\nn,t\n1,5\n", Request{}, "no setting has several values: name a column with -x; there are n, t"},
		{"a complete request", collCSV, Request{X: "size", Y: []string{"time_us"}, By: []string{"algorithm"}, Kind: Lines}, ""},
	} {
		f, err := Draw(read(t, tt.csv), tt.r)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = strings.Join(f.Chosen, " ")
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// ignoreFormat excludes functions from comparisons because they cannot be compared.
var ignoreFormat = cmpopts.IgnoreFields(draw.Axis{}, "Format")

// TestLines checks the line chart of a table. Series with equal bounds share one line for
// the bound, numbers have a suitable unit, and the texts are the words of the columns.
func TestLines(t *testing.T) {
	f, err := Draw(read(t, collCSV), Request{About: "all_reduce", Note: "coll.json", Log: "x"})
	if err != nil {
		t.Fatal(err)
	}
	xs := []float64{1024, 65536}
	want := draw.Lines{
		Title: "Time by message size and algorithm", Subtitle: "all_reduce, f16", Note: "coll.json",
		X: draw.Axis{Label: "message size", Log: true}, Y: draw.Axis{Label: "time", Unit: "µs"},
		Series: []draw.Series{{Name: "ring", X: xs, Y: []float64{2, 50}}, {Name: "tree", X: xs, Y: []float64{3, 40}}, {Name: "bound", X: xs, Y: []float64{1.5, 20}, Bound: true}},
	}
	if diff := cmp.Diff(want, f.Figure, ignoreFormat); diff != "" {
		t.Errorf("figure (-want +got):\n%s", diff)
	}
	if got := f.Figure.(draw.Lines).X.Format(2048); got != "2 KiB" {
		t.Errorf("a tick of the x axis is %q, want 2 KiB", got)
	}
	if f.NotOK != 1 || f.X != "size" || f.Kind != Lines || f.Log != "x" {
		t.Errorf("%d points of rows whose checks failed, x %s, kind %s, log %s; want 1, size, lines and x", f.NotOK, f.X, f.Kind, f.Log)
	}
}

// TestUnits checks that columns of one quantity in different units are drawn in one unit,
// in any order of the columns. Columns of different quantities are an error.
func TestUnits(t *testing.T) {
	f, err := Draw(read(t, collCSV), Request{Y: []string{"bound_ns", "time_us"}, Where: []string{"algorithm=ring"}})
	if err != nil {
		t.Fatal(err)
	}
	if s := f.Figure.(draw.Lines).Series; s[0].Y[1] != 20 || s[1].Y[1] != 50 {
		t.Errorf("the bound is at %v and the time at %v, want 20 and 50 µs", s[0].Y[1], s[1].Y[1])
	}
	const want = "-y: time_us and busbw have different units: draw a picture of each"
	if _, err := Draw(read(t, collCSV), Request{Y: []string{"time_us", "busbw"}}); err == nil || err.Error() != want {
		t.Errorf("two quantities: got %v, want %s", err, want)
	}
}

// TestQuantityAxis checks that a setting whose values have a unit gets a numeric axis.
func TestQuantityAxis(t *testing.T) {
	f, err := Draw(read(t, "#role,setting,lower\n#unit,,ns\nlink,t\n64 GB/s,4000\n0.5 TB/s,1000\n128 GB/s,3000\n"), Request{Where: []string{"t=4000", "t=1000"}})
	if err != nil {
		t.Fatal(err)
	}
	want := draw.Lines{
		Title: "T by link", Note: ": t=4000, t=1000", X: draw.Axis{Label: "link", Unit: "GB/s"}, Y: draw.Axis{Label: "t", Unit: "µs"},
		Series: []draw.Series{{Name: "t", X: []float64{64, 500}, Y: []float64{4, 1}}},
	}
	if diff := cmp.Diff(want, f.Figure, ignoreFormat); diff != "" {
		t.Errorf("figure (-want +got):\n%s", diff)
	}
}

// TestBars checks that a bar chart shows the bounds of the rows as a series of lines across
// the bars.
func TestBars(t *testing.T) {
	f, err := Draw(read(t, collCSV), Request{Kind: Bars, Where: []string{"algorithm=ring"}, Note: "a"})
	if err != nil {
		t.Fatal(err)
	}
	want := draw.Bars{
		Title: "Time by message size", Subtitle: "f16, ring", Note: "a: algorithm=ring", X: "message size", Y: draw.Axis{Label: "time", Unit: "µs"},
		Groups: []string{"1 KiB", "64 KiB"},
		Series: []draw.BarSeries{{Name: "time", Values: []float64{2, 50}}, {Name: "bound", Values: []float64{1.5, 20}, Bound: true}},
	}
	if diff := cmp.Diff(want, f.Figure, ignoreFormat); diff != "" {
		t.Errorf("figure (-want +got):\n%s", diff)
	}
}

// TestBoundsAlone checks that bounds are drawn as bars if the request names no measured
// column.
func TestBoundsAlone(t *testing.T) {
	f, err := Draw(read(t, collCSV), Request{Kind: Bars, Y: []string{"bound_ns"}, Where: []string{"algorithm=ring"}})
	if err != nil {
		t.Fatal(err)
	}
	if b := f.Figure.(draw.Bars); len(b.Series) != 1 || b.Series[0].Bound || b.Title != "Bound by message size" {
		t.Errorf("got %+v, want bars of the bound", b)
	}
}

// TestHeat checks the heat map of a table.
func TestHeat(t *testing.T) {
	f, err := Draw(read(t, collCSV), Request{Kind: Heat, Y: []string{"busbw"}, Title: "T"})
	if err != nil {
		t.Fatal(err)
	}
	want := draw.HeatMap{
		Title: "T", Subtitle: "f16", X: "message size", Y: "algorithm", Unit: "GB/s", Columns: []string{"1 KiB", "64 KiB"}, Rows: []string{"ring", "tree"},
		Values: [][]float64{{0.5, 1.3}, {0.3, 1.6}},
	}
	if diff := cmp.Diff(want, f.Figure, cmpopts.IgnoreFields(draw.HeatMap{}, "Format")); diff != "" {
		t.Errorf("figure (-want +got):\n%s", diff)
	}
}

// TestFigures checks that there is a figure for each measured column whose values differ,
// up to maxFigures.
func TestFigures(t *testing.T) {
	var titles []string
	for _, f := range Figures(read(t, collCSV), Request{}) {
		titles = append(titles, f.Title)
	}
	if diff := cmp.Diff([]string{"Time by message size and algorithm", "Bus bandwidth by message size and algorithm"}, titles); diff != "" {
		t.Errorf("titles (-want +got):\n%s", diff)
	}
	same := "#role,setting,lower,lower,higher,higher,higher\nn,a,b,c,d,e\n1,1,7,1,1,1\n2,2,7,2,2,2\n"
	titles = nil
	for _, f := range Figures(read(t, same), Request{}) {
		titles = append(titles, f.Title)
	}
	if diff := cmp.Diff([]string{"A by n", "C by n", "D by n"}, titles); diff != "" {
		t.Errorf("titles for columns that differ (-want +got):\n%s", diff)
	}
}

// TestFewestSettings checks the error for rows at the same position. The error must name
// the smallest number of settings that distinguish the rows, and never a measurement or a
// hash.
func TestFewestSettings(t *testing.T) {
	lines := "#role,setting,lower,lower,origin,setting,setting\nn,latency_ns,crit_ns,topology_hash,kind,dtype\n"
	for i, kind := range []string{"tcm", "sram", "hbm"} {
		for _, dtype := range []string{"f16", "f32"} {
			for _, n := range []string{"8", "16"} {
				lines += strings.Join([]string{n, "1." + n, kind + n + dtype + strings.Repeat("0", i), kind + dtype, kind, dtype}, ",") + "\n"
			}
		}
	}
	for _, tt := range []struct {
		by   []string
		want string
	}{
		{nil, ""},
		{[]string{"kind"}, "2 rows for n = 8 of tcm (rows 1 and 3): tell them apart with --by kind,dtype, or draw some with --where dtype=f16"},
		{[]string{"dtype"}, "3 rows for n = 8 of f16 (rows 1 and 5): tell them apart with --by dtype,kind, or draw some with --where kind=tcm"},
		{[]string{"kind", "dtype"}, ""},
	} {
		_, err := Draw(read(t, lines), Request{X: "n", Y: []string{"latency_ns"}, By: tt.by})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("--by %v: got  %q\nwant %q", tt.by, got, tt.want)
		}
	}
}

// TestNumberRange checks that an x or a y that is too large or too small for a label is
// refused. A value of --by without a unit is not refused.
func TestNumberRange(t *testing.T) {
	for _, tt := range []struct {
		x, y, by, want string
	}{
		{"1", "1e18", "a", ""},
		{"-1e-18", "0", "1e300", ""}, // --by shows it as it is in the file
		{"inf", "5", "1", ""},        // counts as a word
		{"1", "1e300", "1", "row 1 has t_ns = 1e300, and numbers are drawn from 1e-18 to 1e+18: leave such rows out with --where, or draw another column"},
		{"-1e300", "1", "1", "row 1 has n = -1e300, and numbers are drawn from 1e-18 to 1e+18: leave such rows out with --where, or draw another column"},
		{"1e-300", "1", "1", "row 1 has n = 1e-300, and numbers are drawn from 1e-18 to 1e+18: leave such rows out with --where, or draw another column"},
	} {
		_, err := Draw(read(t, "n,t_ns,k\n"+tt.x+","+tt.y+","+tt.by+"\n"), Request{X: "n", Y: []string{"t_ns"}, By: []string{"k"}, Kind: Bars})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("x %s, y %s, by %s:\n got %s\nwant %s", tt.x, tt.y, tt.by, got, tt.want)
		}
	}
}

// TestNearNumbers checks that two values of --by make separate series even if all digits
// that are shown are equal.
func TestNearNumbers(t *testing.T) {
	f, err := Draw(read(t, "#unit,B,,\nbytes_per_pe,n,t\n1000000,1,5\n1000001,2,6\n1000000,4,9\n"), Request{X: "n", Y: []string{"t"}, By: []string{"bytes_per_pe"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Series{
		{Name: "bytes per pe 976.6 KiB", Column: "t", Points: []Point{{1.0, 5}, {4.0, 9}}},
		{Name: "1000001", Column: "t", Points: []Point{{2.0, 6}}},
	}
	if diff := cmp.Diff(want, f.Series, cmpopts.IgnoreUnexported(Series{})); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// TestUpperCase checks that a title begins with a capital letter, also if the letter takes
// several bytes. Letters without a capital form and invalid UTF-8 do not change.
func TestUpperCase(t *testing.T) {
	for y, want := range map[string]string{"öl": "Öl by n", "run_time": "Run time by n", "ß": "ß by n", "\xffx": "\xffx by n", "": " by n"} {
		d := &data{Table: &table.Table{Columns: []table.Column{{Name: "n"}, {Name: y}}}, ys: []int{1}}
		if got := d.title(); got != want {
			t.Errorf("title of %q: got %q, want %q", y, got, want)
		}
	}
}

// TestBoundsBySettings checks that a bound has a line for each value of the settings that
// change the bound. Other settings add no lines.
func TestBoundsBySettings(t *testing.T) {
	csv := "#role,setting,setting,setting,lower,bound\nlink,algo,size,t,least\n" +
		"1,ring,1K,5,1\n2,ring,1K,4,1\n1,ring,4K,9,3\n2,ring,4K,7,2\n1,tree,1K,6,1\n2,tree,1K,5,1\n1,tree,4K,8,3\n2,tree,4K,6,2\n"
	f, err := Draw(read(t, csv), Request{X: "link", Y: []string{"t", "least"}, By: []string{"algo", "size"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []Series
	for _, s := range f.Series {
		if s.Column == "least" {
			got = append(got, s)
		}
	}
	want := []Series{
		{Name: "1K, least", Column: "least", Points: []Point{{1.0, 1}, {2.0, 1}}},
		{Name: "4K, least", Column: "least", Points: []Point{{1.0, 3}, {2.0, 2}}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Series{})); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
}
