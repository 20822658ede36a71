package compare

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
)

// TestReferences checks every reference. Its file must have a title and a source, and must
// say what the columns mean and what is not known. There must be a measurement to compare
// with it.
func TestReferences(t *testing.T) {
	want := []string{"allreduce_lower_bounds", "fsim", "tenstorrent_blackhole", "torus6_buffer_kind"}
	if diff := cmp.Diff(want, References()); diff != "" {
		t.Fatalf("names (-want +got):\n%s", diff)
	}
	for _, name := range References() {
		r, err := GetReference(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if r.Name != name || r.Title == "" || r.Date == "" || len(r.Source) == 0 || len(r.About) == 0 || len(r.Unknown) == 0 {
			t.Errorf("%s: something is missing in %+v", name, r)
		}
		for _, c := range r.Table.Columns {
			if r.Columns[c.Name] == "" || c.Role == "" {
				t.Errorf("%s: nothing says what column %s means, or its role", name, c.Name)
			}
		}
		if len(r.Columns) != len(r.Table.Columns) {
			t.Errorf("%s: meanings of %d columns, and the table has %d", name, len(r.Columns), len(r.Table.Columns))
		}
		if measurements[name].run == nil || measurements[name].difference == "" {
			t.Errorf("%s: there is no measurement to compare with, or no text about the difference", name)
		}
	}
	if len(measurements) != len(want) {
		t.Errorf("there are measurements for %d references, want %d", len(measurements), len(want))
	}
}

// TestFacts checks a few numbers of each reference, to detect accidental changes of the
// files. It also checks the error for an unknown reference.
func TestFacts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rows   int
		row    int
		column string
		want   float64
	}{
		{"fsim", 1, 0, "latency_us", 366},
		{"torus6_buffer_kind", 12, 0, "latency_ns", 1678.04},
		{"torus6_buffer_kind", 12, 11, "latency_ns", 21361.04},
		{"allreduce_lower_bounds", 6, 3, "optimum", 0.625},
		{"allreduce_lower_bounds", 6, 5, "equal_shard", 1.5},
		{"tenstorrent_blackhole", 23, 8, "time_us", 37371.78},
		{"tenstorrent_blackhole", 23, 17, "time_us", 21925.95},
		{"tenstorrent_blackhole", 23, 22, "size_bytes", 268435456},
	} {
		r, err := GetReference(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Number(tt.row, tt.column); got != tt.want || len(r.Table.Rows) != tt.rows {
			t.Errorf("%s: %s of row %d is %v of %d rows, want %v of %d", tt.name, tt.column, tt.row, got, len(r.Table.Rows), tt.want, tt.rows)
		}
	}
	const want = `no reference "fism": there are allreduce_lower_bounds, fsim, tenstorrent_blackhole, torus6_buffer_kind; did you mean fsim?`
	if _, err := GetReference("fism"); err == nil || err.Error() != want {
		t.Errorf("fism: got %v, want %s", err, want)
	}
}

// TestParse checks that parse reads descriptions only from the comments before the table,
// and that it returns an error for a misspelled key.
func TestParse(t *testing.T) {
	r, err := parse([]byte("# title: t\n# source: a: b\n# unknown: u\n# column n: number\nn\n1\n# about: not in the head\n"))
	if err != nil || r.Title != "t" || !slices.Equal(r.Source, []string{"a: b"}) || r.Columns["n"] != "number" || r.About != nil {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := parse([]byte("# titel: t\nn\n1\n")); err == nil || !strings.HasPrefix(err.Error(), `what is "titel"? write title, source,`) {
		t.Errorf("an unknown key: got %v", err)
	}
}

// TestMeasure checks what Measure returns for a reference: rows with the published numbers
// and the simulated times, and the names of the simulated systems. docs/use/references.md
// has the tables of all references.
func TestMeasure(t *testing.T) {
	b, err := Measure(t.Context(), "torus6_buffer_kind")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"preset torus2x3, --set system.sips.w=3, --set system.sips.h=2 (hash c9c73ee73027)"}, b.Systems); diff != "" {
		t.Errorf("systems (-want +got):\n%s", diff)
	}
	want := []any{"tcm", json.Number("128"), json.Number("256"), json.Number("1678.04"), json.Number("1790.55862"), json.Number("1.067")}
	if diff := cmp.Diff(want, b.Rows.Rows[0]); diff != "" || len(b.Rows.Rows) != 12 {
		t.Errorf("%d rows, the first (-want +got):\n%s", len(b.Rows.Rows), diff)
	}
	if c := b.Schema["rows"][4]; c != (table.Column{Name: "ours_ns", Unit: "ns", Role: table.Lower}) {
		t.Errorf("the column of ours is %+v, want times in ns of which less is better", c)
	}
	if _, err := Measure(t.Context(), "nothing"); err == nil {
		t.Error("a reference that does not exist: want an error")
	}
}

// TestFabricSets checks the settings for a fabric that is a grid and for one that is not.
func TestFabricSets(t *testing.T) {
	for _, tt := range []struct {
		fabric, nodes string
		want          []string
	}{
		{"ring_1d", "6", []string{"system.sips.topology=ring_1d", "system.sips.count=6"}},
		{"torus_2d 2x3", "6", []string{"system.sips.topology=torus_2d", "system.sips.count=6", "system.sips.w=2", "system.sips.h=3"}},
	} {
		if got := fabricSets(tt.fabric, tt.nodes); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.fabric, got, tt.want)
		}
	}
}

// TestBlackholePackets measures 64 MiB, the smallest size for which packets are larger,
// with small and with larger packets. It checks that the two times differ, but by less
// than 0.1 %.
func TestBlackholePackets(t *testing.T) {
	l := &measurer{ctx: t.Context()}
	var times []float64
	for _, size := range []topology.Bytes{coarseSize - 1, coarseSize} {
		o := blackholeOptions(l, "all_reduce", "ring", "8", size)
		o.Algorithm = "bidirectional_ring"
		times = append(times, *l.measure("a ring", o, coarseSize).TimeUS)
	}
	if times[0] == times[1] || times[1]/times[0] > 1.001 || times[1]/times[0] < 0.999 {
		t.Errorf("64 MiB take %v µs in packets of 8 KiB, %v µs in larger ones, want within 0.1 %%", times[0], times[1])
	}
}
