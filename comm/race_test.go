//go:build race

package comm_test

// raceDivisor divides the number of generations, because the race detector is slow.
const raceDivisor = 5
