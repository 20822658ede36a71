package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/torch"
)

// isolateRegistry gives a test an empty registry and restores the previous one at the end
// of the test.
func isolateRegistry(t *testing.T) {
	before := registry
	registry = map[string]Bench{}
	t.Cleanup(func() { registry = before })
}

func doNothing(*B) error { return nil }

// TestRegister checks that registered benches are sorted by name, and that Register panics
// for an incomplete bench or an invalid name.
func TestRegister(t *testing.T) {
	isolateRegistry(t)
	Register(Bench{Name: "milestone-1h-ccl", Summary: "s", Run: doNothing})
	Register(Bench{Name: "hello_send", Summary: "s", Run: doNothing})
	var names []string
	for _, b := range All() {
		names = append(names, b.Name)
	}
	if want := []string{"hello_send", "milestone-1h-ccl"}; !slices.Equal(names, want) {
		t.Errorf("names: got %v, want %v", names, want)
	}
	if b, ok := Find("hello_send"); !ok || b.Name != "hello_send" {
		t.Errorf("hello_send: got %v, %v", b.Name, ok)
	}
	if _, ok := Find("hello"); ok {
		t.Error("hello is found and was not registered")
	}
	for _, tt := range []struct {
		bench Bench
		want  string
	}{
		{Bench{Name: "", Summary: "s", Run: doNothing}, `"" is no name for a bench`},
		{Bench{Name: "Hello", Summary: "s", Run: doNothing}, `"Hello" is no name for a bench`},
		{Bench{Name: "hello send", Summary: "s", Run: doNothing}, `"hello send" is no name for a bench`},
		{Bench{Name: "-x", Summary: "s", Run: doNothing}, `"-x" is no name for a bench`},
		{Bench{Name: "hello_", Summary: "s", Run: doNothing}, `"hello_" is no name for a bench`},
		{Bench{Name: "hello_send", Summary: "s", Run: doNothing}, `two benches are called "hello_send"`},
		{Bench{Name: "x", Summary: "s"}, "x needs a Run or an Experiment"},
		{Bench{Name: "x", Run: doNothing}, "x needs a Summary of one line"},
		{Bench{Name: "x", Summary: "a\nb", Run: doNothing}, "x needs a Summary of one line"},
		{Bench{Name: "x", Summary: "s", Run: doNothing, Row: struct {
			Time torch.Time `table:"ns,lower"`
		}{}}, "table: field Time of"},
		{Bench{Name: "x", Summary: "s", Run: doNothing, Metrics: struct {
			Time torch.Time `json:"time_ns" table:"ns,fast"`
		}{}}, "table: field Time of"},
		{Bench{Name: "x", Summary: "s", Run: doNothing, Row: struct {
			sampleRow
			Other int `json:"size" table:"B,setting"`
		}{}}, "table: two fields of"},
		{Bench{Name: "x", Summary: "s", Run: doNothing, Row: &sampleRow{}}, "table: *bench.sampleRow is no struct"},
	} {
		got := func() (text string) {
			defer func() { text = fmt.Sprint(recover()) }()
			Register(tt.bench)
			return ""
		}()
		if got = strings.TrimPrefix(got, "bench: "); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%+v: got %q, want it to begin with %q", tt.bench.Name, got, tt.want)
		}
	}
}
