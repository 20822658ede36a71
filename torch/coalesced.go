package torch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/sim"
)

// AllReduceCoalesced reduces several tensors as AllReduce does, in one collective. They may
// differ in shape, dtype and layout.
func (d *Distributed) AllReduceCoalesced(list []*Tensor, op ReduceOp, group ...*Group) error {
	return inOrder(d.AllReduceCoalescedAsync(list, op, group...))
}

// AllReduceCoalescedAsync starts AllReduceCoalesced, which goes on until Wait.
func (d *Distributed) AllReduceCoalescedAsync(list []*Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return d.coalesced(ccl.AllReduce, len(list), 0, func(i int) error { return d.AllReduce(list[i], op, group...) })
}

// AllGatherCoalesced gathers several tensors as AllGather does, in one collective: lists[i]
// receives the i-th tensor of every rank.
func (d *Distributed) AllGatherCoalesced(lists [][]*Tensor, in []*Tensor, group ...*Group) error {
	return inOrder(d.AllGatherCoalescedAsync(lists, in, group...))
}

// AllGatherCoalescedAsync starts AllGatherCoalesced, which goes on until Wait.
func (d *Distributed) AllGatherCoalescedAsync(lists [][]*Tensor, in []*Tensor, group ...*Group) (*Work, error) {
	return d.coalesced(ccl.AllGather, len(in), len(lists)-len(in), func(i int) error { return d.AllGather(lists[i], in[i], group...) })
}

// AllGatherIntoTensorCoalesced gathers several tensors as AllGatherIntoTensor does, in one
// collective.
func (d *Distributed) AllGatherIntoTensorCoalesced(out, in []*Tensor, group ...*Group) error {
	return inOrder(d.AllGatherIntoTensorCoalescedAsync(out, in, group...))
}

// AllGatherIntoTensorCoalescedAsync starts AllGatherIntoTensorCoalesced, which goes on until Wait.
func (d *Distributed) AllGatherIntoTensorCoalescedAsync(out, in []*Tensor, group ...*Group) (*Work, error) {
	return d.coalesced(ccl.AllGather, len(in), len(out)-len(in), func(i int) error { return d.AllGatherIntoTensor(out[i], in[i], group...) })
}

// ReduceScatterTensorCoalesced reduces several tensors as ReduceScatterTensor does, in one
// collective.
func (d *Distributed) ReduceScatterTensorCoalesced(out, in []*Tensor, op ReduceOp, group ...*Group) error {
	return inOrder(d.ReduceScatterTensorCoalescedAsync(out, in, op, group...))
}

// ReduceScatterTensorCoalescedAsync starts ReduceScatterTensorCoalesced, which goes on until Wait.
func (d *Distributed) ReduceScatterTensorCoalescedAsync(out, in []*Tensor, op ReduceOp, group ...*Group) (*Work, error) {
	return d.coalesced(ccl.ReduceScatter, len(in), len(out)-len(in), func(i int) error { return d.ReduceScatterTensor(out[i], in[i], op, group...) })
}

// coalesced makes one collective of n calls. The difference is by how many the tensors to
// receive are more than those to send.
func (d *Distributed) coalesced(c ccl.Collective, n, difference int, do func(i int) error) (*Work, error) {
	refuse(n == 0 && difference == 0, c.String(), "a list of no tensors: give at least one")
	refuse(difference != 0, c.String(), "%d tensors to send and %d to receive: give as many", n, n+difference)
	return d.CoalescingAsync(func() error {
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
func (d *Distributed) Coalescing(calls func() error) error {
	return inOrder(d.CoalescingAsync(calls))
}

// CoalescingAsync starts Coalescing, which goes on until Wait. The Work is nil if the function
// calls no collective, and so is that of each call in it.
func (d *Distributed) CoalescingAsync(calls func() error) (*Work, error) {
	if err := d.r.operation("Coalescing"); err != nil {
		return nil, err
	}
	w := d.r
	refuse(w.coalescing != nil, "Coalescing", "called within another")
	b := &coalescing{}
	w.coalescing = b
	defer func() { w.coalescing = nil }()
	if err := calls(); err != nil {
		return nil, err
	}
	w.coalescing = nil
	if len(b.pieces) == 0 {
		return nil, nil
	}
	work, err := d.call(b.group, b.request())
	for _, r := range b.pieces {
		if err == nil && r.collective == ccl.AllReduce {
			r.out[0].x.replicate()
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
					panic(misuse(r.collective.String(), "%s is used by an earlier collective of the same Coalescing, and these have no order", s.x.name))
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
func (c *Context) planCoalesced(k *call, members []member) (programs []*planned, err error) {
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

// collectives makes an operation of programs, which are sent and started together. Where
// they have PEs in common one comes after the other.
func (c *Context) collectives(op *operation, programs []*planned) {
	if len(programs) == 1 {
		c.collective(op, programs[0], nil)
		return
	}
	parts := make([]*operation, len(programs))
	for i, p := range programs {
		parts[i] = &operation{name: fmt.Sprintf("%s, program %d of %d", op.name, i+1, len(programs)), of: op}
		c.collective(parts[i], p, func() { c.operations.Handle(evEnd, uint64(op.number)) })
	}
	op.send = func(sim.Event) (err error) {
		for _, part := range parts {
			part.streams = slices.Clone(op.streams)
			if err == nil {
				err = c.sendPart(part)
			}
		}
		return err
	}
	op.begin = func(sim.Event) error {
		for _, part := range parts {
			op.left++
			c.start(part)
		}
		return nil
	}
}

// sendPart sends an operation that is part of others, and in no stream of its own.
func (c *Context) sendPart(op *operation) error {
	op.number = c.operations.add(op)
	op.state = sent
	return op.send(c.operations.event(op))
}
