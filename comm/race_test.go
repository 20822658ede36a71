//go:build race

package comm_test

// raced is how much fewer generations the race detector leaves time for.
const raced = 5
