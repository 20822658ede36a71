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

// formMessage makes a message of a call that both its ends have made. It does not
// become a program of its own: a PE runs one at a time, and messages that begin at one
// instant would wait for each other.
func (c *world) formMessage(k *call, members []member) error {
	lanes, _, err := cut(members)
	for i := range lanes {
		l := &lanes[i]
		if members[0].rank == members[1].rank {
			err = cmp.Or(err, toItself(lanes, i))
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
		if len(c.outbox) == 0 { // others may begin at this instant
			c.s.Later(c.exchange)
		}
		c.outbox = append(c.outbox, k)
		k.op.HoldForBatch()
		return nil
	}
	return nil
}

// toItself checks the memory that a lane of a rank's message to itself sends: the lane may
// receive into the same memory, and no other lane may.
func toItself(lanes []lane, of int) error {
	in := lanes[of].in[0][0]
	for i := range lanes {
		if out := lanes[i].out[1][0]; in.overlaps(out) && !(i == of && in.va == out.va) {
			return fmt.Errorf("%s is sent and %s received into, which share memory: receive into memory of its own", in.x.info.Name, out.x.info.Name)
		}
	}
	return nil
}

// exchange begins the messages of the present instant: those that have PEs in common,
// directly or by way of others, in one program.
func (c *world) exchange() {
	messages := c.outbox
	c.outbox = nil
	type place struct {
		pe       machine.PEID
		settings ccl.Settings // one program has one way to build queues
	}
	with := make([]int, len(messages)) // an earlier message of the same program, or itself
	first := func(i int) int {
		for with[i] != i {
			i = with[i]
		}
		return i
	}
	on := map[place]int{}
	for i, m := range messages {
		with[i] = i
		for _, l := range m.lanes {
			for _, pe := range l.pes {
				at := place{pe, m.group.options.Settings}
				if j, taken := on[at]; taken {
					a, b := first(i), first(j)
					with[max(a, b)] = min(a, b)
				}
				on[at] = i
			}
		}
	}
	programs := make([][]*call, len(messages))
	for i, m := range messages {
		programs[first(i)] = append(programs[first(i)], m)
	}
	for _, together := range programs {
		if len(together) > 0 {
			c.launchMessages(together)
		}
	}
}

// launchMessages runs messages as one program.
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
	p := c.newPlanned(ccl.Direct, ccl.SendRecv, settings)
	plan := &ccl.Plan{Collective: ccl.SendRecv, DType: torch.U8} // of any dtype
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
	p.fit(plan, c.Topology().Spec().PE.TCM.Size)
	from, to := pointers(in, torch.U8), pointers(out, torch.U8)
	for i := range plan.Ranks {
		p.args = append(p.args, &ccl.Args{Plan: plan, Rank: i, In: from, Out: to})
	}
	if p.inboxes == 0 {
		p.connect()
	}
	c.collective(op, p, func(s Stats) {
		for _, m := range list {
			m.stats = s
			c.s.Ended(m.op)
		}
	})
	c.s.Failed(op, c.s.SendPart(op))
	c.s.Start(op)
	for _, m := range list {
		c.s.ReleaseFromBatch(m.op) // what is behind it may be sent now
	}
}
