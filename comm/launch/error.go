package launch

import (
	"fmt"
	"slices"
	"strings"
)

// RankError is why a rank failed: the error of its job, or how its process ended.
type RankError struct {
	Rank int
	Err  error
}

// Error is such as "rank 2: killed by SIGKILL".
func (e *RankError) Error() string {
	return fmt.Sprintf("rank %d: %s", e.Rank, e.text())
}

// text is the error without the rank that it begins with, if it is one of comm.
func (e *RankError) text() string {
	return strings.TrimPrefix(e.Err.Error(), fmt.Sprintf("rank %d: ", e.Rank))
}

func (e *RankError) Unwrap() error { return e.Err }

// alike is ranks whose errors are the same, but for the numbers of those ranks.
type alike struct{ ranks []*RankError }

// Error is such as "ranks 0 to 2: disk full", in the words of the first.
func (a *alike) Error() string { return ranksOf(a.ranks) + ": " + a.ranks[0].text() }

func (a *alike) Unwrap() error { return a.ranks[0] }

// add keeps them in the order of ranks.
func (a *alike) add(e *RankError) {
	a.ranks = append(a.ranks, e)
	slices.SortFunc(a.ranks, func(x, y *RankError) int { return x.Rank - y.Rank })
}
