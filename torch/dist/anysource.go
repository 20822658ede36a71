package dist

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/torch"
)

// AnySource as the source of a receive stands for any other rank of the group.
const AnySource = -1

// RecvAny receives a tensor from any other rank of the group, waits for it, and returns the
// rank of the world that sent it. It takes the earliest message with the tag in simulated
// time, of several the one of the lowest rank. Messages of one rank keep their order.
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

// mailbox is the messages to a rank of a group with one tag.
type mailbox struct {
	group   *groupState
	to, tag int
}

// anyReceive is a receive from any source that has no message yet.
type anyReceive struct {
	mailbox
	call *call
}

// receiveAny asks for a receive from any source.
func (d *state) receiveAny(g *groupState, to int, op P2POp, r *request) (*Work, error) {
	refuse(len(g.ranks) == 1, "Recv", "%s has no other rank to receive from", g)
	k := d.w.newMessage(g, []int{AnySource, g.ranks[to]}, "any rank", op.Tag)
	k.op.AnySource = true
	if d.w.spawned {
		k.op.MissingRanks = pick(d.w.s.Ranks(), slices.Delete(slices.Clone(g.ranks), to, to+1))
	} else {
		k.places = []int{AnySource, to}
	}
	d.w.anyReceives = append(d.w.anyReceives, anyReceive{mailbox{g, to, op.Tag}, k})
	d.w.matchLater()
	return d.arrive(k, int(Recvs), r, -1)
}

// newMessage returns the call of a message, one end of which is asked for now. The ranks of
// the world are its sender and its receiver.
func (c *world) newMessage(g *groupState, ranks []int, sender string, tag int) *call {
	name := fmt.Sprintf("message from %s to rank %d", sender, ranks[1])
	if tag != 0 {
		name += fmt.Sprintf(" with tag %d", tag)
	}
	k := newCall(&groupState{name: g.name, ranks: ranks, options: g.options}, stream.NewShared(name, nil, 0))
	k.op.Message = true
	c.ends++
	k.number, k.at, k.source = c.ends, c.Now(), ranks[0]
	return k
}

// waitsForAny returns the number of the first receive from any source to a mailbox that has
// no message, 0 if there is none. What is asked for after it is matched with it in view.
func (c *world) waitsForAny(m mailbox) int {
	for _, a := range c.anyReceives {
		if a.mailbox == m {
			return a.call.number
		}
	}
	return 0
}

// matchLater has ends of messages matched when all ranks have done what they do at the
// present instant: a rank with a lower number may send yet.
func (c *world) matchLater() {
	if !c.matching {
		c.matching = true
		c.s.Later(c.match)
	}
}

// match gives messages to receives from any source, and to others that were asked for after
// them, in the order in which they were asked for.
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
		for _, k := range c.receives(m) {
			if from := c.earliest(m, k); from >= 0 {
				send := c.take(message{m.group, from, m.to, m.tag, Sends})
				c.anyReceives = slices.DeleteFunc(c.anyReceives, func(a anyReceive) bool { return a.call == k })
				if !k.op.AnySource {
					c.take(message{m.group, from, m.to, m.tag, Recvs}) // the first of those from that rank
				}
				c.joinEnds(k, send)
			}
		}
	}
}

// receives returns the receives of a mailbox that have no message, from the first one from
// any source on, in the order in which they were asked for.
func (c *world) receives(m mailbox) (list []*call) {
	first := c.waitsForAny(m)
	for _, a := range c.anyReceives {
		if a.mailbox == m {
			list = append(list, a.call)
		}
	}
	for from := range m.group.ranks {
		for _, k := range c.letters[message{m.group, from, m.to, m.tag, Recvs}] {
			if k.number > first {
				list = append(list, k)
			}
		}
	}
	slices.SortFunc(list, func(a, b *call) int { return a.number - b.number })
	return list
}

// earliest returns the rank of the group whose message a receive takes, -1 if there is none:
// that of its source, or the earliest of all, and then the one of the lowest rank.
func (c *world) earliest(m mailbox, receive *call) int {
	best, of := (*call)(nil), -1
	for from, rank := range m.group.ranks {
		sends := c.letters[message{m.group, from, m.to, m.tag, Sends}]
		if len(sends) == 0 || from == m.to || !receive.op.AnySource && receive.group.ranks[0] != rank {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(sends[0].at, best.at), rank-m.group.ranks[of]) < 0 {
			best, of = sends[0], from
		}
	}
	return of
}

// take removes the first end of a message that waits for the other, and returns it, nil if
// there is none.
func (c *world) take(m message) *call {
	waiting := c.letters[m]
	if len(waiting) == 0 {
		return nil
	}
	if c.letters[m] = waiting[1:]; len(waiting) == 1 {
		delete(c.letters, m)
	}
	return waiting[0]
}

// joinEnds makes one message of two ends that were asked for apart. The operation of the send
// carries it, when the turn of the receive has come, and the receive ends with it.
func (c *world) joinEnds(receive, send *call) {
	receive.source = send.source
	stream.Match(send.op, receive.op)
	send.requests[int(Recvs)], send.lines[int(Recvs)] = receive.requests[int(Recvs)], receive.lines[int(Recvs)]
	if guilty, err := c.form(send); err != nil {
		if c.spawned {
			c.s.FailRanks(pick(send.group.ranks, guilty), err)
		} else {
			c.s.Failed(send.op, err)
		}
		return
	}
	c.s.Carry(send.op, receive.op, func() { receive.stats = send.stats })
}
