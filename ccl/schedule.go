package ccl

import (
	"cmp"

	"github.com/kernbench/kernbench/tl"
)

// Schedule describes the messages that an algorithm sends under a plan, as far as the time of
// the collective depends on them. Package ccl/cost computes that time. Under a schedule without
// fields an algorithm sends nothing, or, of SendRecv, the messages of the plan.
type Schedule struct {
	// Trees is trees over all ranks, each with an equal share of the data, chunk by chunk. The
	// collective determines the direction: to the root, from the root, or both.
	Trees []func(rank int) TreeNode
	// Pipeline is blocks that ranks exchange in steps.
	Pipeline *Pipeline
	// Exchange is blocks that each rank has for each other.
	Exchange *Exchange
	// Roots is the ranks between which Pipeline runs, where each has first reduced the data of
	// a device over Trees, and hands it back over Trees in the end. Nil is all ranks.
	Roots []int
}

// TreeNode is a rank's edges in a tree.
type TreeNode struct {
	Root     bool // there is no parent
	Parent   Neighbor
	Children []Neighbor
}

// neighbors returns the parent, if there is one, and the children.
func (n TreeNode) neighbors() []Neighbor {
	if n.Root {
		return n.Children
	}
	return append([]Neighbor{n.Parent}, n.Children...)
}

// Pipeline describes data that goes from rank to rank in segments. Each segment takes the same
// steps, one after the other.
type Pipeline struct {
	Ranks    int
	Busy     int // ranks that send in every step: the first ones
	Steps    int // of a segment
	Segments int
	Spacing  int // steps from the start of a segment to the start of the next
	// Phases returns the steps of a segment that a rank sends in, flow by flow. All ranks have as
	// many.
	Phases func(rank int) []Phase
}

// Phase is a number of steps that are alike: messages to one rank.
type Phase struct {
	Flow     int // from 0: each flow is a share of the data, and all flows move at the same time
	To       int // rank
	Channel  int // messages of one channel go through one queue
	Steps    int
	Messages int // in each step
	Elems    int // of each message, at most
	Combines bool
}

// Exchange describes blocks that each rank sends to each other rank, in segments of several
// messages.
type Exchange struct {
	Steps    int // in each of which all ranks send to all others
	Combines int // steps whose messages the receiver combines
	Segments int
	Pieces   int // messages of a segment
	Elems    int // of each message, at most
	// Ring says that messages go round a ring of all ranks, through those between.
	Ring bool
}

// newExchange returns the schedule of blocks of at most some elements.
func newExchange(p *Plan, e Exchange, largest int) Schedule {
	c := newCut(p, largest)
	if c.pieces == 0 {
		return Schedule{}
	}
	e.Segments, e.Pieces, e.Elems = c.segments, c.pieces, tl.CDiv(largest, c.segments*c.pieces)
	return Schedule{Exchange: &e}
}

// newPipelineSchedule returns the schedule of the pipeline of each rank.
func newPipelineSchedule(p *Plan, of func(rank int) *pipeline) Schedule {
	l := of(0)
	if len(l.flows) == 0 {
		return Schedule{}
	}
	return Schedule{Pipeline: &Pipeline{
		Ranks: p.Ranks, Busy: cmp.Or(l.busy, p.Ranks), Steps: l.flows[0].steps(), Segments: l.segments, Spacing: l.spacing,
		Phases: func(rank int) (list []Phase) {
			for i, f := range of(rank).flows {
				for _, p := range f.(*blockFlow).phases(f.(*blockFlow)) {
					p.Flow = i
					list = append(list, p)
				}
			}
			return list
		},
	}}
}
