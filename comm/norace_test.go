//go:build !race

package comm_test

// raceDivisor is the number by which soak tests divide their number of generations. Without
// the race detector it is 1.
const raceDivisor = 1
