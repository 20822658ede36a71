package torch

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// formMessage makes a message of a call that both its ends have made. It does not
// become a program of its own: a PE runs one at a time, and messages that begin at one
// instant would wait for each other.
func (c *Context) formMessage(k *call, members []member) error {
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
	op := k.op
	op.lanes, op.settings, op.members = lanes, k.group.options.Settings, []int{members[0].rank, members[1].rank}
	op.begin = func(done sim.Event) error {
		op.left++
		if len(c.outbox) == 0 { // others may begin at this instant
			c.m.Engine.Post(c.Now(), sim.Event{Target: done.Target, Kind: evMessages})
		}
		c.outbox, op.boxed = append(c.outbox, op), true
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
			return fmt.Errorf("%s is sent and %s received into, which share memory: receive into memory of its own", in.x.name, out.x.name)
		}
	}
	return nil
}

// exchange begins the messages of the present instant: those that have PEs in common,
// directly or by way of others, in one program.
func (c *Context) exchange() {
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
				at := place{pe, m.settings}
				if j, taken := on[at]; taken {
					a, b := first(i), first(j)
					with[max(a, b)] = min(a, b)
				}
				on[at] = i
			}
		}
	}
	programs := make([][]*operation, len(messages))
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
func (c *Context) launchMessages(list []*operation) {
	op := &operation{name: list[0].name, entered: map[*stream]simtime.Time{}}
	if len(list) > 1 {
		op.name = fmt.Sprintf("%s and %d more", op.name, len(list)-1)
	}
	for _, m := range list {
		for _, s := range m.parties() {
			if !slices.Contains(op.streams, s) {
				op.streams = append(op.streams, s)
			}
		}
	}
	p := c.newPlanned(ccl.Direct, ccl.SendRecv, list[0].settings)
	plan := &ccl.Plan{Collective: ccl.SendRecv, DType: U8} // of any dtype
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
			plan.Messages = append(plan.Messages, ccl.Message{From: rank(l.pes[0], m.members[0]), To: rank(l.pes[1], m.members[1]), Count: l.in[0][0].elems * m.tensors[0].dtype.Size()})
			in, out = append(in, l.in[0][0]), append(out, l.out[1][0])
		}
	}
	plan.Ranks = len(ranks)
	list[0].settings.Size(plan, p.program.Queues)
	p.fit(plan, c.Topology().Spec().PE.TCM.Size)
	from, to := pointers(in, U8), pointers(out, U8)
	for i := range plan.Ranks {
		p.args = append(p.args, &ccl.Args{Plan: plan, Rank: i, In: from, Out: to})
	}
	if p.inboxes == 0 {
		p.connect()
	}
	c.collective(op, p, func() {
		for _, m := range list {
			m.stats = op.stats
			c.operations.Handle(evEnd, uint64(m.number))
		}
	})
	c.failed(op, c.sendPart(op))
	c.start(op)
	for _, m := range list {
		for _, end := range []*operation{m, m.carries} {
			if end != nil {
				end.boxed = false
				c.passed(end)
				c.advance(end) // what is behind it may be sent now
			}
		}
	}
}

// parties returns the streams of the ranks that call an operation.
func (op *operation) parties() []*stream {
	if op.carries == nil {
		return op.streams
	}
	return slices.Concat(op.streams, op.carries.streams)
}
