// Package lists makes lists of consecutive numbers, such as ranks, PEs and rows, and of what
// follows from numbers or from the elements of another list. It imports nothing.
package lists

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

// Map returns a list with what a function makes of each element of another list.
func Map[E, F any](list []E, of func(E) F) []F {
	return Make(len(list), func(i int) F { return of(list[i]) })
}
