package ccl

import "github.com/kernbench/kernbench/tl"

// item is a message of a strand: which one of a step, of a segment.
type item struct{ segment, step, message int }

// strand is a share of a collective's data on its way from rank to rank. It goes in
// segments, each of which takes the same steps, one after the other; a step is so
// many messages to a neighbour, or to several. All ranks have the same strands, and take
// the same steps at the same place in their program.
type strand interface {
	steps() int
	// messages is how many a step has. Some of them may be empty, and are not sent.
	messages(step int) int
	// way is over which ports a step's messages go. Those of one way arrive in the order
	// in which they are sent.
	way(step int) int
	// turns reports whether the messages of a step are others than those that came in
	// the step before: then all of these are taken and kept first.
	turns(step int) bool
	// take receives an item, if it is not empty, and combines it with what the rank has.
	take(item) tl.Tile
	// pass sends an item: what the rank has, or, if the step does not turn, the tile that
	// it took as the same message of the step before.
	pass(item, tl.Tile)
	// keep stores what was taken, if it is wanted here, or reports that it holds it. That
	// comes last, because a message is not seen before the stores in front of it have
	// ended.
	keep(item, tl.Tile) (held bool)
}

// weave is strands that move side by side, in rounds. A segment moves on by one step in
// each round, and every `spacing` rounds another one begins: so steps over different
// links go on at the same time, and as long as a round takes longer than a message
// is under way, no link waits.
//
// What is sent in a round is received in the next one. Then what is to be sent is what
// has just been received, and need not be stored; if the queue holds less than a
// round's messages, some are received sooner, and wait in TCM.
//
// Nobody waits forever. Whoever waits for item i waits for somebody who has not sent it,
// and whoever waits for room to send it for somebody who has not received what was sent
// Slots messages before it, which is to be received before item i is sent. Either way
// that one is at an earlier place in the sequence of receives and sends, which is the
// same for everyone, and whoever is furthest back waits for nobody.
type weave struct {
	*member
	strands  []strand
	abreast  int // strands that differ in their ways alone move message by message
	segments int
	spacing  int // rounds from one segment to the next
	busy     int // so many ranks, the first, have messages in every step; 0 is all

	pending [][]sent         // by way: what was sent, and the same item not received
	held    map[sent]tl.Tile // what was received early
}

// sent is an item of a strand.
type sent struct {
	strand int
	item
}

// action is a message that is received, one that is sent, or one for the other.
type action struct {
	strand       int
	ends, begins item
	takes        bool // ends is received
	passes       bool // begins is sent
	last         bool // of the segment that ends
}

// run goes through all actions.
func (w *weave) run() {
	for a := range w.actions {
		w.do(a)
	}
}

// actions is what a rank does, in order, round by round.
func (w *weave) actions(yield func(action) bool) {
	steps := 0
	for _, s := range w.strands {
		steps = max(steps, s.steps())
	}
	for round := range (w.segments-1)*w.spacing + steps + 1 {
		for i := 0; i < len(w.strands); i += w.abreast {
			if !w.round(i, w.strands[i].steps(), round, yield) {
				return
			}
		}
	}
}

// round moves all segments of strands abreast that are under way, the first one first. Where
// one ends and the next begins, with no other between them, that one's first messages are
// sent in turn with receiving the last ones, so that the link does not wait.
func (w *weave) round(i, steps, round int, yield func(action) bool) bool {
	first := max(0, tl.CDiv(round-steps, w.spacing))
	last := min(w.segments-1, round/w.spacing)
	if last == first+1 && round == first*w.spacing+steps && round == last*w.spacing {
		return w.move(i, item{segment: first, step: steps - 1}, item{segment: last}, yield)
	}
	for segment := first; segment <= last; segment++ {
		step := round - segment*w.spacing
		if step <= steps && !w.move(i, item{segment: segment, step: step - 1}, item{segment: segment, step: step}, yield) {
			return false
		}
	}
	return true
}

// move ends one step of strands abreast, if there is one, and begins another, if there
// is one.
func (w *weave) move(i int, ends, begins item, yield func(action) bool) bool {
	s := w.strands[i]
	in, out := 0, 0
	if ends.step >= 0 {
		in = s.messages(ends.step)
	}
	if begins.step < s.steps() {
		out = s.messages(begins.step)
	}
	behind := 0 // messages that are sent after this many have come
	if in > 0 && out > 0 && ends.segment == begins.segment && s.turns(begins.step) {
		behind = in
	}
	for m := range max(in, behind+out) {
		ends.message, begins.message = m, m-behind
		a := action{
			ends: ends, begins: begins, takes: m < in, passes: m >= behind && m < behind+out,
			last: m == in-1 && ends.step == s.steps()-1,
		}
		for a.strand = i; a.strand < i+w.abreast; a.strand++ {
			if !yield(a) {
				return false
			}
		}
	}
	return true
}

// do does an action.
func (w *weave) do(a action) {
	var x tl.Tile
	early := false
	if a.takes {
		x, early = w.take(a.strand, a.ends)
	}
	if a.passes {
		w.pass(a.strand, a.begins, x)
	}
	if a.takes && !w.strands[a.strand].keep(a.ends, x) && early && x.DType().Valid() {
		w.spend(x)
	}
}

// pass sends an item, after having received as many as that needs room for.
func (w *weave) pass(i int, at item, x tl.Tile) {
	way := w.strands[i].way(at.step)
	for way >= len(w.pending) {
		w.pending = append(w.pending, nil)
	}
	if len(w.pending[way]) == w.Slots {
		early := w.pending[way][0]
		y := w.strands[early.strand].take(early.item)
		if y.DType().Valid() {
			y.Pin()
		}
		if w.held == nil {
			w.held = map[sent]tl.Tile{}
		}
		w.held[early] = y
		w.pending[way] = w.pending[way][1:]
	}
	w.strands[i].pass(at, x)
	w.pending[way] = append(w.pending[way], sent{i, at})
}

// take receives an item, if that has not been done early.
func (w *weave) take(i int, at item) (x tl.Tile, early bool) {
	it := sent{i, at}
	if x, early = w.held[it]; early {
		delete(w.held, it)
		return x, true
	}
	way := w.strands[i].way(at.step)
	w.pending[way] = w.pending[way][1:] // it is the first: they come in the order of sending
	return w.strands[i].take(at), false
}
