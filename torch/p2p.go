package torch

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
)

// P2POp is one end of a message between two ranks, for BatchISendIRecv.
type P2POp struct {
	Kind   P2PKind
	Tensor *Tensor
	Peer   int // rank of the world
	Tag    int
	Group  *Group // nil is the default group
	// Rank is whose end it is in a program without Spawn, which has all of them: the
	// part of the tensor that this rank of the world has is sent, or received into.
	Rank int
}

// P2PKind is which end of a message it is.
type P2PKind uint8

// The ends of a message.
const (
	Sends P2PKind = iota
	Recvs
)

// message says which ends of messages belong together: those of one kind with those of
// the other, in the order in which they are asked for.
type message struct {
	group    *groupState
	from, to int // ranks of the group
	tag      int
	first    P2PKind // the end that was asked for first
}

// Send sends a tensor to rank dst of the world. (In a program without Spawn it is rank
// 0 that sends, or receives: see P2POp for the others.) Messages between two ranks with one
// tag arrive in order. Like other collectives it is in the stream of both ranks, but
// does not wait for other messages, unless they have a tensor in common.
func (d *Distributed) Send(x *Tensor, dst, tag int, group ...*Group) error {
	return inOrder(d.ISend(x, dst, tag, group...))
}

// Recv receives a tensor from rank src of the world.
func (d *Distributed) Recv(x *Tensor, src, tag int, group ...*Group) error {
	return inOrder(d.IRecv(x, src, tag, group...))
}

// ISend is Send that goes on until Wait.
func (d *Distributed) ISend(x *Tensor, dst, tag int, group ...*Group) (*Work, error) {
	return d.message(P2POp{Kind: Sends, Tensor: x, Peer: dst, Tag: tag}, group)
}

// IRecv is Recv that goes on until Wait.
func (d *Distributed) IRecv(x *Tensor, src, tag int, group ...*Group) (*Work, error) {
	return d.message(P2POp{Kind: Recvs, Tensor: x, Peer: src, Tag: tag}, group)
}

// BatchISendIRecv asks for several messages. Like all messages that begin at one
// instant they go on side by side.
func (d *Distributed) BatchISendIRecv(ops []P2POp) (works []*Work, err error) {
	for _, op := range ops {
		w, err := d.message(op, []*Group{op.Group})
		if err != nil {
			return works, err
		}
		works = append(works, w)
	}
	return works, nil
}

// message asks for one end of a message, and starts it if the other end is there.
func (d *Distributed) message(op P2POp, group []*Group) (*Work, error) {
	c, x := d.c, op.Tensor
	if op.Kind > Recvs {
		panic(misuse("BatchISendIRecv", "no kind %d of message: use torch.Sends or torch.Recvs", op.Kind))
	}
	what := [...]string{"Send", "Recv"}[op.Kind]
	g, err := d.group(what, group)
	if err != nil {
		return nil, err
	}
	x.usable(what)
	x.packed(what)
	self := g.rank
	if !c.spawned() {
		self = slices.Index(g.shared.ranks, op.Rank)
		d.overRanks(g, x)
	}
	if self < 0 {
		return nil, fmt.Errorf("%s: rank %d is not in %s", what, max(c.current.rank, op.Rank), g.shared)
	}
	other := slices.Index(g.shared.ranks, op.Peer)
	if other < 0 || other == self {
		panic(misuse(what, "the peer, rank %d, is not another rank of %s", op.Peer, g.shared))
	}
	from, to := self, other
	r := &request{collective: ccl.SendRecv, in: []span{whole(x)}, what: "a message of " + d.describePart(g, x, self), device: c.current.device}
	if op.Kind == Recvs {
		from, to = to, from
		r.in, r.out = nil, []span{whole(x)}
	}
	return c.arrive(c.matched(g.shared, from, to, op), int(op.Kind), r, -1)
}

// matched returns the call of a message, whose other end may have been asked for.
func (c *Context) matched(g *groupState, from, to int, op P2POp) *call {
	other := message{g, from, to, op.Tag, Sends + Recvs - op.Kind}
	if waiting := c.messages[other]; len(waiting) > 0 {
		if c.messages[other] = waiting[1:]; len(waiting) == 1 {
			delete(c.messages, other)
		}
		return waiting[0]
	}
	ranks := []int{g.ranks[from], g.ranks[to]}
	name := fmt.Sprintf("message from rank %d to rank %d", ranks[0], ranks[1])
	if op.Tag != 0 {
		name += fmt.Sprintf(" with tag %d", op.Tag)
	}
	k := newCall(&groupState{number: g.number, ranks: ranks, settings: g.settings}, &operation{name: name, message: true})
	if c.spawned() {
		k.op.forming = []*worker{c.workers[ranks[0]], c.workers[ranks[1]]}
	} else {
		k.places = []int{from, to}
	}
	own := message{g, from, to, op.Tag, op.Kind}
	c.messages[own] = append(c.messages[own], k)
	return k
}
