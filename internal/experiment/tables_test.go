package experiment

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/table"
)

// writeTemp writes a file in a temporary folder and returns its path.
func writeTemp(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// head is the first line of a sweep of three points, as early versions wrote it.
const head = `{"sweep":{"identity":"x","points":3,"grid":"g"}}`

// csvText returns tables as CSV. The name of a table is written before the table, unless
// the name is empty.
func csvText(t testing.TB, tables []table.Named) string {
	t.Helper()
	var b bytes.Buffer
	for _, n := range tables {
		if n.Name != "" {
			fmt.Fprintf(&b, "[%s]\n", n.Name)
		}
		if err := n.WriteCSV(&b); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

const runSchema = `"schema":{"rows":[{"name":"n","role":"setting"},{"name":"t_ns","unit":"ns","role":"lower"}],"metrics":[{"name":"pes","role":"result"}],"launches":[{"name":"name","role":"setting"}]}`

// TestReadFile checks the tables of files in each format, and the number of missing points.
func TestReadFile(t *testing.T) {
	for _, tt := range []struct {
		name, file, text string
		missing          int
		want             string
	}{
		{
			"CSV keeps cells as written", "a.csv", "# of a run\nn,latency_ns\n8,1.50\n# more\n\"16\",\"a,b\"\n",
			0, "n,latency_ns\n8,1.50\n16,\"a,b\"\n",
		},
		{"CSV with a schema", "a.csv", "#role,setting,lower\n#unit,,ns\nn,t\n8,1.50\n", 0, "#role,setting,lower\n#unit,,ns\nn,t\n8,1.50\n"},
		{"CSV without rows", "a.csv", "n,latency_ns\n", 0, "n,latency_ns\n"},
		{
			"a run of an early version", "a.json", `{"bench":"b","ok":true,"metrics":{"pes":2},"rows":[{"n":8,"t_ns":1.50},{"n":16,"extra":null,"t_ns":3e2}]}`,
			0, "n,t_ns,extra\n8,1.50,\n16,3e2,\n[metrics]\n#role,setting,check,lower,lower,\n#unit,,,ns,ns,\n#label,,,critical path,,\nbench,ok,crit_ns,makespan_ns,pes\nb,true,,,2\n",
		},
		{
			"a run", "a.json", `{"bench":"b","ok":true,"crit_ns":5,"makespan_ns":7,` + runSchema + `,"metrics":{"pes":2},"launches":[{"name":"k"}],"rows":[{"n":8,"t_ns":1.50}]}`,
			0, "#role,setting,lower\n#unit,,ns\nn,t_ns\n8,1.50\n[metrics]\n#role,setting,check,lower,lower,result\n#unit,,,ns,ns,\n#label,,,critical path,,\nbench,ok,crit_ns,makespan_ns,pes\nb,true,5,7,2\n",
		},
		{
			"a run without rows is its metrics", "a.json", `{"bench":"hello","ok":true,"crit_ns":318.09248,"metrics":{"pes":256},"rows":[]}`,
			0, "[metrics]\n#role,setting,check,lower,lower,\n#unit,,,ns,ns,\n#label,,,critical path,,\nbench,ok,crit_ns,makespan_ns,pes\nhello,true,318.09248,,256\n",
		},
		{
			"lists are no cells, objects are columns with a dot", "a.json", `{"rows":[{"case":"dma","at":{"x":1,"y":2},"hops":[{"link":"l"}]}]}`,
			0, "case,at.x,at.y\ndma,1,2\n",
		},
		{
			"points of a sweep in their order, the last line cut off", "a.jsonl",
			head + "\n" +
				`{"point":1,"settings":{"n":"16","topology":"ring"},"row":{"n":16,"t_ns":2.0}}` + "\n" +
				`{"point":0,"settings":{"n":"8","topology":"ring"},"row":{"n":8,"t_ns":1.0}}` + "\n" +
				`{"point":2,"settings":{"n":"3`,
			1, "#role,setting,setting,,\nn,topology,row.n,t_ns\n8,ring,8,1.0\n16,ring,16,2.0\n",
		},
		{
			"what sweep prints", "a.json", `{"sweep":"s","schema":{"row":[{"name":"ok","role":"check"}],"metrics":[{"name":"pes","role":"result"}],"rows":[{"name":"t_ns","unit":"ns","role":"lower"}]},` +
				`"points":[{"point":0,"settings":{"n":"8","bw":"64 GB/s"},"row":{"ok":true,"metrics":{"pes":2},"rows":[{"t_ns":1}]}}]}`,
			0, "#role,setting,setting,check,result,lower\n#unit,,GB/s,,,ns\nn,bw,ok,metrics.pes,t_ns\n8,64 GB/s,true,2,1\n",
		},
		{
			"points that are rows, with a schema", "a.jsonl",
			`{"sweep":{"identity":"x","points":1,"grid":"g","schema":{"row":[{"name":"size","unit":"B","role":"setting","label":"message size"},{"name":"time_us","unit":"µs","role":"lower"}]}}}` + "\n" +
				`{"point":0,"settings":{"size":"8"},"row":{"size":8,"time_us":2.0}}` + "\n",
			0, "#role,setting,setting,lower\n#unit,,B,µs\n#label,,message size,\nsize,row.size,time_us\n8,8,2.0\n",
		},
		{
			"several rows of a point", "a.jsonl",
			head + "\n" +
				`{"point":0,"settings":{"algorithm":"auto"},"row":{"ok":true,"rows":[{"algorithm":"ring","t_ns":1},{"algorithm":"auto","t_ns":2}]}}` + "\n" +
				`{"point":1,"settings":{"algorithm":"tree"},"row":[{"t_ns":3},{"t_ns":4}]}` + "\n" +
				`{"point":2,"settings":{"algorithm":"none"},"row":{"ok":false,"rows":[]}}` + "\n",
			0, "#role,setting,,,\nalgorithm,ok,row.algorithm,t_ns\nauto,true,ring,1\nauto,true,auto,2\ntree,,,3\ntree,,,4\nnone,false,,\n",
		},
		{
			"what points and rows both say, in any of them", "a.jsonl",
			`{"sweep":{"identity":"x","points":3,"grid":"g","schema":{"metrics":[{"name":"pes","role":"result"}],"row":[{"name":"crit_ns","unit":"ns","role":"lower"}],"rows":[{"name":"crit_ns","unit":"ns","role":"result"}]}}}` + "\n" +
				`{"point":0,"settings":{"metrics.pes":"2"},"row":{"ok":true,"crit_ns":5,"metrics":{"pes":2},"rows":[]}}` + "\n" +
				`{"point":1,"settings":{"metrics.pes":"4"},"row":{"ok":true,"crit_ns":6,"metrics":{"pes":4},"rows":[{"crit_ns":6}]}}` + "\n" +
				`{"point":2,"settings":{"metrics.pes":"8"},"row":{"ok":true,"crit_ns":7,"metrics":{"pes":8},"rows":[{"crit_ns":3},{"crit_ns":7}]}}` + "\n",
			0, "#role,setting,,lower,result,result\n#unit,,,ns,,ns\nmetrics.pes,ok,point.crit_ns,point.metrics.pes,crit_ns\n2,true,5,2,\n4,true,6,4,6\n8,true,7,8,3\n8,true,7,8,7\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tables, missing, err := ReadFile(t.Context(), writeTemp(t, tt.file, tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, csvText(t, tables)); diff != "" || missing != tt.missing {
				t.Errorf("%d points missing, want %d; tables (-want +got):\n%s", missing, tt.missing, diff)
			}
		})
	}
}

// TestReadDamaged checks the errors for files that are damaged or have no results.
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
		{"a.json", `{"rows":[1]}`, `row 1 of "rows" is no object`},
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
		path := writeTemp(t, tt.file, tt.text)
		_, _, err := ReadFile(t.Context(), path)
		if err == nil || !strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(err.Error(), path), ": "), tt.want) {
			t.Errorf("%s with %.40q: got error %v, want one that begins with %s: %s", tt.file, tt.text, err, path, tt.want)
		}
	}
	if _, _, err := ReadFile(t.Context(), "nowhere.csv"); err == nil || err.Error() != "nowhere.csv: there is no such file: name a .csv, .json or .jsonl with results" {
		t.Errorf("no file: got %v", err)
	}
}

// TestReadFolder checks that ReadTables returns a table for each CSV file in a folder.
func TestReadFolder(t *testing.T) {
	folder := t.TempDir()
	if _, _, err := ReadTables(t.Context(), folder); err == nil || err.Error() != folder+": no .csv in this folder: name a file, or a folder with results" {
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
	tables, _, err := ReadTables(t.Context(), folder)
	if want := "[sub/more.csv]\nn\n1\n[summary.csv]\nn\n1\n"; err != nil || csvText(t, tables) != want {
		t.Errorf("a folder: got %s, %v, want %s", csvText(t, tables), err, want)
	}
}

// TestAbout checks that a table that is read from a file describes what its rows have in
// common.
func TestAbout(t *testing.T) {
	for text, want := range map[string]string{
		`{"rows":[{"n":1}]}`: "",
		`{"collective":"all_reduce","rows":[{"n":1}],"config":{"topology":{"source":"preset ring6","hash":"1f"}}}`: "all_reduce, preset ring6",
		`{"topology":{"source":"preset default"},"rows":[{"n":1}]}`:                                                "preset default",
	} {
		tables, _, err := ReadFile(t.Context(), writeTemp(t, "a.json", text))
		if err != nil || tables[0].About != want {
			t.Errorf("%s: got %v, %v, want %q", text, tables, err, want)
		}
	}
}

// TestReadRanks checks that the times of ranks become a table with a line for each rank.
// The ranks of a launch have the numbers that the launch lists. Without such a list, they
// are numbered from 0.
func TestReadRanks(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"bench":"b","rows":[],"launches":[{"name":"k","ranks":[4,1],"pe_exec_ns":[1.5,2]},{"name":"none"},{"name":"l","pe_exec_ns":[3]}]}`,
			"#role,setting,setting,setting,lower\n#unit,,,,ns\n#label,,,,execution time\nrow,name,rank,pe_exec_ns\n1,k,4,1.5\n1,k,1,2\n3,l,0,3\n"},
		{`{"schema":{"rows":[{"name":"algorithm","role":"result"}]},"rows":[{"size":8,"count":2,"type":"f32","redop":"sum","root":-1,"algorithm":"ring","time_us":1,"pe_exec_ns":[7,9]}]}`,
			"#role,setting,setting,setting,setting,setting,setting,result,setting,lower\n#unit,,,,,,,,,ns\n#label,,,,,,,,,execution time\n" +
				"row,size,count,type,redop,root,algorithm,rank,pe_exec_ns\n1,8,2,f32,sum,-1,ring,0,7\n1,8,2,f32,sum,-1,ring,1,9\n"},
		{`{"rows":[{"size":8}]}`, ""},
	} {
		tables, _, err := ReadFile(t.Context(), writeTemp(t, "a.json", tt.text))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if n := tables[len(tables)-1]; n.Name == Ranks {
			got = csvText(t, []table.Named{{Table: n.Table}})
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

// TestRepeatsRow checks that RepeatsRow reports true for a column of points that has the
// same values as a column of rows.
func TestRepeatsRow(t *testing.T) {
	for csv, want := range map[string]bool{"point.t,t\n1,1\n2,2\n": true, "point.t,t\n1,1\n2,3\n": false, "point.t,u\n1,1\n": false, "x.t,t\n1,1\n": false} {
		tables, _, err := ReadFile(t.Context(), writeTemp(t, "a.csv", csv))
		if err != nil {
			t.Fatal(err)
		}
		if got := RepeatsRow(tables[0].Table, tables[0].Columns[0].Name); got != want {
			t.Errorf("%q: got %v, want %v", csv, got, want)
		}
	}
}

// FuzzRead checks that every row that ReadFile returns has a cell for each column.
func FuzzRead(f *testing.F) {
	f.Add("a,b\n1,2\n")
	f.Add(`{"bench":"b","rows":[{"n":1},{"m":{"k":2}}]}`)
	f.Add(head + "\n" + `{"point":0,"settings":{"n":"1"},"row":{"rows":[{"n":2}]}}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, end := range []string{".csv", ".json", ".jsonl"} {
			tables, _, err := ReadFile(t.Context(), writeTemp(t, "a"+end, text))
			if err != nil {
				continue
			}
			for _, n := range tables {
				for _, row := range n.Rows {
					if len(row) != len(n.Columns) {
						t.Errorf("as %s: a row of %d cells, and there are %d columns", end, len(row), len(n.Columns))
					}
				}
			}
		}
	})
}
