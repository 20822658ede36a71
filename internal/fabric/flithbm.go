package fabric

import "github.com/kernbench/kernbench/internal/memory"

// The Flit model's HBM. A read asks every channel for its bursts in address
// order, the next when the one before is through; flits go on to the first link
// in order, as soon as all of their bytes are there. A write offers a burst to
// its channel when its last byte has arrived.

// startRead cuts message i into bursts and asks for the first of each channel.
func (m *flits) startRead(i int32) {
	b := &m.reads[i]
	*b = bankRead{pieces: m.cut(m.banks[i].Read.Region), unasked: make([][]int, m.cfg.HBM.Channels)}
	b.through = make([]bool, len(b.pieces))
	for p, piece := range b.pieces {
		b.unasked[piece.Channel] = append(b.unasked[piece.Channel], p)
	}
	for c := range b.unasked {
		m.ask(i, c)
	}
	m.handOn(i) // what needs no burst
}

// cut is the bursts of a region, in order.
func (m *flits) cut(r memory.Region) (pieces []memory.Piece) {
	for off := Bytes(0); off < r.Bytes(); {
		p := m.cfg.HBM.Piece(r, off)
		pieces = append(pieces, p)
		off = p.End
	}
	return pieces
}

// ask requests the next burst of message i on channel c.
func (m *flits) ask(i int32, c int) {
	b := &m.reads[i]
	if q := b.unasked[c]; len(q) > 0 {
		b.unasked[c] = q[1:]
		m.queue(m.channel(m.banks[i].Read.Slice, c), m.flying.Add(flit{msg: i, index: int64(q[0])}))
	}
}

// write takes a flit that has arrived at the HBM behind the path.
func (m *flits) write(fl flit) {
	msg, b := &m.messages[fl.msg], &m.writes[fl.msg]
	if fl.index == 0 {
		pieces := m.cut(m.banks[fl.msg].Write.Region)
		*b = bankWrite{pieces: pieces, left: len(pieces)}
	}
	have := min(Bytes(fl.index+1)*m.cfg.Flit, msg.Bytes)
	for b.offered < len(b.pieces) && b.pieces[b.offered].End <= have {
		burst := m.flying.Add(flit{msg: fl.msg, stage: fl.stage, index: int64(b.offered)})
		m.queue(m.channel(m.banks[fl.msg].Write.Slice, b.pieces[b.offered].Channel), burst)
		b.offered++
	}
	if len(b.pieces) == 0 {
		m.finish(fl.msg)
	}
}

// serveBurst occupies channel s with a burst.
func (m *flits) serveBurst(s *flitServer, i int32) {
	write := m.flying.At(i).stage > 0
	end := m.eng.Now() + m.cfg.HBM.BurstTime
	if write != s.wrote && s.free > 0 {
		end += m.cfg.HBM.Turnaround
	}
	s.wrote, s.free = write, end
	m.eng.At(s.free, m.target, evBurst, uint64(i))
}

// burst is the end of a burst: its flits may go on, or its message is done.
func (m *flits) burst(fl flit) {
	if fl.stage > 0 {
		w := &m.writes[fl.msg]
		if w.left--; w.left == 0 {
			m.finish(fl.msg)
		}
		return
	}
	b := &m.reads[fl.msg]
	b.through[fl.index] = true
	m.ask(fl.msg, b.pieces[fl.index].Channel)
	m.handOn(fl.msg)
}

// handOn gives the first link the flits of message i whose bytes are all there.
func (m *flits) handOn(i int32) {
	msg, b := &m.messages[i], &m.reads[i]
	for b.first < len(b.pieces) && b.through[b.first] {
		b.first++
	}
	for b.flits < msg.flits {
		end := min(Bytes(b.flits+1)*m.cfg.Flit, msg.Bytes)
		if b.first < len(b.pieces) && b.pieces[b.first].Start < end {
			return
		}
		b.flits++
		m.arrive(m.flying.Add(flit{msg: i, stage: 1, index: b.flits - 1}))
	}
}

// channel is channel c of a slice.
func (m *flits) channel(slice SliceID, c int) *flitServer {
	for len(m.slices) <= int(slice) {
		m.slices = append(m.slices, nil)
	}
	if m.slices[slice] == nil {
		for range m.cfg.HBM.Channels {
			m.slices[slice] = append(m.slices[slice], m.newServer(flitServer{channel: true}))
		}
	}
	return m.slices[slice][c]
}
