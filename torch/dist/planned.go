package dist

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/ccl/cost"
	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// planned is a collective as a program: one launch over all ranks and lanes.
type planned struct {
	program   machine.Program
	then      []*planned // that follow in the same launch
	algorithm *ccl.Algorithm
	lanes     int
	args      []*ccl.Args  // by rank of the launch
	members   []int        // the rank in the world of each target
	inboxes   int          // elements of memory for messages of each, if they do not go through queues
	work      *scratch     // that memory
	staged    [][]block    // by rank of the launch: what is sent, where the same memory is received into
	stage     *scratch     // copies of those
	room      memory.Bytes // of TCM that is for others
}

// plan makes programs of a collective: one, unless it is several that were called together.
func (c *world) plan(k *call, members []member) ([]*planned, error) {
	switch r := members[0].request; {
	case r.making != nil:
		return c.planMaking(k, members)
	case len(r.pieces) > 0:
		return c.planCoalesced(k, members)
	}
	p, err := c.planOne(k, members, k.group.options.Algorithm, 0, false)
	return []*planned{p}, err
}

// planOne makes a program of a collective by an algorithm, which leaves some room in TCM,
// and if it is to be chosen does with queues alone if that is wanted.
func (c *world) planOne(k *call, members []member, algorithm string, room memory.Bytes, alone bool) (*planned, error) {
	r, settings := members[0].request, k.group.options.Settings
	lanes, holders, err := cut(members)
	if err == nil {
		err = inPlace(r.collective, members, lanes)
	}
	if err != nil {
		return nil, err
	}
	queues := c.m.Queues(settings.Queues())
	plans := make([]*ccl.Plan, len(lanes))
	for j := range lanes {
		l := &lanes[j]
		plans[j] = &ccl.Plan{
			Collective: r.collective, Ranks: len(l.pes), Root: r.root, Reduction: r.reduction.kind, Factor: r.reduction.factor, DType: r.dtype(),
			Divisor: len(members), Layout: ccl.NewLayout(c.Topology(), machine.Numbers(l.pes)), RootCube: settings.RootCube,
		}
		if plans[j].Counts, err = l.counts(r.collective, members); err != nil {
			return nil, err
		}
		settings.Size(plans[j], queues)
	}
	a, err := c.algorithm(algorithm, plans[0], lanes, queues, room, alone)
	if err != nil {
		return nil, err
	}
	p := c.newPlanned(a, r.collective, settings)
	p.lanes, p.room = len(lanes), room
	seen := map[machine.PEID]bool{}
	for j, plan := range plans {
		l := &lanes[j]
		if ports := queues.MaxPorts; a.Inbox == nil && a.Ports(plan) > ports {
			return nil, cost.TooManyPorts(a, plan, ports)
		}
		if tcm := c.Topology().Spec().PE.TCM.Size; p.fit(plan, tcm) < 0 && room > 0 {
			return nil, fmt.Errorf("%s has queues of %d slots of %v in TCM, which has %v, beside %v of the kernel that it overlaps with: use fewer or smaller slots (n_slots, slot_size), or another memory for them (buffer_kind)",
				a.Name, p.program.Queues.NSlots, p.program.Queues.SlotSize, tcm, room)
		}
		if err := a.CheckNeighbors(plan, p.inboxes > 0); err != nil {
			return nil, err
		}
		first := len(p.args)
		for i, pe := range l.pes {
			if seen[pe] {
				return nil, l.crowded(c, i)
			}
			seen[pe] = true
			p.program.Targets = append(p.program.Targets, pe)
			p.members = append(p.members, holders[i].rank)
			p.args = append(p.args, &ccl.Args{Plan: plan, Rank: i, First: first, In: pointers(l.in[i], plan.DType), Out: pointers(l.out[i], plan.DType)})
			if r.collective == ccl.AllToAll {
				p.staged = append(p.staged, overwritten(l.in[i], l.out[i], i))
			}
		}
	}
	if err := hosted.UsePEs(c.Context, p.program.Name, p.program.Targets); err != nil {
		return nil, err
	}
	if p.inboxes == 0 {
		p.connect()
	}
	return p, nil
}

// crowded returns the error of a lane whose rank i is on the PE of another rank.
func (l *lane) crowded(c *world, i int) error {
	pe := c.m.PE(l.pes[i])
	for _, b := range slices.Concat(l.in[i], l.out[i]) {
		var sips []int
		for _, s := range b.x.info.Shards {
			sips = append(sips, c.m.PE(s.At).SIP)
		}
		if first, last := slices.Min(sips), slices.Max(sips); first != last {
			return fmt.Errorf("two ranks are on %v, since %s lies over SIPs %d to %d: under Spawn a rank is a SIP: lay the tensor out on the device of its rank, or call the collective in a program without Spawn", pe, b.x.info.Name, first, last)
		}
	}
	return fmt.Errorf("two ranks are on %v: give each a device of its own with SetDevice", pe)
}

func (c *world) newPlanned(a *ccl.Algorithm, does ccl.Collective, settings ccl.Settings) *planned {
	p := &planned{algorithm: a, lanes: 1}
	p.program = machine.Program{Name: fmt.Sprintf("%v(%s)", does, a.Name), Queues: c.m.Queues(settings.Queues())}
	p.program.Body = func(t *tl.PE) {
		p.fillStage(t)
		a.Kernel(t, p.args[t.Rank()])
		for _, next := range p.then {
			a.Kernel(t, next.args[t.Rank()])
		}
	}
	return p
}

// fit sets whether messages of a plan go through queues, and how many tiles TCM has room
// for then. It returns the bytes of TCM that are left for them.
func (p *planned) fit(plan *ccl.Plan, tcm memory.Bytes) memory.Bytes {
	queues, ports := p.program.Queues, p.algorithm.Ports(plan)
	tcm -= p.room
	if ports > queues.MaxPorts {
		p.inboxes = max(p.inboxes, ports*max(1, p.algorithm.Inbox(plan)))
	} else if queues.BufferKind == topology.BufferTCM {
		tcm -= memory.Bytes(ports*queues.NSlots) * queues.SlotSize
	}
	const least = 256 // that a tile takes
	plan.Tiles = max(1, int(tcm/max(memory.Bytes(plan.Chunk*plan.DType.Size()), least)))
	return tcm
}

// dtype returns that of the request's tensors.
func (r *request) dtype() torch.DType {
	for _, s := range r.spans() {
		return s.x.info.DType
	}
	return torch.U8 // there are none
}

// connect makes the neighbour table of each lane.
func (p *planned) connect() {
	for i, a := range p.args {
		for _, n := range p.algorithm.Neighbors(a.Plan, a.Rank) {
			if a.Rank < n.Rank { // the other end would name it again
				p.program.Links = append(p.program.Links, machine.Connection{
					A: p.program.Targets[i], APort: n.Port, B: p.program.Targets[a.First+n.Rank], BPort: n.PeerPort,
				})
			}
		}
	}
}

// pointers returns the pointer to each block, by its number.
func pointers(blocks []block, d torch.DType) func(int) tl.Ptr {
	shards := make([]tl.Shard, len(blocks))
	for i, b := range blocks {
		shards[i] = tl.Shard{Tensor: b.x.info.Name, Part: ofCollective("a block"), Addr: int64(b.va), Bytes: int64(b.elems) * int64(b.x.info.DType.Size())}
	}
	return func(i int) tl.Ptr {
		if i < 0 || i >= len(blocks) {
			panic(misuse("Args", "no block %d: this rank has %d, from 0", i, len(blocks)))
		}
		return vector(&shards[i], d)
	}
}

// vector returns a pointer to a shard as elements one after the other.
func vector(s *tl.Shard, d torch.DType) tl.Ptr {
	return tl.Ptr{Addr: s.Addr, DType: d, Rank: 1, Stride: [oplog.MaxRank]int64{1}, Shard: s}
}

// ofCollective names memory of a collective in errors of its kernels.
type ofCollective string

func (s ofCollective) String() string { return string(s) }

// allocate gives the program memory for messages, and for copies of what it sends, if it
// needs any.
func (p *planned) allocate(c *world, op *stream.Operation) (err error) {
	if p.inboxes > 0 {
		if p.work, err = p.scratch(c, op, "messages of "+op.Name, slices.Repeat([]int{p.inboxes}, len(p.args)), false); err != nil {
			return err
		}
		var window []memory.Part
		for i, s := range p.work.Shards {
			window = append(window, memory.Part{VA: s.VA, Bytes: s.Bytes})
			p.args[i].Work = p.work.ptr(i)
			p.args[i].Work.Window = 1
		}
		op.Run.Program.Windows = [][]memory.Part{window}
	}
	elems := make([]int, len(p.args))
	for i, blocks := range p.staged {
		for _, b := range blocks {
			elems[i] += b.elems
		}
	}
	if slices.ContainsFunc(elems, func(n int) bool { return n > 0 }) {
		p.stage, err = p.scratch(c, op, "copies of what "+op.Name+" sends", elems, true)
	}
	return err
}

// scratch is memory of a program on its PEs, with a shard for each rank of the launch, until
// its end.
type scratch struct {
	*hosted.Tensor
	free func() error
}

// scratch allocates memory for some elements on each PE of the program.
func (p *planned) scratch(c *world, op *stream.Operation, name string, elems []int, written bool) (*scratch, error) {
	x, free, err := hosted.Scratch(c.Context, op.Name, name, p.args[0].DType, p.program.Targets, elems, written)
	return &scratch{x, free}, err
}

// ptr returns a pointer to the part that a rank of the launch has.
func (x *scratch) ptr(rank int) tl.Ptr {
	s := &x.Shards[rank]
	return vector(&tl.Shard{Tensor: x.Name, Part: ofCollective("this PE's part"), Addr: int64(s.VA), Bytes: int64(s.Bytes)}, x.DType)
}

// free gives that memory back.
func (p *planned) free() (err error) {
	for _, x := range []*scratch{p.work, p.stage} {
		if x != nil {
			err = errors.Join(err, x.free())
		}
	}
	return err
}

// counts returns the elements of the lane's blocks as a plan has them. Every rank has to
// expect what the others have for it.
func (l *lane) counts(c ccl.Collective, members []member) ([]int, error) {
	n := len(l.pes)
	switch c {
	case ccl.Barrier:
		return []int{0}, nil
	case ccl.AllGather, ccl.Gather:
		counts := firsts(l.in)
		return compact(counts), fit(l.out, members, func(_, from int) int { return counts[from] }, roomFor)
	case ccl.ReduceScatter, ccl.Scatter:
		counts := firsts(l.out)
		return compact(counts), fit(l.in, members, func(_, to int) int { return counts[to] }, "rank %[1]d has %[2]d elements for rank %[3]d, which has room for %[4]d")
	case ccl.AllToAll:
		var counts []int
		for i := range n {
			for j := range n {
				counts = append(counts, l.in[i][j].elems)
			}
		}
		return compact(counts), fit(l.out, members, func(to, from int) int { return counts[from*n+to] }, roomFor)
	}
	return []int{l.in[0][0].elems}, nil
}

// firsts returns the elements of the first block of each rank.
func firsts(list [][]block) (counts []int) {
	for _, blocks := range list {
		counts = append(counts, blocks[0].elems)
	}
	return counts
}

const roomFor = "rank %d has room for %d elements of rank %d's, and they are %d"

// fit checks blocks against what their peers say. The text is of the rank, the elements
// of its block, the peer, and those that the peer says.
func fit(list [][]block, members []member, want func(rank, peer int) int, text string) error {
	for rank, blocks := range list {
		for peer, b := range blocks {
			if w := want(rank, peer); b.elems != w {
				return fmt.Errorf(text, members[rank].rank, b.elems, members[peer].rank, w)
			}
		}
	}
	return nil
}

// compact returns one number for all, if all are the same.
func compact(counts []int) []int {
	if one := slices.Compact(slices.Clone(counts)); len(one) == 1 {
		return one
	}
	return counts
}
