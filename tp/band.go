package tp

import (
	"iter"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// band is a range of rows of a PE's share of a matrix, as many rows as fit in TCM. A kernel
// runs once for each band of its share. (share is the part of the matrix that the PE
// holds.)
type band struct {
	t        *tl.PE
	interval           // rows, counted within the share
	columns  []tl.Tile // the elements of launchOperands.columns for these rows

	*walk
	bandIndex int
	next      *[]tl.Tile // the next tile of the walk, and the vectors for its columns
	kept      []tl.Tile  // tiles to free at the end of the band
}

// tile is a tile of a band in f32, with the elements of the vectors for its columns.
type tile struct {
	tl.Tile
	col     int // first column, counted within the share
	vectors []tl.Tile
}

// tiles iterates over the tiles that cover the rows of the band, from left to right. A
// kernel must call tiles exactly once per band and run the loop to its end. The load of the
// next tile is issued before the arithmetic on the current tile.
func (b *band) tiles() iter.Seq[tile] {
	return func(yield func(tile) bool) {
		if b.bandIndex == 0 {
			*b.next = b.load(b.t, 0)
		}
		for i, n := range b.cols {
			list := *b.next
			*b.next = b.load(b.t, b.bandIndex*len(b.cols)+i+1)
			for k, x := range list {
				if x.DType() != torch.F32 {
					list[k] = x.To(torch.F32).Pin()
					x.Free()
				}
			}
			yield(tile{list[0], n.from, list[1:]})
			for _, x := range list {
				x.Free()
			}
		}
	}
}

// keep pins a tile in TCM until the kernel has finished the band, and returns the tile.
func (b *band) keep(x tl.Tile) tl.Tile {
	b.kept = append(b.kept, x.Pin())
	return x
}

// reduction is an operation that combines elements, such as a sum. axis combines the
// elements of one tile along an axis. pair combines two tiles element by element.
type reduction struct {
	axis func(x tl.Tile, axis int) tl.Tile
	pair func(x tl.Tile, y any) tl.Tile
}

var (
	sumReduction = reduction{tl.Tile.Sum, tl.Tile.Add}
	maxReduction = reduction{tl.Tile.Max, tl.Tile.Maximum}
)

// reduceRows applies f to every tile of the band. f returns a list of one or more tiles,
// each with as many rows as the argument of f. For each position in this list, reduceRows
// combines the elements of each row with the reduction `by`, from left to right within a
// tile and then tile by tile. It returns one column of results for each position, with an
// element per row.
func (b *band) reduceRows(by reduction, f func(x tl.Tile) []tl.Tile) (all []tl.Tile) {
	for x := range b.tiles() {
		for i, y := range f(x.Tile) {
			result := by.axis(y, 1)
			if x.col == 0 {
				all = append(all, b.keep(result))
			} else {
				all[i] = b.keep(by.pair(all[i], result))
			}
		}
	}
	return all
}

// ownPartials returns the address at which this PE stores its partial results of the given
// kind, for the rows of the band.
func (b *band) ownPartials(p *partials, kind int) tl.Ptr {
	return p.own[b.index].At(0, kind*p.maxRows+b.from)
}

// reducePartials combines the partial results of the given kind over all PEs that hold
// columns of the band's rows, from left to right. It returns a column with one result per
// row.
func (b *band) reducePartials(p *partials, kind int, by reduction) tl.Tile {
	from := p.rowFirst[b.index].At(0, kind*p.maxRows+b.from)
	return by.axis(b.t.Load(from, tl.Shape{b.share.rowShares, b.n}, torch.F32), 0).Reshape(b.n, 1)
}

// storeTile stores y, which was computed from tile x, at the position of x in another
// matrix with the same placement. `to` lists the address of each share in that other matrix
// (see shareStarts).
func (b *band) storeTile(to []tl.Ptr, x tile, y tl.Tile) {
	b.storeConverted(to[b.index].At(b.from, x.col), y)
}

// storeConverted converts tile x to the dtype of the memory at `to` and stores it there.
func (b *band) storeConverted(to tl.Ptr, x tl.Tile) { b.t.Store(to, convert(x, to.DType)) }

// loadElement loads one element and converts it to f32.
func (b *band) loadElement(from tl.Ptr) tl.Tile {
	return toF32(b.t.Load(from, tl.Shape{1, 1}, from.DType))
}
