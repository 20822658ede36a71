//go:build linux

package launch

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/comm"
)

// TestLines writes a text in random pieces to the output of a rank and checks that every
// line is written with the rank before it.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.StringMatching(`[ab\n]{0,8}`)).Draw(t, "parts")
		var got bytes.Buffer
		l := (&output{to: &got}).forRank(7)
		for _, p := range parts {
			if n, err := l.Write([]byte(p)); n != len(p) || err != nil {
				t.Fatalf("write %q: %d bytes, error %v", p, n, err)
			}
		}
		l.flush()
		want := ""
		for line := range strings.Lines(strings.Join(parts, "")) {
			want += "rank 7: " + strings.TrimSuffix(line, "\n") + "\n"
		}
		if got.String() != want {
			t.Fatalf("wrote %q, want %q", got.String(), want)
		}
	})
}

// TestSummarise checks the errors that summarise returns for lists of failures, both for a
// run that the caller has stopped and for one that ended by itself.
func TestSummarise(t *testing.T) {
	failed := func(whose blame, text string, ranks ...int) (list []failure) {
		for _, r := range ranks {
			list = append(list, failure{&RankError{r, errors.New(text)}, whose})
		}
		return list
	}
	tests := []struct {
		name    string
		failed  [][]failure
		want    []string
		stopped []string // the errors if the caller has stopped the run
	}{
		{name: "none"},
		{"one", [][]failure{failed(own, "x", 3)}, []string{"rank 3: x"}, []string{"rank 3: x"}},
		{"named already", [][]failure{failed(own, "rank 3: x", 3)}, []string{"rank 3: x"}, []string{"rank 3: x"}},
		{"another named", [][]failure{failed(own, "rank 3: x", 33)}, []string{"rank 33: rank 3: x"}, []string{"rank 33: rank 3: x"}},
		{"one followed", [][]failure{failed(others, "y", 1), failed(own, "x", 3)}, []string{"rank 3: x", "rank 1 failed in consequence"}, []string{"rank 3: x"}},
		{"two followed", [][]failure{failed(own, "x", 3), failed(others, "y", 1, 0)}, []string{"rank 3: x", "ranks 0 and 1 failed in consequence"}, []string{"rank 3: x"}},
		{"many followed", [][]failure{failed(others, "y", 9, 0, 7), failed(own, "x", 3), failed(others, "z", 2, 6, 1)},
			[]string{"rank 3: x", "ranks 0 to 2, 6, 7 and 9 failed in consequence"}, []string{"rank 3: x"}},
		{"alike", [][]failure{failed(own, "x", 5, 4, 2)}, []string{"ranks 2, 4 and 5: x"}, []string{"ranks 2, 4 and 5: x"}},
		{"alike but for ranks", [][]failure{failed(own, "rank 4: get of rank 4, rank 44", 4), failed(own, "rank 2: get of rank 2, rank 44", 2)},
			[]string{"ranks 2 and 4: get of rank 2, rank 44"}, []string{"ranks 2 and 4: get of rank 2, rank 44"}},
		{"not alike", [][]failure{failed(own, "barrier, rank 0", 1), failed(own, "barrier, rank 1", 2)},
			[]string{"rank 1: barrier, rank 0", "rank 2: barrier, rank 1"}, []string{"rank 1: barrier, rank 0", "rank 2: barrier, rank 1"}},
		{"many", [][]failure{failed(own, "a", 5), failed(own, "b", 4), failed(own, "c", 3), failed(own, "d", 2), failed(own, "e", 1), failed(own, "f", 0), failed(own, "b", 6)},
			[]string{"rank 5: a", "ranks 4 and 6: b", "rank 3: c", "rank 2: d", "ranks 0 and 1 failed too, such as rank 1: e"},
			[]string{"rank 5: a", "ranks 4 and 6: b", "rank 3: c", "rank 2: d", "ranks 0 and 1 failed too, such as rank 1: e"}},
		{"late", [][]failure{failed(others, "y", 0), failed(late, "z", 1)}, []string{"rank 1: z", "rank 0 failed in consequence"}, []string{"rank 0: y"}},
		{"late and failed", [][]failure{failed(late, "z", 1), failed(own, "x", 2)}, []string{"rank 1: z", "rank 2: x"}, []string{"rank 2: x"}},
		{"closed", [][]failure{failed(others, "y", 0), failed(closers, "z", 1)}, []string{"rank 1: z", "rank 0 failed in consequence"}, []string{"rank 0: y"}},
		{"closed and failed", [][]failure{failed(closers, "z", 1), failed(own, "x", 2)}, []string{"rank 2: x", "rank 1 failed in consequence"}, []string{"rank 2: x"}},
		{"deadlock", [][]failure{failed(deadlocked, "rank 1: waits", 1), failed(deadlocked, "rank 0: waits too", 0), failed(others, "y", 2)},
			[]string{"rank 1: waits"}, []string{"rank 1: waits"}},
		{"only consequences", [][]failure{failed(others, "y", 1, 2)}, []string{"ranks 1 and 2: y"}, []string{"rank 1: y"}},
		{"did not stop", [][]failure{failed(own, "x", 3), failed(killed, "y", 1, 0), failed(others, "z", 2), failed(running, "z", 4)},
			[]string{"rank 3: x", "rank 2 failed in consequence", "ranks 0 and 1: y", "rank 4: z"}, []string{"rank 3: x", "rank 4: z"}},
	}
	for _, tt := range tests {
		for stopped, want := range map[bool][]string{false: tt.want, true: tt.stopped} {
			t.Run(fmt.Sprintf("%s/%v", tt.name, stopped), func(t *testing.T) {
				var got []string
				for _, err := range summarise(slices.Concat(tt.failed...), stopped) {
					got = append(got, err.Error())
				}
				if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
					t.Errorf("summary %q, want %q", got, want)
				}
			})
		}
	}
}

// TestRankErrorIs checks that errors.Is finds the errors of comm in the error of a run
// whose ranks are goroutines.
func TestRankErrorIs(t *testing.T) {
	_, err := Run(withDeadline(t), Options{Backend: "inproc", Ranks: 2}, "fault", trouble{How: "return"}.arg(t))
	if !errors.Is(err, comm.ErrClosed) {
		t.Errorf("error %v, want one that is %q", err, comm.ErrClosed)
	}
}
