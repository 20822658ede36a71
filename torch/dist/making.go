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

// Making describes a producer: a kernel that computes tensors (pieces) one after another,
// while a collective reduces the pieces that are complete. All pieces have the same
// placement. Each PE computes its shard of every piece.
type Making struct {
	Name  string
	Using []*torch.Tensor // other tensors that Make and Use read or write
	// Make starts a piece on a PE and returns a function. Each call of that function issues
	// the next step of the work and reports whether there was one. Short steps delay
	// messages less. The function may be called again after it has reported false. It
	// should free its tiles: a collective frees the tiles of its messages, and if TCM is
	// full of other tiles, new messages wait for these.
	Make func(t *tl.PE, pe, piece int) (next func() bool)
	// Together returns the PEs of the device that write the shards of pe, pe included. A
	// piece is reduced when all of these PEs have computed it. Together must return the
	// same PEs for each of them. If Together is nil, each PE writes only its own shard.
	Together func(pe int) []int
	// Use is called on each PE that holds a shard when a piece has been reduced. It may be
	// nil.
	Use func(t *tl.PE, pe, piece int)
	// Room is the number of bytes of TCM that Make and Use need on each PE.
	Room int
}

// AllReduceMaking runs the producer m and an all-reduce of each piece in one launch. pieces
// has the tensors that the producer computes.
func AllReduceMaking(r *torch.Rank, m Making, pieces []*torch.Tensor, op ReduceOp, group ...*Group) error {
	d := stateOf(r)
	var list []*request
	for _, x := range tensorsOf(pieces, "all_reduce") {
		op.check("all_reduce", x)
		list = append(list, &request{collective: ccl.AllReduce, reduction: op, in: fullSpans(x), out: fullSpans(x)})
	}
	if err := d.callMaking(m, list, group); err != nil {
		return err
	}
	for _, x := range pieces {
		hosted.Replicate(x)
	}
	return nil
}

// ReduceScatterMaking runs the producer m and a reduce-scatter of each piece in one launch.
// The producer computes piece i as the tensors in[i], one for each rank of the group. On
// rank r, out[i] receives the reduction of in[i][r] over all ranks.
func ReduceScatterMaking(r *torch.Rank, m Making, out []*torch.Tensor, in [][]*torch.Tensor, op ReduceOp, group ...*Group) error {
	refuse(len(in) != len(out), "reduce_scatter", "%d pieces to receive and %d to send", len(out), len(in))
	d := stateOf(r)
	g, err := d.group("reduce_scatter", group)
	if err != nil {
		return err
	}
	var list []*request
	for i := range out {
		all := tensorsOf(append(slices.Clone(in[i]), out[i]), "reduce_scatter")
		commonDType(ccl.ReduceScatter, all)
		n := len(in[i])
		op.check("reduce_scatter", all[n])
		refuse(n != g.Size(), "reduce_scatter", "%d tensors to send, want %d: one for each rank", n, g.Size())
		list = append(list, &request{collective: ccl.ReduceScatter, reduction: op, in: fullSpans(all[:n]...), out: fullSpans(all[n])})
	}
	return d.callMaking(m, list, group)
}

// callMaking calls one collective that combines the requests for all pieces, with m as the
// producer of the pieces.
func (d *state) callMaking(m Making, pieces []*request, group []*Group) error {
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
	all.signature = fmt.Sprintf("%v of %d pieces overlapped with %s, %v", first.collective, len(pieces), m.Name, first.reduction)
	for _, r := range pieces {
		for _, s := range all.out {
			refuse(s.x.overlaps(r.out[0].x), "Making", "%s: %s is two pieces: make each a tensor of its own", m.Name, s.x.info.Name)
		}
		all.signature += ", " + d.describe(g, r.out[0].x)
		all.in, all.out = append(all.in, r.in...), append(all.out, r.out...)
	}
	all.out = append(all.out, fullSpans(tensorsOf(m.Using, m.Name)...)...) // the producer may write these tensors
	return inOrder(d.call(g, all))
}

// CheckMaking returns an error if the group's algorithm for a collective needs inboxes and
// therefore cannot overlap with a producer. Programs can call CheckMaking before they
// compute.
func CheckMaking(r *torch.Rank, does ccl.Collective, group ...*Group) error {
	d := stateOf(r)
	g, err := d.group("CheckMaking", group)
	if err != nil {
		return err
	}
	settings := g.shared.options.Settings
	if settings.Algorithm == ccl.Auto {
		return nil // auto chooses among the algorithms that need no inboxes
	}
	a, err := d.w.resolveAlgorithm(settings.Algorithm, &ccl.Plan{Collective: does}, nil, topology.IPCQ{}, 0, true)
	if err != nil {
		return err
	}
	queues, pes := d.w.m.Queues(settings.Queues()), d.w.representativePEs(g.shared.ranks)
	plan := &ccl.Plan{Collective: does, Ranks: len(pes), DType: torch.U8, Counts: []int{1}, Layout: ccl.NewLayout(d.Topology(), pes), RootCube: settings.RootCube}
	settings.Size(plan, queues)
	if a.Ports(plan) > queues.MaxPorts {
		return inboxesError(a, plan, queues)
	}
	return nil
}

// inboxesError returns the error for the algorithm a, which needs inboxes for the plan p
// and so cannot overlap with a producer.
func inboxesError(a *ccl.Algorithm, p *ccl.Plan, queues topology.IPCQ) error {
	return fmt.Errorf("messages that overlap with a kernel go through queues: %w", cost.TooManyPorts(a, p, queues.MaxPorts))
}

// overlap is a launch that computes pieces and reduces them.
type overlap struct {
	pieces    []*launchPlan
	targets   []machine.PEID // the PEs of the launch, by rank
	producers []*Making      // the producer of each rank of the launch
	ranks     map[int]int    // from PE to rank of the launch
	reducing  int            // ranks below reducing hold shards; the others only compute
}

// planMaking combines the collectives of all pieces and the producer of the pieces into one
// launch.
func (c *world) planMaking(k *call, members []member) ([]*launchPlan, error) {
	var p overlap
	var err error
	if p.pieces, err = c.planPieces(k, members); err != nil {
		return nil, err
	}
	holders, err := splitAddends(members) // in the order of the ranks of each lane
	if err != nil {
		return nil, err
	}
	whole := p.pieces[0]
	p.targets, p.reducing, p.ranks = whole.program.Targets, len(whole.program.Targets), map[int]int{}
	for rank, pe := range p.targets {
		p.ranks[int(pe)] = rank
		p.producers = append(p.producers, holders[whole.args[rank].Rank].making)
	}
	if err := p.addHelpers(); err != nil {
		return nil, err
	}
	whole.program.Targets = p.targets
	whole.program.Name = fmt.Sprintf("%s, %s", members[0].making.Name, whole.program.Name)
	whole.program.Body = p.run
	return []*launchPlan{whole}, nil
}

// planPieces plans one collective for each piece. All use the same algorithm.
func (c *world) planPieces(k *call, members []member) (pieces []*launchPlan, err error) {
	room := 0
	for _, m := range members {
		room = max(room, m.making.Room)
	}
	algorithm := k.group.options.Settings.Algorithm
	for i := range members[0].pieces {
		p, err := c.planOne(k, membersOfPiece(members, i), algorithm, memory.Bytes(room), true)
		if err != nil {
			return nil, err
		}
		if p.inboxElems > 0 {
			return nil, inboxesError(p.algorithm, p.args[0].Plan, p.program.Queues)
		}
		if i > 0 && !slices.Equal(p.program.Targets, pieces[0].program.Targets) {
			return nil, fmt.Errorf("piece %d is on other PEs than the first: lay all pieces out alike", i)
		}
		pieces = append(pieces, p)
		algorithm = p.algorithm.Name // one algorithm for all pieces, because they share the queues
	}
	return pieces, nil
}

// addHelpers adds helper PEs to the launch: PEs that hold no shard of the pieces and only
// compute parts of the shards of other PEs. It returns an error if Together of a PE returns
// a list without this PE.
func (p *overlap) addHelpers() error {
	whole := p.pieces[0]
	for rank, pe := range p.targets[:p.reducing] {
		m := p.producers[rank]
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
				p.targets, p.producers = append(p.targets, machine.PEID(other)), append(p.producers, m)
				whole.members = append(whole.members, whole.members[rank])
			}
		}
	}
	return nil
}

// run executes the launch on one PE. It computes the first piece. Then it reduces each
// piece while the next one is computed, and calls Use for the reduced piece. A helper PE
// only computes.
func (p *overlap) run(t *tl.PE) {
	m, pe := p.producers[t.Rank()], int(p.targets[t.Rank()])
	next := m.begin(t, pe, 0)
	for i, piece := range p.pieces {
		for next() {
		}
		if m.Together != nil {
			waitFor(t, m.Together(pe), p.ranks, i)
		}
		next = func() bool { return false }
		if i+1 < len(p.pieces) {
			next = m.begin(t, pe, i+1)
		}
		if t.Rank() >= p.reducing {
			continue
		}
		piece.algorithm.Kernel(t.Through(func(on tl.Machine) tl.Machine { return &interleaved{on, next} }), piece.args[t.Rank()])
		if m.Use != nil {
			m.Use(t, pe, i)
		}
	}
}

// begin calls Make for a piece and returns the function that Make returns. It stops the
// kernel with an error if this function is nil.
func (m *Making) begin(t *tl.PE, pe, piece int) func() bool {
	next := m.Make(t, pe, piece)
	t.Assert(next != nil, "%s: Make of piece %d on PE %d is nil: it has to be a function, which may report that there is nothing to do", m.Name, piece, pe)
	return next
}

// waitFor waits until all PEs in `pes` have computed piece i. It is a barrier between these
// PEs. `ranks` maps each PE to its rank in the launch. No PE can be two barriers ahead of
// another, so two signals are enough to distinguish consecutive barriers. The collective
// does not use these signals, because its messages go through queues.
func waitFor(t *tl.PE, pes []int, ranks map[int]int, i int) {
	signal := i % 2
	for _, pe := range pes {
		t.Notify(ranks[pe], signal, tl.Add, 1)
	}
	t.WaitSignal(signal, tl.GE, len(pes)*(i/2+1))
}

// interleaved wraps the machine that the kernel of a collective uses. Each time before this
// kernel waits for another PE, interleaved issues one step of the producer.
type interleaved struct {
	tl.Machine
	next func() bool
}

func (m *interleaved) Recv(port tl.Port, v *tl.Value, into *tl.Block, wait bool) (tl.Handle, tl.Port, error) {
	if wait {
		m.next()
	}
	return m.Machine.Recv(port, v, into, wait)
}

func (m *interleaved) Wait(h tl.Handle) error {
	m.next()
	return m.Machine.Wait(h)
}

func (m *interleaved) Select(cases []tl.Case) (int, error) {
	m.next()
	return m.Machine.Select(cases)
}

func (m *interleaved) WaitSignal(signal int, cmp tl.Cmp, value int64) error {
	m.next()
	return m.Machine.WaitSignal(signal, cmp, value)
}
