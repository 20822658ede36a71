package dist

import (
	"cmp"
	"fmt"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/torch"
)

// prepareMessage prepares the message k, whose two ends have been enqueued. The message
// does not get a launch of its own, because a PE runs one launch at a time: messages that
// begin at the same instant would then wait for each other. startMessages launches such
// messages together.
func (c *world) prepareMessage(k *call, members []member) error {
	lanes, _, err := makeLanes(members)
	for i := range lanes {
		l := &lanes[i]
		if members[0].rank == members[1].rank {
			err = cmp.Or(err, checkSelfMessage(lanes, i))
		} else if l.pes[0] == l.pes[1] {
			err = cmp.Or(err, fmt.Errorf("both ranks are on %v: give each a device of its own with SetDevice", c.m.PE(l.pes[0])))
		}
	}
	if err != nil {
		return err
	}
	k.lanes = lanes
	k.op.Begin = func(sim.Event) error {
		k.op.Expect()
		if len(c.outbox) == 0 { // wait for other messages that begin at this instant
			c.s.Later(c.startMessages)
		}
		c.outbox = append(c.outbox, k)
		k.op.HoldForBatch()
		return nil
	}
	return nil
}

// checkSelfMessage checks the lane lanes[index] of a message that a rank sends to itself.
// The lane may receive into exactly the memory that it sends. It is an error if this memory
// overlaps the memory that a lane receives into in any other way.
func checkSelfMessage(lanes []lane, index int) error {
	in := lanes[index].in[0][0]
	for i := range lanes {
		if out := lanes[i].out[1][0]; in.overlaps(out) && !(i == index && in.va == out.va) {
			return fmt.Errorf("%s is sent and %s received into, which share memory: receive into memory of its own", in.x.info.Name, out.x.info.Name)
		}
	}
	return nil
}

// startMessages launches the messages that begin at the present instant. Messages with the
// same settings share a launch if they have a PE in common, directly or through further
// messages.
func (c *world) startMessages() {
	messages := c.outbox
	c.outbox = nil
	type place struct {
		pe       machine.PEID
		settings ccl.Settings // all messages of a launch use queues of the same kind
	}
	parent := make([]int, len(messages)) // the index of an earlier message of the same launch, or of the message itself
	root := func(i int) int {
		for parent[i] != i {
			i = parent[i]
		}
		return i
	}
	lastOn := map[place]int{}
	for i, m := range messages {
		parent[i] = i
		for _, l := range m.lanes {
			for _, pe := range l.pes {
				at := place{pe, m.group.options.Settings}
				if j, taken := lastOn[at]; taken {
					a, b := root(i), root(j)
					parent[max(a, b)] = min(a, b)
				}
				lastOn[at] = i
			}
		}
	}
	programs := make([][]*call, len(messages))
	for i, m := range messages {
		programs[root(i)] = append(programs[root(i)], m)
	}
	for _, list := range programs {
		if len(list) > 0 {
			c.launchMessages(list)
		}
	}
}

// launchMessages runs all messages of list in one launch.
func (c *world) launchMessages(list []*call) {
	name, settings, ops := list[0].op.Name, list[0].group.options.Settings, make([]*stream.Operation, len(list))
	if len(list) > 1 {
		name = fmt.Sprintf("%s and %d more", name, len(list)-1)
	}
	for i, m := range list {
		ops[i] = m.op
	}
	op := stream.NewPart(name, nil)
	op.Follow(ops...)
	p := c.newLaunchPlan(ccl.Direct, ccl.SendRecv, settings)
	plan := &ccl.Plan{Collective: ccl.SendRecv, DType: torch.U8} // messages of any dtype are sent as bytes
	ranks := map[machine.PEID]int{}
	rank := func(pe machine.PEID, member int) int {
		if _, known := ranks[pe]; !known {
			ranks[pe] = len(ranks)
			p.program.Targets, p.members = append(p.program.Targets, pe), append(p.members, member)
		}
		return ranks[pe]
	}
	var in, out []block
	for _, m := range list {
		for _, l := range m.lanes {
			from, to := l.in[0][0], l.out[1][0]
			plan.Messages = append(plan.Messages, ccl.Message{From: rank(l.pes[0], m.group.ranks[0]), To: rank(l.pes[1], m.group.ranks[1]), Count: from.elems * from.x.info.DType.Size()})
			in, out = append(in, from), append(out, to)
		}
	}
	plan.Ranks = len(ranks)
	settings.Size(plan, p.program.Queues)
	p.setTiles(plan, c.Topology().Spec().PE.TCM.Size)
	from, to := pointers(in, torch.U8), pointers(out, torch.U8)
	for i := range plan.Ranks {
		p.args = append(p.args, &ccl.Args{Plan: plan, Rank: i, In: from, Out: to})
	}
	if p.inboxElems == 0 {
		p.connect()
	}
	c.bindProgram(op, p, func(s Stats) {
		for _, m := range list {
			m.stats = s
			c.s.Ended(m.op)
		}
	})
	c.s.Failed(op, c.s.SendPart(op))
	c.s.Start(op)
	for _, m := range list {
		c.s.ReleaseFromBatch(m.op) // later operations may be sent now
	}
}
