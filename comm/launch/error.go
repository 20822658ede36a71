package launch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// RankError is why a rank failed: the error of its job, or how its process ended.
type RankError struct {
	Rank int
	Err  error
}

// Error is such as "rank 2: job ring: killed by SIGKILL".
func (e *RankError) Error() string {
	prefix := fmt.Sprintf("rank %d: ", e.Rank)
	text := e.Err.Error()
	if strings.HasPrefix(text, prefix) {
		return text // comm names the rank itself
	}
	return prefix + text
}

func (e *RankError) Unwrap() error { return e.Err }

// failure is a rank's, and whom it blames.
type failure struct {
	*RankError
	blame blame
}

// shown is how many ranks that failed by themselves are told of one by one.
const shown = 4

// summarise is the errors of ranks, given in the order in which they ended: those that
// failed by themselves, then one of those that followed. Who finds others closed has
// failed by itself if nobody else has.
func summarise(failures []failure) []error {
	least := others
	for _, f := range failures {
		least = min(least, f.blame)
	}
	var roots, following []*RankError
	for _, f := range failures {
		if f.blame == least && least < others {
			roots = append(roots, f.RankError)
		} else {
			following = append(following, f.RankError)
		}
	}
	var errs []error
	for _, e := range roots[:min(len(roots), shown)] {
		errs = append(errs, e)
	}
	if more := roots[min(len(roots), shown):]; len(more) > 0 {
		errs = append(errs, fmt.Errorf("%s failed too, such as %w", ranksOf(more), more[0]))
	}
	if len(following) > 0 {
		errs = append(errs, following[0])
	}
	if len(following) > 1 {
		errs = append(errs, errors.New(ranksOf(following[1:])+" failed in consequence"))
	}
	return errs
}

// ranksOf is such as "rank 3" or "ranks 0, 2 to 5".
func ranksOf(errs []*RankError) string {
	var ranks []int
	for _, e := range errs {
		ranks = append(ranks, e.Rank)
	}
	slices.Sort(ranks)
	var spans []string
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		span := fmt.Sprint(ranks[i])
		if j > i {
			span = fmt.Sprintf("%d to %d", ranks[i], ranks[j])
		}
		spans = append(spans, span)
		i = j + 1
	}
	if len(ranks) == 1 {
		return "rank " + spans[0]
	}
	return "ranks " + strings.Join(spans, ", ")
}
