package dist

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/torch"
)

// AnySource, as the source of a receive, stands for any other rank of the group.
const AnySource = -1

// RecvAny receives x from any other rank of the group, waits until x has arrived, and
// returns the sender's rank in the world. Among the messages to this rank with the given
// tag, it accepts the one that was sent first in simulated time. If several were sent at
// the same time, it accepts the message of the lowest rank. Messages of one rank are
// received in the order in which they were sent.
func RecvAny(r *torch.Rank, x *torch.Tensor, tag int, group ...*Group) (source int, err error) {
	w, err := IRecv(r, x, AnySource, tag, group...)
	if err != nil {
		return AnySource, err
	}
	if err := w.Wait(); err != nil {
		return AnySource, err
	}
	return w.Source(), nil
}

// mailbox identifies the messages to one rank of a group that have the same tag.
type mailbox struct {
	group   *groupState
	to, tag int
}

// anyReceive is a receive from any source that has not been matched with a message yet.
type anyReceive struct {
	mailbox
	call *call
}

// receiveAny enqueues the receive from any source that op describes. `to` is the receiver's
// rank in the group g, and r has the arguments of the receive.
func (d *state) receiveAny(g *groupState, to int, op P2POp, r *request) (*Work, error) {
	refuse(len(g.ranks) == 1, "Recv", "%s has no other rank to receive from", g)
	k := d.w.newMessage(g, []int{AnySource, g.ranks[to]}, "any rank", op.Tag)
	k.op.AnySource = true
	if d.w.spawned {
		k.op.MissingRanks = pick(d.w.s.Ranks(), slices.Delete(slices.Clone(g.ranks), to, to+1))
	} else {
		k.parts = []int{AnySource, to}
	}
	d.w.anyReceives = append(d.w.anyReceives, anyReceive{mailbox{g, to, op.Tag}, k})
	d.w.matchLater()
	return d.arrive(k, int(Recvs), r, -1)
}

// newMessage returns a new call for a message, one end of which is being enqueued. `ranks`
// lists the sender and the receiver, as ranks of the world. The text `sender` describes the
// sender in the name of the message.
func (c *world) newMessage(g *groupState, ranks []int, sender string, tag int) *call {
	name := fmt.Sprintf("message from %s to rank %d", sender, ranks[1])
	if tag != 0 {
		name += fmt.Sprintf(" with tag %d", tag)
	}
	k := newCall(&groupState{name: g.name, ranks: ranks, options: g.options}, stream.NewShared(name, nil, 0))
	k.op.Message = true
	c.messageCount++
	k.number, k.at, k.source = c.messageCount, c.Now(), ranks[0]
	return k
}

// firstAnyReceive returns the number of the oldest receive with AnySource that waits for a
// message in mailbox m, or 0 if there is none. While such a receive waits, the method
// `match` pairs sends with it and with all later receives. Receives that were enqueued
// before it are paired at once.
func (c *world) firstAnyReceive(m mailbox) int {
	for _, a := range c.anyReceives {
		if a.mailbox == m {
			return a.call.number
		}
	}
	return 0
}

// matchLater schedules a call of the method `match` for the end of the present instant,
// because a rank with a lower number may still send at this instant.
func (c *world) matchLater() {
	if !c.matching {
		c.matching = true
		c.s.Later(c.match)
	}
}

// match finds a message for each receive from any source, in the order in which the
// receives were enqueued. In the same order it matches receives from one source that were
// enqueued after a receive from any source.
func (c *world) match() {
	c.matching = false
	if c.s.Stopping() {
		return
	}
	var boxes []mailbox
	for _, a := range c.anyReceives {
		if !slices.Contains(boxes, a.mailbox) {
			boxes = append(boxes, a.mailbox)
		}
	}
	for _, m := range boxes {
		for _, k := range c.waitingReceives(m) {
			if from := c.earliestSender(m, k); from >= 0 {
				send := c.take(messageKey{m.group, from, m.to, m.tag, Sends})
				c.anyReceives = slices.DeleteFunc(c.anyReceives, func(a anyReceive) bool { return a.call == k })
				if !k.op.AnySource {
					c.take(messageKey{m.group, from, m.to, m.tag, Recvs}) // k itself, the first receive from that rank
				}
				c.joinEnds(k, send)
			}
		}
	}
}

// waitingReceives returns receives in mailbox m that wait for a message, in the order in
// which they were enqueued. The first one is the oldest receive with AnySource. Receives
// that were enqueued before it are left out.
func (c *world) waitingReceives(m mailbox) (list []*call) {
	first := c.firstAnyReceive(m)
	for _, a := range c.anyReceives {
		if a.mailbox == m {
			list = append(list, a.call)
		}
	}
	for from := range m.group.ranks {
		for _, k := range c.unmatched[messageKey{m.group, from, m.to, m.tag, Recvs}] {
			if k.number > first {
				list = append(list, k)
			}
		}
	}
	slices.SortFunc(list, func(a, b *call) int { return a.number - b.number })
	return list
}

// earliestSender returns the sender whose message the given receive accepts, as a rank of
// the group, or -1 if there is no such message. A receive from one source accepts only
// messages of that source. A receive from any source accepts the earliest message in
// mailbox m. If several were sent at the same time, it accepts the message of the lowest
// rank.
func (c *world) earliestSender(m mailbox, receive *call) int {
	best, sender := (*call)(nil), -1
	for from, rank := range m.group.ranks {
		sends := c.unmatched[messageKey{m.group, from, m.to, m.tag, Sends}]
		if len(sends) == 0 || from == m.to || !receive.op.AnySource && receive.group.ranks[0] != rank {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(sends[0].at, best.at), rank-m.group.ranks[sender]) < 0 {
			best, sender = sends[0], from
		}
	}
	return sender
}

// take removes the oldest unmatched end of a message with the key m and returns the call of
// that end. It returns nil if there is none.
func (c *world) take(m messageKey) *call {
	waiting := c.unmatched[m]
	if len(waiting) == 0 {
		return nil
	}
	if c.unmatched[m] = waiting[1:]; len(waiting) == 1 {
		delete(c.unmatched, m)
	}
	return waiting[0]
}

// joinEnds makes one message of a receive and a send that were enqueued as separate
// operations. The operation of the send transfers the data. The transfer begins only when
// the receive has also reached its turn in the stream of the receiver. Both operations end
// together. If the two ends do not fit together, the message fails.
func (c *world) joinEnds(receive, send *call) {
	receive.source = send.source
	stream.Match(send.op, receive.op)
	send.requests[int(Recvs)], send.lines[int(Recvs)] = receive.requests[int(Recvs)], receive.lines[int(Recvs)]
	if guilty, err := c.prepare(send); err != nil {
		if c.spawned {
			c.s.FailRanks(pick(send.group.ranks, guilty), err)
		} else {
			c.s.Failed(send.op, err)
		}
		return
	}
	c.s.Carry(send.op, receive.op, func() { receive.stats = send.stats })
}
