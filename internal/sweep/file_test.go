package sweep

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/experiment"
)

// TestSweepRange checks that a range includes its start, and its end if a step reaches it,
// and that large numbers do not overflow.
func TestSweepRange(t *testing.T) {
	const most = math.MaxInt
	for _, tt := range []struct {
		from, to    int
		times, step int
		want        []string
	}{
		{8, 8192, 4, 0, []string{"8", "32", "128", "512", "2048", "8192"}},
		{3, 20, 2, 0, []string{"3", "6", "12"}},
		{5, 5, 2, 0, []string{"5"}},
		{most/2 + 1, most, 2, 0, []string{fmt.Sprint(most/2 + 1)}},
		{1, 8, 0, 3, []string{"1", "4", "7"}},
		{-2, 2, 0, 2, []string{"-2", "0", "2"}},
		{most - 7, most, 0, 5, []string{fmt.Sprint(most - 7), fmt.Sprint(most - 2)}},
	} {
		d := dimensionText{From: &tt.from, To: &tt.to}
		if d.Times = &tt.times; tt.step > 0 {
			d.Times, d.Step = nil, &tt.step
		}
		if got := new(source).rangeValues("", d); !slices.Equal(got, tt.want) {
			t.Errorf("%d to %d, times %d, step %d: got %v, want %v", tt.from, tt.to, tt.times, tt.step, got, tt.want)
		}
	}
}

// FuzzSweepFile checks that readSource either reports mistakes in a file or returns a grid
// with a valid number of points. No two consecutive points may be equal.
func FuzzSweepFile(f *testing.F) {
	f.Add("bench: gemm_single_pe\ngrid:\n  - {key: pe.gemm.fill_cycles, values: [8, 16]}\n  - {key: params.count, from: 1, to: 512, times: 2}\n")
	f.Add("bench: x\nset: [a=1]\ngrid:\n  - zip:\n    - {key: a, values: [1, 2]}\n    - {key: b, from: 1, to: 9, times: 3}\n")
	f.Add("bench: x\ngrid: [{key: a, from: 0, to: 9223372036854775807, step: 1000000000}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		name := filepath.Join(t.TempDir(), "x.yaml")
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := readSource(t.Context(), name)
		if err != nil {
			return
		}
		points := experiment.Product(s.axes)
		if len(points) == 0 || len(points) > experiment.MaxPoints {
			t.Errorf("%d points", len(points))
		}
		for i, p := range points[1:] {
			if slices.Equal(p, points[i]) {
				t.Errorf("points %d and %d are both %v", i, i+1, p)
			}
		}
	})
}
