package table

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/simtime"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

type word string

type inner struct {
	Share float64 `json:"share" table:"%,result,share of the bound"`
}

type row struct {
	Name   word          `json:"name" table:",setting"`
	Size   int64         `json:"size_bytes" table:"B,setting"`
	Time   simtime.Time  `json:"time_ns" table:"ns,lower"`
	Busy   *simtime.Time `json:"busy_ns" table:"ns,result"`
	Right  *bool         `json:"ok" table:",check"`
	inner                // the columns of embedded structs have this position
	Hidden []string      `json:"races"`
}

func sample(t *testing.T) *Table {
	t.Helper()
	busy, right := 1500*simtime.Picosecond, true
	got, err := From([]row{
		{Name: "a,b", Size: 4096, Time: 12*simtime.Nanosecond + 1, Busy: &busy, Right: &right, inner: inner{12.345678901}},
		{Name: "#c", Size: 0, Time: 0},
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestFrom(t *testing.T) {
	want := &Table{
		Columns: []Column{
			{"name", "", Setting, ""}, {"size_bytes", "B", Setting, ""}, {"time_ns", "ns", Lower, ""}, {"busy_ns", "ns", Result, ""},
			{"ok", "", Check, ""}, {"share", "%", Result, "share of the bound"},
		},
		Rows: [][]any{
			{"a,b", json.Number("4096"), json.Number("12.000001"), json.Number("1.5"), true, json.Number("12.345678901")},
			{"#c", json.Number("0"), json.Number("0"), nil, nil, json.Number("0")},
		},
	}
	if diff := cmp.Diff(want, sample(t)); diff != "" {
		t.Errorf("From (-want +got):\n%s", diff)
	}
}

// TestFloat checks that Float writes a number as encoding/json does.
func TestFloat(t *testing.T) {
	for x, want := range map[float64]json.Number{0: "0", 2: "2", 1.0 / 3: "0.3333333333333333", 1e-7: "1e-7", 1e20: "100000000000000000000", 1e21: "1e+21"} {
		if got, err := Float(x); got != want || err != nil {
			t.Errorf("%v: got %v, %v, want %s", x, got, err, want)
		}
	}
}

// TestCellsRefuse checks the errors of Cells for values that cannot be cells.
func TestCellsRefuse(t *testing.T) {
	for _, tt := range []struct {
		row  any
		want string
	}{
		{row{inner: inner{math.NaN()}}, "share: NaN is no number that a table can hold"},
		{struct {
			List []int `json:"list" table:",result"`
		}{}, "list: a []int is no cell: use a string, a number, a bool or a time"},
	} {
		if _, err := Cells(tt.row); err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

type oneColumn struct {
	A int `json:"a" table:"ns,lower"`
}

// TestBadTags checks that ColumnsOf panics if the tags of a row type are not complete or
// not valid, if two fields have the same name, or if the type is not a struct.
func TestBadTags(t *testing.T) {
	for _, row := range []any{
		struct {
			A int `table:",setting"`
		}{},
		struct {
			A int `json:"a" table:"ns"`
		}{},
		struct {
			A int `json:"a" table:"ns,faster"`
		}{},
		struct {
			oneColumn
			B int `json:"a" table:"ns,lower"`
		}{},
		&struct{}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%T: no panic", row)
				}
			}()
			ColumnsOf(row)
		}()
	}
}

const sampleCSV = `#role,setting,setting,lower,result,check,result
#unit,,B,ns,ns,,%
#label,,,,,,share of the bound
name,size_bytes,time_ns,busy_ns,ok,share
"a,b",4096,12.000001,1.5,true,12.345678901
"#c",0,0,,,0
`

func TestCSV(t *testing.T) {
	table := sample(t)
	var b bytes.Buffer
	if err := table.WriteCSV(&b); err != nil || b.String() != sampleCSV {
		t.Errorf("CSV: %v, got\n%s", err, b.String())
	}
	back, err := ReadCSV(strings.NewReader(sampleCSV))
	if diff := cmp.Diff(table, back); err != nil || diff != "" {
		t.Errorf("read back: %v (-want +got):\n%s", err, diff)
	}
}

func TestJSON(t *testing.T) {
	table := sample(t)
	var b bytes.Buffer
	err := WriteJSON(&b, struct {
		Schema Schema `json:"schema"`
		Rows   *Table `json:"rows"`
		Other  Record `json:"metrics"`
	}{Schema{"rows": table.Columns, "metrics": {{Name: "window_ns", Unit: "ns", Role: Lower}}}, table, Record{{"window_ns", json.Number("7")}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `    {
      "name": "a,b",
      "size_bytes": 4096,
      "time_ns": 12.000001,
      "busy_ns": 1.5,
      "ok": true,
      "share": 12.345678901
    },
`
	if !strings.Contains(b.String(), want) {
		t.Errorf("JSON: got\n%s\nwithout\n%s", b.String(), want)
	}
	o, err := Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := ReadSchema(o)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := ReadJSON(o, schema)
	wanted := []Named{{Table: table}, {Name: "metrics", Table: &Table{Columns: []Column{{"window_ns", "ns", Lower, ""}}, Rows: [][]any{{json.Number("7")}}}}}
	if diff := cmp.Diff(wanted, tables); err != nil || diff != "" {
		t.Errorf("read back: %v (-want +got):\n%s", err, diff)
	}
}

func TestWriteText(t *testing.T) {
	var b bytes.Buffer
	const want = `name  size_bytes    time_ns  busy_ns  ok      share
a,b         4096  12.000001      1.5  true  12.3457
#c             0          0        -  -           0
`
	if err := sample(t).WriteText(&b); err != nil || b.String() != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, b.String(), want)
	}
}

func TestShow(t *testing.T) {
	for _, tt := range []struct {
		unit Unit
		cell any
		want string
	}{
		{"", json.Number("1.000"), "1.000"}, {"", json.Number("123.4567"), "123.457"}, {"", json.Number("1234567"), "1234567"},
		{"", json.Number("0.0000125"), "1.25e-05"}, {"ns", json.Number("12.0000001"), "12.0000001"},
		{"", "123.4567", "123.4567"}, {"", "", "-"}, {"", nil, "-"}, {"", true, "true"},
	} {
		table := &Table{Columns: []Column{{Unit: tt.unit}}, Rows: [][]any{{tt.cell}}}
		if got := table.Show(0, 0); got != tt.want {
			t.Errorf("%v in %q: got %s, want %s", tt.cell, tt.unit, got, tt.want)
		}
	}
}

// TestWords checks the name of a column in words, without and with its unit.
func TestWords(t *testing.T) {
	for _, tt := range []struct {
		column       Column
		words, title string
	}{
		{Column{Name: "latency_ns", Unit: "ns"}, "latency", "latency (ns)"},
		{Column{Name: "time_us", Unit: "µs"}, "time", "time (µs)"},
		{Column{Name: "system.sips.link.bandwidth", Unit: "GB/s"}, "link bandwidth", "link bandwidth (GB/s)"},
		{Column{Name: "params.n-elem"}, "n elem", "n elem"},
		{Column{Name: "point.metrics.busy_ns", Unit: "ns"}, "busy", "busy (ns)"},
		{Column{Name: "latency_ns"}, "latency ns", "latency ns"}, // without the unit, ns is not known to be a suffix
		{Column{Name: "bytes_per_pe", Unit: "B"}, "bytes per pe", "bytes per pe (B)"},
		{Column{Name: "crit_ns", Unit: "ns", Label: "critical path"}, "critical path", "critical path (ns)"},
		{Column{Name: "busbw", Unit: "GB/s", Label: "bus bandwidth"}, "bus bandwidth", "bus bandwidth (GB/s)"},
	} {
		if got := tt.column.Words(); got != tt.words {
			t.Errorf("%+v: got the words %q, want %q", tt.column, got, tt.words)
		}
		if got := tt.column.Title(); got != tt.title {
			t.Errorf("%+v: got the title %q, want %q", tt.column, got, tt.title)
		}
	}
}

// TestQuantities checks that cells with a unit are converted to the unit of their column.
// If the file does not give a unit, the unit of the column is that of its first cell. A
// column with cells of several quantities has no unit.
func TestQuantities(t *testing.T) {
	table, err := ReadCSV(strings.NewReader("link,delay,size,mixed\n64 GB/s,100ns,4KiB,1 ns\n0.5TB/s,1.5 us,1 MiB,2 GB/s\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Unit{"GB/s", "ns", "KiB", ""} {
		if got := table.Columns[i].Unit; got != want {
			t.Errorf("column %d: got the unit %q, want %q", i, got, want)
		}
	}
	for i, want := range []float64{500, 1500, 1024} {
		if got, ok := table.Number(1, i); !ok || got != want {
			t.Errorf("%s: got %v %v, want %v", table.Columns[i].Name, got, ok, want)
		}
	}
	if x, ok := table.Number(0, 3); ok {
		t.Errorf("cells of two quantities: got the number %v, want none", x)
	}
}

func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		unit Unit
		x    float64
		want string
	}{
		{"ns", 1500, "1.5 µs"}, {"µs", 0.25, "250 ns"}, {"ns", 0, "0 ns"}, {"ns", 1e-6, "1 fs"}, {"ns", -2e9, "-2 s"},
		{"B", 4096, "4 KiB"}, {"B", 1000, "1000 B"}, {"GB/s", 0.5, "0.5 GB/s"}, {"GB/s", 2048, "2048 GB/s"}, {"", 123456789, "123500000"}, {"flop/B", 2, "2 flop/B"},
	} {
		if got := tt.unit.Format(tt.x); got != tt.want {
			t.Errorf("%v %s: got %q, want %q", tt.x, tt.unit, got, tt.want)
		}
	}
}

// TestReadRefuses checks the errors of ReadCSV for invalid files.
func TestReadRefuses(t *testing.T) {
	for _, tt := range []struct{ csv, want string }{
		{"", "no line with the names of columns: the file is empty or was cut off"},
		{"a,a\n", `two columns "a": give each a name of its own`},
		{"#role,lower\na,b\n", "the comment #role, has 1 cells for 2 columns: delete it, or give one for each"},
		{"#role,fast\na\n", `column "a" has the role "fast": write one of [setting lower higher result bound check origin]`},
	} {
		if _, err := ReadCSV(strings.NewReader(tt.csv)); err == nil || err.Error() != tt.want {
			t.Errorf("%q: got %v, want %s", tt.csv, err, tt.want)
		}
	}
}

// TestCSVRoundTrip checks that a random table that is written as CSV and read again is
// unchanged.
func TestCSVRoundTrip(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[a-z#",\n ]{0,4}`), rapid.Just("1.50"), rapid.Just("true"), rapid.Just("007"))
	rapid.Check(t, func(t *rapid.T) {
		table := &Table{}
		for i := range rapid.IntRange(1, 3).Draw(t, "columns") {
			table.Columns = append(table.Columns, Column{
				Name: string(rune('a'+i)) + text.Draw(t, "name"), Role: rapid.SampledFrom(append(roles, "")).Draw(t, "role"),
				Unit: rapid.SampledFrom([]Unit{"ns", "B", "a,b"}).Draw(t, "unit"), Label: rapid.SampledFrom([]string{"", "in words"}).Draw(t, "label"),
			})
		}
		for range rapid.IntRange(0, 3).Draw(t, "rows") {
			var row []any
			for range table.Columns {
				row = append(row, parseCell(text.Draw(t, "cell")))
			}
			table.Rows = append(table.Rows, row)
		}
		var b bytes.Buffer
		if err := table.WriteCSV(&b); err != nil {
			t.Fatal(err)
		}
		back, err := ReadCSV(bytes.NewReader(b.Bytes()))
		if diff := cmp.Diff(table, back); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s\n%s", err, diff, b.String())
		}
	})
}
