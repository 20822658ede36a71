package tp

import (
	"slices"

	"github.com/kernbench/kernbench/torch"
)

// cuts is where a product is cut because of where its operands and its result lie, along
// each axis: both ends and what is between them, in any order.
type cuts struct{ rows, cols, k []int }

// Blocks are as large as keeps the array busy and the number of commands small.
const (
	blockRows = 128
	blockCols = 512
	blockK    = 512
	stages    = 3 // operands in TCM: in use, there, and on their way
)

// blockSize is the largest block of a result, and how much of K is read at once.
type blockSize struct{ rows, cols, k int }

// fit returns the largest blocks of elements of so many bytes for which TCM has room, as if
// there were at least so many columns. Tiles is how many of x and of w there are at a time.
func (c *cuts) fit(wide int, tiles [2]int, elem, room int) blockSize {
	s := blockSize{rows: min(blockRows, widest(c.rows)), cols: min(blockCols, max(wide, widest(c.cols))), k: min(blockK, widest(c.k))}
	for {
		operands, sums := s.k*(tiles[0]*s.rows+tiles[1]*s.cols)*elem, 5*s.rows*s.cols*4 // sums: two, each before and after, and as written
		switch {
		case operands+sums <= room || s.rows*s.cols*s.k == 1:
			return s
		case s.k > 64 || s.k > 1 && s.k >= s.rows && s.k >= s.cols:
			s.k = (s.k + 1) / 2
		case s.cols >= s.rows:
			s.cols = (s.cols + 1) / 2
		default:
			s.rows = (s.rows + 1) / 2
		}
	}
}

// kept returns the bytes that all tiles of x take in TCM, in blocks of these sizes: each takes
// whole granules of 256.
func (c *cuts) kept(s blockSize, elem int) (bytes int) {
	const granule = 256
	for _, r := range ranges(c.rows, s.rows) {
		for _, k := range ranges(c.k, s.k) {
			bytes += (r.n*k.n*elem + granule - 1) / granule * granule
		}
	}
	return bytes
}

// firstRows returns the first row of each piece.
func firstRows(list []torch.Piece) []int {
	rows := make([]int, len(list))
	for i, p := range list {
		rows[i] = p.Row
	}
	return rows
}

// firstCols returns the first column of each piece.
func firstCols(list []torch.Piece) []int {
	cols := make([]int, len(list))
	for i, p := range list {
		cols[i] = p.Col
	}
	return cols
}

// interval is n places from one on.
type interval struct{ from, n int }

// ranges returns the intervals between cuts, each cut further into parts of equal size, up to
// the last, none of which has more than so many.
func ranges(cuts []int, most int) (list []interval) {
	sorted := slices.Compact(slices.Sorted(slices.Values(cuts)))
	for i := range len(sorted) - 1 {
		from, n := sorted[i], sorted[i+1]-sorted[i]
		parts := (n + most - 1) / most
		each := (n + parts - 1) / parts
		for at := 0; at < n; at += each {
			list = append(list, interval{from + at, min(each, n-at)})
		}
	}
	return list
}

// widest returns the largest interval between cuts.
func widest(cuts []int) (most int) {
	for _, r := range ranges(cuts, 1<<62) {
		most = max(most, r.n)
	}
	return most
}
