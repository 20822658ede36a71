package tp

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// kind is what the ranks of a group share the work of.
type kind int

// The kinds of groups, by the dimensions in which their ranks differ.
const (
	byTP kind = iota
	byPP
	byDP
	byCP
	byDPCP
	byTPPP
	byTPDP
	byTPCP
	byTPDPCP
	byEmbedding
	byPositionEmbedding
	byEP
	byExpertTP
	byExpertDP
	byExpertTPEP
	byExpertTPEPPP
	numKinds
)

// kinds is what Megatron calls each kind of group, and along which dimensions it is: of
// the layers that all ranks have, or of experts, whose ranks are divided in another way.
// Some have only a few ranks of each such group.
var kinds = [numKinds]struct {
	name, dims string
	expert     bool
	of         func(ranks []int) []int
}{
	byTP:                {name: "TensorModelParallel", dims: "tp"},
	byPP:                {name: "PipelineModelParallel", dims: "pp"},
	byDP:                {name: "DataParallel", dims: "dp"},
	byCP:                {name: "ContextParallel", dims: "cp"},
	byDPCP:              {name: "DataAndContextParallel", dims: "dp-cp"},
	byTPPP:              {name: "ModelParallel", dims: "tp-pp"},
	byTPDP:              {name: "TensorAndDataParallel", dims: "tp-dp"},
	byTPCP:              {name: "TensorAndContextParallel", dims: "tp-cp"},
	byTPDPCP:            {name: "TensorAndDataAndContextParallel", dims: "tp-dp-cp"},
	byEmbedding:         {name: "Embedding", dims: "pp", of: firstAndLast},
	byPositionEmbedding: {name: "PositionEmbedding", dims: "pp", of: first},
	byEP:                {name: "ExpertModelParallel", dims: "ep", expert: true},
	byExpertTP:          {name: "ExpertTensorParallel", dims: "tp", expert: true},
	byExpertDP:          {name: "ExpertDataParallel", dims: "dp", expert: true},
	byExpertTPEP:        {name: "ExpertTensorAndModelParallel", dims: "tp-ep", expert: true},
	byExpertTPEPPP:      {name: "ExpertTensorModelPipelineParallel", dims: "tp-ep-pp", expert: true},
}

// first returns the first stage of a pipeline, which has the position embedding.
func first(stages []int) []int { return stages[:1] }

// firstAndLast returns the stages that have the word embedding: its input and its output
// share weights.
func firstAndLast(stages []int) []int {
	return slices.Compact([]int{stages[0], stages[len(stages)-1]})
}

// division is how a world is divided: what InitializeModelParallel is given.
type division struct {
	world, tensor, pipeline, context, expert int
	order                                    string
}

// grouping is the groups of a division: each once, since kinds may have the same
// ranks, and for each kind which of them a rank is in, -1 if in none.
type grouping struct {
	distinct [][]int
	of       [numKinds][]int
}

// divisions is those that have been made: every rank of a world asks for the same.
var divisions sync.Map

// divided returns the groups of a division.
func divided(d division) (*grouping, error) {
	if known, ok := divisions.Load(d); ok {
		return known.(*grouping), nil
	}
	all, err := allGroups(d.world, d.tensor, d.pipeline, d.context, d.expert, d.order)
	if err != nil {
		return nil, err
	}
	m := &grouping{}
	known := map[string]int{}
	for k, list := range all {
		m.of[k] = slices.Repeat([]int{-1}, d.world)
		for _, ranks := range list {
			key := fmt.Sprint(ranks)
			if _, ok := known[key]; !ok {
				known[key] = len(m.distinct)
				m.distinct = append(m.distinct, ranks)
			}
			for _, rank := range ranks {
				m.of[k][rank] = known[key]
			}
		}
	}
	divisions.Store(d, m)
	return m, nil
}

// allGroups returns the ranks of every group of each kind. Sizes of 0 are 1.
func allGroups(world, tensor, pipeline, context, expert int, order string) (all [numKinds][][]int, err error) {
	for _, n := range []*int{&tensor, &pipeline, &context, &expert} {
		if *n < 0 {
			return all, fmt.Errorf("tensor %d, pipeline %d, context %d, expert %d: sizes are at least 1, or 0 for 1", tensor, pipeline, context, expert)
		}
		*n = max(*n, 1)
	}
	if world%(tensor*pipeline*context) != 0 {
		return all, fmt.Errorf("tensor %d × pipeline %d × context %d = %d ranks do not divide the world of %d", tensor, pipeline, context, tensor*pipeline*context, world)
	}
	if world%(tensor*expert*pipeline) != 0 {
		return all, fmt.Errorf("tensor %d × expert %d × pipeline %d = %d ranks do not divide the world of %d", tensor, expert, pipeline, tensor*expert*pipeline, world)
	}
	dense := sizes{"tp": tensor, "cp": context, "ep": 1, "dp": world / (tensor * pipeline * context), "pp": pipeline}
	experts := sizes{"tp": tensor, "cp": 1, "ep": expert, "dp": world / (tensor * expert * pipeline), "pp": pipeline}
	denseOrder, err := dense.ordered(order)
	if err != nil {
		return all, err
	}
	expertOrder, err := experts.ordered(order)
	if err != nil {
		return all, err
	}
	for k, of := range kinds {
		all[k] = groups(dense, denseOrder, of.dims)
		if of.expert {
			all[k] = groups(experts, expertOrder, of.dims)
		}
		if of.of != nil {
			for i, ranks := range all[k] {
				all[k][i] = of.of(ranks)
			}
		}
	}
	if !slices.EqualFunc(all[byPP], groups(experts, expertOrder, "pp"), slices.Equal) {
		return all, fmt.Errorf("order %q has the pipelines of experts on other ranks than those of the other layers: write an order that ends with pp", order)
	}
	return all, nil
}

// state is the groups of a rank. It is zero before InitializeModelParallel.
type state struct {
	rank   int         // of the world
	tensor *dist.Group // that of own[byTP]
	own    [numKinds]membership
}

// membership is a rank's group of a kind. It is zero if the rank is in none.
type membership struct {
	ranks []int // of the world, by rank of the group
	at    int   // the rank in the group
	group *dist.Group
}

// InitializeModelParallel divides the world into groups: each worker of Spawn calls it,
// with the same arguments, after InitProcessGroup. The sizes are the ranks of a group of
// each kind, 0 for 1, and what is left of the world is data parallel. The order says along
// which dimension ranks count first, in upper or lower case, and is "tp-cp-ep-dp-pp" if it
// is empty. Experts have
// the tensor parallel size of the other layers and no context parallelism, so that their
// data parallel size may be another. The options are for all groups.
func InitializeModelParallel(r *torch.Rank, tensor, pipeline, context, expert int, order string, opts ...dist.GroupOption) error {
	const who = "InitializeModelParallel"
	s := torch.Local[state](r)
	if !dist.IsInitialized(r) {
		return fmt.Errorf("%s: there is no process group: call InitProcessGroup first", who)
	}
	if s.tensor != nil {
		return fmt.Errorf("%s: called twice: DestroyModelParallel comes first", who)
	}
	d, err := divided(division{dist.GetWorldSize(r), tensor, pipeline, context, expert, order})
	if err != nil {
		return fmt.Errorf("%s: %w", who, err)
	}
	groups := make([]*dist.Group, len(d.distinct))
	for i, ranks := range d.distinct {
		if groups[i], err = dist.NewGroup(r, ranks, opts...); err != nil {
			return fmt.Errorf("%s: %w", who, err)
		}
	}
	made := state{rank: dist.GetRank(r)}
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
func ModelParallelIsInitialized(r *torch.Rank) bool {
	return torch.Local[state](r).tensor != nil
}

// DestroyModelParallel forgets the groups of the calling rank.
func DestroyModelParallel(r *torch.Rank) { *torch.Local[state](r) = state{} }

// of returns the groups of the calling rank. Who needs them is for the panic if it has none.
func of(r *torch.Rank, who string) *state {
	s := torch.Local[state](r)
	if s.tensor == nil {
		panic(&torch.Error{Op: who, Err: errors.New("model parallel is not initialised: call tp.InitializeModelParallel first")})
	}
	return s
}

// sameGroups is of for a layer that was made when the tensor parallel group was this one:
// it has its part of the weights for no other.
func sameGroups(r *torch.Rank, who string, group *dist.Group) *state {
	s := of(r, who)
	if s.tensor != group {
		panic(&torch.Error{Op: who, Err: errors.New("it was made for groups that are no more: make it anew after InitializeModelParallel")})
	}
	return s
}

// tensorRank returns the rank in the tensor parallel group.
func (s *state) tensorRank() int { return s.own[byTP].at }

// tensorSize returns the number of ranks of the tensor parallel group.
func (s *state) tensorSize() int { return len(s.own[byTP].ranks) }
