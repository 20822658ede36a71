package dist

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/cost"
	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// Making is a tensor that kernels make piece by piece on the PEs that hold it, where
// pieces that are done are reduced while the next one is being made. The pieces are
// tensors of their own, laid out alike: each PE makes what it holds of them.
type Making struct {
	Name  string
	Using []*torch.Tensor // that Make and Use read and write besides
	// Make begins with a piece on a PE. It is the function that issues the next step
	// of the work, and reports whether there was one: the shorter steps are, the less
	// they hold up messages. It may be called again when there is none.
	Make func(t *tl.PE, pe, piece int) (next func() bool)
	// Together, if it is set, is the PEs of the device, itself among them, that write what
	// a PE holds of the pieces: a piece is reduced when all of them have made it. Each of
	// them names the same PEs.
	Together func(pe int) []int
	// Use, if it is set, is called on each PE when a piece has been reduced.
	Use func(t *tl.PE, pe, piece int)
	// Room is the bytes of TCM that Make and Use take on a PE.
	Room int
}

// AllReduceMaking is AllReduce of several tensors one after the other, in one program
// that also makes them.
func AllReduceMaking(r *torch.Rank, m Making, pieces []*torch.Tensor, op ReduceOp, group ...*Group) error {
	d := of(r)
	var list []*request
	for _, x := range tensorsOf(pieces, "all_reduce") {
		op.check("all_reduce", x)
		list = append(list, &request{collective: ccl.AllReduce, reduction: op, in: wholes(x), out: wholes(x)})
	}
	if err := d.making(m, list, group); err != nil {
		return err
	}
	for _, x := range pieces {
		hosted.Replicate(x)
	}
	return nil
}

// ReduceScatterMaking is ReduceScatter of several lists one after the other, in one
// program that also makes them: in[i][r] is what rank r of the group gets in out[i].
func ReduceScatterMaking(r *torch.Rank, m Making, out []*torch.Tensor, in [][]*torch.Tensor, op ReduceOp, group ...*Group) error {
	refuse(len(in) != len(out), "reduce_scatter", "%d pieces to receive and %d to send", len(out), len(in))
	d := of(r)
	g, err := d.group("reduce_scatter", group)
	if err != nil {
		return err
	}
	var list []*request
	for i := range out {
		all := tensorsOf(append(slices.Clone(in[i]), out[i]), "reduce_scatter")
		dtypeOf(ccl.ReduceScatter, all)
		n := len(in[i])
		op.check("reduce_scatter", all[n])
		refuse(n != g.Size(), "reduce_scatter", "%d tensors to send, want %d: one for each rank", n, g.Size())
		list = append(list, &request{collective: ccl.ReduceScatter, reduction: op, in: wholes(all[:n]...), out: wholes(all[n])})
	}
	return d.making(m, list, group)
}

// making is a call of all the pieces.
func (d *state) making(m Making, pieces []*request, group []*Group) error {
	refuse(len(pieces) == 0 || m.Make == nil, "Making", "%s has no pieces, or no Make", m.Name)
	first := pieces[0]
	g, err := d.group(first.collective.String(), group)
	if err != nil {
		return err
	}
	refuse(!d.w.spawned, "Making", "%s: a rank has to be a worker of Spawn", m.Name)
	tcm := int(d.Topology().Spec().PE.TCM.Size)
	refuse(m.Room < 0 || m.Room > tcm, "Making", "%s: room of %d bytes, and a TCM has %d", m.Name, m.Room, tcm)
	all := &request{collective: first.collective, reduction: first.reduction, making: &m, pieces: pieces}
	all.what = fmt.Sprintf("%v of %d pieces beside %s, %v", first.collective, len(pieces), m.Name, first.reduction)
	for _, r := range pieces {
		for _, s := range all.out {
			refuse(s.x.overlaps(r.out[0].x), "Making", "%s: %s is two pieces: make each a tensor of its own", m.Name, s.x.info.Name)
		}
		all.what += ", " + d.describe(g, r.out[0].x)
		all.in, all.out = append(all.in, r.in...), append(all.out, r.out...)
	}
	all.out = append(all.out, wholes(tensorsOf(m.Using, m.Name)...)...) // it may write them
	return inOrder(d.call(g, all))
}

// CheckMaking returns an error if a group cannot do a collective beside a Making because its
// algorithm needs inboxes. Programs may ask before they compute anything.
func CheckMaking(r *torch.Rank, does ccl.Collective, group ...*Group) error {
	d := of(r)
	g, err := d.group("CheckMaking", group)
	if err != nil {
		return err
	}
	settings := g.shared.options.Settings
	if settings.Algorithm == ccl.Auto {
		return nil // it chooses among those with queues
	}
	a, err := d.w.algorithm(settings.Algorithm, &ccl.Plan{Collective: does}, nil, topology.IPCQ{}, 0, true)
	if err != nil {
		return err
	}
	queues, pes := d.w.m.Queues(settings.Queues()), d.w.places(g.shared.ranks)
	plan := &ccl.Plan{Collective: does, Ranks: len(pes), DType: torch.U8, Counts: []int{1}, Layout: ccl.NewLayout(d.Topology(), pes), RootCube: settings.RootCube}
	settings.Size(plan, queues)
	if a.Ports(plan) > queues.MaxPorts {
		return onlyQueues(a, plan, queues)
	}
	return nil
}

// onlyQueues returns the error of an algorithm that needs inboxes beside a Making.
func onlyQueues(a *ccl.Algorithm, p *ccl.Plan, queues topology.IPCQ) error {
	return fmt.Errorf("messages that overlap with a kernel go through queues: %w", cost.TooManyPorts(a, p, queues.MaxPorts))
}

// made is a program that makes pieces and reduces them.
type made struct {
	pieces   []*planned
	targets  []machine.PEID
	makers   []*Making   // by rank of the launch
	ranks    map[int]int // of the launch, by PE
	reducing int         // ranks that hold some of the pieces; those after them only make some
}

// planMaking makes one program of the collectives of all pieces and of what makes them.
func (c *world) planMaking(k *call, members []member) ([]*planned, error) {
	var p made
	var err error
	if p.pieces, err = c.planPieces(k, members); err != nil {
		return nil, err
	}
	holders, err := addends(members) // as the lanes have them
	if err != nil {
		return nil, err
	}
	whole := p.pieces[0]
	p.targets, p.reducing, p.ranks = whole.program.Targets, len(whole.program.Targets), map[int]int{}
	for rank, pe := range p.targets {
		p.ranks[int(pe)] = rank
		p.makers = append(p.makers, holders[whole.args[rank].Rank].making)
	}
	if err := p.invite(); err != nil {
		return nil, err
	}
	whole.program.Targets = p.targets
	whole.program.Name = fmt.Sprintf("%s, %s", members[0].making.Name, whole.program.Name)
	whole.program.Body = p.run
	return []*planned{whole}, nil
}

// planPieces makes a program of each piece.
func (c *world) planPieces(k *call, members []member) (pieces []*planned, err error) {
	room := 0
	for _, m := range members {
		room = max(room, m.making.Room)
	}
	algorithm := k.group.options.Settings.Algorithm
	for i := range members[0].pieces {
		p, err := c.planOne(k, piecesOf(members, i), algorithm, memory.Bytes(room), true)
		if err != nil {
			return nil, err
		}
		if p.inboxes > 0 {
			return nil, onlyQueues(p.algorithm, p.args[0].Plan, p.program.Queues)
		}
		if i > 0 && !slices.Equal(p.program.Targets, pieces[0].program.Targets) {
			return nil, fmt.Errorf("piece %d is on other PEs than the first: lay all pieces out alike", i)
		}
		pieces = append(pieces, p)
		algorithm = p.algorithm.Name // one for all, since they share the queues
	}
	return pieces, nil
}

// invite adds the PEs to the program that make some of what others hold, and hold nothing
// themselves.
func (p *made) invite() error {
	whole := p.pieces[0]
	for rank, pe := range p.targets[:p.reducing] {
		m := p.makers[rank]
		if m.Together == nil {
			continue
		}
		others := m.Together(int(pe))
		if !slices.Contains(others, int(pe)) {
			return fmt.Errorf("%s: Together of PE %d is %v: it has to be among them", m.Name, pe, others)
		}
		for _, other := range others {
			if _, known := p.ranks[other]; !known {
				p.ranks[other] = len(p.targets)
				p.targets, p.makers = append(p.targets, machine.PEID(other)), append(p.makers, m)
				whole.members = append(whole.members, whole.members[rank])
			}
		}
	}
	return nil
}

// run is the program of a PE.
func (p *made) run(t *tl.PE) {
	m, pe := p.makers[t.Rank()], int(p.targets[t.Rank()])
	next := m.begin(t, pe, 0)
	for i, piece := range p.pieces {
		for next() {
		}
		if m.Together != nil {
			meet(t, m.Together(pe), p.ranks, i)
		}
		next = func() bool { return false }
		if i+1 < len(p.pieces) {
			next = m.begin(t, pe, i+1)
		}
		if t.Rank() >= p.reducing {
			continue
		}
		piece.algorithm.Kernel(t.Through(func(on tl.Machine) tl.Machine { return &beside{on, next} }), piece.args[t.Rank()])
		if m.Use != nil {
			m.Use(t, pe, i)
		}
	}
}

// begin is Make, which has to be a function.
func (m *Making) begin(t *tl.PE, pe, piece int) func() bool {
	next := m.Make(t, pe, piece)
	t.Assert(next != nil, "%s: Make of piece %d on PE %d is nil: it has to be a function, which may report that there is nothing to do", m.Name, piece, pe)
	return next
}

// meet waits until some PEs have all come so far, for the ith time. None can be two
// meetings ahead of another, so that two signals tell one from the next. They are free:
// messages go through queues.
func meet(t *tl.PE, pes []int, ranks map[int]int, i int) {
	signal := i % 2
	for _, pe := range pes {
		t.Notify(ranks[pe], signal, tl.Add, 1)
	}
	t.WaitSignal(signal, tl.GE, len(pes)*(i/2+1))
}

// beside is a machine on which, each time that a kernel is about to wait for others, a
// step of other work is issued.
type beside struct {
	tl.Machine
	next func() bool
}

func (b *beside) Recv(port tl.Port, v *tl.Value, into *tl.Block, wait bool) (tl.Handle, tl.Port, error) {
	if wait {
		b.next()
	}
	return b.Machine.Recv(port, v, into, wait)
}

func (b *beside) Wait(h tl.Handle) error {
	b.next()
	return b.Machine.Wait(h)
}

func (b *beside) Select(cases []tl.Case) (int, error) {
	b.next()
	return b.Machine.Select(cases)
}

func (b *beside) WaitSignal(signal int, cmp tl.Cmp, value int64) error {
	b.next()
	return b.Machine.WaitSignal(signal, cmp, value)
}
