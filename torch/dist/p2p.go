package dist

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/torch"
)

// P2POp is one end of a message between two ranks, for BatchISendIRecv.
type P2POp struct {
	Kind   P2PKind
	Tensor *torch.Tensor
	Peer   int // rank of the world, or AnySource for a receive
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
func Send(r *torch.Rank, x *torch.Tensor, dst, tag int, group ...*Group) error {
	return inOrder(ISend(r, x, dst, tag, group...))
}

// Recv receives a tensor from rank src of the world, or from AnySource: see RecvAny.
func Recv(r *torch.Rank, x *torch.Tensor, src, tag int, group ...*Group) error {
	return inOrder(IRecv(r, x, src, tag, group...))
}

// ISend starts Send, which goes on until Wait.
func ISend(r *torch.Rank, x *torch.Tensor, dst, tag int, group ...*Group) (*Work, error) {
	return of(r).message(P2POp{Kind: Sends, Tensor: x, Peer: dst, Tag: tag}, group, false)
}

// IRecv starts Recv, which goes on until Wait.
func IRecv(r *torch.Rank, x *torch.Tensor, src, tag int, group ...*Group) (*Work, error) {
	return of(r).message(P2POp{Kind: Recvs, Tensor: x, Peer: src, Tag: tag}, group, false)
}

// BatchISendIRecv asks for several messages. Like all messages that begin at one
// instant they go on side by side. A rank may send to itself if it receives that in the same
// batch.
func BatchISendIRecv(r *torch.Rank, ops []P2POp) (works []*Work, err error) {
	d := of(r)
	d.pairSelf(ops)
	for _, op := range ops {
		w, err := d.message(op, []*Group{op.Group}, true)
		if err != nil {
			return works, err
		}
		works = append(works, w)
	}
	return works, nil
}

// pairSelf checks that a batch has both ends of each message of a rank to itself. These could
// not be ordered with what the rank asks for between two batches.
func (d *state) pairSelf(ops []P2POp) {
	type pair struct {
		group     *Group
		rank, tag int
	}
	ends := map[pair][2]int{} // sends and receives
	for _, op := range ops {
		if key := (pair{op.Group, d.rankOf(op), op.Tag}); op.Peer == key.rank && op.Kind <= Recvs {
			n := ends[key]
			n[op.Kind]++
			ends[key] = n
		}
	}
	for _, op := range ops {
		key := pair{op.Group, d.rankOf(op), op.Tag}
		n := ends[key]
		refuse(op.Peer == key.rank && n[Sends] != n[Recvs],
			"BatchISendIRecv", "rank %d sends itself %d messages with tag %d and receives %d: put both ends of each into one batch", key.rank, n[Sends], key.tag, n[Recvs])
	}
}

// rankOf returns the rank of the world whose end of a message an operation is.
func (d *state) rankOf(op P2POp) int {
	if d.w.spawned {
		return d.s.Number
	}
	return op.Rank
}

// message asks for one end of a message, and starts it if the other end is there. A rank's
// messages to itself are in batches only.
func (d *state) message(op P2POp, group []*Group, batch bool) (*Work, error) {
	refuse(op.Kind > Recvs, "BatchISendIRecv", "no kind %d of message: use dist.Sends or dist.Recvs", op.Kind)
	what := [...]string{"Send", "Recv"}[op.Kind]
	refuse(d.coalescing != nil, what, "a message is not coalesced with collectives: use BatchISendIRecv")
	g, err := d.group(what, group)
	if err != nil {
		return nil, err
	}
	x := tensorOf(op.Tensor, what)
	x.packed(what)
	self := g.rank
	if !d.w.spawned {
		self = slices.Index(g.shared.ranks, op.Rank)
		d.overRanks(g, x)
	}
	if self < 0 {
		return nil, fmt.Errorf("%s: rank %d is not in %s: call it on these alone", what, max(d.s.Number, op.Rank), g.described())
	}
	r := &request{collective: ccl.SendRecv, in: wholes(x), what: "a message of " + d.describePart(g, x, self), device: d.Device()}
	if op.Kind == Recvs {
		r.in, r.out = nil, wholes(x)
		if op.Peer == AnySource {
			return d.receiveAny(g.shared, self, op, r)
		}
	}
	other := slices.Index(g.shared.ranks, op.Peer)
	switch {
	case other < 0:
		panic(misuse(what, "the peer, rank %d, is not in %s: give a rank of the world, such as GetGlobalRank returns", op.Peer, g.described()))
	case other == self && !batch:
		panic(misuse(what, "the peer, rank %d, is the caller: put both ends of the message into one BatchISendIRecv", op.Peer))
	}
	from, to := self, other
	if op.Kind == Recvs {
		from, to = to, from
	}
	return d.arrive(d.w.matched(g.shared, from, to, op), int(op.Kind), r, -1)
}

// matched returns the call of a message, whose other end may have been asked for.
func (c *world) matched(g *groupState, from, to int, op P2POp) *call {
	other := message{g, from, to, op.Tag, Sends + Recvs - op.Kind}
	first := 0
	if from != to { // a message to oneself is for no other receive
		first = c.waitsForAny(mailbox{g, to, op.Tag})
	}
	if first == 0 || op.Kind == Sends && len(c.letters[other]) > 0 && c.letters[other][0].number < first {
		if k := c.take(other); k != nil {
			return k
		}
	}
	ranks := []int{g.ranks[from], g.ranks[to]}
	k := c.newMessage(g, ranks, fmt.Sprintf("rank %d", ranks[0]), op.Tag)
	if c.spawned {
		k.op.MissingRanks = pick(c.s.Ranks(), ranks)
	} else {
		k.places = []int{from, to}
	}
	own := message{g, from, to, op.Tag, op.Kind}
	c.letters[own] = append(c.letters[own], k)
	if first > 0 {
		c.matchLater()
	}
	return k
}
