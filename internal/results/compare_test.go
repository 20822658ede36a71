package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// table reads one that is written in lines, cells apart by spaces.
func table(t testing.TB, lines string) *Table {
	t.Helper()
	got, err := ParseCSV(strings.NewReader(strings.ReplaceAll(lines, " ", ",")))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRoles(t *testing.T) {
	for name, want := range map[string]role{
		"n_elem": key, "topology": key, "runtime": key, "size": key, "gemm_count": key, "devices": key, "n_sips": key, "flops": key,
		"latency_ns": lower, "time_us": lower, "time": lower, "wall_time": lower, "metrics.makespan_ns": lower,
		"algbw": higher, "busbw": higher, "bandwidth_gbs": higher, "link_gbps": higher, "gemm_utilization": higher, "gflops": higher,
		"comm_share": neutral, "ratio": neutral, "bound_ns": neutral, "bound_share": neutral, "bound": neutral, "best": neutral, "reference_ns": neutral, "roofline_ns": neutral, "theory_ns": neutral, "theirs_us": neutral,
		"ok": right, "point.ok": right, "match": right, "wrong": wrong,
		"version": origin, "hash": origin, "topology_hash": origin, "config.topology.hash": origin,
	} {
		if got := roleOf(name); got != want {
			t.Errorf("%s: got role %d, want %d", name, got, want)
		}
	}
}

func TestTheory(t *testing.T) {
	for name, want := range map[string]bool{
		"bound_ns": true, "roofline_ns": true, "theory": true, "metrics.Ideal_ns": true, "reference_ns": true,
		"bound_share": false, "roofline_ratio": false, "theirs_us": false, "latency_ns": false, "bound.latency_ns": false,
	} {
		if got := Theory(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestThresholds(t *testing.T) {
	for _, text := range []string{"", "%", "2", "-1%", "two%", "=2%", "a=", "a=2", "NaN%", "Inf%", "0x"} {
		if err := new(Thresholds).Set(text); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("threshold %q: write a share such as 2%% or 0", text)) {
			t.Errorf("%q: got %v, want a refusal", text, err)
		}
	}
	var o Thresholds
	for _, text := range []string{"2%", "latency_ns=0", "busbw=0.5%"} {
		if err := o.Set(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for column, want := range map[string]string{"time_us": "1/50", "latency_ns": "0/1", "busbw": "1/200"} {
		if got := o.of(column).String(); got != want {
			t.Errorf("%s: got %s, want %s", column, got, want)
		}
	}
}

// TestJudge: at the edge of its threshold a value is equal, behind it it is not.
func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		column, a, b, threshold string
		want                    Verdict
		change                  string
	}{
		{"t_ns", "100", "100", "0", Equal, ""}, // the same text says all
		{"t_ns", "100", "100.0", "0", Equal, "0"},
		{"t_ns", "100", "1e2", "0", Equal, "0"},
		{"t_ns", "100", "100.000001", "0", Worse, "1e-06"},
		{"t_ns", "100", "99.999999", "0", Better, "-1e-06"},
		{"t_ns", "100", "102", "2%", Equal, "2"},
		{"t_ns", "100", "102.000001", "2%", Worse, "2.000001"},
		{"t_ns", "100", "98", "2%", Equal, "-2"},
		{"t_ns", "100", "97.999999", "2%", Better, "-2.000001"},
		{"t_ns", "1.1", "1.122", "2%", Equal, "2"}, // which floats would call worse
		{"t_ns", "0.1", "0.3", "200%", Equal, "200"},
		{"t_ns", "0", "0.0", "0", Equal, ""},
		{"t_ns", "0", "1", "1000%", Worse, ""},
		{"t_ns", "5", "", "100%", Worse, ""}, // no longer measured
		{"t_ns", "", "5", "0", Changed, ""},
		{"t_ns", "1e-999999999", "0", "0", Equal, ""},
		{"busbw", "100", "98", "2%", Equal, "-2"},
		{"busbw", "100", "97.9", "2%", Worse, "-2.1"},
		{"busbw", "100", "102.1", "2%", Better, "2.1"},
		{"comm_share", "0.5", "0.6", "0", Changed, "20"},
		{"bound_kind", "cut", "volume", "0", Changed, ""},
		{"best", "false", "", "0", Equal, ""},
		{"best", "true", "", "0", Changed, ""},
		{"wrong", "0", "1", "0", Worse, ""},
		{"wrong", "100", "101", "5%", Worse, "1"}, // no threshold for that
		{"wrong", "3", "1", "100%", Better, "-66.66666666666667"},
		{"wrong", "1", "0", "0", Better, "-100"},
		{"wrong", "0", "", "0", Worse, ""}, // nobody looked
		{"wrong", "", "0", "0", Changed, ""},
		{"wrong", "", "1", "0", Worse, ""},
		{"ok", "true", "false", "100%", Worse, ""},
		{"ok", "false", "true", "0", Better, ""},
		{"ok", "true", "true", "0", Equal, ""},
		{"match", "true", "", "0", Worse, ""},
		{"match", "", "true", "0", Changed, ""},
		{"match", "", "false", "0", Worse, ""},
		{"match", "yes", "no", "0", Worse, ""}, // who knows
	} {
		var o Thresholds
		if err := o.Set(tt.threshold); err != nil {
			t.Fatal(err)
		}
		got := judge(tt.column, tt.a, tt.b, o.of(tt.column))
		change := ""
		if got.Change != nil {
			change = strconv.FormatFloat(*got.Change, 'g', -1, 64)
		}
		if got.Verdict != tt.want || change != tt.change {
			t.Errorf("%s from %q to %q, threshold %s: got %s, %q %%, want %s, %q %%", tt.column, tt.a, tt.b, tt.threshold, got.Verdict, change, tt.want, tt.change)
		}
	}
}

func TestCompare(t *testing.T) {
	a := table(t, "system n t_ns wrong version\nring 8 10 0 1\nring 16 20 0 1\ntorus 8 5 0 1\ntorus 16 6 1 1\ntorus 8 5 0 1\n")
	b := table(t, "n system wrong t_ns version hops\n8 torus 0 5 2 1\n8 ring 0 11 2 1\n32 ring 0 9 2 1\n16 torus 0 4 2 1\n")
	got, err := Compare(a, b, CompareOptions{})
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
	got.Cells, got.shown = nil, nil
	wantRest := Comparison{
		Keys: []string{"system", "n"}, Values: []string{"t_ns", "wrong"}, Matched: 3,
		Missing: []string{"system=ring n=16"}, Added: []string{"system=ring n=32"}, Lost: []string{}, New: []string{"hops"},
		Count: map[Verdict]int{Worse: 1, Better: 2, Changed: 0, Equal: 3},
	}
	if diff := cmp.Diff(wantRest, *got, cmp.AllowUnexported(Comparison{})); diff != "" || !got.Bad() {
		t.Errorf("bad %v, the rest (-want +got):\n%s", got.Bad(), diff)
	}
}

// TestCompareColumns: which columns are keys and values, and what becomes of others.
func TestCompareColumns(t *testing.T) {
	a, b := table(t, "n t_ns u_ns x\n1 1 1 1\n"), table(t, "n t_ns x\n1 1 2\n")
	for _, tt := range []struct {
		name               string
		o                  CompareOptions
		keys, values, lost string
		bad                bool
		matched            int
	}{
		{"by name", CompareOptions{}, "n x", "t_ns", "u_ns", true, 0},
		{"keys", CompareOptions{Keys: []string{"n"}}, "n", "t_ns", "u_ns", true, 1},
		{"values", CompareOptions{Values: []string{"x"}}, "n", "x", "", false, 1},
		{"both", CompareOptions{Keys: []string{"n"}, Values: []string{"t_ns"}}, "n", "t_ns", "", false, 1},
	} {
		c, err := Compare(a, b, tt.o)
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
		o    CompareOptions
		want string
	}{
		{CompareOptions{Values: []string{"t_us"}}, `no column "t_us": there are n, t_ns, u_ns, x; did you mean t_ns?`},
		{CompareOptions{Keys: []string{"u_ns"}}, `no column "u_ns": there are n, t_ns, x; did you mean t_ns?`},
	} {
		if _, err := Compare(a, b, tt.o); err == nil || err.Error() != tt.want {
			t.Errorf("%v: got %v, want %s", tt.o, err, tt.want)
		}
	}
}

// TestCompareWords: a bandwidth with its unit was set, and one without was measured.
func TestCompareWords(t *testing.T) {
	a := table(t, "link.bandwidth bandwidth t_ns\n64GB/s 60 1\n128GB/s  2\n")
	c, err := Compare(a, a, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	keys, values := strings.Join(c.Keys, " "), strings.Join(c.Values, " ")
	if keys != "link.bandwidth" || values != "bandwidth t_ns" {
		t.Errorf("got keys %q and values %q, want %q and %q", keys, values, "link.bandwidth", "bandwidth t_ns")
	}
}

// TestCompareAmbiguous: rows of one table with the same keys are refused, unless they are alike.
func TestCompareAmbiguous(t *testing.T) {
	kinds := table(t, "kind n dtype t_ns\ntcm 8 f16 1\nhbm 8 f16 2\ntcm 16 f16 3\n")
	both := table(t, "kind n dtype t_ns\ntcm 8 f16 1\nhbm 8 f16 2\ntcm 8 f32 3\n")
	plain := table(t, "n dtype t_ns\n8 f16 1\n16 f16 3\n")
	for _, tt := range []struct {
		name string
		a, b *Table
		keys []string
		want string // the error, or how many rows are matched
	}{
		{"other columns tell", kinds, kinds, []string{"n"}, "a.csv has 2 rows with n=8 (rows 1 and 2): tell them apart with --key n,kind"},
		{"two columns tell", both, both, []string{"n"}, "a.csv has 3 rows with n=8 (rows 1 and 2): tell them apart with --key n,kind,dtype"},
		{"all together", both, both, nil, "3"},
		{"a column that only the first has", kinds, plain, nil, "a.csv has 2 rows with n=8 (rows 1 and 2): kind would tell them apart, and b.csv lacks that"},
		{"a column that only the second has", plain, kinds, nil, "b.csv has 2 rows with n=8 (rows 1 and 2): kind would tell them apart, and a.csv lacks that"},
		{"no column", table(t, "n t_ns\n8 1\n8 2\n"), plain, nil, "a.csv has 2 rows with n=8 (rows 1 and 2), alike in all columns that could tell them apart: leave one of them out of the file"},
		{"alike", table(t, "n t_ns\n8 1\n8 1\n"), table(t, "n t_ns\n8 2\n"), nil, "1"},
		{"no key in both", table(t, "n t_ns\n8 1\n"), table(t, "t_ns\n1\n"), nil, "no column that both have says what a row is about: a.csv has n, b.csv has none"},
	} {
		c, err := Compare(tt.a, tt.b, CompareOptions{A: "a.csv", B: "b.csv", Keys: tt.keys})
		got := fmt.Sprint(err)
		if err == nil {
			got = strconv.Itoa(c.Matched)
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestRowNames: rows are named by the keys that tell something, once.
func TestRowNames(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"k n row.n bytes t_ns\nx 8 8 16 1\nx 16 16 32 1\n", "k n row.n bytes t_ns\nx 8 8 16 1\n", "n=16 bytes=32"},
		{"k n row.n t_ns\nx 8 8 1\nx 16 16 1\n", "k n row.n t_ns\nx 8 4 1\n", "n=8 row.n=8, n=16 row.n=16"},
		{"k n row.n t_ns\nx 8 8 1\n", "k n row.n t_ns\n", "k=x n=8"},
	} {
		c, err := Compare(table(t, tt.a), table(t, tt.b), CompareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Missing, ", "); got != tt.want {
			t.Errorf("missing of %q in %q: got %s, want %s", tt.a, tt.b, got, tt.want)
		}
	}
}

// TestCompareWithoutKeys: rows are taken in order.
func TestCompareWithoutKeys(t *testing.T) {
	c, err := Compare(table(t, "t_ns\n1\n2\n"), table(t, "t_ns\n1\n3\n4\n"), CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Matched != 2 || c.Cells[1].Row != "row 2" || c.Cells[1].Verdict != Worse || !slices.Equal(c.Added, []string{"row 3"}) {
		t.Errorf("got %+v, want row 2 worse and row 3 added", c)
	}
}

func TestCompareAll(t *testing.T) {
	n := func(name, lines string) File { return File{name, table(t, lines)} }
	for _, tt := range []struct {
		name      string
		a, b      []File
		value     string
		threshold string
		want      string // tables, missing, added, bad; or the error
	}{
		{"folders", []File{n("a.csv", "t_ns\n1\n"), n("b.csv", "t_ns\n1\n")}, []File{n("a.csv", "t_ns\n1\n"), n("c.csv", "t_ns\n1\n")}, "", "", "a.csv [b.csv] [c.csv] true"},
		{"a new file", []File{n("a.csv", "t_ns\n1\n")}, []File{n("a.csv", "t_ns\n1\n"), n("c.csv", "t_ns\n1\n")}, "", "", "a.csv [] [c.csv] false"},
		{"a run and a table", []File{n("", "t_ns\n1\n"), n(Metrics, "t_ns\n1\n")}, []File{n("", "t_ns\n1\n")}, "", "", " [] [] false"},
		{"times of ranks and none", []File{n("", "t_ns\n1\n"), n(Ranks, "rank,pe_exec_ns\n0,1\n")}, []File{n("", "t_ns\n1\n")}, "", "", " [] [] false"},
		{"none and times of ranks", []File{n("", "t_ns\n1\n")}, []File{n("", "t_ns\n1\n"), n(Ranks, "rank,pe_exec_ns\n0,1\n")}, "", "", " [] [] false"},
		{"a column of one table", []File{n("", "t_ns\n1\n"), n(Metrics, "u_ns\n1\n")}, []File{n("", "t_ns\n1\n"), n(Metrics, "u_ns\n2\n")}, "t_ns", "t_ns=1%", " [] [] false"},
		{"worse", []File{n("", "t_ns\n1\n")}, []File{n("", "t_ns\n2\n")}, "", "", " [] [] true"},
		{"no column", []File{n("a.csv", "t_ns\n1\n")}, []File{n("a.csv", "t_ns\n1\n")}, "v_ns", "", `a.csv: no column "v_ns": there are t_ns; did you mean t_ns?`},
		{"threshold of no column", []File{n("a.csv", "t_ns\n1\n")}, []File{n("a.csv", "t_ns\n1\n")}, "", "size=1%", `threshold: no column "size": there are t_ns`},
		{"all that was measured is gone", []File{n("a.csv", "n t_ns\n1 1\n"), n("b.csv", "t_ns\n1\n")}, []File{n("a.csv", "n\n1\n"), n("b.csv", "t_ns\n1\n")}, "", "", "a.csv b.csv [] [] true"},
		{"a table of no measurements", []File{n("a.csv", "n\n1\n"), n("b.csv", "t_ns\n1\n")}, []File{n("a.csv", "n\n1\n"), n("b.csv", "t_ns\n1\n")}, "", "", "b.csv [] [] false"},
		{"rows that cannot be matched", []File{n("a.csv", "t_ns\n1\n"), n("b.csv", "n t_ns\n1 1\n1 2\n")}, []File{n("a.csv", "t_ns\n1\n"), n("b.csv", "n t_ns\n1 1\n")}, "", "",
			"b.csv: A has 2 rows with n=1 (rows 1 and 2), alike in all columns that could tell them apart: leave one of them out of the file"},
		{"no measurements", []File{n("", "n\n1\n")}, []File{n("", "n\n1\n")}, "", "", "no column that both have is measured: name those to compare with --value"},
		{"a file and a folder", []File{n("", "t_ns\n1\n")}, []File{n("a.csv", "t_ns\n1\n")}, "", "", "they have no table of the same name: compare two files, or two folders with the same files"},
	} {
		var o CompareOptions
		if tt.value != "" {
			o.Values = []string{tt.value}
		}
		if tt.threshold != "" {
			if err := o.Thresholds.Set(tt.threshold); err != nil {
				t.Fatal(err)
			}
		}
		s, err := CompareAll(tt.a, tt.b, o)
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

// TestCompareIsFair: a table is equal to itself in any order of its rows, and what is
// better one way is worse the other.
func TestCompareIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.Custom(func(t *rapid.T) []string {
			return []string{
				rapid.SampledFrom([]string{"x", "y", ""}).Draw(t, "key"),
				strconv.Itoa(rapid.IntRange(1, 3).Draw(t, "time")), strconv.Itoa(rapid.IntRange(1, 3).Draw(t, "bandwidth")),
			}
		})
		columns := []string{"k", "t_ns", "busbw"}
		rows := rapid.SliceOfNDistinct(row, 1, 3, func(cells []string) string { return cells[0] })
		a := &Table{Columns: columns, Rows: rows.Draw(t, "a")}
		b := &Table{Columns: columns, Rows: rows.Draw(t, "b")}
		shuffled := &Table{Columns: columns, Rows: slices.Clone(a.Rows)}
		slices.SortStableFunc(shuffled.Rows, func(x, y []string) int { return strings.Compare(x[0], y[0]) })
		count := func(a, b *Table) Comparison {
			c, err := Compare(a, b, CompareOptions{})
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
			t.Errorf("there %+v, back %+v: want what is worse to be better", there, back)
		}
	})
}

// BenchmarkCompare is the time of a row of four values.
func BenchmarkCompare(b *testing.B) {
	t := &Table{Columns: []string{"system", "n_elem", "time_ns", "busbw", "bound_ns", "wrong"}}
	const rows = 1000
	for i := range rows {
		t.Rows = append(t.Rows, []string{"ring_1d", strconv.Itoa(i), "1790.55862", "0.0063", "472.325", "0"})
	}
	for b.Loop() {
		if _, err := Compare(t, t, CompareOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
}

// TestSettingsAreKeys: what a sweep has set says what a row is about, whatever it is called.
func TestSettingsAreKeys(t *testing.T) {
	const sweep = `{"sweep":{"identity":"x","points":2,"grid":"g"}}
{"point":0,"settings":{"link.bandwidth":"64 GB/s"},"row":{"crit_ns":5}}
{"point":1,"settings":{"link.bandwidth":"128 GB/s"},"row":{"crit_ns":%d}}
`
	var tables []*Table
	for _, crit := range []int{3, 4} {
		files, err := readFile(t.Context(), put(t, "a.jsonl", fmt.Sprintf(sweep, crit)))
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, files[0].Table)
	}
	c, err := Compare(tables[0], tables[1], CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Matched != 2 || c.Count[Worse] != 1 || c.Cells[1].Row != "link.bandwidth=128 GB/s" || c.Cells[1].Verdict != Worse {
		t.Errorf("got %+v, want two rows, of which that of 128 GB/s got worse", c)
	}
}

// TestAnotherChoice: an algorithm that was picked for a row is compared, and a key only where
// nothing else tells rows apart.
func TestAnotherChoice(t *testing.T) {
	table := func(rows ...[]string) *Table {
		return &Table{Columns: []string{"size", "algorithm", "time_us"}, Rows: rows}
	}
	auto := table([]string{"8", "direct", "5"}, []string{"16", "direct", "9"})
	then := table([]string{"8", "direct", "5"}, []string{"16", "ring", "7"})
	c, err := Compare(auto, then, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Matched != 2 || c.Bad() || c.Count[Better] != 1 || c.Count[Changed] != 1 {
		t.Errorf("another algorithm: got %+v, want two rows, a better time and a changed algorithm", c)
	}
	all := table([]string{"8", "direct", "5"}, []string{"8", "ring", "6"})
	c, err = Compare(all, all, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"size", "algorithm"}; c.Matched != 2 || !slices.Equal(c.Keys, want) {
		t.Errorf("all algorithms: %d rows matched by %v, want 2 by %v", c.Matched, c.Keys, want)
	}
}

// TestSaidOnce: what a point says of its only row is not compared twice.
func TestSaidOnce(t *testing.T) {
	table := func(whole, row string) *Table {
		return &Table{Columns: []string{"n", "point.crit_ns", "crit_ns"}, Rows: [][]string{{"8", whole, row}}, Settings: 1}
	}
	for _, tt := range []struct {
		a, b *Table
		want []string
	}{
		{table("5", "5"), table("6", "6"), []string{"crit_ns"}},
		{table("5", "5"), table("9", "6"), []string{"point.crit_ns", "crit_ns"}},
	} {
		c, err := Compare(tt.a, tt.b, CompareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.Values, tt.want) {
			t.Errorf("%v and %v: %v are compared, want %v", tt.a.Rows, tt.b.Rows, c.Values, tt.want)
		}
	}
}
