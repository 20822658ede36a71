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

// trial is one collective on one machine. What it has to give is computed here, in the
// plainest way.
type trial struct {
	spawned    bool // ranks are workers, and not PEs
	collective string
	algorithm  string
	world      int
	group      []int // ranks of the world, in the order of the group
	dtype      torch.DType
	reduction  reduction
	root       int   // rank in the group
	rows       []int // of the blocks, one after the other and again from the first
	width      int   // elements of a row; 0 if there is one axis
	layout     layout
	async      bool
	chunk      topology.Bytes // of messages; 0 is as usual
	mix        []mixed        // of tensors, by rank and number, instead of layout
	symmetric  bool           // blocks between two ranks are of one size
}

// mixed is a layout of one tensor that others need not have.
type mixed struct {
	on     torch.DPPolicy
	other  bool // on one PE that is not the first
	turned bool // rows and columns are exchanged

	before, behind int // rows of a larger tensor, of which it is a slice
}

func (tr trial) String() string {
	who := "PEs"
	if tr.spawned {
		who = "workers on " + tr.layout.name
	}
	return fmt.Sprintf("%s(%s) of %v, %v, by %d %s, group %v, root %d, rows %v x %d, chunk %v, async %v",
		tr.collective, tr.algorithm, tr.dtype, tr.reduction.op, tr.world, who, tr.group, tr.root, tr.rows, tr.width, tr.chunk, tr.async)
}

// reduction is a way to combine elements.
type reduction struct {
	op     dist.ReduceOp
	dtypes string // that it is for: "float", "int" or both
	fold   func(x, y float64) float64
}

func plus(x, y float64) float64 { return x + y }

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

func (r reduction) serves(d torch.DType) bool {
	if d.IsFloat() {
		return strings.Contains(r.dtypes, "float")
	}
	return strings.Contains(r.dtypes, "int")
}

// sums reports whether the reduction adds what it gets.
func (r reduction) sums() bool {
	text := r.op.String()
	return text == "sum" || text == "avg" || strings.HasPrefix(text, "premul_sum")
}

// layout is how workers lay their tensors out.
type layout struct {
	name    string
	on      torch.Placement
	addends int
	// scattered says that a part of such a tensor does not lie in one piece, so that
	// collectives on parts of one tensor refuse it.
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

// partials are for all_reduce alone.
var partials = []layout{
	{"addends of columns", torch.DPPolicy{Cube: torch.Partial, PE: torch.ColumnWise, NumCubes: 2, NumPEs: 2}, 2, false},
	{"copies of addends", torch.DPPolicy{Cube: torch.Replicate, PE: torch.Partial, NumCubes: 2, NumPEs: 3}, 3, false},
	{"addends of addends", torch.DPPolicy{Cube: torch.Partial, PE: torch.Partial, NumCubes: 2, NumPEs: 2}, 4, false},
}

// value is an element of what a rank has: such that every reduction over up to 28 ranks
// and addends is exact in every dtype.
func (tr trial) value(rank, addend, block, i int) float64 {
	n := 3*rank + 5*block + 7*i
	if addend > 0 {
		n = 3*rank + 11*addend // what a kernel fills the addend with
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

// slot is a tensor of each rank of the group, nil where it has none.
type slot [][]float64

// slot is what the ranks have as one block, of so many rows each.
func (tr trial) slot(block int, rows func(rank int) int) slot {
	s := make(slot, len(tr.group))
	for rank := range s {
		s[rank] = make([]float64, rows(rank)*max(1, tr.width))
		for i := range s[rank] {
			s[rank][i] = tr.value(rank, 0, block, i)
		}
	}
	return s
}

// everyone is a slot in which all ranks have the same.
func (tr trial) everyone(parts ...[]float64) slot {
	x := append([]float64{}, slices.Concat(parts...)...) // not nil, which is none
	return slices.Repeat(slot{x}, len(tr.group))
}

// blank is a slot to be written: a number that comes from nowhere else.
func (s slot) blank() slot {
	b := make(slot, len(s))
	for rank, x := range s {
		if x != nil {
			b[rank] = slices.Repeat([]float64{99}, len(x))
		}
	}
	return b
}

// rooted is a slot of which the root alone uses its own: the others have none, or, of a
// tensor over PEs, keep what they have.
func (tr trial) rooted(s, others slot) slot {
	r := make(slot, len(s))
	if !tr.spawned {
		copy(r, others)
	}
	r[tr.root] = s[tr.root]
	return r
}

// joined is slots one after the other in one tensor.
func joined(list []slot) slot {
	all := make(slot, len(list[0]))
	for rank := range all {
		all[rank] = []float64{}
		for _, s := range list {
			all[rank] = append(all[rank], s[rank]...)
		}
	}
	return all
}

// reduce combines what all ranks, and all their addends, have as one block.
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
			out[i] /= float64(len(tr.group)) // and not by the addends
		}
	}
	return out
}

// The rows of a rank's block, of blocks that are all the same, and of what a rank has
// for another.
func (tr trial) block(rank int) int { return tr.rows[rank%len(tr.rows)] }
func (tr trial) same(int) int       { return tr.rows[0] }
func (tr trial) pair(from, to int) int {
	if tr.symmetric {
		return tr.rows[(from+to)%len(tr.rows)]
	}
	if tr.spawned {
		from *= len(tr.group)
	} else {
		from = 0 // parts of one tensor are alike
	}
	return tr.rows[(from+to)%len(tr.rows)]
}

// caller is who calls the collective: a worker, or the program for all ranks.
type caller struct {
	trial
	*torch.Rank
	g    *dist.Group
	rank int // in the group; -1 for all
	made int // tensors

	around []*torch.Tensor // rows before and behind slices, which have to stay as they are
}

// inPlace has ranks send blocks of the sizes that they receive.
func (c *caller) inPlace() {
	if c.symmetric = c.spawned; !c.spawned {
		c.rows = c.rows[:1]
	}
}

// own is what the caller has of a slot.
func (c *caller) own(s slot) []float64 {
	if c.rank >= 0 {
		return s[c.rank]
	}
	return slices.Concat(s...)
}

// tensor makes the caller's tensor of a slot, nil if it has none.
func (c *caller) tensor(s slot) (*torch.Tensor, error) {
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
		m := c.mix[(5*c.rank+c.made)%len(c.mix)]
		c.made++
		if on = m.on; m.other {
			on = torch.On(c.PE(c.group[c.rank], 1, 3))
		}
		if m.turned {
			slices.Reverse(shape)
		}
		if m.before+m.behind > 0 {
			return c.slice(m, data, shape, on)
		}
	}
	x, err := c.FromSlice(c.numbers(data), c.dtype, shape, on)
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

// surroundings is what rows before and behind a slice hold.
const surroundings = 77

// slice makes the caller's tensor as rows of a larger one.
func (c *caller) slice(m mixed, data []float64, shape torch.Shape, on torch.Placement) (*torch.Tensor, error) {
	n := shape[0]
	whole := slices.Clone(shape)
	whole[0] += m.before + m.behind
	all, err := c.Full(surroundings, c.dtype, whole, on)
	if err != nil {
		return nil, err
	}
	x := all.Narrow(0, m.before, n)
	c.around = append(c.around, all.Narrow(0, 0, m.before), all.Narrow(0, m.before+n, m.behind))
	return x, x.CopyFrom(c.numbers(data))
}

// numbers is numbers as a slice that is exact, and wraps around, in the dtype.
func (tr trial) numbers(data []float64) any {
	if tr.dtype.IsFloat() {
		return data
	}
	ints := make([]int64, len(data))
	for i, v := range data {
		ints[i] = int64(v)
	}
	return ints
}

// call is a collective: its tensors before and after, and its two forms.
type call struct {
	before, after []slot
	sync          func(x []*torch.Tensor) error
	async         func(x []*torch.Tensor) (*dist.Work, error)
}

// do makes the tensors, calls the collective and checks all copies of everything.
func (c *caller) do(k call) error {
	var x []*torch.Tensor // of those that the caller has
	var after []slot
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
		if w != nil { // of a message, the others have no part in it
			err = errors.Join(w.Wait(), w.Wait())
		}
		if err != nil || w != nil && !w.IsCompleted() {
			return fmt.Errorf("%v: %w", w, err)
		}
	} else if err := k.sync(x); err != nil {
		return err
	}
	for _, y := range c.around {
		if err := c.Check("", y, slices.Repeat([]int{surroundings}, y.Numel())); err != nil {
			return err
		}
	}
	for i := range x {
		if err := c.Check(fmt.Sprintf("tensor %d of rank %d", i, c.rank), x[i], c.numbers(c.own(after[i]))); err != nil {
			return err
		}
	}
	return nil
}

// run runs the trial. The options have the topology of its world.
func (tr trial) run(o torch.Options) error {
	c, err := torch.New(context.Background(), o)
	if err != nil {
		return err
	}
	self := c.Main()
	defer self.Close()
	if tr.spawned {
		err = self.Spawn(func(r *torch.Rank) error { return tr.rank(r.Rank(), r) }, tr.world)
	} else {
		err = tr.rank(-1, self)
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

// rank is what each worker does, or the program for all ranks.
func (tr trial) rank(rank int, r *torch.Rank) error {
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
