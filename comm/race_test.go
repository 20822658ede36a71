//go:build race

package comm_test

// raceDivisor is the number by which soak tests divide their number of generations, because
// the race detector is slow.
const raceDivisor = 5
