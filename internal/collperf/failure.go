package collperf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/torch"
)

// ranksError is a failure of ranks that says the same of several only once.
type ranksError struct{ *torch.SpawnError }

// Unwrap is the errors of all ranks.
func (e ranksError) Unwrap() []error { return e.SpawnError.Unwrap() }

func (e ranksError) Error() string {
	var texts []string
	ranks := map[string][]int{}
	for _, r := range e.Ranks {
		text := r.Err.Error()
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		ranks[text] = append(ranks[text], r.Rank)
	}
	for i, text := range texts {
		texts[i] = rankList(ranks[text]) + ": " + text
	}
	return strings.Join(texts, "\n")
}

// rankList names ranks in order: "rank 3", "ranks 0-2, 5".
func rankList(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	var list []string
	for i := 0; i < len(ranks); {
		first := i
		for i++; i < len(ranks) && ranks[i] == ranks[i-1]+1; i++ {
		}
		if i-first == 1 {
			list = append(list, fmt.Sprint(ranks[first]))
		} else {
			list = append(list, fmt.Sprintf("%d-%d", ranks[first], ranks[i-1]))
		}
	}
	return "ranks " + strings.Join(list, ", ")
}

// together is an error in which ranks that failed alike are named together.
func together(err error) error {
	var failed *torch.SpawnError
	if errors.As(err, &failed) {
		return ranksError{failed}
	}
	return err
}
