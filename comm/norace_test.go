//go:build !race

package comm_test

// raceDivisor divides the number of generations. Without the race detector it is 1.
const raceDivisor = 1
