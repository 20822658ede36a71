package ccl

import (
	"slices"

	"github.com/kernbench/kernbench/tl"
)

// rootPipeline is the pipeline between the roots of devices. It also determines the order
// in which the chunks of a device's sums must reach its root: segment by segment, where a
// segment contains elements of all blocks.
type rootPipeline struct {
	*pipeline
	chunks   chunks
	segment  func(chunk int) int // segment that a chunk is part of
	complete []int               // number of segments of each flow whose results have arrived
}

// newRootPipeline returns the pipeline of the root cube of a device. If the pipeline has
// several segments, the chunks of the tree have the size of the pipeline's messages, and
// come segment by segment.
func newRootPipeline(m *member, list []path) *rootPipeline {
	l := newBucketPipeline(m, list)
	x := &rootPipeline{pipeline: l, chunks: m.treeChunks(0, m.Count(0)), segment: func(int) int { return 0 }}
	x.complete = make([]int, len(l.flows))
	if l.segments < 2 {
		return x
	}
	pieces := l.flows[0].(*blockFlow).pieces
	each := len(l.flows) * m.Ranks * pieces // number of chunks of a segment
	x.segment = func(chunk int) int { return chunk / each }
	x.chunks = func(i int) (at, n int, more bool) {
		f := l.flows[i%each/(m.Ranks*pieces)].(*blockFlow)
		share, n := f.blockSteps.(*bucket).share(m.Count(0))
		block, n := part(n, i/pieces%m.Ranks, m.Ranks)
		at, n = f.piece(n, i/each, i%pieces)
		return share + block + at, n, i < each*l.segments
	}
	return x
}

// runRoot runs the kernel of the root cube of a device. Sums of the device come up the
// tree, go through the pipeline between the roots, and go down the tree. Between these
// transfers the sums are stored in the memory of the output.
func (x *rootPipeline) runRoot(c *treeMember) {
	x.begin()
	a := &x.action
	var need [1]tl.Case
	up := c.upTransfer(x.chunks, func(at int, y tl.Tile) { c.storeLast(c.Out(0).Add(at), y) })
	between := &transfer{
		needs: func(int) (cases []tl.Case, more bool) {
			if !x.advance() {
				return nil, false
			}
			if port, waits := x.awaits(a); waits {
				need[0] = c.CanRecv(port)
				cases = need[:]
			}
			return cases, true
		},
		gate: func(int) bool { return x.hasSums(up.next, a) },
		do: func(int) {
			x.do()
			if a.last {
				x.complete[a.flow]++
			}
		},
	}
	down := c.downTransfer(x.chunks, c.Out)
	down.gate = func(i int) bool {
		return !slices.ContainsFunc(x.complete, func(n int) bool { return n <= x.segment(i) })
	}
	c.runTransfers(down, between, up)
}

// awaits returns the port at which action a receives a message, and reports whether the
// action must wait for a message there.
func (x *rootPipeline) awaits(a *action) (port tl.Port, waits bool) {
	if _, early := x.held[flowItem{a.flow, a.incoming}]; early || !a.receives {
		return 0, false
	}
	b := x.flows[a.flow].(*blockFlow).receivedBlock(a.incoming)
	_, n := b.part(a.incoming.message)
	return b.port, n > 0
}

// hasSums reports whether the root already has the sums that action a uses, if the given
// number of chunks have arrived from the tree.
func (x *rootPipeline) hasSums(arrived int, a *action) bool {
	segment := a.incoming.segment
	if a.sends {
		segment = max(segment, a.outgoing.segment)
	}
	_, _, more := x.chunks(arrived)
	return !more || x.segment(arrived) > segment
}
