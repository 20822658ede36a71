package tp

import (
	"errors"
	"slices"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// overlap is a row-parallel product in pieces: one piece is reduced while the next is
// computed. A piece has some columns of each PE's box of the result. Each PE therefore
// holds its own part of the reduced piece, and copies it to y.
type overlap struct {
	l           *RowParallelLinear
	y           *torch.Tensor
	addends     [][]*torch.Tensor // by piece: one tensor or, with SequenceParallel, one for each rank
	sums        []*torch.Tensor   // by piece: the reduced piece
	temporaries stack
	plans       map[int][]*plan // by PE, then by piece
	copies      map[int][]*pass // by PE, then by piece: copies of a sum to y
	pesByColumn map[int][]int   // PEs whose boxes of the first piece begin at a column
	keepX       bool            // as in product
	localX      *torch.Tensor   // as in product; nil if not needed
	widestCols  int
}

// pieceColumns returns, for each piece of a result with `out` columns, which columns the
// piece consists of. Each list has the same number of entries for every PE. If a PE has
// fewer columns than other PEs, the entries of its missing columns are -1.
func pieceColumns(r *torch.Rank, o Options, out int) (list [][]int) {
	row := firstRowBoxes(r, o.weight(), out)
	for _, part := range splitColumns(row, o.Overlap) {
		var columns []int
		for _, b := range row {
			for i := range part.n {
				if col := part.from + i; col < b.cols {
					columns = append(columns, b.col+col)
				} else {
					columns = append(columns, -1)
				}
			}
		}
		list = append(list, columns)
	}
	return list
}

// splitColumns divides the columns of a PE's box into at most the given number of pieces,
// in the same way for all PEs. `row` holds the boxes of the PEs that compute the first row.
// The intervals count columns from the first column of a box.
func splitColumns(row []box, pieces int) []interval {
	most := slices.MaxFunc(row, func(a, b box) int { return a.cols - b.cols }).cols
	return splitRanges([]int{0, most}, tl.CDiv(most, pieces))
}

// multiplyOverlapped computes the product x·weight, reduces it over the ranks into y and
// adds the bias, piece by piece. With SkipBiasAdd it does not add the bias.
func (l *RowParallelLinear) multiplyOverlapped(x, y *torch.Tensor) error {
	o := &overlap{l: l, y: y, plans: map[int][]*plan{}, copies: map[int][]*pass{}, pesByColumn: map[int][]int{}}
	for i, part := range splitColumns(firstRowBoxes(l.rank, l.o.weight(), l.out), l.o.Overlap) {
		if err := o.addPiece(x, l.Weight[i], part); err != nil {
			return errors.Join(err, o.temporaries.free())
		}
	}
	return errors.Join(o.run(x), o.temporaries.free())
}

// addPiece plans one piece of the product of x and w. The piece has the columns `cols` of
// each PE's box of the result.
func (o *overlap) addPiece(x, w *torch.Tensor, cols interval) error {
	l, r := o.l, o.l.rank
	n := 1
	if l.o.SequenceParallel {
		n = l.group.Size() + 1 // an addend for each rank, and the sum
	}
	tensors, err := newStack(n, func(int) (*torch.Tensor, error) {
		return l.newTensor(torch.Shape{rowsOf(o.y), colsOf(w)}, l.o.grid())
	})
	if err != nil {
		return err
	}
	o.temporaries = append(o.temporaries, tensors...)
	sum, addends := tensors[n-1], tensors[:max(1, n-1)]
	o.addends, o.sums = append(o.addends, addends), append(o.sums, sum)
	work := resultBoxes(r, l.o.weight(), rowsOf(x), colsOf(w))
	o.widestCols = max(o.widestCols, cols.n) // the first piece is the widest
	p := product{x: stack{x}.blocks().factor(), w: stack{w}.blocks().factor(), y: stack(addends).blocks(), keepX: o.keepX, localX: o.localX, localXReady: o.localX != nil, widestCols: o.widestCols}
	if len(o.sums) == 1 {
		if err := p.prepareReuse(r, l.o.weight(), work, o.productBytes()); err != nil {
			return err
		}
		if o.keepX, o.localX = p.keepX, p.localX; p.localX != nil {
			o.temporaries = append(o.temporaries, p.localX)
		}
	}
	for _, b := range work {
		o.plans[b.pe] = append(o.plans[b.pe], p.plan(r, b, o.productBytes()))
		if len(o.sums) == 1 {
			o.pesByColumn[b.col] = append(o.pesByColumn[b.col], b.pe)
		}
	}
	from, to := resultBoxes(r, l.o.weight(), rowsOf(sum), colsOf(w)), resultBoxes(r, l.o.weight(), rowsOf(sum), l.out)
	for i, b := range to {
		o.copies[b.pe] = append(o.copies[b.pe], o.planCopy(sum, from[i], b, cols))
	}
	return nil
}

// productBytes returns the number of bytes of TCM that the product may use. Messages and
// copies use the rest.
func (o *overlap) productBytes() int { return tcmBytes(o.l.rank) * 3 / 4 }

// copyBytes returns the size in bytes of the tiles in which a PE copies a reduced piece to
// y.
func (o *overlap) copyBytes() int { return min(16<<10, tcmBytes(o.l.rank)/32) }

// planCopy plans how a PE copies its box of a reduced piece to y and adds the bias. `sum`
// is the tensor of the reduced piece, and `from` is the PE's box of `sum`. `to` is the PE's
// box of y, of which the columns `cols` are written.
func (o *overlap) planCopy(sum *torch.Tensor, from, to box, cols interval) *pass {
	to.col, to.cols = to.col+cols.from, max(0, min(cols.n, to.cols-cols.from))
	in := []operand{{x: sum, shift: from.col - to.col}}
	f := func(in []tl.Tile) tl.Tile { return in[0] }
	if bias := o.l.biasToAdd(); bias != nil {
		in = append(in, operand{x: bias, vector: true})
		f = addTiles
	}
	return newPass(to, operand{x: o.y}, in, f, o.copyBytes())
}

// run computes, reduces and copies all pieces in one launch.
func (o *overlap) run(x *torch.Tensor) error {
	l := o.l
	kept := map[int]map[tl.Ptr]tl.Tile{} // by PE: all pieces need the same rows of x
	m := dist.Making{
		Name: l.Name, Using: append([]*torch.Tensor{x, o.y}, l.Weight...), Room: o.productBytes() + 2*o.copyBytes(),
		Make: func(t *tl.PE, pe, piece int) func() bool {
			if kept[pe] == nil {
				kept[pe] = map[tl.Ptr]tl.Tile{}
			}
			return (&planRun{t: t, plan: o.plans[pe][piece], keptX: kept[pe]}).next
		},
		Use: func(t *tl.PE, pe, piece int) { o.copies[pe][piece].run(t) },
	}
	m.Using = append(m.Using, nonNil(l.biasToAdd(), o.localX)...)
	if !l.o.SequenceParallel {
		return dist.AllReduceMaking(o.l.rank, m, o.sums, dist.SUM, l.group)
	}
	m.Together = o.columnPEs
	return dist.ReduceScatterMaking(o.l.rank, m, o.sums, o.addends, dist.SUM, l.group)
}

// columnPEs returns the PEs whose boxes begin at the same column as the box of the given
// PE. These PEs compute rows of each other's shards.
func (o *overlap) columnPEs(pe int) []int { return o.pesByColumn[o.plans[pe][0].col] }
