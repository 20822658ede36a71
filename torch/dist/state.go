package dist

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/torch"
)

// state holds what this package stores for one rank.
type state struct {
	*torch.Rank
	s *stream.Rank
	w *world

	joined     []*Group // the rank's groups in the order in which it made them; the first is the default group
	groupsMade int      // the number of groups of the world that the rank has made, including destroyed ones
	madeBefore int      // the value of groupsMade before the present default group

	coalescing *coalescing // the collectives recorded so far inside Coalescing; otherwise nil
}

// world holds what all ranks share: the workers of one Spawn, or the PEs of a program
// without Spawn.
type world struct {
	*host
	spawned      bool                   // whether ranks are workers of Spawn; otherwise they are PEs
	groups       []*groupState          // by number; the groups that SplitGroup made of a parent are in the parent
	unmatched    map[messageKey][]*call // messages of which one end has been enqueued so far
	outbox       []*call                // messages that begin at the present instant and are not launched yet
	messageCount int                    // the number of messages so far

	matching    bool         // whether match is scheduled at the end of the present instant
	anyReceives []anyReceive // receives from any source that wait for a message, oldest first
}

// host holds what this package stores for one machine.
type host struct {
	*torch.Context
	s        *stream.Scheduler
	m        *machine.Machine
	choices  map[choiceKey]*ccl.Algorithm // the choices of auto so far
	finished int                          // the number of launches of collectives and messages that have ended
	last     Stats                        // the statistics of the last launch, for tests
}

// stateOf returns the state of rank r. It makes the state on the first call.
func stateOf(r *torch.Rank) *state {
	s := hosted.Rank(r)
	if d, ok := s.State.(*state); ok {
		return d
	}
	w, ok := s.World.(*world)
	if !ok {
		w = &world{host: hostOf(r.Context), spawned: s.Spawned(), unmatched: map[messageKey][]*call{}}
		s.World = w
	}
	d := &state{Rank: r, s: s, w: w}
	s.State = d
	return d
}

// hostOf returns the state of this package for the machine of the context c. It makes the
// state on the first call.
func hostOf(c *torch.Context) *host {
	s := hosted.Scheduler(c)
	h, ok := s.State.(*host)
	if !ok {
		h = &host{Context: c, s: s, m: s.Machine, choices: map[choiceKey]*ccl.Algorithm{}}
		s.State = h
	}
	return h
}

// Collectives returns the number of launches of collectives and messages that have ended so
// far.
func Collectives(c *torch.Context) int { return hostOf(c).finished }

// tensor is a tensor with its layout at the time of a call. A later call may change the
// layout: an all-reduce turns addends into copies.
type tensor struct {
	*torch.Tensor
	info *hosted.Tensor
}

// shard is the part of a tensor that one PE holds.
type shard = hosted.Shard

// tensorOf returns x together with a description of its present layout. It panics with a
// *torch.Error if x cannot be used in the operation op.
func tensorOf(x *torch.Tensor, op string) *tensor { return &tensor{x, hosted.TensorOf(x, op)} }

// tensorsOf calls tensorOf for each tensor of list and returns the results.
func tensorsOf(list []*torch.Tensor, op string) []*tensor {
	all := make([]*tensor, len(list))
	for i, x := range list {
		all[i] = tensorOf(x, op)
	}
	return all
}

// requireContiguous panics if the tensor is not contiguous. op is the name of the calling
// operation, for errors.
func (x *tensor) requireContiguous(op string) {
	refuse(!x.IsContiguous(), op, "%s is not contiguous: give the tensor that Contiguous returns", x.info.Name)
}

// layoutCounts returns the number of parts of the tensor, the number of copies of each
// part, and the number of addends of each part.
func (x *tensor) layoutCounts() (parts, copies, addends int) {
	for _, s := range x.info.Shards {
		copies, addends = max(copies, s.Copy+1), max(addends, s.Addend+1)
	}
	return len(x.info.Shards) / (copies * addends), copies, addends
}

// overlaps reports whether x and y may have memory in common.
func (x *tensor) overlaps(y *tensor) bool { return x.info.Region.Overlaps(y.info.Region) }

// sameElements reports whether x and y consist of the same elements of the same storage,
// even if they are different views.
func (x *tensor) sameElements(y *tensor) bool {
	return x.Tensor == y.Tensor || x.info.Region.Storage == y.info.Region.Storage && slices.Equal(x.info.Shape, y.info.Shape) &&
		slices.EqualFunc(x.info.Shards, y.info.Shards, func(s, t shard) bool {
			return s.VA == t.VA && slices.Equal(s.Start, t.Start) && slices.Equal(s.Extent, t.Extent)
		})
}

// refuse panics with a *torch.Error of the function op if mistake is true. format and args
// describe the mistake.
func refuse(mistake bool, op, format string, args ...any) {
	if mistake {
		panic(misuse(op, format, args...))
	}
}

// misuse returns the error for a mistake in a call of the function op. format and args
// describe the mistake.
func misuse(op, format string, args ...any) *torch.Error {
	return &torch.Error{Op: op, Err: fmt.Errorf(format, args...)}
}

// pick returns the elements of list at the given indices, in the order of indices.
func pick[T any](list []T, indices []int) []T {
	return lists.Map(indices, func(i int) T { return list[i] })
}
