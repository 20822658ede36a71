// Package ints makes lists of consecutive numbers: ranks, PEs, rows. It imports nothing.
package ints

// Count returns n consecutive numbers from first on.
func Count(first, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = first + i
	}
	return list
}
