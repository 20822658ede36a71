package builtin

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/scenario/runner"
)

// TestFiles checks that each YAML file of the package is registered under its name and
// begins with a comment.
func TestFiles(t *testing.T) {
	entries, err := fs.Glob(files, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		text, err := files.ReadFile(e)
		if err != nil || !strings.HasPrefix(string(text), "# ") {
			t.Errorf("%s begins with no comment: %v", e, err)
		}
		names = append(names, strings.TrimSuffix(e, ".yaml"))
	}
	if got := scenario.Names(); !slices.Equal(got, names) || len(names) != 11 {
		t.Errorf("registered %v, files %v, want the same eleven", got, names)
	}
}

// TestRoute checks that route gives every token topk visits, that no two visits use the
// same row of a rank, and that the used rows of each rank have no gaps.
func TestRoute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks, tokens, experts := rapid.IntRange(1, 9).Draw(t, "ranks"), rapid.IntRange(0, 20).Draw(t, "tokens"), rapid.IntRange(1, 16).Draw(t, "experts")
		topk := rapid.IntRange(1, ranks*experts).Draw(t, "topk")
		seed := rapid.Int().Draw(t, "seed")
		rows := make([][]bool, ranks)
		for r := range rows {
			rows[r] = make([]bool, ranks*tokens*topk)
		}
		for source, list := range route(ranks, tokens, topk, experts, seed) {
			if len(list) != tokens {
				t.Fatalf("rank %d has %d tokens, want %d", source, len(list), tokens)
			}
			for token, visits := range list {
				if len(visits) != topk {
					t.Fatalf("token %d of rank %d has %d visits, want %d", token, source, len(visits), topk)
				}
				for _, v := range visits {
					if rows[v.rank][v.row] {
						t.Fatalf("row %d of rank %d is used twice", v.row, v.rank)
					}
					rows[v.rank][v.row] = true
				}
			}
		}
		all := 0
		for rank, used := range rows {
			n := slices.Index(used, false) // the number of rows, if there are no gaps
			if n < 0 {
				n = len(used)
			}
			if slices.Contains(used[n:], true) {
				t.Fatalf("rank %d has a gap at row %d", rank, n)
			}
			all += n
		}
		if all != ranks*tokens*topk {
			t.Fatalf("%d rows, want %d", all, ranks*tokens*topk)
		}
	})
}

// TestRouteIsFixed checks that route returns the same visits for a seed as when the test
// was written.
func TestRouteIsFixed(t *testing.T) {
	got := route(2, 2, 3, 2, 7)
	want := [][][]visit{
		{{{1, 0}, {0, 2}, {0, 0}}, {{1, 4}, {1, 1}, {0, 3}}},
		{{{0, 1}, {1, 2}, {1, 5}}, {{1, 3}, {1, 6}, {0, 4}}},
	}
	if !slices.EqualFunc(got, want, func(a, b [][]visit) bool { return slices.EqualFunc(a, b, slices.Equal) }) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestFFNGolden checks that the closed form in ffnGolden equals the sum of products,
// computed term by term.
func TestFFNGolden(t *testing.T) {
	const m, k, n = 5, 7, 3
	s, err := scenario.Load(t.Context(), "ffn_tp")
	if err != nil {
		t.Fatal(err)
	}
	pl, err := s.Plan(t.Context(), scenario.Choice{Ranks: 3, Rounds: 3, Params: map[string]string{"m": "5", "k": "7", "n": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	golden, err := pl.Golden(pl.Outputs[0], 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m {
		for j := range n {
			want := 0.0
			for r := range 3 {
				for l := range k {
					x := (float64(k*i+l) + 0.25*float64(r) + 2) / 32
					w := (float64(n*l+j) + 0.5*float64(r+1)) / 48
					want += x * w
				}
			}
			if got := float64(decodeF32(golden, n*i+j)); math.Abs(got-want) > 1e-6*want {
				t.Errorf("[%d %d]: got %v, want %v", i, j, got, want)
			}
		}
	}
}

func decodeF32(b []byte, i int) float32 {
	b = b[4*i:]
	return math.Float32frombits(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
}

// TestInvalidParams checks the errors of ep_dispatch_combine if there are no experts, or
// fewer experts than topk. It also checks that topk may equal the number of experts.
func TestInvalidParams(t *testing.T) {
	for _, tt := range []struct {
		ranks  int
		params map[string]string
		want   string
	}{
		{1, map[string]string{"topk": "17", "dim": "4"}, "outputs[0].golden: topk is 17, and there are 16 experts: write 1 to 16"},
		{2, map[string]string{"experts": "0", "dim": "4"}, "outputs[0].golden: 0 experts per rank: write 1 to 4096"},
		{64, map[string]string{"experts": "1", "topk": "64", "tokens": "2", "dim": "4"}, ""},
	} {
		o := runner.Options{Scenario: "ep_dispatch_combine", Backend: runner.Sim, Preset: "alpha_beta"}
		o.Ranks, o.Params = tt.ranks, tt.params
		_, err := runner.Run(t.Context(), o)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%d ranks, %v: got %v, want %s", tt.ranks, tt.params, err, tt.want)
		}
	}
}

// TestPage checks that every Go listing in docs/write/scenarios.md is part of the sources
// of the built-in scenarios or of examples/own-scenario.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/write/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, name := range append(sources, "../../examples/own-scenario/main.go") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	for _, block := range blocks {
		listing, _, _ := strings.Cut(block, "```")
		if !strings.Contains(code.String(), listing) {
			t.Errorf("no source has this:\n%s", listing)
		}
	}
	if len(blocks) < 6 {
		t.Errorf("%d listings, want 6 or more", len(blocks))
	}
}
