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

// AllReduceCoalesced reduces several tensors as AllReduce does, in one collective. They may
// differ in shape, dtype and layout.
func AllReduceCoalesced(r *torch.Rank, list []*torch.Tensor, op ReduceOp, group ...*Group) error {
	return inOrder(AllReduceCoalescedAsync(r, list, op, group...))
}

// AllReduceCoalescedAsync starts AllReduceCoalesced, which goes on until Wait.
func AllReduceCoalescedAsync(r *torch.Rank, list []*torch.Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return coalesced(r, ccl.AllReduce, len(list), 0, func(i int) error { return AllReduce(r, list[i], op, group...) })
}

// AllGatherCoalesced gathers several tensors as AllGather does, in one collective: lists[i]
// receives the i-th tensor of every rank.
func AllGatherCoalesced(r *torch.Rank, lists [][]*torch.Tensor, in []*torch.Tensor, group ...*Group) error {
	return inOrder(AllGatherCoalescedAsync(r, lists, in, group...))
}

// AllGatherCoalescedAsync starts AllGatherCoalesced, which goes on until Wait.
func AllGatherCoalescedAsync(r *torch.Rank, lists [][]*torch.Tensor, in []*torch.Tensor, group ...*Group) (*Work, error) {
	return coalesced(r, ccl.AllGather, len(in), len(lists)-len(in), func(i int) error { return AllGather(r, lists[i], in[i], group...) })
}

// AllGatherIntoTensorCoalesced gathers several tensors as AllGatherIntoTensor does, in one
// collective.
func AllGatherIntoTensorCoalesced(r *torch.Rank, out, in []*torch.Tensor, group ...*Group) error {
	return inOrder(AllGatherIntoTensorCoalescedAsync(r, out, in, group...))
}

// AllGatherIntoTensorCoalescedAsync starts AllGatherIntoTensorCoalesced, which goes on until Wait.
func AllGatherIntoTensorCoalescedAsync(r *torch.Rank, out, in []*torch.Tensor, group ...*Group) (*Work, error) {
	return coalesced(r, ccl.AllGather, len(in), len(out)-len(in), func(i int) error { return AllGatherIntoTensor(r, out[i], in[i], group...) })
}

// ReduceScatterTensorCoalesced reduces several tensors as ReduceScatterTensor does, in one
// collective.
func ReduceScatterTensorCoalesced(r *torch.Rank, out, in []*torch.Tensor, op ReduceOp, group ...*Group) error {
	return inOrder(ReduceScatterTensorCoalescedAsync(r, out, in, op, group...))
}

// ReduceScatterTensorCoalescedAsync starts ReduceScatterTensorCoalesced, which goes on until Wait.
func ReduceScatterTensorCoalescedAsync(r *torch.Rank, out, in []*torch.Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return coalesced(r, ccl.ReduceScatter, len(in), len(out)-len(in), func(i int) error { return ReduceScatterTensor(r, out[i], in[i], op, group...) })
}

// coalesced makes one collective of n calls. The difference is by how many the tensors to
// receive are more than those to send.
func coalesced(r *torch.Rank, c ccl.Collective, n, difference int, do func(i int) error) (*Work, error) {
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

// Coalescing makes one collective of those that a function calls: they are started together,
// and run in one program where they can. All are of one group, and all ranks call the same.
// The function calls nothing else that takes simulated time.
func Coalescing(r *torch.Rank, calls func() error) error {
	return inOrder(CoalescingAsync(r, calls))
}

// CoalescingAsync starts Coalescing, which goes on until Wait. The Work is nil if the function
// calls no collective, and so is that of each call in it.
func CoalescingAsync(r *torch.Rank, calls func() error) (*Work, error) {
	d := of(r)
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
	work, err := d.call(b.group, b.request())
	for _, q := range b.pieces {
		if err == nil && q.collective == ccl.AllReduce {
			hosted.Replicate(q.out[0].x.Tensor)
		}
	}
	return work, err
}

// coalescing is the collectives that a worker has called in Coalescing.
type coalescing struct {
	group  *Group
	pieces []*request
}

// add notes a collective instead of calling it.
func (b *coalescing) add(g *Group, r *request) {
	if r.making != nil {
		panic(misuse("Making", "%s runs beside a collective of its own: do it before or after Coalescing", r.making.Name))
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

// request returns the request of all collectives.
func (b *coalescing) request() *request {
	all := &request{collective: b.pieces[0].collective, pieces: b.pieces, label: "coalesced"}
	texts, same := make([]string, len(b.pieces)), true
	for i, r := range b.pieces {
		texts[i] = r.what
		same = same && r.collective == all.collective
		all.in, all.out = append(all.in, r.in...), append(all.out, r.out...)
	}
	if same {
		all.label = all.collective.String() + "_coalesced"
	}
	all.what = fmt.Sprintf("%s: %s", all.label, strings.Join(texts, "; "))
	return all
}

// planCoalesced makes programs of collectives that were called together: one for those that
// come after each other, use the same queues and need no memory of their own.
func (c *world) planCoalesced(k *call, members []member) (programs []*planned, err error) {
	for i := range members[0].pieces {
		p, err := c.planOne(k, piecesOf(members, i), k.group.options.Algorithm, 0, false)
		if err != nil {
			return nil, err
		}
		if n := len(programs); n > 0 && programs[n-1].shares(p) {
			programs[n-1].then = append(programs[n-1].then, p)
			continue
		}
		programs = append(programs, p)
	}
	return programs, nil
}

// shares reports whether another program can follow in the same launch.
func (p *planned) shares(next *planned) bool {
	return p.algorithm == next.algorithm && p.inboxes == 0 && next.inboxes == 0 && p.staged == nil && next.staged == nil &&
		p.program.Queues == next.program.Queues && slices.Equal(p.program.Targets, next.program.Targets) && slices.Equal(p.program.Links, next.program.Links)
}

// piecesOf returns the ranks of one of several collectives that were called together.
func piecesOf(members []member, i int) []member {
	of := slices.Clone(members)
	for j := range of {
		r := *members[j].pieces[i]
		r.device = members[j].device
		of[j].request = &r
	}
	return of
}

// collectives makes the operation of a call of programs, which are sent and started together.
// Where they have PEs in common one comes after the other.
func (c *world) collectives(k *call, programs []*planned) {
	op := k.op
	if len(programs) == 1 {
		c.collective(op, programs[0], func(s Stats) { k.stats = s })
		return
	}
	parts := make([]*stream.Operation, len(programs))
	for i, p := range programs {
		parts[i] = stream.NewPart(fmt.Sprintf("%s, program %d of %d", op.Name, i+1, len(programs)), op)
		c.collective(parts[i], p, func(s Stats) {
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
