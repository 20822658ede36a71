// Package ints makes lists of consecutive numbers, such as ranks, PEs and rows, and lists of what
// has such a number. It imports nothing.
package ints

// Count returns n consecutive numbers from first on.
func Count(first, n int) []int { return Make(n, func(i int) int { return first + i }) }

// Make returns a list of n elements, each made of its index.
func Make[E any](n int, element func(i int) E) []E {
	list := make([]E, n)
	for i := range list {
		list[i] = element(i)
	}
	return list
}
