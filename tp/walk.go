package tp

import (
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// tilesOfBand is how many tiles of f32 TCM has room for: the next ones, what is computed
// of one, and what earlier commands still use.
const tilesOfBand = 32

// walk is a PE's way over its share of a matrix: tiles from left to right, and then those
// of the rows below.
type walk struct {
	*share
	bands, cols []interval // of the tiles, within the share
	x           tl.Ptr
	vectors     [][]tl.Ptr // by interval of columns
	columns     [][]tl.Ptr // by band
}

// newWalk plans a walk of tiles that have so many bytes at most in f32. They are cut
// where an operand is.
func newWalk(h *share, x tl.Ptr, use besides, most int) *walk {
	w := &walk{share: h, x: x}
	c := cuts{rows: []int{0, h.rows}, cols: []int{0, h.cols}}
	var vectors, columns [][]torch.Piece // from the first row and column of the share
	for _, v := range use.vectors {
		list := shifted(v.Pieces(0, h.col, 1, h.cols, h.pe), 0, h.col)
		_, cols := starts(list)
		vectors, c.cols = append(vectors, list), append(c.cols, cols...)
	}
	for _, v := range use.columns {
		list := shifted(v.Pieces(h.row, 0, h.rows, 1, h.pe), h.row, 0)
		rows, _ := starts(list)
		columns, c.rows = append(columns, list), append(c.rows, rows...)
	}
	elems, width := most/torch.F32.Size(), widest(c.cols)
	if use.partials {
		width = h.across
	}
	w.cols = ranges(c.cols, elems)
	w.bands = ranges(c.rows, max(1, elems/width))
	for _, n := range w.cols {
		w.vectors = append(w.vectors, pointers(vectors, 0, n.from))
	}
	for _, n := range w.bands {
		w.columns = append(w.columns, pointers(columns, n.from, 0))
	}
	return w
}

// pointers returns where an element of each operand is.
func pointers(operands [][]torch.Piece, row, col int) (list []tl.Ptr) {
	for _, pieces := range operands {
		list = append(list, at(pieces, row, col)[0].Ptr)
	}
	return list
}

// run calls a kernel for each band.
func (w *walk) run(t *tl.PE, do func(b *band)) {
	var next []tl.Tile
	for i, rows := range w.bands {
		b := &band{t: t, interval: rows, walk: w, at: i, next: &next}
		for _, from := range w.columns[i] {
			b.columns = append(b.columns, b.keep(t.Load(from, tl.Shape{rows.n, 1}, from.DType)))
		}
		do(b)
		for _, x := range b.kept {
			x.Free()
		}
	}
}

// load asks for the ith tile and what goes with it, nothing after the last.
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
