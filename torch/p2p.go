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
}

// P2PKind is which end of a message it is.
type P2PKind uint8

// The ends of a message.
const (
	Sends P2PKind = iota
	Recvs
)

// message is a message that one end of has been asked for.
type message struct {
	group    *groupState
	from, to int // ranks of the group
	tag      int
	first    P2PKind // the end that is there
	call     *call
}

// Send sends a tensor to rank dst of the world. Messages between two ranks with one
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
	return d.message(Sends, x, dst, tag, group)
}

// IRecv is Recv that goes on until Wait.
func (d *Distributed) IRecv(x *Tensor, src, tag int, group ...*Group) (*Work, error) {
	return d.message(Recvs, x, src, tag, group)
}

// BatchISendIRecv asks for several messages. Like all messages that begin at one
// instant they go on side by side.
func (d *Distributed) BatchISendIRecv(ops []P2POp) (works []*Work, err error) {
	for _, op := range ops {
		w, err := d.message(op.Kind, op.Tensor, op.Peer, op.Tag, []*Group{op.Group})
		if err != nil {
			return works, err
		}
		works = append(works, w)
	}
	return works, nil
}

// message asks for one end of a message, and starts it if the other end is there.
func (d *Distributed) message(kind P2PKind, x *Tensor, peer, tag int, group []*Group) (*Work, error) {
	c := d.c
	what := [...]string{"Send", "Recv"}[kind]
	g, err := d.group(what, group)
	if err != nil {
		return nil, err
	}
	if !c.spawned() {
		panic(misuse(what, "a program without Spawn is all ranks at once: use a collective"))
	}
	if g.rank < 0 {
		return nil, fmt.Errorf("%s: rank %d is not in %s", what, c.current.rank, g.shared)
	}
	x.usable(what)
	other := slices.Index(g.shared.ranks, peer)
	if other < 0 || other == g.rank {
		panic(misuse(what, "the peer, rank %d, is not another rank of %s", peer, g.shared))
	}
	from, to := g.rank, other
	r := &request{collective: ccl.SendRecv, in: []span{whole(x)}, what: fmt.Sprintf("a message of %s", d.describe(g, x)), device: c.current.device}
	if kind == Recvs {
		from, to = to, from
		r.in, r.out = nil, []span{whole(x)}
	}
	i := slices.IndexFunc(c.messages, func(m *message) bool {
		return m.group == g.shared && m.from == from && m.to == to && m.tag == tag && m.first != kind
	})
	var k *call
	if i >= 0 {
		k = c.messages[i].call
		c.messages = slices.Delete(c.messages, i, i+1)
	} else {
		ranks := []int{g.shared.ranks[from], g.shared.ranks[to]}
		name := fmt.Sprintf("message from rank %d to rank %d", ranks[0], ranks[1])
		if tag != 0 {
			name += fmt.Sprintf(" with tag %d", tag)
		}
		pair := &groupState{number: g.shared.number, ranks: ranks, settings: g.shared.settings}
		k = &call{group: pair, requests: map[int]*request{}, lines: map[int]string{}, op: &operation{name: name, loose: true}}
		k.op.forming = []*worker{c.workers[ranks[0]], c.workers[ranks[1]]}
		c.messages = append(c.messages, &message{g.shared, from, to, tag, kind, k})
	}
	return c.arrive(k, int(kind), r, -1)
}
