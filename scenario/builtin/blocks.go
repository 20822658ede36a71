package builtin

import "github.com/kernbench/kernbench/tl"

// blockElems is the largest number of elements that a kernel loads at a time.
const blockElems = 4096

// forBlocks calls f for consecutive blocks of n elements.
func forBlocks(n int, f func(at, elems int)) {
	for at := 0; at < n; at += blockElems {
		f(at, min(blockElems, n-at))
	}
}

// fetch returns n elements of a buffer in the window of a rank, which may be this rank.
func fetch(t *tl.PE, rank int, p tl.Ptr, n int) tl.Tile {
	if rank == t.Rank() {
		return t.Load(p, tl.Shape{n}, p.DType)
	}
	return t.Get(rank, p, tl.Shape{n}, p.DType)
}

// fetchSum returns the sum of n elements in the windows of several ranks, added in the
// order of the list.
func fetchSum(t *tl.PE, ranks []int, p tl.Ptr, n int) tl.Tile {
	total := fetch(t, ranks[0], p, n)
	for _, r := range ranks[1:] {
		total = total.Add(fetch(t, r, p, n))
	}
	return total
}

// chunk returns the c-th of several parts of n elements. The sizes of the parts differ by
// at most 1.
func chunk(n, parts, c int) (from, elems int) {
	from = n * c / parts
	return from, n*(c+1)/parts - from
}
