package ccl

import "github.com/kernbench/kernbench/tl"

// messageNeighbors returns the neighbours of a rank in SendRecv: one port for each message
// that the rank sends or receives, in the order of the messages. A message from a rank to
// itself needs no port.
func messageNeighbors(p *Plan, rank int) (list []Neighbor) {
	ports := make(map[int]int, 2) // number of ports so far, by rank
	for _, m := range p.Messages {
		if m.From == m.To {
			continue
		}
		from, to := ports[m.From], ports[m.To]
		ports[m.From]++
		ports[m.To]++
		switch rank {
		case m.From:
			list = append(list, Neighbor{Port: tl.Numbered(from), Rank: m.To, PeerPort: tl.Numbered(to), Inbox: to})
		case m.To:
			list = append(list, Neighbor{Port: tl.Numbered(to), Rank: m.From, PeerPort: tl.Numbered(from), Inbox: from})
		}
	}
	return list
}

// sendRecv sends and receives the rank's messages in rounds. In each round it sends one
// chunk of each outgoing message, and then receives one chunk of each incoming message. The
// chunk that it receives was sent Ahead rounds earlier, counting this round, so that a
// message does not wait for the latency of a link in each round. There is no deadlock. Ahead
// is at most Slots, so the rank that is furthest behind waits only for chunks that others
// have already sent, and for slots that are already free. A chunk of a message from a rank
// to itself is copied instead of sent.
func (m *member) sendRecv() {
	rounds, port := 0, 0
	ports := make([]tl.Port, len(m.Messages))
	for i, msg := range m.Messages {
		if msg.From != m.Rank && msg.To != m.Rank {
			continue
		}
		rounds = max(rounds, tl.CDiv(msg.Count, m.Chunk))
		if msg.From != msg.To {
			ports[i] = tl.Numbered(port)
			port++
		}
	}
	later := m.Ahead() - 1
	for round := range rounds + later {
		for i, msg := range m.Messages {
			at, n := m.chunk(msg, round)
			if n == 0 || msg.From != m.Rank {
				continue
			}
			if x := m.load(m.In(i).Add(at), n); msg.From == msg.To {
				m.storeLast(m.Out(i).Add(at), x)
			} else {
				m.sendLast(ports[i], x)
			}
		}
		for i, msg := range m.Messages {
			if at, n := m.chunk(msg, round-later); n > 0 && msg.To == m.Rank && msg.From != msg.To {
				m.storeLast(m.Out(i).Add(at), m.Recv(ports[i], n))
			}
		}
	}
}

// chunk returns the offset and the length of the part of message m that is sent in the
// given round. The length is 0 in rounds before the first and after the last.
func (p *Plan) chunk(m Message, round int) (at, n int) {
	if round < 0 {
		return 0, 0
	}
	return chunk(m.Count, round, p.Chunk)
}
