package builtin

import "github.com/kernbench/kernbench/tl"

// blockElems is the most elements that a kernel works on at a time.
const blockElems = 4096

// blocks calls f for the pieces of n elements.
func blocks(n int, f func(at, elems int)) {
	for at := 0; at < n; at += blockElems {
		f(at, min(blockElems, n-at))
	}
}

// fetch is n elements of a buffer in the window of a rank, which may be this one.
func fetch(t *tl.PE, rank int, p tl.Ptr, n int) tl.Tile {
	if rank == t.Rank() {
		return t.Load(p, tl.Shape{n}, p.DType)
	}
	return t.Get(rank, p, tl.Shape{n}, p.DType)
}

// sum is the sum over ranks of n elements in their windows, in the order given.
func sum(t *tl.PE, ranks []int, p tl.Ptr, n int) tl.Tile {
	total := fetch(t, ranks[0], p, n)
	for _, r := range ranks[1:] {
		total = total.Add(fetch(t, r, p, n))
	}
	return total
}

// chunk is the c-th of parts of n elements: as equal as can be.
func chunk(n, parts, c int) (from, elems int) {
	from = n * c / parts
	return from, n*(c+1)/parts - from
}
