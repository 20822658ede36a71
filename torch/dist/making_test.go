package dist_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// makingTrial is a test case in which kernels compute pieces and a collective reduces the
// pieces. Computing and reducing can overlap, or run one after the other.
type makingTrial struct {
	algorithm  string
	scatter    bool // whether the collective is a reduce_scatter; otherwise all_reduce
	world      int
	rows       []int // the number of rows of each piece
	layout     layout
	chunk      topology.Bytes
	together   bool // whether PEs write shards of each other, and Together lists these PEs
	undeclared bool // whether PEs write shards of each other although Together is nil
	race       bool
}

func (m makingTrial) String() string {
	return fmt.Sprintf("%s by %d ranks, scatter %v, rows %v, %s, together %v", m.algorithm, m.world, m.scatter, m.rows, m.layout.name, m.together)
}

// makingWidth is the number of columns of all pieces.
const makingWidth = 6

// makingTensors holds the tensors of one rank in a makingTrial.
type makingTensors struct {
	rank    *torch.Rank
	trial   makingTrial
	pes     []int // the PEs that hold a piece
	input   *torch.Tensor
	pieces  [][]*torch.Tensor // one tensor for each piece, or one for each piece and rank
	reduced []*torch.Tensor   // the reduced pieces, or the part of each reduced piece that the rank receives
	used    []*torch.Tensor   // the results of Use
	calls   map[[2]int]int    // the number of calls of Use, by PE and piece
}

// newTensors returns the tensors of the trial for the worker r. `rank` is the worker's rank
// in the world.
func (m makingTrial) newTensors(r *torch.Rank, rank int) *makingTensors {
	d := &makingTensors{rank: r, trial: m, calls: map[[2]int]int{}}
	most := slices.Max(m.rows)
	on := m.layout.on
	if on == nil {
		on = torch.On(r.PE(rank, 0, 0))
	}
	for _, s := range r.Layout(torch.Shape{most, makingWidth}, on) {
		d.pes = append(d.pes, r.PE(s.SIP, s.Cube, s.PE))
	}
	data := make([]float64, most*makingWidth)
	for i := range data {
		data[i] = math.Sin(float64(1 + i + 1000*rank)) // so that sums in another order have different bits
	}
	shape := func(rows int) torch.Shape { return torch.Shape{rows, makingWidth} }
	d.input = torch.Must(r.FromSlice(data, torch.F32, shape(most), torch.OnEach(d.pes...)))
	for _, rows := range m.rows {
		n := 1
		if m.scatter {
			n = m.world
		}
		var list []*torch.Tensor
		for range n {
			list = append(list, torch.Must(r.Zeros(torch.F32, shape(rows), m.layout.on)))
		}
		out := list[0]
		if m.scatter {
			out = torch.Must(r.Zeros(torch.F32, shape(rows), m.layout.on))
		}
		d.pieces, d.reduced = append(d.pieces, list), append(d.reduced, out)
		d.used = append(d.used, torch.Must(r.Zeros(torch.F32, shape(rows), m.layout.on)))
	}
	return d
}

// own returns the shard of x on PE pe as a piece.
func (d *makingTensors) own(x *torch.Tensor, pe int) torch.Piece {
	sip, cube, place := d.rank.Place(pe)
	for _, s := range x.Shards() {
		if s.SIP == sip && s.Cube == cube && s.PE == place {
			return x.Pieces(s.Start[0], s.Start[1], s.Extent[0], s.Extent[1], pe)[0]
		}
	}
	panic(fmt.Sprintf("PE %d holds nothing", pe))
}

// steps returns the steps that compute a piece on PE pe, one for each row of a tensor.
// Normally a PE computes the rows of its own shard. If n PEs work together, a PE computes
// every n-th row and writes it to all PEs that hold a part of the row.
func (d *makingTensors) steps(t *tl.PE, pe, piece int) (list []func()) {
	for k, x := range d.pieces[piece] {
		factor := float64(1+piece) * 0.1 * float64(1+k)
		write := func(p torch.Piece) {
			for i := range p.Rows {
				list = append(list, func() {
					from := d.input.Pieces(p.Row+i, p.Col, 1, p.Cols, pe)[0]
					t.Store(p.Ptr.At(i, 0), t.Load(from.Ptr, tl.Shape{1, p.Cols}, tl.F32).Mul(factor))
				})
			}
		}
		if !d.trial.together && !d.trial.undeclared {
			write(d.own(x, pe))
			continue
		}
		for row := slices.Index(d.pes, pe); row < d.trial.rows[piece]; row += len(d.pes) {
			for _, p := range x.Copies(row, 0, 1, makingWidth) {
				write(p)
			}
		}
	}
	return list
}

// use doubles the shard of a reduced piece on PE pe and stores the result in another
// tensor. It also counts its calls.
func (d *makingTensors) use(t *tl.PE, pe, piece int) {
	d.calls[[2]int{pe, piece}]++
	from, to := d.own(d.reduced[piece], pe), d.own(d.used[piece], pe)
	t.Store(to.Ptr, t.Load(from.Ptr, tl.Shape{from.Rows, from.Cols}, tl.F32).Mul(2))
}

// runOverlapped computes and reduces the pieces at the same time, in one launch.
func (d *makingTensors) runOverlapped(r *torch.Rank) error {
	m := dist.Making{
		Name: "making", Using: append([]*torch.Tensor{d.input}, d.used...), Use: d.use,
		Make: func(t *tl.PE, pe, piece int) func() bool {
			list := d.steps(t, pe, piece)
			return func() bool {
				if len(list) == 0 {
					return false
				}
				list[0]()
				list = list[1:]
				return true
			}
		},
	}
	if d.trial.together {
		m.Together = func(int) []int { return d.pes }
	}
	if d.trial.scatter {
		return dist.ReduceScatterMaking(r, m, d.reduced, d.pieces, dist.SUM)
	}
	return dist.AllReduceMaking(r, m, d.reduced, dist.SUM)
}

// runInTurn first computes all pieces, then reduces all of them, and then uses all of them.
func (d *makingTensors) runInTurn(r *torch.Rank) error {
	pes := torch.PEs(d.pes...)
	all := []*torch.Tensor{d.input}
	all = append(all, slices.Concat(d.pieces...)...)
	each := func(what string, f func(t *tl.PE, pe, piece int), using ...*torch.Tensor) error {
		_, err := d.rank.Launch(what, func(t *tl.PE) {
			for piece := range d.pieces {
				f(t, d.pes[t.Rank()], piece)
			}
		}, pes, torch.Using(using...))
		return err
	}
	err := each("make", func(t *tl.PE, pe, piece int) {
		for _, step := range d.steps(t, pe, piece) {
			step()
		}
	}, all...)
	for i, list := range d.pieces {
		if d.trial.scatter {
			err = errors.Join(err, dist.ReduceScatter(r, d.reduced[i], list, dist.SUM))
		} else {
			err = errors.Join(err, dist.AllReduce(r, list[0], dist.SUM))
		}
	}
	return errors.Join(err, each("use", d.use, slices.Concat(d.reduced, d.used)...))
}

// run runs the trial with `how`, which is runOverlapped or runInTurn. It returns the final
// bytes of each rank, and the races if the trial looks for races. It returns an error if
// copies of a tensor differ, or if a PE has not used a piece exactly once.
func (m makingTrial) run(o torch.Options, how func(*makingTensors, *torch.Rank) error) (values [][]byte, races []string, err error) {
	o.Race = m.race
	c, err := torch.New(context.Background(), o)
	if err != nil {
		return nil, nil, err
	}
	r := c.Main()
	defer r.Close()
	values = make([][]byte, m.world)
	err = r.Spawn(func(r *torch.Rank) error {
		rank := r.Rank()
		torch.OK(dist.InitProcessGroup(r, "ahbm", dist.Algorithm(m.algorithm), func(o *dist.GroupOptions) { o.ChunkBytes = m.chunk }))
		d := m.newTensors(r, rank)
		if err := how(d, r); err != nil {
			return err
		}
		for _, x := range slices.Concat(d.reduced, d.used) {
			a, err := x.Numpy()
			if err != nil {
				return err
			}
			if err := r.Check("copies", x, a); err != nil { // all copies are equal
				return err
			}
			values[rank] = append(values[rank], a.Bytes...)
		}
		for piece := range m.rows {
			for _, pe := range d.pes {
				if n := d.calls[[2]int{pe, piece}]; n != 1 {
					return fmt.Errorf("piece %d was used %d times on PE %d", piece, n, pe)
				}
			}
		}
		return nil
	}, m.world)
	if err == nil && !r.Checks().OK() {
		err = fmt.Errorf("%+v", r.Checks())
	}
	if err == nil && m.race {
		races, err = r.Races()
	}
	return values, races, err
}

// compare runs the trial with runOverlapped and with runInTurn, and checks that both give
// the same bytes and that runOverlapped has no races.
func (m makingTrial) compare(t *testing.T, o torch.Options) {
	t.Helper()
	got, races, err := m.run(o, (*makingTensors).runOverlapped)
	if err != nil || len(races) > 0 {
		t.Errorf("%v: error %v, races %v", m, err, races)
		return
	}
	want, _, err := m.run(o, (*makingTensors).runInTurn)
	if err != nil {
		t.Fatalf("%v, in turn: %v", m, err)
	}
	for rank := range want {
		if !bytes.Equal(got[rank], want[rank]) || len(want[rank]) == 0 || !slices.ContainsFunc(want[rank], func(b byte) bool { return b != 0 }) {
			t.Errorf("%v: rank %d has\n%x, want\n%x", m, rank, got[rank], want[rank])
		}
	}
}

// makingTrials returns trials of an algorithm on worlds of several sizes. i is the index of
// the algorithm; different i give different layouts and pieces.
func makingTrials(algorithm string, scatter bool, i int) (list []makingTrial) {
	for j, world := range []int{2, 3, 5, 8} {
		m := makingTrial{algorithm: algorithm, scatter: scatter, world: world, layout: layouts[(i+j)%len(layouts)], chunk: 64}
		for k := range 1 + (i+2*j)%5 {
			m.rows = append(m.rows, 6+(k*5)%8)
		}
		list = append(list, m)
	}
	return list
}

// TestMakingGivesTheSameBits checks for every algorithm that computing and reducing at the
// same time gives the same bits as computing all pieces first.
func TestMakingGivesTheSameBits(t *testing.T) {
	options := trialOptions(t)
	for _, scatter := range []bool{false, true} {
		name := map[bool]string{false: "all_reduce", true: "reduce_scatter"}[scatter]
		for i, algorithm := range algorithms(name) {
			for _, m := range makingTrials(algorithm, scatter, i) {
				m.compare(t, options(trial{spawned: true, world: m.world}))
			}
		}
	}
}

// TestMakingTogetherHasNoRaces checks that PEs that write shards of each other cause no
// races if Together lists these PEs, and that without Together there is a race or an error.
func TestMakingTogetherHasNoRaces(t *testing.T) {
	for _, scatter := range []bool{false, true} {
		for i, layout := range layouts[1:] {
			m := makingTrial{algorithm: "ring", scatter: scatter, world: 2 + i%2, rows: []int{12, 7, 9}, layout: layout, together: true, race: true}
			o := trialOptions(t)(trial{spawned: true, world: m.world})
			m.compare(t, o)
			m.together, m.undeclared = false, true
			if _, races, err := m.run(o, (*makingTensors).runOverlapped); err == nil && len(races) == 0 {
				t.Errorf("%v: neither a race nor an error without Together", m)
			}
		}
	}
}
