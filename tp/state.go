package tp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/torch"
)

// state is the groups of a rank. It is zero before InitializeModelParallel.
type state struct {
	rank   int          // of the world
	tensor *torch.Group // that of own[byTP]
	own    [numKinds]membership
}

// membership is a rank's group of a kind. It is zero if the rank is in none.
type membership struct {
	ranks []int // of the world, by rank of the group
	at    int   // the rank in the group
	group *torch.Group
}

// InitializeModelParallel divides the world into groups: each worker of Spawn calls it,
// with the same arguments, after InitProcessGroup. The sizes are the ranks of a group of
// each kind, 0 for 1, and what is left of the world is data parallel. The order says along
// which dimension ranks count first, in upper or lower case, and is "tp-cp-ep-dp-pp" if it
// is empty. Experts have
// the tensor parallel size of the other layers and no context parallelism, so that their
// data parallel size may be another. The options are for all groups.
func InitializeModelParallel(ctx *torch.Context, tensor, pipeline, context, expert int, order string, opts ...torch.GroupOption) error {
	const who = "InitializeModelParallel"
	dist, s := ctx.Distributed(), torch.Local[state](ctx)
	if !dist.IsInitialized() {
		return fmt.Errorf("%s: there is no process group: call InitProcessGroup first", who)
	}
	if s.tensor != nil {
		return fmt.Errorf("%s: called twice: DestroyModelParallel comes first", who)
	}
	d, err := divided(division{dist.GetWorldSize(), tensor, pipeline, context, expert, order})
	if err != nil {
		return fmt.Errorf("%s: %w", who, err)
	}
	groups := make([]*torch.Group, len(d.distinct))
	for i, ranks := range d.distinct {
		if groups[i], err = dist.NewGroup(ranks, opts...); err != nil {
			return fmt.Errorf("%s: %w", who, err)
		}
	}
	made := state{rank: dist.GetRank()}
	for k := range made.own {
		if i := d.of[k][made.rank]; i >= 0 {
			ranks := d.distinct[i]
			made.own[k] = membership{ranks, slices.Index(ranks, made.rank), groups[i]}
		}
	}
	made.tensor = made.own[byTP].group
	*s = made
	return nil
}

// ModelParallelIsInitialized reports whether the calling rank has its groups.
func ModelParallelIsInitialized(ctx *torch.Context) bool {
	return torch.Local[state](ctx).tensor != nil
}

// DestroyModelParallel forgets the groups of the calling rank.
func DestroyModelParallel(ctx *torch.Context) { *torch.Local[state](ctx) = state{} }

// of returns the groups of the calling rank. Who needs them is for the panic if it has none.
func of(ctx *torch.Context, who string) *state {
	s := torch.Local[state](ctx)
	if s.tensor == nil {
		panic(&torch.Error{Op: who, Err: errors.New("model parallel is not initialised: call tp.InitializeModelParallel first")})
	}
	return s
}

// sameGroups is of for a layer that was made when the tensor parallel group was this one:
// it has its part of the weights for no other.
func sameGroups(ctx *torch.Context, who string, group *torch.Group) *state {
	s := of(ctx, who)
	if s.tensor != group {
		panic(&torch.Error{Op: who, Err: errors.New("it was made for groups that are no more: make it anew after InitializeModelParallel")})
	}
	return s
}

// tensorRank returns the rank in the tensor parallel group.
func (s *state) tensorRank() int { return s.own[byTP].at }

// tensorSize returns the number of ranks of the tensor parallel group.
func (s *state) tensorSize() int { return len(s.own[byTP].ranks) }
