package builtin

import "github.com/kernbench/kernbench/tl"

// blockElems is the largest number of elements that a kernel loads at a time.
const blockElems = 4096

// forBlocks divides n elements into consecutive blocks of at most blockElems elements and
// calls f for each block. `at` is the index of the first element of the block.
func forBlocks(n int, f func(at, elems int)) {
	for at := 0; at < n; at += blockElems {
		f(at, min(blockElems, n-at))
	}
}

// fetch returns n elements at p in the window of a rank, which may be this rank.
func fetch(t *tl.PE, rank int, p tl.Ptr, n int) tl.Tile {
	if rank == t.Rank() {
		return t.Load(p, tl.Shape{n}, p.DType)
	}
	return t.Get(rank, p, tl.Shape{n}, p.DType)
}

// fetchSum returns the elementwise sum of n elements at p in the windows of the given
// ranks, added in the order of the list.
func fetchSum(t *tl.PE, ranks []int, p tl.Ptr, n int) tl.Tile {
	total := fetch(t, ranks[0], p, n)
	for _, r := range ranks[1:] {
		total = total.Add(fetch(t, r, p, n))
	}
	return total
}

// chunk divides n elements into the given number of parts, whose sizes differ by at most 1.
// It returns the first element and the number of elements of part c.
func chunk(n, parts, c int) (from, elems int) {
	from = n * c / parts
	return from, n*(c+1)/parts - from
}
