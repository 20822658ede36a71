package ccl

import (
	"iter"

	"github.com/kernbench/kernbench/tl"
)

// part is the elements of part i of n that are cut into so many parts, as equal as
// they can be.
func part(n, i, parts int) (from, count int) {
	from = i * n / parts
	return from, (i+1)*n/parts - from
}

// messages cuts n elements into messages: where each begins, and its length.
func (p *Plan) messages(n int) iter.Seq2[int, int] {
	return parts(n, tl.CDiv(n, p.Chunk))
}

// parts cuts n elements into so many parts: where each begins, and its length.
func parts(n, parts int) iter.Seq2[int, int] {
	return func(yield func(from, count int) bool) {
		for i := range parts {
			if !yield(part(n, i, parts)) {
				return
			}
		}
	}
}

// cut is how all blocks of a collective are cut into messages: each one into the same
// number of segments, and these into the same number of pieces.
type cut struct{ segments, pieces int }

// newCut finds the fewest segments that have no more pieces than may be sent ahead.
func newCut(p *Plan, largest int) cut {
	messages := tl.CDiv(largest, p.Chunk)
	if messages == 0 {
		return cut{}
	}
	segments := tl.CDiv(messages, p.Ahead())
	return cut{segments, tl.CDiv(messages, segments)}
}

// Ahead returns how many messages a rank sends ahead of those that it receives. A queue may
// hold more. With w of Slots sent ahead, a hop takes w messages in the time of a message, and
// Slots-w+1 in the time that a credit takes to come back, because a rank that waits for a
// credit returns none. A message is assumed to take twice as long as a credit.
func (p *Plan) Ahead() int { return max(1, 2*(p.Slots+1)/3) }

// piece is the elements of one piece of a block of n.
func (c cut) piece(n, segment, piece int) (from, count int) {
	return part(n, segment*c.pieces+piece, c.segments*c.pieces)
}

// exchange is what a rank does with the messages of a schedule, see strand.
type exchange interface {
	take(item) tl.Tile
	pass(item, tl.Tile)
	keep(item, tl.Tile) (held bool)
}

// schedule is a strand alone, with the same number of messages in each step, all of them
// over one way, or over ways of their own.
type schedule struct {
	exchange
	segments, count, pieces int
}

func (s *schedule) steps() int       { return s.count }
func (s *schedule) messages(int) int { return s.pieces }
func (s *schedule) way(int) int      { return 0 }
func (s *schedule) turns(int) bool   { return false }

// run goes through a schedule, one segment after the other.
func (s schedule) run(m *member) {
	if s.segments > 0 {
		(&weave{member: m, strands: []strand{&s}, abreast: 1, segments: s.segments, spacing: s.count}).run()
	}
}

// messageNeighbors has a port for each message that a rank sends or receives, in the
// order of the messages. A message of a rank to itself needs none.
func messageNeighbors(p *Plan, rank int) (list []Neighbor) {
	ports := make(map[int]int, 2) // so far, by rank
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

// exchange sends and receives the rank's messages side by side: a chunk of each that it
// sends, then a chunk of each that it receives. Nobody waits forever: whoever has come
// least far waits for chunks that others have sent, and they for room that is there. A chunk
// of a message to itself is copied when it would be sent.
func (m *member) exchange() {
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
	for round := range rounds {
		for i, msg := range m.Messages {
			at, n := m.chunk(msg, round)
			if n == 0 || msg.From != m.Rank {
				continue
			}
			if x := m.load(m.In(i).Add(at), n); msg.From == msg.To {
				m.t.Store(m.Out(i).Add(at), x)
			} else {
				m.Send(ports[i], x)
			}
		}
		for i, msg := range m.Messages {
			if at, n := m.chunk(msg, round); n > 0 && msg.To == m.Rank && msg.From != msg.To {
				m.t.Store(m.Out(i).Add(at), m.Recv(ports[i], n))
			}
		}
	}
}

// chunk is the elements of a message that travel in a round.
func (p *Plan) chunk(m Message, round int) (at, n int) {
	rounds := tl.CDiv(m.Count, p.Chunk)
	if round >= rounds {
		return 0, 0
	}
	return part(m.Count, round, rounds)
}
