package sweep

import (
	"os"
	"slices"
	"testing"

	_ "github.com/kernbench/kernbench/bench/builtin" // registers the benches
	"github.com/kernbench/kernbench/internal/setup"
)

// TestCosts checks that each point has the cost that the bench declares for it, and that
// all points have the same cost if the bench declares none.
func TestCosts(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, want := range map[string][]float64{
		"bench: gpt3_qkv\nparams: {tp: \"1,2\", tokens: 1024}\ngrid:\n  - {key: params.divide, values: [4, 8]}\n  - {key: topology, values: [default, ring6]}\n": {51, 51, 15, 15},
		"bench: hello_send\ngrid:\n  - {key: topology, values: [default, ring6]}\n":                                                                              {1, 1},
	} {
		if err := os.WriteFile("x.yaml", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		p, err := New(t.Context(), "x.yaml", setup.Choice{Kinds: setup.Program})
		if err != nil || !slices.Equal(p.costs, want) {
			t.Errorf("%s: got %v, %v, want %v", text, p.costs, err, want)
		}
	}
}
