package tp

import (
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// bandTilesInTCM is the number of tiles in f32 that must fit in TCM: the next tiles, the
// tiles computed from the current tile, and the tiles that earlier commands still use.
const bandTilesInTCM = 32

// walk is the order in which a PE visits the tiles of its share of a matrix: first the
// tiles of a band of rows from left to right, and then the tiles of the next band below.
type walk struct {
	*share
	bands, cols []interval // rows and columns of the tiles, counted within the share
	x           tl.Ptr
	vectors     [][]tl.Ptr // addresses in the vectors, by interval of columns
	columns     [][]tl.Ptr // addresses in the columns, by band
}

// newWalk plans the iteration over the tiles of share h, whose first element is at x. A
// tile has at most `most` bytes in f32. No tile crosses the border between two pieces of an
// operand in `use`.
func newWalk(h *share, x tl.Ptr, use launchOperands, most int) *walk {
	w := &walk{share: h, x: x}
	c := cuts{rows: []int{0, h.rows}, cols: []int{0, h.cols}}
	var vectors, columns [][]torch.Piece // in coordinates of the share
	for _, v := range use.vectors {
		list := shift(v.Pieces(0, h.col, 1, h.cols, h.pe), 0, h.col)
		_, cols := starts(list)
		vectors, c.cols = append(vectors, list), append(c.cols, cols...)
	}
	for _, v := range use.columns {
		list := shift(v.Pieces(h.row, 0, h.rows, 1, h.pe), h.row, 0)
		rows, _ := starts(list)
		columns, c.rows = append(columns, list), append(c.rows, rows...)
	}
	elems, width := most/torch.F32.Size(), widestRange(c.cols)
	if use.partialsOnly {
		width = h.rowShares
	}
	w.cols = splitRanges(c.cols, elems)
	w.bands = splitRanges(c.rows, max(1, elems/width))
	for _, n := range w.cols {
		w.vectors = append(w.vectors, pointers(vectors, 0, n.from))
	}
	for _, n := range w.bands {
		w.columns = append(w.columns, pointers(columns, n.from, 0))
	}
	return w
}

// pointers returns the address of the element at (row, col) in each operand.
func pointers(operands [][]torch.Piece, row, col int) (list []tl.Ptr) {
	for _, pieces := range operands {
		list = append(list, piecesAt(pieces, row, col)[0].Ptr)
	}
	return list
}

// run calls the kernel `do` for each band of rows of the share, from top to bottom.
func (w *walk) run(t *tl.PE, do func(b *band)) {
	var next []tl.Tile
	for i, rows := range w.bands {
		b := &band{t: t, interval: rows, walk: w, bandIndex: i, next: &next}
		for _, from := range w.columns[i] {
			b.columns = append(b.columns, b.keep(t.Load(from, tl.Shape{rows.n, 1}, from.DType)))
		}
		do(b)
		for _, x := range b.kept {
			x.Free()
		}
	}
}

// load issues the loads of tile i of the walk. For the columns of this tile, it also issues
// the loads of the vectors' elements. It returns nil after the last tile.
func (w *walk) load(t *tl.PE, i int) (list []tl.Tile) {
	if i == len(w.bands)*len(w.cols) {
		return nil
	}
	rows, cols := w.bands[i/len(w.cols)], w.cols[i%len(w.cols)]
	list = append(list, t.Load(w.x.At(rows.from, cols.from), tl.Shape{rows.n, cols.n}, w.x.DType).Pin())
	for _, from := range w.vectors[i%len(w.cols)] {
		list = append(list, t.Load(from, tl.Shape{1, cols.n}, from.DType).Pin())
	}
	return list
}
