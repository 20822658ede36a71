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

// state is a rank with what this package knows of it.
type state struct {
	*torch.Rank
	s *stream.Rank
	w *world

	joined []*Group // in the order in which it made them; the first is the default one
	made   int      // groups of the world, with those that it has destroyed
	before int      // those of them that it made before the default one

	coalescing *coalescing // while it calls collectives that become one
}

// world is the ranks that make groups together: the workers of a Spawn, or the PEs that the
// program itself drives.
type world struct {
	*host
	spawned bool                // ranks are workers of Spawn, and not PEs
	groups  []*groupState       // process groups, by number
	letters map[message][]*call // messages that have one end only so far
	outbox  []*call             // messages that begin at the present instant
	ends    int                 // of messages that were asked for first, so far

	matching    bool         // ends are matched after what happens at the present instant
	anyReceives []anyReceive // that have no message yet, in the order in which they were asked for
}

// host is what is known of a machine.
type host struct {
	*torch.Context
	s        *stream.Scheduler
	m        *machine.Machine
	choices  map[choice]*ccl.Algorithm // by algorithm auto
	finished int                       // programs of collectives that have ended
	last     Stats                     // of them, for tests
}

// of returns the state of a rank.
func of(r *torch.Rank) *state {
	s := hosted.Rank(r)
	if d, ok := s.State.(*state); ok {
		return d
	}
	w, ok := s.World.(*world)
	if !ok {
		w = &world{host: hostOf(r.Context), spawned: s.Spawned(), letters: map[message][]*call{}}
		s.World = w
	}
	d := &state{Rank: r, s: s, w: w}
	s.State = d
	return d
}

// hostOf returns what is known of the machine of a context.
func hostOf(c *torch.Context) *host {
	s := hosted.Scheduler(c)
	h, ok := s.State.(*host)
	if !ok {
		h = &host{Context: c, s: s, m: s.Machine, choices: map[choice]*ccl.Algorithm{}}
		s.State = h
	}
	return h
}

// Collectives returns how many programs of collectives and messages have ended.
func Collectives(c *torch.Context) int { return hostOf(c).finished }

// tensor is a tensor at the time of a call. Later calls may make copies of its addends.
type tensor struct {
	*torch.Tensor
	info *hosted.Tensor
}

// shard is what one PE holds of a tensor.
type shard = hosted.Shard

// tensorOf returns a tensor as a call of an operation uses it. It panics with a *torch.Error
// if that cannot be used.
func tensorOf(x *torch.Tensor, op string) *tensor { return &tensor{x, hosted.TensorOf(x, op)} }

// tensorsOf returns tensors as a call uses them.
func tensorsOf(list []*torch.Tensor, op string) []*tensor {
	all := make([]*tensor, len(list))
	for i, x := range list {
		all[i] = tensorOf(x, op)
	}
	return all
}

// packed panics if the tensor is not contiguous.
func (x *tensor) packed(op string) {
	refuse(!x.IsContiguous(), op, "%s is not contiguous: give the tensor that Contiguous returns", x.info.Name)
}

// numbers returns how many parts a tensor has, copies of each, and addends.
func (x *tensor) numbers() (parts, copies, addends int) {
	for _, s := range x.info.Shards {
		copies, addends = max(copies, s.Copy+1), max(addends, s.Addend+1)
	}
	return len(x.info.Shards) / (copies * addends), copies, addends
}

// overlaps reports whether two tensors may have memory in common.
func (x *tensor) overlaps(y *tensor) bool { return x.info.Region.Overlaps(y.info.Region) }

// coincides reports whether two tensors are the same elements of one storage.
func (x *tensor) coincides(y *tensor) bool {
	return x.Tensor == y.Tensor || x.info.Region.Storage == y.info.Region.Storage && slices.Equal(x.info.Shape, y.info.Shape) &&
		slices.EqualFunc(x.info.Shards, y.info.Shards, func(s, t shard) bool {
			return s.VA == t.VA && slices.Equal(s.Start, t.Start) && slices.Equal(s.Extent, t.Extent)
		})
}

// refuse panics with a *torch.Error if a program has made a mistake.
func refuse(mistake bool, op, format string, args ...any) {
	if mistake {
		panic(misuse(op, format, args...))
	}
}

// misuse returns the error of a mistake in an operation.
func misuse(op, format string, args ...any) *torch.Error {
	return &torch.Error{Op: op, Err: fmt.Errorf(format, args...)}
}

// pick returns the elements of a list that have some indices, in their order.
func pick[T any](list []T, indices []int) []T {
	return lists.Map(indices, func(i int) T { return list[i] })
}
