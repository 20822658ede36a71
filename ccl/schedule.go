package ccl

import (
	"cmp"
	"slices"
)

// Schedule describes the messages that an algorithm sends for a plan, as far as the time of
// the collective depends on them. Package ccl/cost computes that time. A schedule without
// fields has no messages, or, for SendRecv, the messages of the plan.
type Schedule struct {
	// Trees lists trees over all ranks. Each carries an equal share of the data, chunk by
	// chunk. The collective determines the direction: to the root, from the root, or both.
	Trees []func(rank int) TreeNode
	// Pipeline describes blocks that ranks exchange in steps.
	Pipeline *Pipeline
	// Exchange describes blocks that each rank sends to each other rank.
	Exchange *Exchange
	// Roots lists the ranks between which Pipeline runs. Each of them first reduces the
	// data of its device over Trees, and finally sends the result back over Trees. Nil
	// means that Pipeline runs between all ranks.
	Roots []int
}

// TreeNode lists the edges of a rank in a tree: its parent and its children.
type TreeNode struct {
	Root     bool // the rank has no parent
	Parent   Neighbor
	Children []Neighbor
}

// neighbors returns the parent, unless the rank is the root, followed by the children.
func (n TreeNode) neighbors() []Neighbor {
	if n.Root {
		return n.Children
	}
	return slices.Concat([]Neighbor{n.Parent}, n.Children)
}

// Pipeline describes data that moves from rank to rank in segments. Each segment takes the
// same steps, one after another.
type Pipeline struct {
	Ranks    int
	Busy     int // number of ranks that send in every step; these are the first ranks
	Steps    int // number of steps of a segment
	Segments int
	Spacing  int // steps from the start of a segment to the start of the next
	// Phases returns the steps of a segment in which a rank sends, flow by flow. All ranks
	// have the same number of phases.
	Phases func(rank int) []Phase
}

// Phase is a number of equal consecutive steps that send messages to one rank.
type Phase struct {
	Flow     int // index of the flow, a share of the data; all flows move at the same time
	To       int // rank that receives the messages
	Channel  int // number of the queue that the messages go through
	Steps    int
	Messages int  // number of messages in each step
	Elems    int  // maximum number of elements of a message
	Mean     int  // mean number of elements of a message; 0 means Elems
	Combines bool // the receiver combines the messages with its own data
}

// Exchange describes blocks that each rank sends to each other rank. The blocks are sent in
// segments of several messages.
type Exchange struct {
	Steps    int // in each step all ranks send to all others
	Combines int // number of steps whose messages the receiver combines
	Segments int
	Pieces   int // number of messages of a segment
	Elems    int // maximum number of elements of a message
	Mean     int // mean number of elements of a message; 0 means Elems
	// Ring is set if messages travel round a ring of all ranks and the ranks on the way
	// forward them.
	Ring bool
}

// newExchange sets the segments and messages of e for blocks of at most `largest` elements,
// and returns e as a schedule.
func newExchange(p *Plan, e Exchange, largest int) Schedule {
	c := newCut(p, largest)
	if c.pieces == 0 {
		return Schedule{}
	}
	e.Segments, e.Pieces, e.Elems, e.Mean = c.segments, c.pieces, c.elems, c.mean(largest)
	return Schedule{Exchange: &e}
}

// newPipelineSchedule returns the schedule of an algorithm that runs a pipeline. pipelineOf
// returns the pipeline of each rank.
func newPipelineSchedule(p *Plan, pipelineOf func(rank int) *pipeline) Schedule {
	l := pipelineOf(0)
	if len(l.flows) == 0 {
		return Schedule{}
	}
	return Schedule{Pipeline: &Pipeline{
		Ranks: p.Ranks, Busy: cmp.Or(l.busy, p.Ranks), Steps: l.flows[0].steps(), Segments: l.segments, Spacing: l.spacing,
		Phases: func(rank int) (list []Phase) {
			for i, f := range pipelineOf(rank).flows {
				for _, p := range f.(*blockFlow).phases(f.(*blockFlow)) {
					p.Flow = i
					list = append(list, p)
				}
			}
			return list
		},
	}}
}
