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
	sequence // first, so that what every message uses is in few cache lines
	*member
	flows       []flow
	interleaved int // number of consecutive flows that alternate message by message; they differ only in their channels
	segments    int
	spacing     int // rounds from the start of a segment to the start of the next
	busy        int // number of ranks that send in every step, which are the first ranks; 0 means all

	queues []*sentItems         // by channel
	held   map[flowItem]tl.Tile // items that were received early
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

// sequence is a position in the sequence of a rank's actions. In each round, each group of
// interleaved flows makes a move for every segment in flight, the oldest segment first. A
// move receives the messages of one step and sends the messages of another step.
type sequence struct {
	action                     // the current action
	group        int           // first flow of the current group
	moving       [2]movingFlow // the flows of the group
	count        int           // number of indices of messages in the current move
	received     int           // messages with lower indices are received
	behind, sent int           // messages from index `behind` on and below index `sent` are sent
	segment      int           // segment of the next move
	newest       int           // the newest segment in flight
	round        int
	rounds       int
	ends         bool // the current move receives the last step of its segment
}

// movingFlow is one of the interleaved flows in a move: the flow, the queue of the messages
// that it receives, and the queue of the messages that it sends.
type movingFlow struct {
	flow
	in, out *sentItems
}

// run performs all actions of the rank in order.
func (l *pipeline) run() {
	for l.begin(); l.advance(); {
		l.do()
	}
}

// begin sets the position before the first action.
func (l *pipeline) begin() {
	steps := 0
	for _, f := range l.flows {
		steps = max(steps, f.steps())
	}
	l.sequence = sequence{group: len(l.flows), newest: -1, round: -1, rounds: (l.segments-1)*l.spacing + steps + 1}
	l.flow = l.group + l.interleaved
}

// advance moves the position to the next action. It returns false after the last action.
func (l *pipeline) advance() bool {
	s := &l.sequence
	if s.flow++; s.flow < s.group+l.interleaved {
		return true
	}
	s.incoming.message++
	s.outgoing.message++
	if s.incoming.message >= s.count && !l.nextMove() {
		return false
	}
	m := s.incoming.message
	s.flow, s.receives, s.sends = s.group, m < s.received, m >= s.behind && m < s.sent
	s.last = s.ends && m == s.received-1
	return true
}

// nextMove begins the next move that has messages. It returns false after the last move.
//
// If a segment ends in the round in which the next segment starts, and no other segment is
// in flight, the rank receives the last messages and sends the first messages alternately.
// So the link does not become idle.
func (l *pipeline) nextMove() bool {
	s := &l.sequence
	for s.count = 0; s.count == 0; {
		for s.segment > s.newest {
			if !l.nextGroup() {
				return false
			}
		}
		f := l.flows[s.group]
		step, steps := s.round-s.segment*l.spacing, f.steps()
		s.incoming, s.outgoing = item{segment: s.segment, step: step - 1}, item{segment: s.segment, step: step}
		if step == steps && s.newest == s.segment+1 && s.round == s.newest*l.spacing {
			s.outgoing = item{segment: s.newest}
			s.segment++
		}
		s.segment++
		l.countMessages(f)
	}
	return true
}

// nextGroup continues with the next group of flows, or with the first group in the next
// round. It returns false after the last round.
func (l *pipeline) nextGroup() bool {
	s := &l.sequence
	if s.group += l.interleaved; s.group >= len(l.flows) {
		s.group = 0
		if s.round++; s.round >= s.rounds {
			return false
		}
	}
	s.segment = max(0, tl.CDiv(s.round-l.flows[s.group].steps(), l.spacing))
	s.newest = min(l.segments-1, s.round/l.spacing)
	return true
}

// countMessages sets the number of messages of a move, from the steps of s.incoming and
// s.outgoing, and their queues. f is the first flow of the group. A step that is out of
// range has no messages.
func (l *pipeline) countMessages(f flow) {
	s := &l.sequence
	in, out := 0, 0
	if s.incoming.step >= 0 {
		in = f.messages(s.incoming.step)
	}
	if s.outgoing.step < f.steps() {
		out = f.messages(s.outgoing.step)
	}
	s.behind = 0
	if in > 0 && out > 0 && s.incoming.segment == s.outgoing.segment && f.needsAll(s.outgoing.step) {
		s.behind = in
	}
	s.received, s.sent = in, s.behind+out
	s.count, s.ends = max(s.received, s.sent), s.incoming.step == f.steps()-1
	s.outgoing.message = -s.behind
	for i := range l.interleaved {
		m := &s.moving[i]
		m.flow = l.flows[s.group+i]
		if in > 0 {
			m.in = l.queue(m.channel(s.incoming.step))
		}
		if out > 0 {
			m.out = l.queue(m.channel(s.outgoing.step))
		}
	}
}

// queue returns the queue of the items that were sent over a channel.
func (l *pipeline) queue(channel int) *sentItems {
	for channel >= len(l.queues) {
		l.queues = append(l.queues, &sentItems{slots: l.Slots})
	}
	return l.queues[channel]
}

// do performs the current action: it receives, sends and stores the messages of the action.
func (l *pipeline) do() {
	a := &l.action
	f := &l.moving[a.flow-l.group]
	var x tl.Tile
	if a.receives && (len(l.held) == 0 || !l.takeEarly(&x)) {
		f.in.drop() // the item is the first, because items arrive in the order of sending
		x = f.receive(a.incoming)
	}
	if a.sends {
		if f.out.count == f.out.slots { // the queue may be full
			l.receiveEarly(f.out.oldest())
			f.out.drop()
		}
		f.send(a.outgoing, x)
		f.out.add(flowItem{a.flow, a.outgoing})
	}
	if a.receives && !f.store(a.incoming, x) && x.DType().Valid() {
		x.Free()
	}
}

// takeEarly sets *x to the tile of the incoming message of the current action, if the
// message was received early, and reports whether it was.
func (l *pipeline) takeEarly(x *tl.Tile) bool {
	it := flowItem{l.flow, l.incoming}
	y, early := l.held[it]
	if early {
		*x = y
		delete(l.held, it)
	}
	return early
}

// receiveEarly receives an item and keeps its tile in TCM.
func (l *pipeline) receiveEarly(early flowItem) {
	y := l.flows[early.flow].receive(early.item)
	if y.DType().Valid() {
		y.Pin()
	}
	if l.held == nil {
		l.held = map[flowItem]tl.Tile{}
	}
	l.held[early] = y
}

// sentItems is a queue of the items that a rank has sent over a channel, and not yet
// received from its own peer. The queue is a ring: the oldest item is at index `first`.
type sentItems struct {
	items        []flowItem // the length is 0 or a power of two
	first, count int
	slots        int // number of messages that the channel holds
}

func (q *sentItems) oldest() flowItem { return q.items[q.first] }

// add adds an item at the end of the queue.
func (q *sentItems) add(it flowItem) {
	if q.count == len(q.items) {
		q.grow()
	}
	q.items[(q.first+q.count)&(len(q.items)-1)] = it
	q.count++
}

// grow doubles the space of a full queue.
func (q *sentItems) grow() {
	items := make([]flowItem, max(4, 2*q.count))
	copy(items[copy(items, q.items[q.first:]):], q.items[:q.first])
	q.items, q.first = items, 0
}

// drop removes the oldest item.
func (q *sentItems) drop() {
	q.first = (q.first + 1) & (len(q.items) - 1)
	q.count--
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
