package main

import (
	"errors"
	"slices"
	"testing"
)

// TestSplitKnown checks the words that splitKnown returns, and the error for an unknown
// word, which lists the known words.
func TestSplitKnown(t *testing.T) {
	if got, err := splitKnown("collectives", "broadcast,all_reduce", allCollectives); err != nil || !slices.Equal(got, []string{"broadcast", "all_reduce"}) {
		t.Errorf("got %v, %v", got, err)
	}
	const want = `-collectives: no "my_ring" between processes: there are all_reduce, all_gather, reduce_scatter, all_to_all, broadcast`
	_, err := splitKnown("collectives", "all_reduce,my_ring", allCollectives)
	var wrong *usageError
	if !errors.As(err, &wrong) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
