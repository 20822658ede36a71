package tp

import (
	"errors"
	"slices"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// overlap is a row-parallel product that is made in pieces, of which one is reduced while
// the next is computed. A piece has some columns of what each PE makes of the result, so
// that each has its own part of the sum and copies it to y.
type overlap struct {
	l           *RowParallelLinear
	y           *torch.Tensor
	addends     [][]*torch.Tensor // by piece; of each, one or one for each rank
	sums        []*torch.Tensor   // by piece
	temporaries stack
	plans       map[int][]*plan // by PE, then by piece
	copies      map[int][]*pass
	column      map[int][]int // PEs of the boxes that begin at a column, in the first piece
	keep        bool          // see product
	own         *torch.Tensor // if it does not fit
	wide        int
}

// pieces returns the columns of each piece of a result of so many: a part of the columns that
// each PE makes, or as many -1 where it has fewer than the others.
func pieces(r *torch.Rank, o Options, out int) (list [][]int) {
	row := across(r, o.weight(), out)
	for _, part := range parts(row, o.Overlap) {
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

// parts cuts the columns of each box of a row into a number of pieces, or fewer.
func parts(row []box, pieces int) []interval {
	most := slices.MaxFunc(row, func(a, b box) int { return a.cols - b.cols }).cols
	return ranges([]int{0, most}, tl.CDiv(most, pieces))
}

// overlapped computes and reduces the product into y, piece by piece.
func (l *RowParallelLinear) overlapped(x, y *torch.Tensor) error {
	o := &overlap{l: l, y: y, plans: map[int][]*plan{}, copies: map[int][]*pass{}, column: map[int][]int{}}
	for i, part := range parts(across(l.rank, l.o.weight(), l.out), l.o.Overlap) {
		if err := o.piece(x, l.Weight[i], part); err != nil {
			return errors.Join(err, o.temporaries.free())
		}
	}
	return errors.Join(o.run(x), o.temporaries.free())
}

// piece adds a piece: some columns of each PE's box.
func (o *overlap) piece(x, w *torch.Tensor, cols interval) error {
	l, r := o.l, o.l.rank
	n := 1
	if l.o.SequenceParallel {
		n = l.group.Size() + 1 // an addend for each, and the sum
	}
	made, err := newStack(n, func(int) (*torch.Tensor, error) {
		return l.empty(torch.Shape{rowsOf(o.y), colsOf(w)}, l.o.grid())
	})
	if err != nil {
		return err
	}
	o.temporaries = append(o.temporaries, made...)
	sum, addends := made[n-1], made[:max(1, n-1)]
	o.addends, o.sums = append(o.addends, addends), append(o.sums, sum)
	work := boxes(r, l.o.weight(), rowsOf(x), colsOf(w))
	o.wide = max(o.wide, cols.n) // the first is the widest
	p := product{x: stack{x}.blocks().factor(), w: stack{w}.blocks().factor(), y: stack(addends).blocks(), keep: o.keep, own: o.own, written: o.own != nil, wide: o.wide}
	if len(o.sums) == 1 {
		if err := p.again(r, l.o.weight(), work, o.room()); err != nil {
			return err
		}
		if o.keep, o.own = p.keep, p.own; p.own != nil {
			o.temporaries = append(o.temporaries, p.own)
		}
	}
	for _, b := range work {
		o.plans[b.pe] = append(o.plans[b.pe], p.plan(r, b, o.room()))
		if len(o.sums) == 1 {
			o.column[b.col] = append(o.column[b.col], b.pe)
		}
	}
	from, to := boxes(r, l.o.weight(), rowsOf(sum), colsOf(w)), boxes(r, l.o.weight(), rowsOf(sum), l.out)
	for i, b := range to {
		o.copies[b.pe] = append(o.copies[b.pe], o.copy(sum, from[i], b, cols))
	}
	return nil
}

// room returns the bytes of TCM for the product: the rest is for messages and copies.
func (o *overlap) room() int { return tcm(o.l.rank) * 3 / 4 }

// copyBytes returns the bytes of a tile of a copy to y.
func (o *overlap) copyBytes() int { return min(16<<10, tcm(o.l.rank)/32) }

// copy returns how a PE's box of a piece of the sum, which it holds itself, gets to y, with
// the bias.
func (o *overlap) copy(sum *torch.Tensor, from, to box, cols interval) *pass {
	to.col, to.cols = to.col+cols.from, max(0, min(cols.n, to.cols-cols.from))
	in := []operand{{x: sum, shift: from.col - to.col}}
	f := func(in []tl.Tile) tl.Tile { return in[0] }
	if bias := o.l.added(); bias != nil {
		in = append(in, operand{x: bias, vector: true})
		f = plus
	}
	return newPass(to, operand{x: o.y}, in, f, o.copyBytes())
}

// run runs it all in one program.
func (o *overlap) run(x *torch.Tensor) error {
	l := o.l
	kept := map[int]map[tl.Ptr]tl.Tile{} // by PE: all pieces need the same rows of x
	m := dist.Making{
		Name: l.Name, Using: append([]*torch.Tensor{x, o.y}, l.Weight...), Room: o.room() + 2*o.copyBytes(),
		Make: func(t *tl.PE, pe, piece int) func() bool {
			if kept[pe] == nil {
				kept[pe] = map[tl.Ptr]tl.Tile{}
			}
			return (&summer{t: t, plan: o.plans[pe][piece], kept: kept[pe]}).next
		},
		Use: func(t *tl.PE, pe, piece int) { o.copies[pe][piece].run(t) },
	}
	m.Using = append(m.Using, present(l.added(), o.own)...)
	if !l.o.SequenceParallel {
		return dist.AllReduceMaking(o.l.rank, m, o.sums, dist.SUM, l.group)
	}
	m.Together = o.together
	return dist.ReduceScatterMaking(o.l.rank, m, o.sums, o.addends, dist.SUM, l.group)
}

// together returns the PEs that make rows of each other's: those of a column of boxes.
func (o *overlap) together(pe int) []int { return o.column[o.plans[pe][0].col] }
