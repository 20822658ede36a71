package torch

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
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
	x           *Tensor
	from, count int     // -1 for all of them
	shards      []shard // of the tensor at the time of the call
}

// wholes returns tensors as spans of all their elements.
func wholes(list ...*Tensor) (spans []span) {
	for _, x := range list {
		spans = append(spans, span{x: x, count: -1, shards: x.shards})
	}
	return spans
}

// spans returns what a rank sends, and what it receives into.
func (r *request) spans() []span { return slices.Concat(r.in, r.out) }

// call is a collective that its ranks call one by one.
type call struct {
	op       *operation
	group    *groupState
	places   []int            // of the ranks in a program's tensors, if these are not all of a group
	requests map[int]*request // by rank of the group
	lines    map[int]string   // where it was called
	number   int              // of the end of a message that was asked for first, among all ends
	at       simtime.Time     // when it was
}

// newCall returns a call of an operation of a group that no rank has made.
func newCall(g *groupState, op *operation) *call {
	op.partial, op.entered, op.places = true, map[*stream]simtime.Time{}, map[*stream]place{}
	return &call{group: g, requests: map[int]*request{}, lines: map[int]string{}, op: op}
}

// call brings a request to the rank's next collective of a group.
func (d *Distributed) call(g *Group, r *request) (*Work, error) {
	c := d.r
	if g.rank < 0 {
		return nil, fmt.Errorf("%v: rank %d is not in %s: call it on these alone", r.name(), c.rank, g.described())
	}
	for _, s := range r.spans() {
		s.x.usable(r.collective.String())
		if r.making == nil || !slices.Contains(r.making.Using, s.x) {
			s.x.packed(r.collective.String())
		}
		if !c.spawned() {
			d.overRanks(g, s.x)
		}
	}
	if b := c.coalescing; b != nil {
		b.add(g, r)
		return nil, nil
	}
	number := g.next
	g.next++
	name := fmt.Sprintf("%v %d of %s", r.name(), number+1, g.shared)
	r.device = c.device
	k := g.shared.forming[number]
	if k == nil {
		k = newCall(g.shared, &operation{name: name})
		if c.spawned() {
			g.shared.forming[number] = k
			k.op.calls = &g.shared.calls
			k.op.places[k.op.calls] = place{number: number}
			k.op.forming = pick(c.workers, g.shared.ranks)
		}
	}
	return c.arrive(k, g.rank, r, number)
}

// arrive adds the calling rank to a call, which is complete with the last of them. A
// program without Spawn is all ranks at once, but for messages.
func (w *Rank) arrive(k *call, rank int, r *request, number int) (*Work, error) {
	op := k.op
	for _, s := range r.spans() {
		if err := w.hold(r.collective.String(), onceWritten, s.x); err != nil {
			return nil, err
		}
	}
	if op.failure != nil { // the others have given up
		return nil, op.failure
	}
	work := &Work{rank: w, op: op}
	if w.stopping { // it never begins
		for _, s := range r.out {
			s.x.wrote(op, work)
		}
		return work, nil
	}
	k.requests[rank], k.lines[rank] = r, hostLine()
	if i := slices.Index(op.forming, w); i >= 0 { // twice there for a message to itself
		op.forming = slices.Delete(op.forming, i, i+1)
	}
	complete := len(op.forming) == 0
	if !w.spawned() {
		if complete = !op.message || len(k.requests) == 2; complete {
			if _, err := w.form(k); err != nil { // the program goes on without it
				w.cancel(op)
				return nil, err
			}
		}
	}
	if !slices.Contains(op.streams, &w.stream) {
		op.streams = append(op.streams, &w.stream)
		w.place(op, &w.stream)
	}
	w.enter(&w.stream)
	if w.works = append(w.works, work); len(w.works)%1024 == 0 {
		w.works = slices.DeleteFunc(w.works, func(w *Work) bool { return w.waited })
	}
	part := allParts
	if k.places != nil {
		part = k.places[rank]
	}
	for _, s := range r.spans() {
		s.x.uses++
		op.tensors = append(op.tensors, s.x)
		if op.message {
			op.touches = append(op.touches, touch{s.x, part})
		} else {
			s.x.users.add(op)
		}
	}
	for _, t := range op.touches {
		t.x.users.addMessage(op, t)
	}
	for _, s := range r.out {
		s.x.wrote(op, work)
	}
	if !r.monitored && (w.spawned() || complete) {
		w.limit(op, k.group.options.Timeout)
	}
	if !complete {
		return work, nil
	}
	op.partial = false
	w.wake(op)
	if w.spawned() {
		delete(k.group.forming, number)
		if guilty, err := w.form(k); err != nil {
			w.condemn(k, guilty, err)
			w.proc.Cancel() // does not return
		}
	}
	w.advance(op)
	return work, nil
}

// cancel makes nothing of an operation that may be in a stream.
func (c *Context) cancel(op *operation) {
	op.partial = false
	op.begin = func(sim.Event) error { return nil }
	if len(op.streams) > 0 {
		c.wake(op)
		c.advance(op)
	}
}

// form makes a program of a call that everyone has made. An error is that of the guilty ranks
// of the group.
func (c *Context) form(k *call) (guilty []int, err error) {
	if guilty, err = k.disagreement(); err != nil {
		return guilty, err
	}
	members, programs := k.members(c), []*planned(nil)
	if members[0].collective == ccl.SendRecv {
		err = c.formMessage(k, members)
	} else if programs, err = c.plan(k, members); err == nil {
		c.collectives(k.op, programs)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", k.op.name, err)
	}
	return slices.Sorted(maps.Keys(k.requests)), err
}

// collective makes an operation of a plan; ended is called at its end, if it is wanted.
func (c *Context) collective(op *operation, p *planned, ended func()) {
	op.members = p.members
	c.runs(op, &p.program, func() error { return p.allocate(c, op) }, func(run *machine.Run) {
		times := rankTimes(run, p.members)
		s := Stats{
			Algorithm: p.algorithm.Name, Start: run.Start, Crit: run.Critical(), Spread: op.whole().spread(), Lanes: p.lanes,
			Buffer: string(p.program.Queues.BufferKind), Ranks: times.Ranks, Exec: times.Exec,
		}
		if p.inboxes > 0 {
			s.Buffer = "inbox"
		}
		op.whole().stats.add(s)
		c.finished++
		c.last = s
		c.last.Name = op.name
		c.failed(op, p.free())
		if ended != nil {
			ended()
		}
	})
}

// Collectives returns how many programs of collectives have ended.
func (c *Context) Collectives() int { return c.finished }

// Stats is what a collective took.
type Stats struct {
	Name      string
	Algorithm string
	Start     Time
	Crit      Time // the longest that it ran on a PE
	Spread    Time // how far apart its ranks came to it
	Lanes     int  // that ran side by side
	// Buffer is the memory of queue slots, or "inbox" if messages went to inboxes in HBM.
	Buffer string
	Ranks  []int // that took part, by their numbers in the world, ascending
	// Exec is how long it ran on each of Ranks: the longest of the rank's PEs. The
	// longest of all is Crit.
	Exec []Time
}

// add adds another program of the same ranks: one that runs beside those before it, or after.
func (s *Stats) add(p Stats) {
	if s.Algorithm == "" {
		*s = p
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
func (k *call) members(c *Context) []member {
	var list []member
	for i, rank := range k.group.ranks {
		if r := k.requests[i]; c.spawned() {
			list = append(list, member{
				request: r, rank: rank, single: c.m.ID(r.device, 0, 0),
				shards: func(s span) []shard { return s.shards },
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
				held := s.shards[place]
				held.part, held.copy, held.addend = 0, 0, 0
				return []shard{held}
			},
			elems: func(s span) int { return s.shards[place].elems },
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
		sliced = sliced || slices.ContainsFunc(r.spans(), func(s span) bool { return s.x.of != nil })
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
		parts = append(parts, fmt.Sprintf("%s: %s (%s)", rankList(pick(k.group.ranks, list)), text, k.lines[list[0]]))
	}
	return guilty, fmt.Errorf("%s: the ranks do not agree: %s", k.op.name, strings.Join(parts, "; "))
}

// condemn ends all workers, other than the one that runs, on account of some ranks of a call.
func (c *Context) condemn(k *call, guilty []int, err error) {
	for _, rank := range pick(k.group.ranks, guilty) {
		c.workers[rank].fault = err
	}
	c.abort()
}
