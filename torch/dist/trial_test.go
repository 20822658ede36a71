package dist_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// trial is a test case: one collective on one machine. This file computes the expected
// values in the simplest way, without the code under test.
type trial struct {
	spawned    bool // whether ranks are workers; otherwise they are PEs
	collective string
	algorithm  string
	world      int
	group      []int // the members as ranks of the world, in the order of the group
	dtype      torch.DType
	reduction  reduction
	root       int   // rank of the root in the group
	rows       []int // number of rows of each block; the list repeats if there are more blocks
	width      int   // number of elements of a row; 0 for vectors
	layout     layout
	async      bool
	chunk      topology.Bytes // the largest message; 0 for the default
	mix        []mixedLayout  // layouts of the tensors, chosen by rank and tensor; empty to use layout
	symmetric  bool           // whether the two blocks that two ranks exchange have the same size
}

// mixedLayout is the layout of one tensor of a trial in which tensors have different
// layouts.
type mixedLayout struct {
	on       torch.DPPolicy
	other    bool // whether the tensor is on one PE other than the first
	reversed bool // whether the order of the axes is reversed

	before, behind int // rows before and behind the tensor if it is a slice of a larger one; else 0
}

func (tr trial) String() string {
	who := "PEs"
	if tr.spawned {
		who = "workers on " + tr.layout.name
	}
	return fmt.Sprintf("%s(%s) of %v, %v, by %d %s, group %v, root %d, rows %v x %d, chunk %v, async %v",
		tr.collective, tr.algorithm, tr.dtype, tr.reduction.op, tr.world, who, tr.group, tr.root, tr.rows, tr.width, tr.chunk, tr.async)
}

// reduction is a reduction with a reference implementation: fold combines two elements.
type reduction struct {
	op     dist.ReduceOp
	dtypes string // the supported dtypes: "float", "int" or both
	fold   func(x, y float64) float64
}

func plus(x, y float64) float64 { return x + y }

// bitwise returns f, a function of integers, as a function of float64.
func bitwise(f func(x, y int64) int64) func(x, y float64) float64 {
	return func(x, y float64) float64 { return float64(f(int64(x), int64(y))) }
}

var reductions = []reduction{
	{dist.SUM, "float int", plus},
	{dist.PRODUCT, "float int", func(x, y float64) float64 { return x * y }},
	{dist.MIN, "float int", func(x, y float64) float64 { return min(x, y) }},
	{dist.MAX, "float int", func(x, y float64) float64 { return max(x, y) }},
	{dist.AVG, "float", plus},
	{dist.PREMUL_SUM(0.5), "float", plus},
	{dist.BAND, "int", bitwise(func(x, y int64) int64 { return x & y })},
	{dist.BOR, "int", bitwise(func(x, y int64) int64 { return x | y })},
	{dist.BXOR, "int", bitwise(func(x, y int64) int64 { return x ^ y })},
}

// serves reports whether the reduction supports the dtype d.
func (r reduction) serves(d torch.DType) bool {
	if d.IsFloat() {
		return strings.Contains(r.dtypes, "float")
	}
	return strings.Contains(r.dtypes, "int")
}

// sums reports whether the reduction is a sum: SUM, AVG or PREMUL_SUM.
func (r reduction) sums() bool {
	text := r.op.String()
	return text == "sum" || text == "avg" || strings.HasPrefix(text, "premul_sum")
}

// layout is a placement for the tensors of workers, with its properties.
type layout struct {
	name    string
	on      torch.Placement
	addends int
	// scattered is true if a part of such a tensor is not contiguous, so that collectives
	// on parts of one tensor refuse it.
	scattered bool
}

var layouts = []layout{
	{"one PE", nil, 1, false},
	{"rows", torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 3}, 1, false},
	{"columns", torch.DPPolicy{PE: torch.ColumnWise, NumCubes: 1, NumPEs: 2}, 1, false},
	{"copies", torch.DPPolicy{NumCubes: 1, NumPEs: 2}, 1, false},
	{"a grid", torch.DPPolicy{Cube: torch.RowWise, PE: torch.ColumnWise, NumCubes: 2, NumPEs: 2}, 1, true},
	{"copies of rows", torch.DPPolicy{Cube: torch.Replicate, PE: torch.RowWise, NumCubes: 2, NumPEs: 2}, 1, true},
}

// partialLayouts lists layouts with addends, which only all_reduce accepts.
var partialLayouts = []layout{
	{"addends of columns", torch.DPPolicy{Cube: torch.Partial, PE: torch.ColumnWise, NumCubes: 2, NumPEs: 2}, 2, false},
	{"copies of addends", torch.DPPolicy{Cube: torch.Replicate, PE: torch.Partial, NumCubes: 2, NumPEs: 3}, 3, false},
	{"addends of addends", torch.DPPolicy{Cube: torch.Partial, PE: torch.Partial, NumCubes: 2, NumPEs: 2}, 4, false},
}

// value returns the input value of element i of a block, for the given rank and addend. All
// elements of an addend other than 0 are equal, because a kernel fills the addend with one
// value. The values are chosen so that every reduction over up to 28 ranks and addends is
// exact in every dtype.
func (tr trial) value(rank, addend, block, i int) float64 {
	n := 3*rank + 5*block + 7*i
	if addend > 0 {
		n = 3*rank + 11*addend // the value that a kernel fills the addend with
	}
	switch {
	case tr.reduction.op == dist.PRODUCT && n%4 == 0:
		return 2
	case tr.reduction.op == dist.PRODUCT:
		return 1
	case !tr.reduction.serves(torch.F32): // bitwise
		return float64(127 - int(1)<<(n%7))
	case tr.dtype.IsSigned():
		return float64(n%9 - 4)
	}
	return float64(n % 9)
}

// tensorSet has the values of one tensor on each rank of the group. An entry is nil if the
// rank has no such tensor.
type tensorSet [][]float64

// inputs returns the input values of one block on all ranks. rows(rank) is the number of
// rows of the block on that rank.
func (tr trial) inputs(block int, rows func(rank int) int) tensorSet {
	s := make(tensorSet, len(tr.group))
	for rank := range s {
		s[rank] = make([]float64, rows(rank)*max(1, tr.width))
		for i := range s[rank] {
			s[rank][i] = tr.value(rank, 0, block, i)
		}
	}
	return s
}

// replicate returns a tensorSet in which every rank has the concatenated parts.
func (tr trial) replicate(parts ...[]float64) tensorSet {
	x := append([]float64{}, slices.Concat(parts...)...) // not nil, which stands for no tensor
	return slices.Repeat(tensorSet{x}, len(tr.group))
}

// blank returns a tensorSet with the sizes of s, to receive into. Its values are 99, which
// no input has.
func (s tensorSet) blank() tensorSet {
	b := make(tensorSet, len(s))
	for rank, x := range s {
		if x != nil {
			b[rank] = slices.Repeat([]float64{99}, len(x))
		}
	}
	return b
}

// onlyRoot returns a tensorSet in which the root has its values of s. Under Spawn, the
// other ranks have no tensor. Without Spawn, each other rank has its values of `others`.
func (tr trial) onlyRoot(s, others tensorSet) tensorSet {
	r := make(tensorSet, len(s))
	if !tr.spawned {
		copy(r, others)
	}
	r[tr.root] = s[tr.root]
	return r
}

// concatenate returns a tensorSet in which each rank has one tensor: the concatenation of
// its tensors in all sets of list.
func concatenate(list []tensorSet) tensorSet {
	all := make(tensorSet, len(list[0]))
	for rank := range all {
		all[rank] = []float64{}
		for _, s := range list {
			all[rank] = append(all[rank], s[rank]...)
		}
	}
	return all
}

// reduce returns the expected reduction of one block over all ranks and all their addends.
// The block has the given number of rows.
func (tr trial) reduce(block, rows int) []float64 {
	out := make([]float64, rows*max(1, tr.width))
	for i := range out {
		var all []float64
		for rank := range tr.group {
			for addend := range tr.layout.addends {
				v := tr.value(rank, addend, block, i)
				if tr.reduction.op == dist.PREMUL_SUM(0.5) {
					v *= 0.5
				}
				all = append(all, v)
			}
		}
		out[i] = all[0]
		for _, v := range all[1:] {
			out[i] = tr.reduction.fold(out[i], v)
		}
		if tr.reduction.op == dist.AVG {
			out[i] /= float64(len(tr.group)) // not by the number of addends
		}
	}
	return out
}

// blockRows returns the number of rows of the block of the given rank.
func (tr trial) blockRows(rank int) int { return tr.rows[rank%len(tr.rows)] }

// sameRows returns the number of rows of each block, for collectives whose blocks all have
// the same size.
func (tr trial) sameRows(int) int { return tr.rows[0] }

// pairRows returns the number of rows of the block that rank `from` sends to rank `to`.
func (tr trial) pairRows(from, to int) int {
	if tr.symmetric {
		return tr.rows[(from+to)%len(tr.rows)]
	}
	if tr.spawned {
		from *= len(tr.group)
	} else {
		from = 0 // all parts of one tensor have the same sizes
	}
	return tr.rows[(from+to)%len(tr.rows)]
}

// caller calls the collective of a trial. It is a worker, or the program, which calls for
// all ranks.
type caller struct {
	trial
	*torch.Rank
	g           *dist.Group
	rank        int // rank in the group; -1 for the program, which calls for all ranks
	tensorCount int // the number of tensors that the caller has made

	around []*torch.Tensor // rows before and after slices, which must not change
}

// makeSymmetric changes the sizes of the blocks so that each rank sends to a peer as many
// rows as it receives from that peer.
func (c *caller) makeSymmetric() {
	if c.symmetric = c.spawned; !c.spawned {
		c.rows = c.rows[:1]
	}
}

// own returns the caller's values in s. For a worker, these are the values of its rank. For
// a program without Spawn, they are the values of all ranks, concatenated.
func (c *caller) own(s tensorSet) []float64 {
	if c.rank >= 0 {
		return s[c.rank]
	}
	return slices.Concat(s...)
}

// tensor returns a new tensor with the values that s holds for the caller. It returns nil
// if s holds no values for the caller.
func (c *caller) tensor(s tensorSet) (*torch.Tensor, error) {
	data, on := c.own(s), c.layout.on
	if c.rank < 0 {
		on = torch.On(dist.PEs(c.Rank, c.g)...)
	} else if data == nil {
		return nil, nil
	}
	shape := torch.Shape{len(data)}
	if c.width > 0 {
		shape = torch.Shape{len(data) / c.width, c.width}
	}
	if len(c.mix) > 0 {
		m := c.mix[(5*c.rank+c.tensorCount)%len(c.mix)]
		c.tensorCount++
		if on = m.on; m.other {
			on = torch.On(c.PE(c.group[c.rank], 1, 3))
		}
		if m.reversed {
			slices.Reverse(shape)
		}
		if m.before+m.behind > 0 {
			return c.slice(m, data, shape, on)
		}
	}
	x, err := c.FromSlice(c.exactValues(data), c.dtype, shape, on)
	if err != nil || c.layout.addends == 1 {
		return x, err
	}
	shards := x.Shards()
	_, err = c.Launch("addends", func(t *tl.PE, x tl.Ptr) {
		if s := shards[t.Rank()]; s.Addend > 0 && s.Bytes > 0 {
			t.Store(x, t.Full(s.Extent, c.dtype, c.value(c.rank, s.Addend, 0, 0)))
		}
	}, x)
	return x, err
}

// surroundingValue is the value of the rows before and after a slice in a larger tensor.
const surroundingValue = 77

// slice returns a tensor with the given data that is a slice of rows of a larger tensor.
// m.before and m.behind are the numbers of rows before and after the slice. `on` is the
// placement of the larger tensor.
func (c *caller) slice(m mixedLayout, data []float64, shape torch.Shape, on torch.Placement) (*torch.Tensor, error) {
	n := shape[0]
	whole := slices.Clone(shape)
	whole[0] += m.before + m.behind
	all, err := c.Full(surroundingValue, c.dtype, whole, on)
	if err != nil {
		return nil, err
	}
	x := all.Narrow(0, m.before, n)
	c.around = append(c.around, all.Narrow(0, 0, m.before), all.Narrow(0, m.before+n, m.behind))
	return x, x.CopyFrom(c.exactValues(data))
}

// exactValues returns data in a form that the API converts exactly to the dtype of the
// trial. For an integer dtype, it returns a slice of integers, because the API wraps
// integers around but clamps floats.
func (tr trial) exactValues(data []float64) any {
	if tr.dtype.IsFloat() {
		return data
	}
	ints := make([]int64, len(data))
	for i, v := range data {
		ints[i] = int64(v)
	}
	return ints
}

// collectiveCall describes a collective: its tensors before and after the call, and
// functions that make the synchronous and the asynchronous call.
type collectiveCall struct {
	before, after []tensorSet
	sync          func(x []*torch.Tensor) error
	async         func(x []*torch.Tensor) (*dist.Work, error)
}

// do makes the tensors of k, calls the collective and checks all copies of all tensors. It
// also checks that the rows around tensors that are slices have not changed.
func (c *caller) do(k collectiveCall) error {
	var x []*torch.Tensor // the tensors that the caller has
	var after []tensorSet
	for i, s := range k.before {
		y, err := c.tensor(s)
		if err != nil {
			return err
		}
		if y != nil {
			x, after = append(x, y), append(after, k.after[i])
		}
	}
	if c.async {
		w, err := k.async(x)
		if w != nil { // w is nil on ranks that take no part in a message
			err = errors.Join(w.Wait(), w.Wait())
		}
		if err != nil || w != nil && !w.IsCompleted() {
			return fmt.Errorf("%v: %w", w, err)
		}
	} else if err := k.sync(x); err != nil {
		return err
	}
	for _, y := range c.around {
		if err := c.Check("", y, slices.Repeat([]int{surroundingValue}, y.Numel())); err != nil {
			return err
		}
	}
	for i := range x {
		if err := c.Check(fmt.Sprintf("tensor %d of rank %d", i, c.rank), x[i], c.exactValues(c.own(after[i]))); err != nil {
			return err
		}
	}
	return nil
}

// run runs the trial on a new machine. It returns an error if a value is wrong or a race is
// found. It also returns an error if the collective supports the algorithm of the trial but
// ran with another one. o must have a topology that fits the trial.
func (tr trial) run(o torch.Options) error {
	c, err := torch.New(context.Background(), o)
	if err != nil {
		return err
	}
	self := c.Main()
	defer self.Close()
	if tr.spawned {
		err = self.Spawn(func(r *torch.Rank) error { return tr.runRank(r.Rank(), r) }, tr.world)
	} else {
		err = tr.runRank(-1, self)
	}
	if err == nil {
		err = self.Synchronize()
	}
	if err != nil {
		return err
	}
	if used := dist.Last(self.Context).Algorithm; used != tr.algorithm && slices.Contains(algorithms(tr.collective), tr.algorithm) {
		return fmt.Errorf("done by %q", used)
	}
	for _, c := range self.Checks() {
		if c.Wrong != "" {
			err = errors.Join(err, fmt.Errorf("%s: %s", c.Name, c.Wrong))
		}
	}
	if o.Race {
		races, rerr := self.Races()
		for _, r := range races {
			err = errors.Join(err, errors.New(r))
		}
		err = errors.Join(err, rerr)
	}
	return err
}

// runRank runs the trial on the worker r with the given rank. With rank -1, r is the main
// rank of a program without Spawn, which makes one call for all ranks.
func (tr trial) runRank(rank int, r *torch.Rank) error {
	c := &caller{trial: tr, Rank: r, rank: rank}
	if err := dist.InitProcessGroup(c.Rank, "ahbm", func(o *dist.GroupOptions) { o.WorldSize = tr.world }); err != nil {
		return err
	}
	g, err := dist.NewGroup(c.Rank, tr.group, dist.KeepOrder(), dist.Algorithm(tr.algorithm), func(o *dist.GroupOptions) { o.ChunkBytes = tr.chunk })
	if err != nil {
		return err
	}
	c.g = g
	if rank >= 0 {
		if c.rank = dist.GetRank(c.Rank, g); c.rank != slices.Index(tr.group, rank) {
			return fmt.Errorf("rank %d of %v: GetRank is %d", rank, tr.group, c.rank)
		}
		if c.rank < 0 {
			return nil
		}
	}
	return c.do(collectives[tr.collective](c))
}
