package ccl

import "github.com/kernbench/kernbench/tl"

// item identifies a message of a flow: its segment, its step, and its index in the step.
type item struct{ segment, step, message int }

// flow is a share of a collective's data that moves from rank to rank. It moves in
// segments. Each segment takes the same steps, one after another. A step is a number of
// messages to one or several neighbours. All ranks have the same flows, and take the same
// steps in the same order.
type flow interface {
	exchanger
	steps() int
	// messages returns the number of messages of a step. Empty messages are not sent.
	messages(step int) int
	// channel returns the number of the channel that carries a step's messages. Messages of
	// one channel arrive in the order in which they are sent.
	channel(step int) int
	// needsAll reports whether all messages of the previous step must be received and
	// stored before the first message of a step is sent.
	needsAll(step int) bool
}

// exchanger receives, sends and stores the messages of a flow. An item says which message.
type exchanger interface {
	// receive receives an item, if it is not empty, and combines it with the rank's own
	// data.
	receive(item) tl.Tile
	// send sends an item: the rank's own data, or the given tile. The tile is what the rank
	// has just received as the same message of the previous step. It is not used if the
	// step needs all messages of that step.
	send(item, tl.Tile)
	// store stores a received tile if the rank needs it, or reports that it keeps the tile
	// in TCM. It is called last, because a message is not visible before the stores that
	// precede it have ended.
	store(item, tl.Tile) (held bool)
}

// pipeline is a set of flows that move at the same time, in rounds. A segment takes one
// step in each round, and every `spacing` rounds the next segment starts. So steps over
// different links overlap, and while a round takes longer than a message is in flight, no
// link is idle.
//
// Messages that are sent in a round are received in the next round. A message that is
// forwarded was just received and need not be stored first. If the queue holds fewer
// messages than a round has, some messages are received early and wait in TCM.
//
// There is no deadlock. A rank that waits to receive item i waits for a rank that has not
// sent it. A rank that waits for a slot to send item i waits for a rank that has not
// received the item that was sent Slots messages earlier, and that item is received before
// item i is sent. In both cases the other rank is at an earlier point of the sequence of
// receives and sends, which is the same for all ranks. So the rank at the earliest point
// does not wait.
type pipeline struct {
	*member
	flows       []flow
	interleaved int // number of consecutive flows that alternate message by message; they differ only in their channels
	segments    int
	spacing     int // rounds from the start of a segment to the start of the next
	busy        int // number of ranks that send in every step, which are the first ranks; 0 means all

	pending [][]flowItem         // by channel: items that the rank has sent, but not yet received from its own peer
	held    map[flowItem]tl.Tile // items that were received early
}

// flowItem is an item together with the index of its flow.
type flowItem struct {
	flow int
	item
}

// action is one entry in a rank's sequence of receives and sends: it receives a message,
// sends a message, or does both.
type action struct {
	flow               int
	incoming, outgoing item
	receives           bool // incoming is received
	sends              bool // outgoing is sent
	last               bool // incoming is the last message of its segment
}

// run performs all actions of the rank in order.
func (l *pipeline) run() {
	for a := range l.actions {
		l.do(a)
	}
}

// actions yields the actions of the rank in order, round by round.
func (l *pipeline) actions(yield func(action) bool) {
	steps := 0
	for _, f := range l.flows {
		steps = max(steps, f.steps())
	}
	for round := range (l.segments-1)*l.spacing + steps + 1 {
		for i := 0; i < len(l.flows); i += l.interleaved {
			if !l.round(i, l.flows[i].steps(), round, yield) {
				return
			}
		}
	}
}

// round yields the actions of one round for the interleaved flows that begin with flow i:
// one step of every segment in flight, the oldest segment first. It reports whether yield
// asked for more.
//
// If a segment ends in the round in which the next segment starts, and no other segment is
// in flight, the rank receives the last messages and sends the first messages alternately.
// So the link does not become idle.
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

// move yields the actions that receive the messages of one step and send the messages of
// another step, for the interleaved flows that begin with flow i. `incoming` has the
// segment and the number of the step to receive, and `outgoing` those of the step to send.
// A step that is out of range has no messages. move reports whether yield asked for more.
func (l *pipeline) move(i int, incoming, outgoing item, yield func(action) bool) bool {
	f := l.flows[i]
	in, out := 0, 0
	if incoming.step >= 0 {
		in = f.messages(incoming.step)
	}
	if outgoing.step < f.steps() {
		out = f.messages(outgoing.step)
	}
	behind := 0 // number of messages to receive before the first one is sent
	if in > 0 && out > 0 && incoming.segment == outgoing.segment && f.needsAll(outgoing.step) {
		behind = in
	}
	for m := range max(in, behind+out) {
		incoming.message, outgoing.message = m, m-behind
		a := action{
			incoming: incoming, outgoing: outgoing, receives: m < in, sends: m >= behind && m < behind+out,
			last: m == in-1 && incoming.step == f.steps()-1,
		}
		for a.flow = i; a.flow < i+l.interleaved; a.flow++ {
			if !yield(a) {
				return false
			}
		}
	}
	return true
}

// do performs an action: it receives, sends and stores the messages of the action.
func (l *pipeline) do(a action) {
	var x tl.Tile
	if a.receives {
		x = l.receive(a.flow, a.incoming)
	}
	if a.sends {
		l.send(a.flow, a.outgoing, x)
	}
	if a.receives && !l.flows[a.flow].store(a.incoming, x) && x.DType().Valid() {
		x.Free()
	}
}

// send sends the message of item `at` in flow i. If the queue may be full, it first
// receives the oldest pending item.
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
		l.dropPending(channel)
	}
	l.flows[i].send(at, x)
	l.pending[channel] = append(l.pending[channel], flowItem{i, at})
}

// receive receives the message of item `at` in flow i. If the message was received early,
// it returns the tile that was kept.
func (l *pipeline) receive(i int, at item) tl.Tile {
	it := flowItem{i, at}
	if x, early := l.held[it]; early {
		delete(l.held, it)
		return x
	}
	channel := l.flows[i].channel(at.step)
	l.dropPending(channel) // the item is the first, because items arrive in the order of sending
	return l.flows[i].receive(at)
}

// dropPending removes the first pending item of a channel.
func (l *pipeline) dropPending(channel int) {
	p := l.pending[channel]
	l.pending[channel] = p[:copy(p, p[1:])]
}

// chooseSpacing returns the spacing between segments, in rounds: the smallest spacing from
// `least` on with which no channel carries more than `ahead` messages in a round. If no
// spacing below `steps` is enough, the result is `steps`.
func (l *pipeline) chooseSpacing(steps, ahead, least int) int {
	for spacing := least; spacing < steps; spacing++ {
		if l.maxLoad(spacing, steps) <= ahead {
			return spacing
		}
	}
	return steps
}

// maxLoad returns the maximum number of messages that any channel carries in a round, if
// segments start `spacing` rounds apart.
func (l *pipeline) maxLoad(spacing, steps int) (most int) {
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

// oneFlow runs a pipeline with a single flow. All its steps have the same number of
// messages. All messages count as messages of one channel, even if the exchanger sends them
// to several ranks.
type oneFlow struct {
	exchanger
	segments, count, pieces int
}

func (f *oneFlow) steps() int        { return f.count }
func (f *oneFlow) messages(int) int  { return f.pieces }
func (f *oneFlow) channel(int) int   { return 0 }
func (f *oneFlow) needsAll(int) bool { return false }

// run runs the pipeline: the segments of the flow move one after another.
func (f oneFlow) run(m *member) {
	if f.segments > 0 {
		(&pipeline{member: m, flows: []flow{&f}, interleaved: 1, segments: f.segments, spacing: f.count}).run()
	}
}
