package tp

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// matrix holds the values of a tensor on the host, as rows.
type matrix [][]int

// numberedMatrix returns a matrix in which each element encodes the given rank and the
// element's row and column.
func numberedMatrix(rank, rows, cols int) matrix {
	m := make(matrix, rows)
	for i := range m {
		for j := range cols {
			m[i] = append(m[i], 10000*rank+100*i+j)
		}
	}
	return m
}

func (m matrix) transposed() matrix {
	t := make(matrix, len(m[0]))
	for _, row := range m {
		for j, v := range row {
			t[j] = append(t[j], v)
		}
	}
	return t
}

// reference is a function that computes the expected result of rank me from the inputs of
// all ranks.
type reference func(all []matrix, me int) matrix

func same(all []matrix, me int) matrix { return all[me] }

func sum(all []matrix, _ int) matrix {
	total := make(matrix, len(all[0]))
	for i, row := range all[0] {
		total[i] = make([]int, len(row))
		for _, m := range all {
			for j, v := range m[i] {
				total[i][j] += v
			}
		}
	}
	return total
}

func ownRows(all []matrix, me int) matrix {
	n := len(all[me]) / len(all)
	return all[me][me*n : (me+1)*n]
}

func allRows(all []matrix, _ int) matrix { return slices.Concat(all...) }

func ownRowsOfSum(all []matrix, me int) matrix {
	return ownRows(slices.Repeat([]matrix{sum(all, me)}, len(all)), me)
}

// ownRowsOfEach computes the expected result of an all-to-all of rows: the rows that each
// rank sends to rank `me`.
func ownRowsOfEach(all []matrix, me int) (m matrix) {
	for _, from := range all {
		m = append(m, ownRows(slices.Repeat([]matrix{from}, len(all)), me)...)
	}
	return m
}

// byColumns returns the reference that does for columns what ref does for rows.
func byColumns(ref reference) reference {
	return func(all []matrix, me int) matrix {
		var transposed []matrix
		for _, m := range all {
			transposed = append(transposed, m.transposed())
		}
		return ref(transposed, me).transposed()
	}
}

// rowsToColumns computes the expected result of an all-to-all that sends parts of the rows
// and joins the received parts by columns.
func rowsToColumns(all []matrix, me int) matrix {
	var parts []matrix
	for _, from := range all {
		parts = append(parts, ownRows(slices.Repeat([]matrix{from}, len(all)), me).transposed())
	}
	return allRows(parts, me).transposed()
}

// flat returns the elements of the matrix in row-major order.
func (m matrix) flat() []int { return slices.Concat(m...) }

// TestMappings checks Forward and Backward of every mapping, in several tensor parallel
// groups at once. Columns and rows do not divide evenly over cubes and PEs.
func TestMappings(t *testing.T) {
	cases := []struct {
		m                 Mapping
		forward, backward reference
	}{
		{CopyToTensorModelParallelRegion, same, sum},
		{ReduceFromTensorModelParallelRegion, sum, same},
		{ScatterToTensorModelParallelRegion, byColumns(ownRows), byColumns(allRows)},
		{GatherFromTensorModelParallelRegion, byColumns(allRows), byColumns(ownRows)},
		{ScatterToSequenceParallelRegion, ownRows, allRows},
		{GatherFromSequenceParallelRegion, allRows, ownRowsOfSum},
		{GatherFromSequenceParallelRegionSplitGrad, allRows, ownRows},
		{ReduceScatterToSequenceParallelRegion, ownRowsOfSum, allRows},
		{AllGatherLastDimFromTensorParallelRegion, byColumns(allRows), byColumns(ownRowsOfSum)},
		{ReduceScatterLastDimToTensorParallelRegion, byColumns(ownRowsOfSum), byColumns(allRows)},
		{AllToAll(nil, nil, nil), ownRowsOfEach, ownRowsOfEach},
		{AllToAllSP2HP, byColumns(rowsToColumns), rowsToColumns},
		{AllToAllHP2SP, rowsToColumns, byColumns(rowsToColumns)},
	}
	const world, rows, cols = 8, 12, 20
	everywhere := torch.DPPolicy{} // a copy on every PE
	for _, n := range []int{1, 2, 4} {
		for _, on := range []torch.DPPolicy{Spread, everywhere} {
			r := newSystem(t, world)
			spawn(t, r, world, n, func(r *torch.Rank) error {
				rank := r.Rank()
				var all []matrix
				for i := range n {
					all = append(all, numberedMatrix(rank/n*n+i, rows, cols))
				}
				check := func(what string, do func(*torch.Rank, *torch.Tensor) (*torch.Tensor, error), ref reference) {
					want := ref(all, rank%n)
					x := torch.Must(r.FromSlice(all[rank%n].flat(), torch.F32, torch.Shape{rows, cols}, on))
					y := torch.Must(do(r, x))
					shape := torch.Shape{len(want), len(want[0])}
					name := fmt.Sprintf("%s over %d of rank %d, x %v", what, n, rank, on)
					if !slices.Equal(y.Shape(), shape) {
						t.Errorf("%s: shape %v, want %v", name, y.Shape(), shape)
						return
					}
					torch.OK(r.Check(name, y, want.flat()))
					if y == x {
						torch.OK(x.Free())
						return
					}
					like := torch.Must(r.Empty(torch.F32, shape, Spread))
					if !reflect.DeepEqual(y.Shards(), like.Shards()) {
						t.Errorf("%s: placed at %v, want %v", name, y.Shards(), like.Shards())
					}
					torch.OK(r.Check(name+", x afterwards", x, all[rank%n].flat()))
					torch.OK(errors.Join(x.Free(), y.Free(), like.Free()))
				}
				for _, c := range cases {
					check(c.m.Name, c.m.Forward, c.forward)
					check(c.m.Name+" backward", c.m.Backward, c.backward)
				}
				return nil
			})
			for _, c := range r.Checks() {
				if c.Wrong != "" {
					t.Errorf("%s: %s", c.Name, c.Wrong)
				}
			}
			if n := usedHBM(r); n > 0 {
				t.Errorf("%v are not freed", n)
			}
		}
	}
}

// TestInPlaceMappings checks which mappings return x itself. In a group of one rank all
// mappings must return x itself.
func TestInPlaceMappings(t *testing.T) {
	inPlace := []string{"CopyToTensorModelParallelRegion", "ReduceFromTensorModelParallelRegion"}
	for _, n := range []int{1, 2} {
		spawn(t, newSystem(t, 2), 2, n, func(r *torch.Rank) error {
			for _, m := range []Mapping{
				CopyToTensorModelParallelRegion, ReduceFromTensorModelParallelRegion, ScatterToTensorModelParallelRegion,
				GatherFromTensorModelParallelRegion, ScatterToSequenceParallelRegion, GatherFromSequenceParallelRegion,
				ReduceScatterToSequenceParallelRegion, AllToAll(Group(r, Tensor), nil, nil), AllToAllSP2HP,
			} {
				x := torch.Must(r.Zeros(torch.F32, torch.Shape{4, 4}, Spread))
				want := n == 1 || slices.Contains(inPlace, m.Name)
				if y := torch.Must(m.Forward(r, x)); (y == x) != want {
					t.Errorf("%s over %d: in place %v, want %v", m.Name, n, y == x, want)
				}
				if y := torch.Must(m.Backward(r, x)); (y == x) != want {
					t.Errorf("%s backward over %d: in place %v, want %v", m.Name, n, y == x, want)
				}
			}
			return nil
		})
	}
}

// TestUnevenAllToAll checks AllToAll with different numbers of tokens for each rank, some
// of them 0. Backward must send the tokens back.
func TestUnevenAllToAll(t *testing.T) {
	const world, cols = 4, 6
	sent := [world][world]int{{1, 0, 3, 2}, {0, 0, 0, 0}, {2, 5, 1, 0}, {0, 1, 0, 7}}
	self := newSystem(t, world)
	err := self.Spawn(func(self *torch.Rank) error {
		rank := self.Rank()
		torch.OK(dist.InitProcessGroup(self, "ahbm"))
		torch.OK(InitializeModelParallel(self, 1, 1, 1, world, ""))
		var in, out []int
		var want []int
		for r := range world {
			in, out = append(in, sent[rank][r]), append(out, sent[r][rank])
			before, rows := 0, numberedMatrix(r, 8, cols)
			for _, k := range sent[r][:rank] {
				before += k
			}
			want = append(want, rows[before:before+sent[r][rank]].flat()...)
		}
		total := func(list []int) (n int) {
			for _, k := range list {
				n += k
			}
			return n
		}
		x := numberedMatrix(rank, total(in), cols).flat()
		m := AllToAll(Group(self, Expert), out, in)
		y := torch.Must(m.Forward(self, torch.Must(self.FromSlice(x, torch.F32, torch.Shape{total(in), cols}, Spread))))
		torch.OK(self.Check(fmt.Sprintf("rank %d", rank), y, want))
		back := torch.Must(m.Backward(self, y))
		return self.Check(fmt.Sprintf("rank %d back", rank), back, x)
	}, world)
	if err != nil || !self.Checks().OK() || len(self.Checks()) != 2*world {
		t.Errorf("error %v, checks %+v", err, self.Checks())
	}
}

// TestMappingErrors checks the errors of mappings for tensors that are not matrices or that
// cannot be divided over the ranks.
func TestMappingErrors(t *testing.T) {
	spawn(t, newSystem(t, 4), 4, 4, func(r *torch.Rank) error {
		x := torch.Must(r.Zeros(torch.F32, torch.Shape{10, 6}, Spread))
		line := torch.Must(r.Zeros(torch.F32, torch.Shape{8}))
		for _, c := range []struct {
			do   func(*torch.Rank, *torch.Tensor) (*torch.Tensor, error)
			x    *torch.Tensor
			want string
		}{
			{ScatterToTensorModelParallelRegion.Forward, x, "ScatterToTensorModelParallelRegion: the last dimension of [10 6], 6, does not divide by the world size of 4"},
			{GatherFromSequenceParallelRegion.Backward, x, "GatherFromSequenceParallelRegion backward: the first dimension of [10 6], 10, does not divide by the world size of 4"},
			{AllToAllSP2HP.Forward, x, "AllToAllSP2HP: the last dimension of [10 6], 6, does not divide by the world size of 4"},
			{AllToAllSP2HP.Forward, line, "AllToAllSP2HP: a tensor of shape [8]: it has to be a matrix of tokens by features, or [s, b, h]"},
			{AllToAll(nil, []int{1, 2, 3, 4}, []int{4, 3, 2, 2}).Forward, x, "AllToAll: splits [4 3 2 2] to send and [1 2 3 4] to receive: give one for each of 4 ranks, of which those to send add up to the first dimension, 10"},
			{AllToAll(nil, nil, []int{4, 3, 2, 1}).Forward, x, "AllToAll: splits [4 3 2 1] to send and [] to receive: give one for each of 4 ranks, of which those to send add up to the first dimension, 10"},
		} {
			if _, err := c.do(r, c.x); err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		}
		return nil
	})
}
