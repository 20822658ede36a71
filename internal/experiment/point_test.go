package experiment

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/internal/rapidtest"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

// grid returns a point for each combination of the values of the dimensions.
func grid(dims ...Dimension) []Point {
	groups := make([][]Dimension, len(dims))
	for i, d := range dims {
		groups[i] = []Dimension{d}
	}
	return Product(groups)
}

// TestGrid checks the points that Product returns, and their order.
func TestGrid(t *testing.T) {
	for _, tt := range []struct {
		dims []Dimension
		want []string
	}{
		{nil, []string{""}},
		{[]Dimension{{Name: "n", Values: nil}}, nil},
		{[]Dimension{{Name: "n", Values: []string{"8", "9"}}}, []string{"n=8", "n=9"}},
		{
			[]Dimension{{Name: "topology", Values: []string{"ring", "mesh"}}, {Name: "n", Values: []string{"1", "2", "3"}}},
			[]string{"topology=ring n=1", "topology=ring n=2", "topology=ring n=3", "topology=mesh n=1", "topology=mesh n=2", "topology=mesh n=3"},
		},
	} {
		var got []string
		for _, p := range grid(tt.dims...) {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.dims, diff)
		}
	}
}

// TestPoint checks Get, and the line of a point in a file.
func TestPoint(t *testing.T) {
	p := Point{{"b", `say "8"`}, {"a<", "2"}}
	if got, want := p.Get("a<"), "2"; got != want {
		t.Errorf("a<: got %q, want %q", got, want)
	}
	if got, want := string(newRecord(3, p, json.RawMessage("{}")).plain()), `{"point":3,"settings":{"b":"say \"8\"","a<":"2"},"row":{}}`; got != want {
		t.Errorf("line: got %s, want %s", got, want)
	}
	defer func() {
		if got, want := fmt.Sprint(recover()), `experiment: no setting "c" in the point`; !strings.HasPrefix(got, want) {
			t.Errorf("c: got %q, want it to begin with %q", got, want)
		}
	}()
	p.Get("c")
}

// TestShard checks the shards and the errors that ParseShard returns.
func TestShard(t *testing.T) {
	for text, want := range map[string]Shard{"": {}, "1/1": {1, 1}, "2/4": {2, 4}, "4/4": {4, 4}} {
		got, err := ParseShard(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q: got %v %q, %v, want %v", text, got, got.String(), err, want)
		}
	}
	for text, want := range map[string]string{
		"0/4":  `"0/4" is no shard: write i/n, such as 2/4 for the second of four`,
		"2":    `"2" is no shard: write i/n, such as 2/4 for the second of four`,
		"2/4x": `"2/4x" is no shard: write i/n, such as 2/4 for the second of four`,
		"5/4":  "no shard 5 of 4: the first is 1/4 and the last 4/4",
	} {
		if got, err := ParseShard(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, %v, want %s", text, got, err, want)
		}
	}
}
