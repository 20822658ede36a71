package launch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/printable"
)

// failure is the error of a rank, with a blame that says whose fault the error is.
type failure struct {
	*RankError
	blame blame
}

// maxErrors is the largest number of different errors that are listed.
const maxErrors = 4

// summarise combines the failures of ranks, which are in the order in which the ranks
// ended. It returns each root cause once, and then one error that lists the ranks that
// failed in consequence. The errors of ranks that did not stop when asked come last.
// `stopped` says that the caller has stopped the run; then most failures are consequences
// of the stop and are left out. If the run was stopped and no failure is a root cause,
// summarise returns one of the failures as an example of what a rank was doing.
func summarise(failures []failure, stopped bool) (errs []error) {
	most := deadlocked // failures with at most this blame are root causes
	if !stopped {
		for most = late; most < others && !slices.ContainsFunc(failures, func(f failure) bool { return f.blame <= most }); {
			most++ // no failure has this blame or less
		}
	}
	var roots, following, waiting, slow, left []*RankError
	stuck := false
	for _, f := range failures {
		switch {
		case f.blame == deadlocked && stuck: // the first such error already lists all ranks
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
	errs = groupErrors(roots)
	if len(following) > 0 && !stuck {
		errs = append(errs, fmt.Errorf("%s failed in consequence", formatRanks(following)))
	}
	if len(roots) == 0 && len(waiting) > 0 {
		errs = append(errs, waiting[0]) // the others are the same, or say that this rank has failed
	}
	return slices.Concat(errs, groupErrors(slow), groupErrors(left))
}

// groupErrors combines errors that are equal except for the number of the rank, and returns
// one error for each group. If there are more than maxErrors groups, it combines the errors
// of all further groups in one error.
func groupErrors(list []*RankError) (errs []error) {
	groups := map[string]*errorGroup{}
	var more []*RankError
	for _, e := range list {
		own := regexp.MustCompile(fmt.Sprintf(`\brank %d\b`, e.Rank))
		text := own.ReplaceAllString(e.text(), "rank")
		g := groups[text]
		switch {
		case g != nil:
			g.ranks = append(g.ranks, e)
			slices.SortFunc(g.ranks, func(x, y *RankError) int { return x.Rank - y.Rank })
		case len(groups) == maxErrors:
			more = append(more, e)
		default:
			groups[text] = &errorGroup{[]*RankError{e}}
			errs = append(errs, groups[text])
		}
	}
	if len(more) > 0 {
		errs = append(errs, fmt.Errorf("%s failed too, such as %w", formatRanks(more), more[0]))
	}
	return errs
}

// formatRanks returns a text such as "rank 3" or "ranks 0, 2 to 5 and 7".
func formatRanks(errs []*RankError) string {
	var ranks []int
	for _, e := range errs {
		ranks = append(ranks, e.Rank)
	}
	slices.Sort(ranks)
	spans := strings.ReplaceAll(printable.List(printable.Runs(ranks, 3)), "-", " to ") // runs of two are listed as two numbers
	if len(errs) == 1 {
		return "rank " + spans
	}
	return "ranks " + spans
}

// RankError reports why a rank failed: the error of its job, or how its process ended.
type RankError struct {
	Rank int
	Err  error
}

// Error returns a text such as "rank 2: killed by SIGKILL".
func (e *RankError) Error() string {
	return fmt.Sprintf("rank %d: %s", e.Rank, e.text())
}

// text returns the text of Err. It removes the prefix "rank N: ", with which errors of comm
// begin.
func (e *RankError) text() string {
	return strings.TrimPrefix(e.Err.Error(), fmt.Sprintf("rank %d: ", e.Rank))
}

func (e *RankError) Unwrap() error { return e.Err }

// errorGroup holds errors, sorted by rank, that are equal except for the number of the
// rank.
type errorGroup struct{ ranks []*RankError }

// Error returns a text such as "ranks 0 to 2: disk full". The text after the ranks is that
// of the first rank.
func (a *errorGroup) Error() string { return formatRanks(a.ranks) + ": " + a.ranks[0].text() }

func (a *errorGroup) Unwrap() error { return a.ranks[0] }
