package procpe

import (
	"regexp"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/tl"
)

// writes records the text of each Write.
type writes []string

func (w *writes) Write(b []byte) (int, error) { *w = append(*w, string(b)); return len(b), nil }

// TestPrint checks that every line that a kernel prints begins with the rank, and that each
// print is written with one call of Write.
func TestPrint(t *testing.T) {
	var out writes
	errs := forEachRank(t, 2, setup{}, func(c *comm.Comm, r *Rank) error {
		if c.Rank() == 1 {
			r.options.Print = &out
		}
		return r.Launch("say", func(t *tl.PE) {
			t.Printf("%d of %d, %d of %d\nand PEs %d\n", t.Rank(), t.NumRanks(), t.ProgramID(0), t.NumPrograms(0), t.NumPrograms(1)*t.NumPrograms(2))
			t.Printf("%v", t.Zeros(tl.Shape{2}, tl.F16))
		})
	})
	for rank, err := range errs {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	times := regexp.MustCompile(`[0-9.]+(ns|µs)`)
	for i, text := range out {
		out[i] = times.ReplaceAllString(text, "TIME")
	}
	want := writes{"[rank 1 TIME] 1 of 2, 1 of 2\n[rank 1] and PEs 1\n", "[rank 1 TIME] [2] f16\n"}
	if !slices.Equal(out, want) {
		t.Errorf("writes %q, want %q", out, want)
	}
}
