package dist

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/torch"
)

// AllReduceCoalesced does an AllReduce of each tensor in list, all in one collective. The
// tensors may differ in shape, dtype and layout.
func AllReduceCoalesced(r *torch.Rank, list []*torch.Tensor, op ReduceOp, group ...*Group) error {
	return inOrder(AllReduceCoalescedAsync(r, list, op, group...))
}

// AllReduceCoalescedAsync starts AllReduceCoalesced and returns a Work to wait for.
func AllReduceCoalescedAsync(r *torch.Rank, list []*torch.Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return coalesce(r, ccl.AllReduce, len(list), 0, func(i int) error { return AllReduce(r, list[i], op, group...) })
}

// AllGatherCoalesced does an AllGather of several input tensors in one collective:
// lists[i][j] receives in[i] of rank j.
func AllGatherCoalesced(r *torch.Rank, lists [][]*torch.Tensor, in []*torch.Tensor, group ...*Group) error {
	return inOrder(AllGatherCoalescedAsync(r, lists, in, group...))
}

// AllGatherCoalescedAsync starts AllGatherCoalesced and returns a Work to wait for.
func AllGatherCoalescedAsync(r *torch.Rank, lists [][]*torch.Tensor, in []*torch.Tensor, group ...*Group) (*Work, error) {
	return coalesce(r, ccl.AllGather, len(in), len(lists)-len(in), func(i int) error { return AllGather(r, lists[i], in[i], group...) })
}

// AllGatherIntoTensorCoalesced does AllGatherIntoTensor for several pairs of tensors in one
// collective: from in[i] into out[i] for each i.
func AllGatherIntoTensorCoalesced(r *torch.Rank, out, in []*torch.Tensor, group ...*Group) error {
	return inOrder(AllGatherIntoTensorCoalescedAsync(r, out, in, group...))
}

// AllGatherIntoTensorCoalescedAsync starts AllGatherIntoTensorCoalesced and returns a Work
// to wait for.
func AllGatherIntoTensorCoalescedAsync(r *torch.Rank, out, in []*torch.Tensor, group ...*Group) (*Work, error) {
	return coalesce(r, ccl.AllGather, len(in), len(out)-len(in), func(i int) error { return AllGatherIntoTensor(r, out[i], in[i], group...) })
}

// ReduceScatterTensorCoalesced does ReduceScatterTensor for several pairs of tensors in one
// collective: from in[i] into out[i] for each i.
func ReduceScatterTensorCoalesced(r *torch.Rank, out, in []*torch.Tensor, op ReduceOp, group ...*Group) error {
	return inOrder(ReduceScatterTensorCoalescedAsync(r, out, in, op, group...))
}

// ReduceScatterTensorCoalescedAsync starts ReduceScatterTensorCoalesced and returns a Work
// to wait for.
func ReduceScatterTensorCoalescedAsync(r *torch.Rank, out, in []*torch.Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return coalesce(r, ccl.ReduceScatter, len(in), len(out)-len(in), func(i int) error { return ReduceScatterTensor(r, out[i], in[i], op, group...) })
}

// coalesce combines n calls of the collective c into one; do(i) makes call i. The parameter
// `difference` is the number of tensors to receive minus the number of tensors to send.
// coalesce panics if `difference` is not 0 or if there are no calls.
func coalesce(r *torch.Rank, c ccl.Collective, n, difference int, do func(i int) error) (*Work, error) {
	refuse(n == 0 && difference == 0, c.String(), "a list of no tensors: give at least one")
	refuse(difference != 0, c.String(), "%d tensors to send and %d to receive: give as many", n, n+difference)
	return CoalescingAsync(r, func() error {
		for i := range n {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	})
}

// Coalescing runs the function `calls` and combines the collectives that this function
// calls into one. The collectives start together and run in one launch where possible. They
// must all belong to one group, and all ranks must call the same collectives. The function
// must not call anything else that takes simulated time.
func Coalescing(r *torch.Rank, calls func() error) error {
	return inOrder(CoalescingAsync(r, calls))
}

// CoalescingAsync starts Coalescing and returns a Work to wait for. The Work is nil if the
// function calls no collective. Asynchronous collectives inside the function return a nil
// Work.
func CoalescingAsync(r *torch.Rank, calls func() error) (*Work, error) {
	d := stateOf(r)
	if err := d.s.Begin("Coalescing"); err != nil {
		return nil, err
	}
	refuse(d.coalescing != nil, "Coalescing", "called within another")
	b := &coalescing{}
	d.coalescing = b
	d.s.Refuse = func(name string) { panic(misuse("Coalescing", "%s is not a collective: do it before or after", name)) }
	end := func() { d.coalescing, d.s.Refuse = nil, nil }
	defer end()
	if err := calls(); err != nil {
		return nil, err
	}
	end()
	if len(b.pieces) == 0 {
		return nil, nil
	}
	work, err := d.call(b.group, b.merge())
	for _, q := range b.pieces {
		if err == nil && q.collective == ccl.AllReduce {
			hosted.Replicate(q.out[0].x.Tensor)
		}
	}
	return work, err
}

// coalescing records the collectives that a rank has called inside Coalescing.
type coalescing struct {
	group  *Group
	pieces []*request
}

// add records a collective of the group g with the arguments r. The recorded collectives
// are called together later. add panics if the collective cannot be coalesced with those
// recorded before.
func (b *coalescing) add(g *Group, r *request) {
	if r.making != nil {
		panic(misuse("Making", "%s overlaps with its own collective: do it before or after Coalescing", r.making.Name))
	}
	b.group = cmp.Or(b.group, g)
	refuse(b.group != g, r.collective.String(), "of %v among collectives of %v that are coalesced: one Coalescing has one group", g.shared, b.group.shared)
	for _, earlier := range b.pieces {
		for _, pair := range [][2][]span{{r.out, earlier.in}, {r.out, earlier.out}, {r.in, earlier.out}} {
			for _, s := range pair[0] {
				if slices.ContainsFunc(pair[1], func(t span) bool { return t.x.overlaps(s.x) }) {
					panic(misuse(r.collective.String(), "%s is used by an earlier collective of the same Coalescing, and these have no order", s.x.info.Name))
				}
			}
		}
	}
	b.pieces = append(b.pieces, r)
}

// merge returns one request that combines all recorded collectives as its pieces.
func (b *coalescing) merge() *request {
	all := &request{collective: b.pieces[0].collective, pieces: b.pieces, label: "coalesced"}
	texts, same := make([]string, len(b.pieces)), true
	for i, r := range b.pieces {
		texts[i] = r.signature
		same = same && r.collective == all.collective
		all.in, all.out = append(all.in, r.in...), append(all.out, r.out...)
	}
	if same {
		all.label = all.collective.String() + "_coalesced"
	}
	all.signature = fmt.Sprintf("%s: %s", all.label, strings.Join(texts, "; "))
	return all
}

// planCoalesced plans the launches of a call that combines several collectives. Consecutive
// collectives share a launch if they use the same queues and need neither inboxes nor
// copies.
func (c *world) planCoalesced(k *call, members []member) (programs []*launchPlan, err error) {
	for i := range members[0].pieces {
		p, err := c.planOne(k, membersOfPiece(members, i), k.group.options.Algorithm, 0, false)
		if err != nil {
			return nil, err
		}
		if n := len(programs); n > 0 && programs[n-1].canPrecede(p) {
			programs[n-1].next = append(programs[n-1].next, p)
			continue
		}
		programs = append(programs, p)
	}
	return programs, nil
}

// canPrecede reports whether the collective of the plan `next` can run in the launch of p,
// after the collective of p. Both must use the same algorithm, PEs and queues, and need
// neither inboxes nor copies.
func (p *launchPlan) canPrecede(next *launchPlan) bool {
	return p.algorithm == next.algorithm && p.inboxElems == 0 && next.inboxElems == 0 && p.overwritten == nil && next.overwritten == nil &&
		p.program.Queues == next.program.Queues && slices.Equal(p.program.Targets, next.program.Targets) && slices.Equal(p.program.Links, next.program.Links)
}

// membersOfPiece returns the members of a combined call, each with its request for
// collective i of the call.
func membersOfPiece(members []member, i int) []member {
	list := slices.Clone(members)
	for j := range list {
		r := *members[j].pieces[i]
		r.device = members[j].device
		list[j].request = &r
	}
	return list
}

// bindPrograms makes the operation of the call k run the launches in programs. The launches
// are sent and started together. Launches with PEs in common run one after another.
func (c *world) bindPrograms(k *call, programs []*launchPlan) {
	op := k.op
	if len(programs) == 1 {
		c.bindProgram(op, programs[0], func(s Stats) { k.stats = s })
		return
	}
	parts := make([]*stream.Operation, len(programs))
	for i, p := range programs {
		parts[i] = stream.NewPart(fmt.Sprintf("%s, program %d of %d", op.Name, i+1, len(programs)), op)
		c.bindProgram(parts[i], p, func(s Stats) {
			k.stats.add(s)
			c.s.Ended(op)
		})
	}
	op.Send = func(sim.Event) (err error) {
		for _, part := range parts {
			part.Follow(op)
			if err == nil {
				err = c.s.SendPart(part)
			}
		}
		return err
	}
	op.Begin = func(sim.Event) error {
		for _, part := range parts {
			op.Expect()
			c.s.Start(part)
		}
		return nil
	}
}
