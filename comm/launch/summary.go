package launch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
)

// failure is a rank's, and whom it blames.
type failure struct {
	*RankError
	blame blame
}

// shown is how many different errors are told.
const shown = 4

// summarise is the errors of ranks, given in the order in which they ended: what went
// wrong, once, and which ranks failed because of it. If the caller has stopped the run,
// that is why ranks fail that have no reason of their own; one of them says where it was.
func summarise(failures []failure, stopped bool) (errs []error) {
	most := deadlocked // blame of those that are told of
	if !stopped {
		for most = late; most < others && !slices.ContainsFunc(failures, func(f failure) bool { return f.blame <= most }); {
			most++ // nobody failed by itself
		}
	}
	var roots, following, waiting, slow, left []*RankError
	stuck := false
	for _, f := range failures {
		switch {
		case f.blame == deadlocked && stuck: // it says the same of all ranks
		case f.blame <= most:
			roots = append(roots, f.RankError)
			stuck = stuck || f.blame == deadlocked
		case f.blame == running:
			left = append(left, f.RankError)
		case f.blame == killed && !stopped:
			slow = append(slow, f.RankError)
		case stopped && f.blame == others:
			waiting = append(waiting, f.RankError)
		case stopped:
		default:
			following = append(following, f.RankError)
		}
	}
	errs = tell(roots)
	if len(following) > 0 && !stuck {
		errs = append(errs, fmt.Errorf("%s failed in consequence", ranksOf(following)))
	}
	if len(roots) == 0 && len(waiting) > 0 {
		errs = append(errs, waiting[0]) // the others say the same, or that this one has failed
	}
	return slices.Concat(errs, tell(slow), tell(left))
}

// tell returns one error for each group of errors that are alike.
func tell(list []*RankError) (errs []error) {
	groups := map[string]*alike{}
	var more []*RankError
	for _, e := range list {
		own := regexp.MustCompile(fmt.Sprintf(`\brank %d\b`, e.Rank))
		text := own.ReplaceAllString(e.text(), "rank")
		g := groups[text]
		switch {
		case g != nil:
			g.ranks = append(g.ranks, e)
			slices.SortFunc(g.ranks, func(x, y *RankError) int { return x.Rank - y.Rank })
		case len(groups) == shown:
			more = append(more, e)
		default:
			groups[text] = &alike{[]*RankError{e}}
			errs = append(errs, groups[text])
		}
	}
	if len(more) > 0 {
		errs = append(errs, fmt.Errorf("%s failed too, such as %w", ranksOf(more), more[0]))
	}
	return errs
}

// ranksOf returns a text such as "rank 3" or "ranks 0, 2 to 5 and 7".
func ranksOf(errs []*RankError) string {
	var ranks []int
	for _, e := range errs {
		ranks = append(ranks, e.Rank)
	}
	slices.Sort(ranks)
	spans := strings.ReplaceAll(printable.List(printable.Runs(ranks, 3)), "-", " to ") // two are shorter one by one
	if len(errs) == 1 {
		return "rank " + spans
	}
	return "ranks " + spans
}

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
type alike struct{ ranks []*RankError } // in order

// Error is such as "ranks 0 to 2: disk full", in the words of the first.
func (a *alike) Error() string { return ranksOf(a.ranks) + ": " + a.ranks[0].text() }

func (a *alike) Unwrap() error { return a.ranks[0] }
