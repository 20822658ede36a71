package ccl

import "github.com/kernbench/kernbench/tl"

// item is a message of a flow: which one of a step, of a segment.
type item struct{ segment, step, message int }

// flow is a share of a collective's data that goes from rank to rank. It goes in segments, each
// of which takes the same steps, one after the other. A step is a number of messages to one
// neighbour, or to several. All ranks have the same flows, and take the same steps at the same
// place in their program.
type flow interface {
	exchanger
	steps() int
	// messages returns how many messages a step has. Some may be empty, and are not sent.
	messages(step int) int
	// channel returns a number for the ports of a step's messages. Messages of one channel
	// arrive in the order in which they are sent.
	channel(step int) int
	// needsAll reports whether all messages of the step before have to be received and stored
	// before the first of a step is sent.
	needsAll(step int) bool
}

// exchanger handles the messages of a flow.
type exchanger interface {
	// receive receives an item, if it is not empty, and combines it with what the rank has.
	receive(item) tl.Tile
	// send sends an item: what the rank has, or, unless the step needs all messages of the step
	// before, the tile that the rank received as the same message of that step.
	send(item, tl.Tile)
	// store stores what was received, if it is needed here, or reports that it holds it. It
	// comes last, because a message is not visible before the stores in front of it have ended.
	store(item, tl.Tile) (held bool)
}

// pipeline is flows that move at the same time, in rounds. A segment moves on by one step in
// each round, and every `spacing` rounds another one begins. So steps over different links
// overlap, and as long as a round takes longer than a message is in flight, no link waits.
//
// What is sent in a round is received in the next one. What is to be sent then is what was just
// received, and need not be stored. If the queue holds less than a round's messages, some are
// received earlier, and wait in TCM.
//
// There is no deadlock. A rank that waits for item i waits for a rank that has not sent it. A
// rank that waits for room to send item i waits for a rank that has not received what was sent
// Slots messages before it, which is to be received before item i is sent. Either way the
// other rank is at an earlier place in the sequence of receives and sends, which is the same for
// all ranks. So a rank at the earliest place does not wait.
type pipeline struct {
	*member
	flows    []flow
	abreast  int // flows that differ in their channels alone move message by message
	segments int
	spacing  int // rounds from one segment to the next
	busy     int // the number of ranks, the first, that send in every step; 0 is all

	pending [][]flowItem         // by channel: what was sent, and the same item not received
	held    map[flowItem]tl.Tile // what was received early
}

// flowItem is an item of a flow.
type flowItem struct {
	flow int
	item
}

// action is a message that is received, one that is sent, or both.
type action struct {
	flow         int
	ends, begins item
	receives     bool // ends is received
	sends        bool // begins is sent
	last         bool // of the segment that ends
}

// run performs all actions.
func (l *pipeline) run() {
	for a := range l.actions {
		l.do(a)
	}
}

// actions yields what a rank does, in order, round by round.
func (l *pipeline) actions(yield func(action) bool) {
	steps := 0
	for _, f := range l.flows {
		steps = max(steps, f.steps())
	}
	for round := range (l.segments-1)*l.spacing + steps + 1 {
		for i := 0; i < len(l.flows); i += l.abreast {
			if !l.round(i, l.flows[i].steps(), round, yield) {
				return
			}
		}
	}
}

// round moves all segments in flight of flows abreast, the first one first. Where one ends and
// the next begins, with no other between them, the first messages of the next are sent in turn
// with receiving the last ones, so that the link does not wait.
func (l *pipeline) round(i, steps, round int, yield func(action) bool) bool {
	first := max(0, tl.CDiv(round-steps, l.spacing))
	last := min(l.segments-1, round/l.spacing)
	if last == first+1 && round == first*l.spacing+steps && round == last*l.spacing {
		return l.move(i, item{segment: first, step: steps - 1}, item{segment: last}, yield)
	}
	for segment := first; segment <= last; segment++ {
		step := round - segment*l.spacing
		if step <= steps && !l.move(i, item{segment: segment, step: step - 1}, item{segment: segment, step: step}, yield) {
			return false
		}
	}
	return true
}

// move ends one step of flows abreast, if there is one, and begins another, if there is one.
func (l *pipeline) move(i int, ends, begins item, yield func(action) bool) bool {
	f := l.flows[i]
	in, out := 0, 0
	if ends.step >= 0 {
		in = f.messages(ends.step)
	}
	if begins.step < f.steps() {
		out = f.messages(begins.step)
	}
	behind := 0 // messages that are sent after this many were received
	if in > 0 && out > 0 && ends.segment == begins.segment && f.needsAll(begins.step) {
		behind = in
	}
	for m := range max(in, behind+out) {
		ends.message, begins.message = m, m-behind
		a := action{
			ends: ends, begins: begins, receives: m < in, sends: m >= behind && m < behind+out,
			last: m == in-1 && ends.step == f.steps()-1,
		}
		for a.flow = i; a.flow < i+l.abreast; a.flow++ {
			if !yield(a) {
				return false
			}
		}
	}
	return true
}

// do performs an action.
func (l *pipeline) do(a action) {
	var x tl.Tile
	early := false
	if a.receives {
		x, early = l.receive(a.flow, a.ends)
	}
	if a.sends {
		l.send(a.flow, a.begins, x)
	}
	if a.receives && !l.flows[a.flow].store(a.ends, x) && early && x.DType().Valid() {
		l.freeLater(x)
	}
}

// send sends an item, after having received as many as that needs room for.
func (l *pipeline) send(i int, at item, x tl.Tile) {
	channel := l.flows[i].channel(at.step)
	for channel >= len(l.pending) {
		l.pending = append(l.pending, nil)
	}
	if len(l.pending[channel]) == l.Slots {
		early := l.pending[channel][0]
		y := l.flows[early.flow].receive(early.item)
		if y.DType().Valid() {
			y.Pin()
		}
		if l.held == nil {
			l.held = map[flowItem]tl.Tile{}
		}
		l.held[early] = y
		l.pending[channel] = l.pending[channel][1:]
	}
	l.flows[i].send(at, x)
	l.pending[channel] = append(l.pending[channel], flowItem{i, at})
}

// receive receives an item, unless that was done early.
func (l *pipeline) receive(i int, at item) (x tl.Tile, early bool) {
	it := flowItem{i, at}
	if x, early = l.held[it]; early {
		delete(l.held, it)
		return x, true
	}
	channel := l.flows[i].channel(at.step)
	l.pending[channel] = l.pending[channel][1:] // it is the first: they come in the order of sending
	return l.flows[i].receive(at), false
}

// space returns the fewest rounds from one segment to the next, but at least a number, such that
// no channel has more messages in a round than may be sent ahead.
func (l *pipeline) space(steps, ahead, least int) int {
	for spacing := least; spacing < steps; spacing++ {
		if l.busiest(spacing, steps) <= ahead {
			return spacing
		}
	}
	return steps
}

// busiest returns the most messages that a channel has in a round, with some spacing.
func (l *pipeline) busiest(spacing, steps int) (most int) {
	for first := range spacing {
		load := map[int]int{} // by channel
		for _, f := range l.flows {
			for step := first; step < steps; step += spacing {
				channel := f.channel(step)
				load[channel] += f.messages(step)
				most = max(most, load[channel])
			}
		}
	}
	return most
}

// oneFlow is a flow alone, with the same number of messages in each step, all of them over one
// channel, or each over a channel of its own.
type oneFlow struct {
	exchanger
	segments, count, pieces int
}

func (f *oneFlow) steps() int        { return f.count }
func (f *oneFlow) messages(int) int  { return f.pieces }
func (f *oneFlow) channel(int) int   { return 0 }
func (f *oneFlow) needsAll(int) bool { return false }

// run moves one segment after the other.
func (f oneFlow) run(m *member) {
	if f.segments > 0 {
		(&pipeline{member: m, flows: []flow{&f}, abreast: 1, segments: f.segments, spacing: f.count}).run()
	}
}
