package tp

import (
	"iter"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// band is some rows of a share, as many as there is room for, on the PE that works on
// them.
type band struct {
	t        *tl.PE
	interval           // the rows, within the share
	columns  []tl.Tile // what columns have for them

	*walk
	at   int        // which band
	next *[]tl.Tile // tile of the walk
	kept []tl.Tile
}

// tile is a tile of a band in f32, and the elements of vectors that go with it.
type tile struct {
	tl.Tile
	col     int // within the share
	vectors []tl.Tile
}

// tiles returns the tiles of the band. A kernel goes over them once, in every band. The next
// tile is asked for before the arithmetic on this one.
func (b *band) tiles() iter.Seq[tile] {
	return func(yield func(tile) bool) {
		if b.at == 0 {
			*b.next = b.load(b.t, 0)
		}
		for i, n := range b.cols {
			list := *b.next
			*b.next = b.load(b.t, b.at*len(b.cols)+i+1)
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

// keep has a tile stay in TCM until the kernel is done with the band.
func (b *band) keep(x tl.Tile) tl.Tile {
	b.kept = append(b.kept, x.Pin())
	return x
}

// reduction is how elements are taken together: along an axis of a tile, and of two
// tiles.
type reduction struct {
	along func(x tl.Tile, axis int) tl.Tile
	two   func(x tl.Tile, y any) tl.Tile
}

var (
	adding  = reduction{tl.Tile.Sum, tl.Tile.Add}
	largest = reduction{tl.Tile.Max, tl.Tile.Maximum}
)

// fold takes the elements of each row together, of each of the tiles that f makes: from
// left to right within a tile, and then tile by tile.
func (b *band) fold(by reduction, f func(x tl.Tile) []tl.Tile) (all []tl.Tile) {
	for x := range b.tiles() {
		for i, y := range f(x.Tile) {
			result := by.along(y, 1)
			if x.col == 0 {
				all = append(all, b.keep(result))
			} else {
				all[i] = b.keep(by.two(all[i], result))
			}
		}
	}
	return all
}

// own returns where the share has partials of the band's rows.
func (b *band) own(p *partials, kind int) tl.Ptr {
	return p.own[b.index].At(0, kind*p.most+b.from)
}

// total takes the partials of the band's rows together, from left to right, into a
// column.
func (b *band) total(p *partials, kind int, by reduction) tl.Tile {
	from := p.across[b.index].At(0, kind*p.most+b.from)
	return by.along(b.t.Load(from, tl.Shape{b.share.across, b.n}, torch.F32), 0).Reshape(b.n, 1)
}

// write puts what was made of a tile into a matrix that is laid out as x is.
func (b *band) write(to []tl.Ptr, x tile, y tl.Tile) {
	b.round(to[b.index].At(b.from, x.col), y)
}

// round stores a tile in the dtype of the memory.
func (b *band) round(to tl.Ptr, x tl.Tile) { b.t.Store(to, as(x, to.DType)) }

// element returns an element of memory in f32.
func (b *band) element(from tl.Ptr) tl.Tile { return wide(b.t.Load(from, tl.Shape{1, 1}, from.DType)) }
