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

// request is what one rank brings to a collective.
type request struct {
	collective ccl.Collective
	reduction  ReduceOp
	root       int // rank in the group
	in, out    []span
	what       string // what all ranks have to agree on
	device     int
	making     *Making // of what is reduced, if that is done beside it
	pieces     []*request
	label      string // instead of the name of the collective
	monitored  bool   // the caller sees to the timeout
}

// name returns what the request is called.
func (r *request) name() string { return cmp.Or(r.label, r.collective.String()) }

// span is some elements of a tensor: of the whole, in a program without Spawn of each
// rank's part.
type span struct {
	x           *tensor
	from, count int // -1 for all of them
}

// wholes returns tensors as spans of all their elements.
func wholes(list ...*tensor) (spans []span) {
	for _, x := range list {
		spans = append(spans, span{x: x, count: -1})
	}
	return spans
}

// spans returns what a rank sends, and what it receives into.
func (r *request) spans() []span { return slices.Concat(r.in, r.out) }

// call is a collective that its ranks call one by one.
type call struct {
	op       *stream.Operation
	group    *groupState
	places   []int            // of the ranks in a program's tensors, if these are not all of a group
	requests map[int]*request // by rank of the group
	lines    map[int]string   // where it was called
	stats    Stats            // when it has ended

	// Of a message: its number, that of the end that was asked for first, among all ends, and
	// when that was; the rank of the world that sends it; its lanes.
	number int
	at     torch.Time
	source int
	lanes  []lane
}

// newCall returns a call of an operation of a group that no rank has made.
func newCall(g *groupState, op *stream.Operation) *call {
	return &call{group: g, requests: map[int]*request{}, lines: map[int]string{}, op: op}
}

// call brings a request to the rank's next collective of a group.
func (d *state) call(g *Group, r *request) (*Work, error) {
	if g.rank < 0 {
		return nil, fmt.Errorf("%v: rank %d is not in %s: call it on these alone", r.name(), d.s.Number, g.described())
	}
	for _, s := range r.spans() {
		if r.making == nil || !slices.Contains(r.making.Using, s.x.Tensor) {
			s.x.packed(r.collective.String())
		}
		if !d.w.spawned {
			d.overRanks(g, s.x)
		}
	}
	if b := d.coalescing; b != nil {
		b.add(g, r)
		return nil, nil
	}
	number := g.next
	g.next++
	r.device = d.Device()
	k := g.shared.forming[number]
	if k == nil {
		name := fmt.Sprintf("%v %d of %s", r.name(), number+1, g.shared)
		if !d.w.spawned {
			k = newCall(g.shared, stream.NewShared(name, nil, 0))
		} else {
			k = newCall(g.shared, stream.NewShared(name, g.shared.calls, number))
			k.op.MissingRanks = pick(d.w.s.Ranks(), g.shared.ranks)
			g.shared.forming[number] = k
		}
	}
	return d.arrive(k, g.rank, r, number)
}

// arrive adds the calling rank to a call, which is complete with the last of them. A
// program without Spawn is all ranks at once, but for messages.
func (d *state) arrive(k *call, rank int, r *request, number int) (*Work, error) {
	c, op := d.w, k.op
	var uses []*stream.Region
	for _, s := range r.spans() {
		if err := hosted.Hold(d.Context, r.collective.String(), s.x.Tensor); err != nil {
			return nil, err
		}
		uses = append(uses, s.x.info.Region)
	}
	if op.Failure() != nil { // the others have given up
		return nil, op.Failure()
	}
	wrote := func() *Work {
		work := &Work{d: d, call: k, handle: d.s.NewHandle(op)}
		for _, s := range r.out {
			s.x.info.Region.Wrote(op, work.handle)
		}
		return work
	}
	if c.s.Stopping() { // it never begins
		return wrote(), nil
	}
	k.requests[rank], k.lines[rank] = r, stream.HostLine()
	if i := slices.Index(op.MissingRanks, d.s); i >= 0 { // twice there for a message to itself
		op.MissingRanks = slices.Delete(op.MissingRanks, i, i+1)
	}
	complete := len(op.MissingRanks) == 0
	if !c.spawned {
		if complete = !op.Message || len(k.requests) == 2; complete {
			if _, err := c.form(k); err != nil { // the program goes on without it
				c.s.MakeNoOp(op)
				return nil, err
			}
		}
	}
	part := stream.AllParts
	if k.places != nil {
		part = k.places[rank]
	}
	d.s.Join(op, uses, part)
	work := wrote()
	if after := k.group.options.Timeout; !r.monitored && (c.spawned || complete) {
		c.s.Limit(op, after, func() error { return late(op, after) })
	}
	if !complete {
		return work, nil
	}
	c.s.Complete(op)
	if c.spawned {
		delete(k.group.forming, number)
		if guilty, err := c.form(k); err != nil {
			c.s.FailRanks(pick(k.group.ranks, guilty), err)
			d.s.Cancel() // does not return
		}
	}
	c.s.Advance(op)
	return work, nil
}

// form makes a program of a call that everyone has made. An error is that of the guilty ranks
// of the group.
func (c *world) form(k *call) (guilty []int, err error) {
	if guilty, err = k.disagreement(); err != nil {
		return guilty, err
	}
	members, programs := k.members(c), []*planned(nil)
	if members[0].collective == ccl.SendRecv {
		err = c.formMessage(k, members)
	} else if programs, err = c.plan(k, members); err == nil {
		c.collectives(k, programs)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", k.op.Name, err)
	}
	return slices.Sorted(maps.Keys(k.requests)), err
}

// collective makes an operation of a plan. ended is called at its end, with what the program
// took.
func (c *world) collective(op *stream.Operation, p *planned, ended func(Stats)) {
	op.Algorithm = p.algorithm.Name
	hosted.Runs(c.Context, op, &p.program, p.members, func() error { return p.allocate(c, op) }, func(run *machine.Run) {
		s := Stats{
			Name: op.Name, Algorithm: op.Algorithm, Start: run.Start, Crit: run.Critical(), Spread: op.Whole().Spread(), Lanes: p.lanes,
			Buffer: string(p.program.Queues.BufferKind),
		}
		if p.inboxes > 0 {
			s.Buffer = "inbox"
		}
		s.Ranks, s.Exec = run.ByRank(p.members)
		c.finished++
		c.last = s
		c.s.Failed(op, p.free())
		ended(s)
	})
}

// Stats is what a collective took.
type Stats struct {
	Name      string
	Algorithm string
	Start     torch.Time
	Crit      torch.Time // the longest that it ran on a PE
	Spread    torch.Time // how far apart its ranks came to it
	Lanes     int        // that ran side by side
	// Buffer is the memory of queue slots, or "inbox" if messages went to inboxes in HBM.
	Buffer string
	Ranks  []int // that took part, by their numbers in the world, ascending
	// Exec is how long it ran on each of Ranks: the longest of the rank's PEs. The
	// longest of all is Crit.
	Exec []torch.Time
}

// add adds another program of the same ranks: one that runs beside those before it, or after.
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
	s.Start, s.Crit, s.Lanes = start, slices.Max(s.Exec), max(s.Lanes, p.Lanes)
}

// member is a rank of a collective, with the shards that it has of each tensor.
type member struct {
	*request
	rank   int // of the world
	shards func(span) []shard
	elems  func(span) int // of what the rank calls its tensor
	single machine.PEID   // where it runs if it has no tensor
	part   bool           // its tensor is one shard of a tensor over all ranks
}

// members returns the ranks of a call: the workers, or, where the program drives all of
// them, the PEs.
func (k *call) members(c *world) []member {
	var list []member
	for i, rank := range k.group.ranks {
		if r := k.requests[i]; c.spawned {
			list = append(list, member{
				request: r, rank: rank, single: c.m.ID(r.device, 0, 0),
				shards: func(s span) []shard { return s.x.info.Shards },
				elems:  func(s span) int { return s.x.Numel() },
			})
			continue
		}
		r, place := k.requests[0], i
		if k.places != nil {
			r, place = k.requests[i], k.places[i]
		}
		list = append(list, member{
			request: r, rank: rank, single: machine.PEID(rank), part: true,
			shards: func(s span) []shard {
				held := s.x.info.Shards[place]
				held.Copy, held.Addend = 0, 0
				return []shard{held}
			},
			elems: func(s span) int { return s.x.info.Shards[place].Elems },
		})
	}
	return list
}

// inParts is how describe says that a tensor is cut.
var inParts = regexp.MustCompile(` in \d+ parts of \[[\d ]*\]`)

// disagreement finds ranks that called something else than most: all of them if there
// is no such thing as most.
func (k *call) disagreement() (guilty []int, err error) {
	groups := map[string][]int{}
	sliced := false // views of ranks need not be cut alike
	for _, r := range k.requests {
		sliced = sliced || slices.ContainsFunc(r.spans(), func(s span) bool { return s.x.info.Of != "" })
	}
	for rank, r := range k.requests {
		what := r.what
		if sliced {
			what = inParts.ReplaceAllString(what, "")
		}
		groups[what] = append(groups[what], rank)
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
