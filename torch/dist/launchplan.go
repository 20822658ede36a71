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

// launchPlan describes one launch that runs a collective on all ranks and lanes.
type launchPlan struct {
	program     machine.Program
	next        []*launchPlan // coalesced collectives that follow in the same launch
	algorithm   *ccl.Algorithm
	lanes       int
	args        []*ccl.Args  // the arguments of the kernel, by rank of the launch
	members     []int        // the rank in the world to which each target PE of the launch belongs
	inboxElems  int          // the size of the inboxes of each PE in elements; 0 if messages go through queues
	inboxes     *scratch     // the memory of the inboxes, or nil
	overwritten [][]block    // by rank of the launch: blocks to copy before they are sent, because the rank also receives into them
	copies      *scratch     // memory for copies of overwritten, or nil
	reserved    memory.Bytes // the size of TCM on each PE that the producer needs
}

// plan returns the launches of the call k. There is one launch, except that a call of
// coalesced collectives may need several.
func (c *world) plan(k *call, members []member) ([]*launchPlan, error) {
	switch r := members[0].request; {
	case r.making != nil:
		return c.planMaking(k, members)
	case len(r.pieces) > 0:
		return c.planCoalesced(k, members)
	}
	p, err := c.planOne(k, members, k.group.options.Algorithm, 0, false)
	return []*launchPlan{p}, err
}

// planOne plans the launch of one collective. algorithm is the name of the algorithm or
// ccl.Auto. The launch leaves `reserved` bytes of TCM free on each PE. If queuesOnly is
// true, ccl.Auto chooses only among algorithms that need no inboxes.
func (c *world) planOne(k *call, members []member, algorithm string, reserved memory.Bytes, queuesOnly bool) (*launchPlan, error) {
	r, settings := members[0].request, k.group.options.Settings
	lanes, holders, err := makeLanes(members)
	if err == nil {
		err = checkInPlace(r.collective, members, lanes)
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
	a, err := c.resolveAlgorithm(algorithm, plans[0], lanes, queues, reserved, queuesOnly)
	if err != nil {
		return nil, err
	}
	p := c.newLaunchPlan(a, r.collective, settings)
	p.lanes, p.reserved = len(lanes), reserved
	seen := map[machine.PEID]bool{}
	for j, plan := range plans {
		l := &lanes[j]
		if ports := queues.MaxPorts; a.Inbox == nil && a.Ports(plan) > ports {
			return nil, cost.TooManyPorts(a, plan, ports)
		}
		if tcm := c.Topology().Spec().PE.TCM.Size; p.setTiles(plan, tcm) < 0 && reserved > 0 {
			return nil, fmt.Errorf("%s has queues of %d slots of %v in TCM, which has %v, in addition to %v of the kernel that it overlaps with: use fewer or smaller slots (n_slots, slot_size), or another memory for them (buffer_kind)",
				a.Name, p.program.Queues.NSlots, p.program.Queues.SlotSize, tcm, reserved)
		}
		if err := a.CheckNeighbors(plan, p.inboxElems > 0); err != nil {
			return nil, err
		}
		first := len(p.args)
		for i, pe := range l.pes {
			if seen[pe] {
				return nil, l.sharedPEError(c, i)
			}
			seen[pe] = true
			p.program.Targets = append(p.program.Targets, pe)
			p.members = append(p.members, holders[i].rank)
			p.args = append(p.args, &ccl.Args{Plan: plan, Rank: i, First: first, In: pointers(l.in[i], plan.DType), Out: pointers(l.out[i], plan.DType)})
			if r.collective == ccl.AllToAll {
				p.overwritten = append(p.overwritten, overwrittenBlocks(l.in[i], l.out[i], i))
			}
		}
	}
	if err := hosted.UsePEs(c.Context, p.program.Name, p.program.Targets); err != nil {
		return nil, err
	}
	if p.inboxElems == 0 {
		p.connect()
	}
	return p, nil
}

// sharedPEError returns the error for a lane in which rank i is on the same PE as another
// rank.
func (l *lane) sharedPEError(c *world, i int) error {
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

// newLaunchPlan returns the plan of a launch that runs a collective with the algorithm a.
// The plan has no PEs yet. On each PE, the launch copies the overwritten blocks, runs the
// kernel of the algorithm, and then runs the kernel again for each collective in the plan's
// list `next`.
func (c *world) newLaunchPlan(a *ccl.Algorithm, does ccl.Collective, settings ccl.Settings) *launchPlan {
	p := &launchPlan{algorithm: a, lanes: 1}
	p.program = machine.Program{Name: fmt.Sprintf("%v(%s)", does, a.Name), Queues: c.m.Queues(settings.Queues())}
	p.program.Body = func(t *tl.PE) {
		p.copyOverwritten(t)
		a.Kernel(t, p.args[t.Rank()])
		for _, next := range p.next {
			a.Kernel(t, next.args[t.Rank()])
		}
	}
	return p
}

// setTiles decides whether the messages of plan go through queues or inboxes. It computes
// the free TCM: tcm, the size of TCM, minus the space for the producer and for queues whose
// slots are in TCM. It chooses the size of messages and the number of tiles, which fit into
// the free TCM. It returns the size of the free TCM in bytes, which may be negative.
func (p *launchPlan) setTiles(plan *ccl.Plan, tcm memory.Bytes) memory.Bytes {
	queues, ports := p.program.Queues, p.algorithm.Ports(plan)
	tcm -= p.reserved
	if ports > queues.MaxPorts {
		p.inboxElems = max(p.inboxElems, ports*plan.InboxElems(p.algorithm.Inbox))
	} else if queues.BufferKind == topology.BufferTCM {
		tcm -= memory.Bytes(ports*queues.NSlots) * queues.SlotSize
	}
	plan.Fit(p.algorithm, tcm)
	return tcm
}

// dtype returns the dtype of the request's tensors, or U8 if the request has no tensors.
func (r *request) dtype() torch.DType {
	for _, s := range r.spans() {
		return s.x.info.DType
	}
	return torch.U8
}

// connect sets the neighbour table of the launch to the connections that the algorithm
// needs.
func (p *launchPlan) connect() {
	for i, a := range p.args {
		for _, n := range p.algorithm.Neighbors(a.Plan, a.Rank) {
			if a.Rank < n.Rank { // list each connection once
				p.program.Links = append(p.program.Links, machine.Connection{
					A: p.program.Targets[i], APort: n.Port, B: p.program.Targets[a.First+n.Rank], BPort: n.PeerPort,
				})
			}
		}
	}
}

// pointers returns a function that returns a pointer to block i. d is the dtype of the
// pointers.
func pointers(blocks []block, d torch.DType) func(int) tl.Ptr {
	shards := make([]tl.Shard, len(blocks))
	for i, b := range blocks {
		shards[i] = tl.Shard{Tensor: b.x.info.Name, Part: partLabel("a block"), Addr: int64(b.va), Bytes: int64(b.elems) * int64(b.x.info.DType.Size())}
	}
	return func(i int) tl.Ptr {
		if i < 0 || i >= len(blocks) {
			panic(misuse("Args", "no block %d: this rank has %d, from 0", i, len(blocks)))
		}
		return vector(&shards[i], d)
	}
}

// vector returns a pointer to the shard s as a vector of consecutive elements of dtype d.
func vector(s *tl.Shard, d torch.DType) tl.Ptr {
	return tl.Ptr{Addr: s.Addr, DType: d, Rank: 1, Stride: [oplog.MaxRank]int64{1}, Shard: s}
}

// partLabel names a part of a collective's memory in errors of kernels.
type partLabel string

func (s partLabel) String() string { return string(s) }

// allocate allocates the memory that the launch needs in addition to its tensors: inboxes,
// which become the window of the launch, and copies of blocks that would be overwritten. It
// is called when the launch starts.
func (p *launchPlan) allocate(c *world, op *stream.Operation) (err error) {
	if p.inboxElems > 0 {
		if p.inboxes, err = p.scratch(c, op, "messages of "+op.Name, slices.Repeat([]int{p.inboxElems}, len(p.args)), false); err != nil {
			return err
		}
		var window []memory.Part
		for i, s := range p.inboxes.Shards {
			window = append(window, memory.Part{VA: s.VA, Bytes: s.Bytes})
			p.args[i].Work = p.inboxes.ptr(i)
			p.args[i].Work.Window = 1
		}
		op.Run.Program.Windows = [][]memory.Part{window}
	}
	elems := make([]int, len(p.args))
	for i, blocks := range p.overwritten {
		for _, b := range blocks {
			elems[i] += b.elems
		}
	}
	if slices.ContainsFunc(elems, func(n int) bool { return n > 0 }) {
		p.copies, err = p.scratch(c, op, "copies of what "+op.Name+" sends", elems, true)
	}
	return err
}

// scratch is temporary memory of a launch, with one shard on each PE. It is freed at the
// end of the launch.
type scratch struct {
	*hosted.Tensor
	free func() error
}

// scratch allocates temporary memory for the operation op: elems[i] elements on the PE of
// rank i of the launch. The parameter `written` says whether the memory needs values. name
// is the name of the memory in errors.
func (p *launchPlan) scratch(c *world, op *stream.Operation, name string, elems []int, written bool) (*scratch, error) {
	x, free, err := hosted.Scratch(c.Context, op.Name, name, p.args[0].DType, p.program.Targets, elems, written)
	return &scratch{x, free}, err
}

// ptr returns a pointer to the shard of the given rank of the launch.
func (x *scratch) ptr(rank int) tl.Ptr {
	s := &x.Shards[rank]
	return vector(&tl.Shard{Tensor: x.Name, Part: partLabel("this PE's part"), Addr: int64(s.VA), Bytes: int64(s.Bytes)}, x.DType)
}

// free frees the inboxes and the copies, if the launch has any.
func (p *launchPlan) free() (err error) {
	for _, x := range []*scratch{p.inboxes, p.copies} {
		if x != nil {
			err = errors.Join(err, x.free())
		}
	}
	return err
}

// counts returns the sizes of the lane's blocks in elements, in the form of
// ccl.Plan.Counts. It returns an error if the size that a rank expects differs from the
// size that its peer sends.
func (l *lane) counts(c ccl.Collective, members []member) ([]int, error) {
	n := len(l.pes)
	switch c {
	case ccl.Barrier:
		return []int{0}, nil
	case ccl.AllGather, ccl.Gather:
		counts := firstCounts(l.in)
		return compact(counts), checkCounts(l.out, members, func(_, from int) int { return counts[from] }, receiveMismatch)
	case ccl.ReduceScatter, ccl.Scatter:
		counts := firstCounts(l.out)
		return compact(counts), checkCounts(l.in, members, func(_, to int) int { return counts[to] }, "rank %[1]d has %[2]d elements for rank %[3]d, which has room for %[4]d")
	case ccl.AllToAll:
		var counts []int
		for i := range n {
			for j := range n {
				counts = append(counts, l.in[i][j].elems)
			}
		}
		return compact(counts), checkCounts(l.out, members, func(to, from int) int { return counts[from*n+to] }, receiveMismatch)
	}
	return []int{l.in[0][0].elems}, nil
}

// firstCounts returns for each rank the size of its first block in elements.
func firstCounts(list [][]block) (counts []int) {
	for _, blocks := range list {
		counts = append(counts, blocks[0].elems)
	}
	return counts
}

// receiveMismatch is the error format of checkCounts for blocks that are received.
const receiveMismatch = "rank %d has room for %d elements of rank %d's, and they are %d"

// checkCounts checks that the block of each rank for each peer has want(rank, peer)
// elements. If not, it returns an error with the format `text`. The arguments of the format
// are the rank, the size of its block, the peer, and the result of `want`.
func checkCounts(list [][]block, members []member, want func(rank, peer int) int, text string) error {
	for rank, blocks := range list {
		for peer, b := range blocks {
			if w := want(rank, peer); b.elems != w {
				return fmt.Errorf(text, members[rank].rank, b.elems, members[peer].rank, w)
			}
		}
	}
	return nil
}

// compact returns a list of one count if all counts are equal, and otherwise the list
// `counts` itself.
func compact(counts []int) []int {
	if one := slices.Compact(slices.Clone(counts)); len(one) == 1 {
		return one
	}
	return counts
}
