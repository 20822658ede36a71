package compare

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/table"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

// read parses a table from lines whose cells are separated by spaces. The name of a column
// may end in the first letter of its role: "latency/l".
func read(t testing.TB, lines string) *table.Table {
	t.Helper()
	got, err := table.ReadCSV(strings.NewReader(strings.ReplaceAll(lines, " ", ",")))
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Columns {
		c := &got.Columns[i]
		name, letter, _ := strings.Cut(c.Name, "/")
		for _, r := range []table.Role{table.Setting, table.Lower, table.Higher, table.Result, table.Bound, table.Check, table.Origin} {
			if letter != "" && strings.HasPrefix(string(r), letter) {
				c.Role = r
			}
		}
		c.Name = name
	}
	return got
}

// TestThresholds checks which texts Set accepts, and the threshold of each column.
func TestThresholds(t *testing.T) {
	for _, text := range []string{"", "%", "2", "-1%", "two%", "=2%", "a=", "a=2", "NaN%", "Inf%", "0x"} {
		if err := new(Thresholds).Set(text); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("threshold %q: write a share such as 2%% or 0", text)) {
			t.Errorf("%q: got %v, want an error", text, err)
		}
	}
	var o Thresholds
	for _, text := range []string{"2%", "latency_ns=0", "busbw=0.5%"} {
		if err := o.Set(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for column, want := range map[string]string{"time_us": "1/50", "latency_ns": "0/1", "busbw": "1/200"} {
		if got := o.forColumn(column).String(); got != want {
			t.Errorf("%s: got %s, want %s", column, got, want)
		}
	}
}

// TestJudge checks verdicts. A change that equals the threshold counts as equal; a larger
// change does not.
func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		role      table.Role
		a, b      any
		threshold string
		want      Verdict
		change    string
	}{
		{table.Lower, json.Number("100"), json.Number("100"), "0", Equal, ""}, // equal texts have no change
		{table.Lower, json.Number("100"), json.Number("100.0"), "0", Equal, "0"},
		{table.Lower, json.Number("100"), json.Number("1e2"), "0", Equal, "0"},
		{table.Lower, json.Number("100"), json.Number("100.000001"), "0", Worse, "1e-06"},
		{table.Lower, json.Number("100"), json.Number("99.999999"), "0", Better, "-1e-06"},
		{table.Lower, json.Number("100"), json.Number("102"), "2%", Equal, "2"},
		{table.Lower, json.Number("100"), json.Number("102.000001"), "2%", Worse, "2.000001"},
		{table.Lower, json.Number("100"), json.Number("98"), "2%", Equal, "-2"},
		{table.Lower, json.Number("100"), json.Number("97.999999"), "2%", Better, "-2.000001"},
		{table.Lower, json.Number("1.1"), json.Number("1.122"), "2%", Equal, "2"}, // computed with floats, this would be worse
		{table.Lower, json.Number("0.1"), json.Number("0.3"), "200%", Equal, "200"},
		{table.Lower, json.Number("0"), json.Number("0.0"), "0", Equal, ""},
		{table.Lower, json.Number("0"), json.Number("1"), "1000%", Worse, ""},
		{"", json.Number("5"), json.Number("4"), "0", Changed, "-20"}, // no role says which direction is better
		{table.Bound, json.Number("5"), json.Number("4"), "0", Changed, "-20"},
		{table.Lower, json.Number("5"), nil, "100%", Worse, ""}, // no longer measured
		{table.Lower, nil, json.Number("5"), "0", Changed, ""},
		{table.Lower, json.Number("1e-999999999"), json.Number("0"), "0", Equal, ""},
		{table.Higher, json.Number("100"), json.Number("98"), "2%", Equal, "-2"},
		{table.Higher, json.Number("100"), json.Number("97.9"), "2%", Worse, "-2.1"},
		{table.Higher, json.Number("100"), json.Number("102.1"), "2%", Better, "2.1"},
		{table.Result, json.Number("0.5"), json.Number("0.6"), "0", Changed, "20"},
		{"", "cut", "volume", "0", Changed, ""},
		{table.Result, false, nil, "0", Equal, ""},
		{table.Result, true, nil, "0", Changed, ""},
		{table.Check, json.Number("0"), json.Number("1"), "0", Worse, ""},
		{table.Check, json.Number("100"), json.Number("101"), "5%", Worse, "1"}, // checks have no threshold
		{table.Check, json.Number("3"), json.Number("1"), "100%", Better, "-66.66666666666667"},
		{table.Check, json.Number("1"), json.Number("0"), "0", Better, "-100"},
		{table.Check, json.Number("0"), nil, "0", Worse, ""}, // values are no longer checked
		{table.Check, nil, json.Number("0"), "0", Changed, ""},
		{table.Check, nil, json.Number("1"), "0", Worse, ""},
		{table.Check, true, false, "100%", Worse, ""},
		{table.Check, false, true, "0", Better, ""},
		{table.Check, true, true, "0", Equal, ""},
		{table.Check, true, nil, "0", Worse, ""},
		{table.Check, nil, true, "0", Changed, ""},
		{table.Check, nil, false, "0", Worse, ""},
		{table.Check, "yes", "no", "0", Worse, ""}, // an unknown value of a check counts as worse
	} {
		var o Thresholds
		if err := o.Set(tt.threshold); err != nil {
			t.Fatal(err)
		}
		got := judge(tt.role, tt.a, tt.b, o.forColumn("t"))
		change := ""
		if got.Change != nil {
			change = strconv.FormatFloat(*got.Change, 'g', -1, 64)
		}
		if got.Verdict != tt.want || change != tt.change {
			t.Errorf("%s from %v to %v, threshold %s: got %s, %q %%, want %s, %q %%", tt.role, tt.a, tt.b, tt.threshold, got.Verdict, change, tt.want, tt.change)
		}
	}
}

// TestCompare compares two tables. It checks the verdict on each value, and the rows and
// columns that only one table has.
func TestCompare(t *testing.T) {
	a := read(t, "system n/s t_ns/l wrong/c version/o\nring 8 10 0 1\nring 16 20 0 1\ntorus 8 5 0 1\ntorus 16 6 1 1\ntorus 8 5 0 1\n")
	b := read(t, "n/s system wrong/c t_ns/l version/o hops\n8 torus 0 5 2 1\n8 ring 0 11 2 1\n32 ring 0 9 2 1\n16 torus 0 4 2 1\n")
	got, err := Tables(a, b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range got.Cells {
		lines = append(lines, fmt.Sprint(c.Row, ": ", c.Column, " ", c.A, "->", c.B, " ", c.Verdict))
	}
	want := []string{
		"system=ring n=8: t_ns 10->11 worse", "system=ring n=8: wrong 0->0 equal",
		"system=torus n=8: t_ns 5->5 equal", "system=torus n=8: wrong 0->0 equal",
		"system=torus n=16: t_ns 6->4 better", "system=torus n=16: wrong 1->0 better",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	got.Cells, got.shown, got.roles = nil, nil, nil
	wantRest := Comparison{
		Keys: []string{"system", "n"}, Values: []string{"t_ns", "wrong"}, Matched: 3,
		Missing: []string{"system=ring n=16"}, Added: []string{"system=ring n=32"}, Lost: []string{}, New: []string{"hops"},
		Count: map[Verdict]int{Worse: 1, Better: 2, Changed: 0, Equal: 3},
	}
	if diff := cmp.Diff(wantRest, *got, cmp.AllowUnexported(Comparison{})); diff != "" || !got.Bad() {
		t.Errorf("bad %v, the rest (-want +got):\n%s", got.Bad(), diff)
	}
}

// TestCompareColumns checks which columns become keys and values, and which are reported as
// lost. It also checks the errors for options that name a column that a table lacks.
func TestCompareColumns(t *testing.T) {
	a, b := read(t, "n/s t_ns/l u_ns/l x/s\n1 1 1 1\n"), read(t, "n/s t_ns/l x/s\n1 1 2\n")
	for _, tt := range []struct {
		name               string
		o                  Options
		keys, values, lost string
		bad                bool
		matched            int
	}{
		{"by role", Options{}, "n x", "t_ns", "u_ns", true, 0},
		{"keys", Options{Keys: []string{"n"}}, "n", "t_ns", "u_ns", true, 1},
		{"values", Options{Values: []string{"x"}}, "n", "x", "", false, 1},
		{"both", Options{Keys: []string{"n"}, Values: []string{"t_ns"}}, "n", "t_ns", "", false, 1},
	} {
		c, err := Tables(a, b, tt.o)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		keys, values, lost := strings.Join(c.Keys, " "), strings.Join(c.Values, " "), strings.Join(c.Lost, " ")
		if keys != tt.keys || values != tt.values || lost != tt.lost || c.Bad() != tt.bad || c.Matched != tt.matched {
			t.Errorf("%s: got keys %q, values %q, lost %q, bad %v, matched %d, want %q, %q, %q, %v, %d",
				tt.name, keys, values, lost, c.Bad(), c.Matched, tt.keys, tt.values, tt.lost, tt.bad, tt.matched)
		}
	}
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Values: []string{"t_us"}}, `no column "t_us": there are n, t_ns, u_ns, x; did you mean t_ns?`},
		{Options{Keys: []string{"u_ns"}}, `no column "u_ns": there are n, t_ns, x; did you mean t_ns?`},
	} {
		if _, err := Tables(a, b, tt.o); err == nil || err.Error() != tt.want {
			t.Errorf("%v: got %v, want %s", tt.o, err, tt.want)
		}
	}
}

// TestCompareWords checks that a column of bandwidths with units, such as 64GB/s, is a
// setting, because its cells are words. A column of bandwidths without units must be a
// value.
func TestCompareWords(t *testing.T) {
	a := read(t, "link.bandwidth bandwidth/h t_ns/l\n64GB/s 60 1\n128GB/s  2\n")
	c, err := Tables(a, a, Options{})
	if err != nil {
		t.Fatal(err)
	}
	keys, values := strings.Join(c.Keys, " "), strings.Join(c.Values, " ")
	if keys != "link.bandwidth" || values != "bandwidth t_ns" {
		t.Errorf("got keys %q and values %q, want %q and %q", keys, values, "link.bandwidth", "bandwidth t_ns")
	}
}

// TestCompareAmbiguous checks that rows of one table with the same keys are an error unless
// the rows are equal, and that two tables without a common key are an error.
func TestCompareAmbiguous(t *testing.T) {
	kinds := read(t, "kind n/s dtype t_ns/l\ntcm 8 f16 1\nhbm 8 f16 2\ntcm 16 f16 3\n")
	both := read(t, "kind n/s dtype t_ns/l\ntcm 8 f16 1\nhbm 8 f16 2\ntcm 8 f32 3\n")
	plain := read(t, "n/s dtype t_ns/l\n8 f16 1\n16 f16 3\n")
	for _, tt := range []struct {
		name string
		a, b *table.Table
		keys []string
		want string // the error, or the number of matched rows
	}{
		{"other columns tell", kinds, kinds, []string{"n"}, "a.csv has 2 rows with n=8 (rows 1 and 2): tell them apart with --key n,kind"},
		{"two columns tell", both, both, []string{"n"}, "a.csv has 3 rows with n=8 (rows 1 and 2): tell them apart with --key n,kind,dtype"},
		{"all together", both, both, nil, "3"},
		{"a column that only the first has", kinds, plain, nil, "a.csv has 2 rows with n=8 (rows 1 and 2): kind would tell them apart, and b.csv lacks that"},
		{"a column that only the second has", plain, kinds, nil, "b.csv has 2 rows with n=8 (rows 1 and 2): kind would tell them apart, and a.csv lacks that"},
		{"no column", read(t, "n/s t_ns/l\n8 1\n8 2\n"), plain, nil, "a.csv has 2 rows with n=8 (rows 1 and 2), alike in all columns that could tell them apart: leave one of them out of the file"},
		{"alike", read(t, "n/s t_ns/l\n8 1\n8 1\n"), read(t, "n/s t_ns/l\n8 2\n"), nil, "1"},
		{"no key in both", read(t, "n/s t_ns/l\n8 1\n"), read(t, "t_ns/l\n1\n"), nil, "no column that both have says what a row is about: a.csv has n, b.csv has none"},
	} {
		c, err := Tables(tt.a, tt.b, Options{A: "a.csv", B: "b.csv", Keys: tt.keys})
		got := fmt.Sprint(err)
		if err == nil {
			got = strconv.Itoa(c.Matched)
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestRowNames checks that the names of rows contain only keys that differ between rows and
// do not repeat another key. If no key differs, the names contain all keys that do not
// repeat another key.
func TestRowNames(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"k n/s row.n/s bytes/s t_ns/l\nx 8 8 16 1\nx 16 16 32 1\n", "k n/s row.n/s bytes/s t_ns/l\nx 8 8 16 1\n", "n=16 bytes=32"},
		{"k n/s row.n/s t_ns/l\nx 8 8 1\nx 16 16 1\n", "k n/s row.n/s t_ns/l\nx 8 4 1\n", "n=8 row.n=8, n=16 row.n=16"},
		{"k n/s row.n/s t_ns/l\nx 8 8 1\n", "k n/s row.n/s t_ns/l\n", "k=x n=8"},
	} {
		c, err := Tables(read(t, tt.a), read(t, tt.b), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Missing, ", "); got != tt.want {
			t.Errorf("missing of %q in %q: got %s, want %s", tt.a, tt.b, got, tt.want)
		}
	}
}

// TestCompareWithoutKeys checks that rows without keys are matched in order.
func TestCompareWithoutKeys(t *testing.T) {
	c, err := Tables(read(t, "t_ns/l\n1\n2\n"), read(t, "t_ns/l\n1\n3\n4\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Matched != 2 || c.Cells[1].Row != "row 2" || c.Cells[1].Verdict != Worse || !slices.Equal(c.Added, []string{"row 3"}) {
		t.Errorf("got %+v, want row 2 worse and row 3 added", c)
	}
}

// TestAll checks which tables All compares, which tables it reports as missing or added,
// and its errors.
func TestAll(t *testing.T) {
	n := func(name, lines string) table.Named { return table.Named{Name: name, Table: read(t, lines)} }
	for _, tt := range []struct {
		name      string
		a, b      []table.Named
		value     string
		threshold string
		want      string // tables, missing, added, bad; or the error
	}{
		{"folders", []table.Named{n("a.csv", "t_ns/l\n1\n"), n("b.csv", "t_ns/l\n1\n")}, []table.Named{n("a.csv", "t_ns/l\n1\n"), n("c.csv", "t_ns/l\n1\n")}, "", "", "a.csv [b.csv] [c.csv] true"},
		{"a new file", []table.Named{n("a.csv", "t_ns/l\n1\n")}, []table.Named{n("a.csv", "t_ns/l\n1\n"), n("c.csv", "t_ns/l\n1\n")}, "", "", "a.csv [] [c.csv] false"},
		{"a run and a table", []table.Named{n("", "t_ns/l\n1\n"), n(experiment.Metrics, "t_ns/l\n1\n")}, []table.Named{n("", "t_ns/l\n1\n")}, "", "", " [] [] false"},
		{"times of ranks and none", []table.Named{n("", "t_ns/l\n1\n"), n(experiment.Ranks, "rank/s,pe_exec_ns/l\n0,1\n")}, []table.Named{n("", "t_ns/l\n1\n")}, "", "", " [] [] false"},
		{"none and times of ranks", []table.Named{n("", "t_ns/l\n1\n")}, []table.Named{n("", "t_ns/l\n1\n"), n(experiment.Ranks, "rank/s,pe_exec_ns/l\n0,1\n")}, "", "", " [] [] false"},
		{"a column of one table", []table.Named{n("", "t_ns/l\n1\n"), n(experiment.Metrics, "u_ns/l\n1\n")}, []table.Named{n("", "t_ns/l\n1\n"), n(experiment.Metrics, "u_ns/l\n2\n")}, "t_ns", "t_ns=1%", " [] [] false"},
		{"worse", []table.Named{n("", "t_ns/l\n1\n")}, []table.Named{n("", "t_ns/l\n2\n")}, "", "", " [] [] true"},
		{"no column", []table.Named{n("a.csv", "t_ns/l\n1\n")}, []table.Named{n("a.csv", "t_ns/l\n1\n")}, "v_ns", "", `a.csv: no column "v_ns": there are t_ns; did you mean t_ns?`},
		{"threshold of no column", []table.Named{n("a.csv", "t_ns/l\n1\n")}, []table.Named{n("a.csv", "t_ns/l\n1\n")}, "", "size=1%", `threshold: no column "size": there are t_ns`},
		{"all that was measured is gone", []table.Named{n("a.csv", "n/s t_ns/l\n1 1\n"), n("b.csv", "t_ns/l\n1\n")}, []table.Named{n("a.csv", "n/s\n1\n"), n("b.csv", "t_ns/l\n1\n")}, "", "", "a.csv b.csv [] [] true"},
		{"a table of no measurements", []table.Named{n("a.csv", "n/s\n1\n"), n("b.csv", "t_ns/l\n1\n")}, []table.Named{n("a.csv", "n/s\n1\n"), n("b.csv", "t_ns/l\n1\n")}, "", "", "b.csv [] [] false"},
		{"rows that cannot be matched", []table.Named{n("a.csv", "t_ns/l\n1\n"), n("b.csv", "n/s t_ns/l\n1 1\n1 2\n")}, []table.Named{n("a.csv", "t_ns/l\n1\n"), n("b.csv", "n/s t_ns/l\n1 1\n")}, "", "",
			"b.csv: A has 2 rows with n=1 (rows 1 and 2), alike in all columns that could tell them apart: leave one of them out of the file"},
		{"no measurements", []table.Named{n("", "n/s\n1\n")}, []table.Named{n("", "n/s\n1\n")}, "", "", "no column that both have is measured: name those to compare with --value"},
		{"a file and a folder", []table.Named{n("", "t_ns/l\n1\n")}, []table.Named{n("a.csv", "t_ns/l\n1\n")}, "", "", "they have no table of the same name: compare two files, or two folders with the same files"},
	} {
		var o Options
		if tt.value != "" {
			o.Values = []string{tt.value}
		}
		if tt.threshold != "" {
			if err := o.Thresholds.Set(tt.threshold); err != nil {
				t.Fatal(err)
			}
		}
		s, err := All(tt.a, tt.b, o)
		got := fmt.Sprint(err)
		if err == nil {
			var names []string
			for _, n := range s.Tables {
				names = append(names, n.Name)
			}
			got = fmt.Sprint(strings.Join(names, " "), " ", s.Missing, " ", s.Added, " ", s.Bad())
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestWithoutRoles checks files without roles. Columns of words are settings. For columns
// of numbers, neither lower nor higher values are better, unless the options say so.
func TestWithoutRoles(t *testing.T) {
	a, b := read(t, "kind n t_ns ok\ntcm 8 10 true\nhbm 8 20 true\n"), read(t, "kind n t_ns ok\ntcm 8 9 true\nhbm 8 21 false\n")
	for _, tt := range []struct {
		o                        Options
		worse, better, changed   int
		keys, values, undirected string
	}{
		{Options{}, 0, 0, 3, "kind", "n t_ns ok", "t_ns"},
		{Options{Lower: []string{"t_ns"}}, 1, 1, 1, "kind", "n t_ns ok", ""},
		{Options{Higher: []string{"t_ns"}, Keys: []string{"kind", "n"}}, 1, 1, 1, "kind n", "t_ns ok", ""},
	} {
		c, err := Tables(a, b, tt.o)
		if err != nil {
			t.Fatal(err)
		}
		keys, values, unknown := strings.Join(c.Keys, " "), strings.Join(c.Values, " "), strings.Join(c.Unknown, " ")
		if c.Count[Worse] != tt.worse || c.Count[Better] != tt.better || c.Count[Changed] != tt.changed || keys != tt.keys || values != tt.values || unknown != tt.undirected {
			t.Errorf("%+v: got %v, keys %s, values %s, without a direction %s", tt.o, c.Count, keys, values, unknown)
		}
	}
	if c, err := Tables(read(t, "t/h\n1\n"), read(t, "t/h\n2\n"), Options{Lower: []string{"t"}}); err != nil || c.Count[Worse] != 1 {
		t.Errorf("--lower against the schema: got %+v, %v, want worse", c, err)
	}
	same := read(t, "kind n t_ns\ntcm 8 1\ntcm 16 2\n")
	const clash = "A has 2 rows with kind=tcm (rows 1 and 2): tell them apart with --key kind,n"
	if _, err := Tables(same, same, Options{}); err == nil || err.Error() != clash {
		t.Errorf("a number that tells rows apart: got %v, want %s", err, clash)
	}
}

// TestDirections checks the error for a column that no table has, and the error for a
// column that two options name.
func TestDirections(t *testing.T) {
	a := []table.Named{{Table: read(t, "kind t_ns\nx 1\n")}, {Name: experiment.Metrics, Table: read(t, "u_ns\n1\n")}}
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Lower: []string{"t_ns", "u_ns"}}, "<nil>"}, // columns of any table
		{Options{Lower: []string{"t"}}, `--lower: no column "t": there are kind, t_ns`},
		{Options{Higher: []string{"kinds"}}, `--higher: no column "kinds": there are kind, t_ns; did you mean kind?`},
		{Options{Lower: []string{"t_ns"}, Higher: []string{"t_ns"}}, `column "t_ns" is named by --lower and --higher: leave out one of them`},
		{Options{Keys: []string{"t_ns"}, Lower: []string{"t_ns"}}, `column "t_ns" is named by --key and --lower: leave out one of them`},
	} {
		if _, err := All(a, a, tt.o); fmt.Sprint(err) != tt.want {
			t.Errorf("%+v: got %v, want %s", tt.o, err, tt.want)
		}
	}
}

// TestCompareIsFair checks that a random table equals itself in any order of its rows. It
// also checks that values that are better become worse when the tables are swapped.
func TestCompareIsFair(t *testing.T) {
	columns := read(t, "k/s t_ns/l busbw/h\n").Columns
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.SampledFrom([]any{json.Number("1"), json.Number("2"), json.Number("3")})
		row := rapid.Custom(func(t *rapid.T) []any {
			return []any{rapid.SampledFrom([]any{"x", "y", nil}).Draw(t, "key"), number.Draw(t, "time"), number.Draw(t, "bandwidth")}
		})
		rows := rapid.SliceOfNDistinct(row, 1, 3, func(cells []any) any { return cells[0] })
		a := &table.Table{Columns: columns, Rows: rows.Draw(t, "a")}
		b := &table.Table{Columns: columns, Rows: rows.Draw(t, "b")}
		shuffled := &table.Table{Columns: columns, Rows: slices.Clone(a.Rows)}
		slices.SortStableFunc(shuffled.Rows, func(x, y []any) int { return strings.Compare(table.Text(x[0]), table.Text(y[0])) })
		count := func(a, b *table.Table) Comparison {
			c, err := Tables(a, b, Options{})
			if err != nil {
				t.Fatal(err)
			}
			return *c
		}
		if c := count(a, shuffled); c.Bad() || c.Count[Equal] != 2*len(a.Rows) || len(c.Added) > 0 {
			t.Errorf("itself: got %+v, want all of %d rows equal", c, len(a.Rows))
		}
		there, back := count(a, b), count(b, a)
		if there.Count[Worse] != back.Count[Better] || there.Count[Equal] != back.Count[Equal] || len(there.Missing) != len(back.Added) {
			t.Errorf("a to b %+v, b to a %+v: want worse values of one to be better values of the other", there, back)
		}
	})
}

// BenchmarkTables measures the time to compare a row of four values.
func BenchmarkTables(b *testing.B) {
	const rows = 1000
	var lines strings.Builder
	lines.WriteString("system/s n_elem/s time_ns/l busbw/h bound_ns/b wrong/c\n")
	for i := range rows {
		fmt.Fprintf(&lines, "ring_1d %d 1790.55862 0.0063 472.325 0\n", i)
	}
	t := read(b, lines.String())
	for b.Loop() {
		if _, err := Tables(t, t, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
}

// TestAnotherChoice checks that the column `algorithm` is not a key if the algorithm was
// chosen automatically: rows match even if the algorithm changed. If B has rows of several
// algorithms at a size, the error must suggest `algorithm` as a key.
func TestAnotherChoice(t *testing.T) {
	c, err := Tables(read(t, "size/s algorithm/r time_us/l\n8 direct 5\n16 direct 9\n"), read(t, "size/s algorithm/r time_us/l\n8 direct 5\n16 ring 7\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Matched != 2 || c.Bad() || c.Count[Better] != 1 || c.Count[Changed] != 1 {
		t.Errorf("got %+v, want two rows, a better time and a changed algorithm", c)
	}
	const want = "B has 2 rows with size=8 (rows 1 and 2): tell them apart with --key size,algorithm"
	auto, all := read(t, "size/s algorithm/r time_us/l\n8 ring 5\n"), read(t, "size/s algorithm/s time_us/l\n8 ring 5\n8 tree 6\n")
	if _, err := Tables(auto, all, Options{}); err == nil || err.Error() != want {
		t.Errorf("chosen and all: got %v, want %s", err, want)
	}
}

// TestSaidOnce checks that a column of points, such as point.crit_ns, is not compared if it
// repeats the values of a column of rows, such as crit_ns.
func TestSaidOnce(t *testing.T) {
	point := func(whole, row string) *table.Table {
		return read(t, "n/s point.crit_ns/l crit_ns/l\n8 "+whole+" "+row+"\n")
	}
	for _, tt := range []struct {
		a, b *table.Table
		want []string
	}{
		{point("5", "5"), point("6", "6"), []string{"crit_ns"}},
		{point("5", "5"), point("9", "6"), []string{"point.crit_ns", "crit_ns"}},
	} {
		c, err := Tables(tt.a, tt.b, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.Values, tt.want) {
			t.Errorf("%v and %v: %v are compared, want %v", tt.a.Rows, tt.b.Rows, c.Values, tt.want)
		}
	}
}
