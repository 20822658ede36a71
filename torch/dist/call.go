package dist

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/torch"
)

// request holds the arguments with which one rank calls a collective or a message.
type request struct {
	collective ccl.Collective
	reduction  ReduceOp
	root       int // rank of the root in the group; 0 if the collective has no root
	in, out    []span
	signature  string // a text of the arguments that must be the same on all ranks
	device     int
	making     *Making    // the producer of the tensors to reduce, or nil
	pieces     []*request // the requests that this one combines, if it is coalesced or has a producer
	label      string     // a name to use instead of the collective's name, or ""
	monitored  bool       // whether the caller handles the timeout itself, as MonitoredBarrier does
}

// name returns the label of the request or, without a label, the name of its collective.
func (r *request) name() string { return cmp.Or(r.label, r.collective.String()) }

// span is a range of elements of a tensor. In a program without Spawn, it is a range of
// each rank's part of the tensor.
type span struct {
	x           *tensor
	from, count int // the first element and the number of elements; a count of -1 means all elements
}

// fullSpans returns for each tensor a span of all its elements.
func fullSpans(list ...*tensor) (spans []span) {
	for _, x := range list {
		spans = append(spans, span{x: x, count: -1})
	}
	return spans
}

// spans returns the spans that the rank sends, followed by the spans that it receives into.
func (r *request) spans() []span { return slices.Concat(r.in, r.out) }

// call is one collective, or one message, of a group. Each rank that takes part calls it
// once.
type call struct {
	op       *stream.Operation
	group    *groupState
	parts    []int            // for a message without Spawn: the index of the shard that each end uses; else nil
	requests map[int]*request // by rank of the group; for a message, by kind of the end
	lines    map[int]string   // the source line of each rank's call
	stats    Stats            // valid when the call has ended

	// The other fields are for messages.
	number int        // the number of the message, from 1, in the order in which their first ends were enqueued
	at     torch.Time // when the first end was enqueued
	source int        // the rank of the world that sends the message
	lanes  []lane
}

// newCall returns a call of the group g that no rank has made yet. The call runs as the
// operation op.
func newCall(g *groupState, op *stream.Operation) *call {
	return &call{group: g, requests: map[int]*request{}, lines: map[int]string{}, op: op}
}

// call makes the rank's next call of a collective in the group g, with the arguments r.
// Inside Coalescing it only records r and returns a nil Work.
func (d *state) call(g *Group, r *request) (*Work, error) {
	if g.rank < 0 {
		return nil, fmt.Errorf("%v: rank %d is not in %s: call it on these alone", r.name(), d.s.Number, g.describe())
	}
	for _, s := range r.spans() {
		if r.making == nil || !slices.Contains(r.making.Using, s.x.Tensor) {
			s.x.requireContiguous(r.collective.String())
		}
		if !d.w.spawned {
			d.checkOverRanks(g, s.x)
		}
	}
	if b := d.coalescing; b != nil {
		b.add(g, r)
		return nil, nil
	}
	number := g.next
	g.next++
	r.device = d.Device()
	k := g.shared.incomplete[number]
	if k == nil {
		name := fmt.Sprintf("%v %d of %s", r.name(), number+1, g.shared)
		if !d.w.spawned {
			k = newCall(g.shared, stream.NewShared(name, nil, 0))
		} else {
			k = newCall(g.shared, stream.NewShared(name, g.shared.calls, number))
			k.op.MissingRanks = pick(d.w.s.Ranks(), g.shared.ranks)
			g.shared.incomplete[number] = k
		}
	}
	return d.arrive(k, g.rank, r, number)
}

// arrive records that a rank makes the call k with the arguments r. `rank` is the number of
// this rank in the group. For a message it is instead the end of the message that the call
// makes, Sends or Recvs. `number` is the number of the collective in the group, or -1 for a
// message. When the last rank arrives, the call can begin. In a program without Spawn, one
// call of a collective stands for all ranks, so the collective can begin at once; a message
// needs both its ends.
func (d *state) arrive(k *call, rank int, r *request, number int) (*Work, error) {
	c, op := d.w, k.op
	var uses []*stream.Region
	for _, s := range r.spans() {
		if err := hosted.Hold(d.Context, r.collective.String(), s.x.Tensor); err != nil {
			return nil, err
		}
		uses = append(uses, s.x.info.Region)
	}
	if op.Failure() != nil { // the other ranks have given up
		return nil, op.Failure()
	}
	newWork := func() *Work {
		work := &Work{d: d, call: k, handle: d.s.NewHandle(op)}
		for _, s := range r.out {
			s.x.info.Region.Wrote(op, work.handle)
		}
		return work
	}
	if c.s.Stopping() { // the operation never begins
		return newWork(), nil
	}
	k.requests[rank], k.lines[rank] = r, stream.HostLine()
	if i := slices.Index(op.MissingRanks, d.s); i >= 0 { // for a message to itself, a rank is listed twice
		op.MissingRanks = slices.Delete(op.MissingRanks, i, i+1)
	}
	complete := len(op.MissingRanks) == 0
	if !c.spawned {
		if complete = !op.Message || len(k.requests) == 2; complete {
			if _, err := c.prepare(k); err != nil { // the program continues without the operation
				c.s.MakeNoOp(op)
				return nil, err
			}
		}
	}
	part := stream.AllParts
	if k.parts != nil {
		part = k.parts[rank]
	}
	d.s.Join(op, uses, part)
	work := newWork()
	if after := k.group.options.Timeout; !r.monitored && (c.spawned || complete) {
		c.s.Limit(op, after, func() error { return newTimeoutError(op, after) })
	}
	if !complete {
		return work, nil
	}
	c.s.Complete(op)
	if c.spawned {
		delete(k.group.incomplete, number)
		if guilty, err := c.prepare(k); err != nil {
			c.s.FailRanks(pick(k.group.ranks, guilty), err)
			d.s.Cancel() // does not return
		}
	}
	c.s.Advance(op)
	return work, nil
}

// prepare checks a call that all ranks have made, plans its launches and makes its
// operation run them. If that is not possible, it returns an error. The list `guilty` then
// has the ranks of the group that get the error.
func (c *world) prepare(k *call) (guilty []int, err error) {
	if guilty, err = k.findDisagreement(); err != nil {
		return guilty, err
	}
	members, programs := k.members(c), []*launchPlan(nil)
	if members[0].collective == ccl.SendRecv {
		err = c.prepareMessage(k, members)
	} else if programs, err = c.plan(k, members); err == nil {
		c.bindPrograms(k, programs)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", k.op.Name, err)
	}
	return slices.Sorted(maps.Keys(k.requests)), err
}

// bindProgram makes the operation op run the launch that p describes. At the end of the
// launch, the operation calls `ended` with the statistics.
func (c *world) bindProgram(op *stream.Operation, p *launchPlan, ended func(Stats)) {
	op.Algorithm = p.algorithm.Name
	hosted.Runs(c.Context, op, &p.program, p.members, func() error { return p.allocate(c, op) }, func(run *machine.Run) {
		s := Stats{
			Name: op.Name, Algorithm: op.Algorithm, Start: run.Start, Crit: run.Critical(), Spread: op.Whole().Spread(), Lanes: p.lanes,
			Buffer: string(p.program.Queues.BufferKind),
		}
		if p.inboxElems > 0 {
			s.Buffer = "inbox"
		}
		for _, a := range p.args {
			s.Chunk = max(s.Chunk, a.Chunk*a.DType.Size())
		}
		s.Ranks, s.Exec = run.ByRank(p.members)
		c.finished++
		c.last = s
		c.s.Failed(op, p.free())
		ended(s)
	})
}

// Stats holds the times of a collective or a message, the algorithm, and the memory that it
// used.
type Stats struct {
	Name      string
	Algorithm string
	Start     torch.Time
	Crit      torch.Time // from the start to the end of the last PE
	Spread    torch.Time // from the first to the last rank that reached the collective
	Lanes     int        // the number of lanes, which run at the same time
	Chunk     int        // the size in bytes that no message exceeds
	// Buffer is the memory of the queue slots, or "inbox" if messages went to inboxes in
	// HBM.
	Buffer string
	Ranks  []int // the participants, as ranks of the world, ascending
	// Exec[i] is the time from Start to the end of the last PE of rank Ranks[i]. The
	// maximum of Exec is Crit.
	Exec []torch.Time
}

// add merges p, the statistics of another launch of the same collective, into s. The
// launches may overlap or run one after another.
func (s *Stats) add(p Stats) {
	if s.Algorithm == "" {
		*s = p
		s.Exec = slices.Clone(p.Exec)
		return
	}
	start := min(s.Start, p.Start)
	for i := range s.Exec {
		s.Exec[i] = max(s.Start+s.Exec[i], p.Start+p.Exec[i]) - start
	}
	s.Start, s.Crit, s.Lanes, s.Chunk = start, slices.Max(s.Exec), max(s.Lanes, p.Lanes), max(s.Chunk, p.Chunk)
}

// member is a participant of a collective: a rank, or the holder of one addend of a rank.
type member struct {
	*request
	rank      int                // rank in the world
	shards    func(span) []shard // the shards of the span's tensor that the member holds
	elems     func(span) int     // the number of elements of the span's tensor that belong to the rank
	defaultPE machine.PEID       // the PE on which the member runs if it has no tensor
	isShard   bool               // whether the member's tensor is one shard of a tensor over all ranks
}

// members returns the participants of the call: the workers under Spawn, or the PEs of the
// group in a program without Spawn.
func (k *call) members(c *world) []member {
	var list []member
	for i, rank := range k.group.ranks {
		if r := k.requests[i]; c.spawned {
			list = append(list, member{
				request: r, rank: rank, defaultPE: c.m.ID(r.device, 0, 0),
				shards: func(s span) []shard { return s.x.info.Shards },
				elems:  func(s span) int { return s.x.Numel() },
			})
			continue
		}
		r, part := k.requests[0], i
		if k.parts != nil {
			r, part = k.requests[i], k.parts[i]
		}
		list = append(list, member{
			request: r, rank: rank, defaultPE: machine.PEID(rank), isShard: true,
			shards: func(s span) []shard {
				list := s.x.info.Shards[part : part+1 : part+1]
				if held := list[0]; held.Copy > 0 || held.Addend > 0 {
					held.Copy, held.Addend = 0, 0
					list = []shard{held}
				}
				return list
			},
			elems: func(s span) int { return s.x.info.Shards[part].Elems },
		})
	}
	return list
}

// partsText matches the part of a tensor's description that says into how many parts the
// tensor is divided: see describe.
var partsText = regexp.MustCompile(` in \d+ parts of \[[\d ]*\]`)

// findDisagreement compares the calls of all ranks. If the calls differ, it returns an
// error that lists the different calls. guilty has the ranks whose calls differ from the
// call of the majority, or all ranks if there is no majority.
func (k *call) findDisagreement() (guilty []int, err error) {
	groups := map[string][]int{}
	sliced := false // with views, ranks may divide their tensors differently
	for _, r := range k.requests {
		sliced = sliced || slices.ContainsFunc(r.spans(), func(s span) bool { return s.x.info.Of != "" })
	}
	for rank, r := range k.requests {
		signature := r.signature
		if sliced {
			signature = partsText.ReplaceAllString(signature, "")
		}
		groups[signature] = append(groups[signature], rank)
	}
	if len(groups) == 1 {
		return nil, nil
	}
	texts := slices.SortedFunc(maps.Keys(groups), func(a, b string) int {
		slices.Sort(groups[a])
		slices.Sort(groups[b])
		return cmp.Or(len(groups[b])-len(groups[a]), groups[a][0]-groups[b][0])
	})
	agree := 1
	if len(groups[texts[0]]) == len(groups[texts[1]]) {
		agree = 0
	}
	var parts []string
	for i, text := range texts {
		list := groups[text]
		if i >= agree {
			guilty = append(guilty, list...)
		}
		parts = append(parts, fmt.Sprintf("%s: %s (%s)", stream.RankList(pick(k.group.ranks, list)), text, k.lines[list[0]]))
	}
	return guilty, fmt.Errorf("%s: the ranks do not agree: %s", k.op.Name, strings.Join(parts, "; "))
}
