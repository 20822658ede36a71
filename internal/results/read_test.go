package results

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/rapidtest"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

// put writes a file and returns its path.
func put(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// head is the first line of a sweep of three points, as early versions wrote it.
const head = `{"sweep":{"identity":"x","points":3,"grid":"g"}}`

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, file, text string
		want             Table
	}{
		{
			"CSV keeps cells as written", "a.csv", "# of a run\nn,latency_ns\n8,1.50\n# more\n\"16\",\"a,b\"\n",
			Table{Columns: []string{"n", "latency_ns"}, Rows: [][]string{{"8", "1.50"}, {"16", "a,b"}}},
		},
		{"CSV without rows", "a.csv", "n,latency_ns\n", Table{Columns: []string{"n", "latency_ns"}, Rows: nil}},
		{
			"rows of a run", "a.json", `{"bench":"b","ok":true,"metrics":{"pes":2},"rows":[{"n":8,"t_ns":1.50},{"n":16,"extra":null,"t_ns":3e2}]}`,
			Table{Columns: []string{"n", "t_ns", "extra"}, Rows: [][]string{{"8", "1.50", ""}, {"16", "3e2", ""}}},
		},
		{
			"a run without rows is its metrics", "a.json", `{"bench":"hello","ok":true,"crit_ns":318.09248,"metrics":{"pes":256},"rows":[]}`,
			Table{Columns: []string{"bench", "ok", "crit_ns", "pes"}, Rows: [][]string{{"hello", "true", "318.09248", "256"}}},
		},
		{
			"lists are no cells, objects are columns with a dot", "a.json", `{"rows":[{"case":"dma","at":{"x":1,"y":2},"hops":[{"link":"l"}]}]}`,
			Table{Columns: []string{"case", "at.x", "at.y"}, Rows: [][]string{{"dma", "1", "2"}}},
		},
		{
			"points of a sweep in their order, the last line cut off", "a.jsonl",
			head + "\n" +
				`{"point":1,"settings":{"n":"16","topology":"ring"},"row":{"n":16,"t_ns":2.0}}` + "\n" +
				`{"point":0,"settings":{"n":"8","topology":"ring"},"row":{"n":8,"t_ns":1.0}}` + "\n" +
				`{"point":2,"settings":{"n":"3`,
			Table{Columns: []string{"n", "topology", "row.n", "t_ns"}, Settings: 2, Missing: 1, Rows: [][]string{{"8", "ring", "8", "1.0"}, {"16", "ring", "16", "2.0"}}},
		},
		{
			"what sweep prints", "a.json", `{"sweep":"s","points":[{"point":0,"settings":{"n":"8"},"row":{"ok":true,"metrics":{"pes":2},"rows":[{"t_ns":1}]}}]}`,
			Table{Columns: []string{"n", "ok", "metrics.pes", "t_ns"}, Settings: 1, Rows: [][]string{{"8", "true", "2", "1"}}},
		},
		{
			"several rows of a point", "a.jsonl",
			head + "\n" +
				`{"point":0,"settings":{"algorithm":"auto"},"row":{"ok":true,"rows":[{"algorithm":"ring","t_ns":1},{"algorithm":"auto","t_ns":2}]}}` + "\n" +
				`{"point":1,"settings":{"algorithm":"tree"},"row":[{"t_ns":3},{"t_ns":4}]}` + "\n" +
				`{"point":2,"settings":{"algorithm":"none"},"row":{"ok":false,"rows":[]}}` + "\n",
			Table{Columns: []string{"algorithm", "ok", "row.algorithm", "t_ns"}, Settings: 1, Rows: [][]string{
				{"auto", "true", "ring", "1"}, {"auto", "true", "auto", "2"}, {"tree", "", "", "3"}, {"tree", "", "", "4"}, {"none", "false", "", ""},
			}},
		},
		{
			"what points and rows both say, in any of them", "a.jsonl",
			head + "\n" +
				`{"point":0,"settings":{"metrics.pes":"2"},"row":{"ok":true,"crit_ns":5,"metrics":{"pes":2},"rows":[]}}` + "\n" +
				`{"point":1,"settings":{"metrics.pes":"4"},"row":{"ok":true,"crit_ns":6,"metrics":{"pes":4},"rows":[{"crit_ns":6}]}}` + "\n" +
				`{"point":2,"settings":{"metrics.pes":"8"},"row":{"ok":true,"crit_ns":7,"metrics":{"pes":8},"rows":[{"crit_ns":3},{"crit_ns":7}]}}` + "\n",
			Table{Columns: []string{"metrics.pes", "ok", "point.crit_ns", "point.metrics.pes", "crit_ns"}, Settings: 1, Rows: [][]string{
				{"2", "true", "5", "2", ""}, {"4", "true", "6", "4", "6"}, {"8", "true", "7", "8", "3"}, {"8", "true", "7", "8", "7"},
			}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Read(t.Context(), put(t, tt.file, tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadDamaged(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"a.csv", "", "no line with the names of columns: the file is empty or was cut off"},
		{"a.csv", "# only\n", "no line with the names of columns: the file is empty or was cut off"},
		{"a.csv", "n,t\n1,2\n3\n", "record on line 3: wrong number of fields"},
		{"a.csv", "n,t\n1,\"2\n", `parse error on line 2, column 6: extraneous or missing " in quoted-field`},
		{"a.csv", "n,n\n1,2\n", `two columns "n": give each a name of its own`},
		{"a.json", "", "the JSON ends in the middle: the file was cut off"},
		{"a.json", `{"rows":[{"n":1}`, "the JSON ends in the middle: the file was cut off"},
		{"a.json", `{"rows":[{"n":1}]} {}`, "more text behind the JSON"},
		{"a.json", `[1]`, "JSON, but no object with results"},
		{"a.json", `{"n":1}`, `no "rows": it is not what run, coll, sweep or probe print with --format json`},
		{"a.json", `{"rows":[1]}`, "row 1 is no object"},
		{"a.json", `{"rows":[]}`, "no rows in it"},
		{"a.json", strings.Repeat(`{"rows":`, 200), "values within values, more than 100 deep"},
		{"a.json", "{]", "no JSON: invalid character ']'"},
		{"a.jsonl", "", "no point in it: the sweep ended before the first"},
		{"a.jsonl", `{"point":0}` + "\n", `the first line does not tell of a sweep, {"sweep": ...}`},
		{"a.jsonl", head + "\n", "no point in it: the sweep ended before the first"},
		{"a.jsonl", head + "\n" + `{"point":0,"settings":{},"row":{}` + "\n", ":2: damaged: unexpected end of JSON input: delete the line to have its point run again"},
		{"a.jsonl", head + "\n" + `{"point":0,"settings":{},"row":1}` + "\n", `point 0: "row" is neither an object nor a list of them`},
		{"a.jsonl", head + "\n" + `{"settings":{},"row":{}}` + "\n", ":2: damaged: not as a sweep writes it: delete the line to have its point run again"},
		{"a.json", `{"sweep":"s","points":[1]}`, `point 1 in the file: no number as "point"`},
		{"a.txt", "n\n", "results are in files that end in .csv, .json or .jsonl"},
	} {
		path := put(t, tt.file, tt.text)
		_, err := Read(t.Context(), path)
		if err == nil || !strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(err.Error(), path), ": "), tt.want) {
			t.Errorf("%s with %.40q: got error %v, want one that begins with %s: %s", tt.file, tt.text, err, path, tt.want)
		}
	}
	if _, err := Read(t.Context(), "nowhere.csv"); err == nil || err.Error() != "nowhere.csv: there is no such file: name a .csv, .json or .jsonl with results" {
		t.Errorf("no file: got %v", err)
	}
}

// TestReadAll: a run has two tables, a folder those of its CSV files.
func TestReadAll(t *testing.T) {
	files, err := ReadAll(t.Context(), put(t, "a.json", `{"bench":"b","ok":true,"crit_ns":5,"rows":[{"n":1}]}`))
	if err != nil || len(files) != 2 || files[0].Name != "" || files[1].Name != Metrics || files[1].Table.Rows[0][2] != "5" {
		t.Errorf("a run: got %v, %v, want rows and metrics", files, err)
	}
	folder := t.TempDir()
	if _, err := ReadAll(t.Context(), folder); err == nil || err.Error() != folder+": no .csv in this folder: name a file, or a folder with results" {
		t.Errorf("an empty folder: got %v", err)
	}
	for _, name := range []string{"summary.csv", "sub/more.csv", "figure.svg"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("n\n1\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	files, err = ReadAll(t.Context(), folder)
	if err != nil || len(files) != 2 || files[0].Name != "sub/more.csv" || files[1].Name != "summary.csv" {
		t.Errorf("a folder: got %v, %v, want sub/more.csv and summary.csv", files, err)
	}
}

func TestColumn(t *testing.T) {
	table := &Table{Columns: []string{"n_elem", "latency_ns"}, Rows: [][]string{{"8", "1.5"}, {"x", "Inf"}}}
	if i, err := table.Column("latency_ns"); i != 1 || err != nil {
		t.Errorf("latency_ns: got %d, %v, want 1", i, err)
	}
	const want = `no column "latency": there are n_elem, latency_ns; did you mean latency_ns?`
	if _, err := table.Column("latency"); err == nil || err.Error() != want {
		t.Errorf("latency: got %v, want %s", err, want)
	}
	if x, ok := table.Number(0, 1); x != 1.5 || !ok {
		t.Errorf("a number: got %v, %v, want 1.5", x, ok)
	}
	for col := range 2 {
		if x, ok := table.Number(1, col); ok {
			t.Errorf("%q: got %v, want no number", table.Rows[1][col], x)
		}
	}
}

// TestReadRanks: times of ranks are a table, a line for each: those of launches by the
// launch's own ranks, those of rows of coll by their place.
func TestReadRanks(t *testing.T) {
	for _, tt := range []struct {
		text string
		want *Table
	}{
		{`{"bench":"b","rows":[],"launches":[{"name":"k","ranks":[4,1],"pe_exec_ns":[1.5,2]},{"name":"none"},{"name":"l","pe_exec_ns":[3]}]}`,
			&Table{Columns: []string{"row", "name", "rank", "pe_exec_ns"}, Rows: [][]string{{"1", "k", "4", "1.5"}, {"1", "k", "1", "2"}, {"3", "l", "0", "3"}}}},
		{`{"rows":[{"size":8,"count":2,"type":"f32","redop":"sum","root":-1,"algorithm":"ring","time_us":1,"pe_exec_ns":[7,9]}]}`,
			&Table{Columns: []string{"row", "size", "count", "type", "redop", "root", "algorithm", "rank", "pe_exec_ns"},
				Rows: [][]string{{"1", "8", "2", "f32", "sum", "-1", "ring", "0", "7"}, {"1", "8", "2", "f32", "sum", "-1", "ring", "1", "9"}}}},
		{`{"rows":[{"size":8}]}`, nil},
	} {
		files, err := ReadAll(t.Context(), put(t, "a.json", tt.text))
		if err != nil {
			t.Fatal(err)
		}
		var got *Table
		if f := find(files, Ranks); f != nil {
			got = f.Table
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

// TestCSVComesBack: whatever cells hold, they are read as they were written.
func TestCSVComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.SliceOfNDistinct(rapid.StringMatching(`[#a-z" ,]{0,4}`), 1, 4, rapid.ID).Draw(t, "columns")
		cell := rapid.StringMatching(`[#a0.5" ,\n]{0,5}`)
		want := &Table{Columns: columns, Rows: rapid.SliceOfN(rapid.SliceOfN(cell, len(columns), len(columns)), 0, 4).Draw(t, "rows")}
		var b bytes.Buffer
		if err := WriteCSV(&b, want); err != nil {
			t.Fatal(err)
		}
		got, err := ParseCSV(&b)
		if err != nil {
			t.Fatalf("%q: %v", b.String(), err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", b.String(), diff)
		}
	})
}

// FuzzRead: no text is read wrongly, every row has a cell for each column.
func FuzzRead(f *testing.F) {
	f.Add("a,b\n1,2\n")
	f.Add(`{"bench":"b","rows":[{"n":1},{"m":{"k":2}}]}`)
	f.Add(head + "\n" + `{"point":0,"settings":{"n":"1"},"row":{"rows":[{"n":2}]}}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, end := range []string{".csv", ".json", ".jsonl"} {
			files, err := readFile(t.Context(), put(t, "a"+end, text))
			if err != nil {
				continue
			}
			for _, file := range files {
				for _, row := range file.Table.Rows {
					if len(row) != len(file.Table.Columns) {
						t.Errorf("as %s: a row of %d cells, and there are %d columns", end, len(row), len(file.Table.Columns))
					}
				}
			}
		}
	})
}
