// Package lists builds slices: of consecutive numbers, such as ranks, PEs and rows, of
// values computed from indices, and of values computed from the elements of another slice.
// It imports nothing.
package lists

// Count returns the list of n consecutive integers that begins with `first`.
func Count(first, n int) []int { return Make(n, func(i int) int { return first + i }) }

// Make returns a list of n elements. element(i) returns the element with index i.
func Make[E any](n int, element func(i int) E) []E {
	list := make([]E, n)
	for i := range list {
		list[i] = element(i)
	}
	return list
}

// Map returns the list of the results of f for each element of `list`, in order.
func Map[E, F any](list []E, f func(E) F) []F {
	return Make(len(list), func(i int) F { return f(list[i]) })
}
