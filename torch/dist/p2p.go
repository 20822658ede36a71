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
	Peer   int // the rank of the world at the other end, or AnySource for a receive
	Tag    int
	Group  *Group // nil for the default group
	// Rank is used only in a program without Spawn. It is the rank of the world at this end:
	// its part of the tensor is sent or received into.
	Rank int
}

// P2PKind says which end of a message a P2POp is: Sends or Recvs.
type P2PKind uint8

// The ends of a message.
const (
	Sends P2PKind = iota
	Recvs
)

// messageKey identifies ends of messages that wait for the other end. A send matches a
// receive with the same group, ranks and tag. Ends with the same key are matched in the
// order in which they were enqueued.
type messageKey struct {
	group    *groupState
	from, to int // ranks of the group
	tag      int
	first    P2PKind // the kind of the end that was enqueued first
}

// Send sends x to rank dst of the world. In a program without Spawn, Send sends from rank
// 0, and Recv receives on rank 0; for other ranks, use P2POp. Messages with the same tag
// between two ranks are matched in the order in which they were sent. Like a collective, a
// message takes a place in the streams of both ranks. It need not wait there for an earlier
// message, unless the two messages use the same tensor.
func Send(r *torch.Rank, x *torch.Tensor, dst, tag int, group ...*Group) error {
	return inOrder(ISend(r, x, dst, tag, group...))
}

// Recv receives into x a message from rank src of the world, or from AnySource: see
// RecvAny.
func Recv(r *torch.Rank, x *torch.Tensor, src, tag int, group ...*Group) error {
	return inOrder(IRecv(r, x, src, tag, group...))
}

// ISend starts Send and returns a Work to wait for.
func ISend(r *torch.Rank, x *torch.Tensor, dst, tag int, group ...*Group) (*Work, error) {
	return stateOf(r).enqueueMessage(P2POp{Kind: Sends, Tensor: x, Peer: dst, Tag: tag}, group, false)
}

// IRecv starts Recv and returns a Work to wait for.
func IRecv(r *torch.Rank, x *torch.Tensor, src, tag int, group ...*Group) (*Work, error) {
	return stateOf(r).enqueueMessage(P2POp{Kind: Recvs, Tensor: x, Peer: src, Tag: tag}, group, false)
}

// BatchISendIRecv starts several messages and returns a Work for each of ops. The messages
// run at the same time, like all messages that begin at the same instant. A rank may send
// to itself if it receives the message in the same batch.
func BatchISendIRecv(r *torch.Rank, ops []P2POp) (works []*Work, err error) {
	d := stateOf(r)
	d.pairSelf(ops)
	for _, op := range ops {
		w, err := d.enqueueMessage(op, []*Group{op.Group}, true)
		if err != nil {
			return works, err
		}
		works = append(works, w)
	}
	return works, nil
}

// pairSelf panics if a rank sends a message to itself and the batch ops has only one end of
// this message. With the ends in two batches, the message could not be ordered with
// operations between the batches.
func (d *state) pairSelf(ops []P2POp) {
	type pair struct {
		group     *Group
		rank, tag int
	}
	ends := map[pair][2]int{} // the number of sends and of receives
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

// rankOf returns the rank of the world that sends or receives in op.
func (d *state) rankOf(op P2POp) int {
	if d.w.spawned {
		return d.s.Number
	}
	return op.Rank
}

// enqueueMessage enqueues op, one end of a message, and starts the message if the other end
// has been enqueued. `batch` says whether op is part of a batch. A rank may send to itself
// only in a batch.
func (d *state) enqueueMessage(op P2POp, group []*Group, batch bool) (*Work, error) {
	refuse(op.Kind > Recvs, "BatchISendIRecv", "no kind %d of message: use dist.Sends or dist.Recvs", op.Kind)
	what := [...]string{"Send", "Recv"}[op.Kind]
	refuse(d.coalescing != nil, what, "a message is not coalesced with collectives: use BatchISendIRecv")
	g, err := d.group(what, group)
	if err != nil {
		return nil, err
	}
	x := tensorOf(op.Tensor, what)
	x.requireContiguous(what)
	self := g.rank
	if !d.w.spawned {
		self = slices.Index(g.shared.ranks, op.Rank)
		d.checkOverRanks(g, x)
	}
	if self < 0 {
		return nil, fmt.Errorf("%s: rank %d is not in %s: call it on these alone", what, max(d.s.Number, op.Rank), g.describe())
	}
	r := &request{collective: ccl.SendRecv, in: fullSpans(x), signature: "a message of " + d.describePart(g, x, self), device: d.Device()}
	if op.Kind == Recvs {
		r.in, r.out = nil, fullSpans(x)
		if op.Peer == AnySource {
			return d.receiveAny(g.shared, self, op, r)
		}
	}
	other := slices.Index(g.shared.ranks, op.Peer)
	switch {
	case other < 0:
		panic(misuse(what, "the peer, rank %d, is not in %s: give a rank of the world, such as GetGlobalRank returns", op.Peer, g.describe()))
	case other == self && !batch:
		panic(misuse(what, "the peer, rank %d, is the caller: put both ends of the message into one BatchISendIRecv", op.Peer))
	}
	from, to := self, other
	if op.Kind == Recvs {
		from, to = to, from
	}
	return d.arrive(d.w.callForEnd(g.shared, from, to, op), int(op.Kind), r, -1)
}

// callForEnd returns the call of the message that op is one end of. If the other end has
// been enqueued and may be matched now, the result is the call of that other end. If not,
// the result is a new call. `from` and `to` are the ranks of the sender and the receiver in
// the group g.
func (c *world) callForEnd(g *groupState, from, to int, op P2POp) *call {
	other := messageKey{g, from, to, op.Tag, Sends + Recvs - op.Kind}
	first := 0
	if from != to { // a receive from any source does not accept a message to itself
		first = c.firstAnyReceive(mailbox{g, to, op.Tag})
	}
	if first == 0 || op.Kind == Sends && len(c.unmatched[other]) > 0 && c.unmatched[other][0].number < first {
		if k := c.take(other); k != nil {
			return k
		}
	}
	ranks := []int{g.ranks[from], g.ranks[to]}
	k := c.newMessage(g, ranks, fmt.Sprintf("rank %d", ranks[0]), op.Tag)
	if c.spawned {
		k.op.MissingRanks = pick(c.s.Ranks(), ranks)
	} else {
		k.parts = []int{from, to}
	}
	own := messageKey{g, from, to, op.Tag, op.Kind}
	c.unmatched[own] = append(c.unmatched[own], k)
	if first > 0 {
		c.matchLater()
	}
	return k
}
