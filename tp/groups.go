package tp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// Kind is a kind of process groups. Ranks of a group differ in their places along the
// dimensions of the kind alone.
type Kind int

// The kinds of groups, with their dimensions. Ranks of experts are divided in another way
// than those of the other layers.
const (
	Tensor                    Kind = iota // tp: ranks with parts of the same layers
	Pipeline                              // pp: the stages of a model, in order
	Data                                  // dp: ranks with the same part of the model
	Context                               // cp: ranks with parts of the same sequences
	DataContext                           // dp-cp
	Model                                 // tp-pp: ranks that have one model together
	TensorData                            // tp-dp
	TensorContext                         // tp-cp
	TensorDataContext                     // tp-dp-cp
	Embedding                             // pp, first and last stage: ranks with the word embedding
	PositionEmbedding                     // pp, first stage: the rank with the position embedding
	Expert                                // ep, of experts: ranks with different experts
	ExpertTensor                          // tp, of experts: ranks with parts of the same experts
	ExpertData                            // dp, of experts: ranks with the same parts of the same experts
	ExpertTensorModel                     // tp-ep, of experts: ranks that have the experts of a layer together
	ExpertTensorModelPipeline             // tp-ep-pp, of experts: ranks that have all experts together
	numKinds
)

// kinds has the name and the dimensions of each kind, whether it is of experts, and of the
// kinds that have some ranks along a dimension alone a function that returns them.
var kinds = [numKinds]struct {
	name, dims string
	experts    bool
	members    func(ranks []int) []int
}{
	Tensor:                    {name: "Tensor", dims: "tp"},
	Pipeline:                  {name: "Pipeline", dims: "pp"},
	Data:                      {name: "Data", dims: "dp"},
	Context:                   {name: "Context", dims: "cp"},
	DataContext:               {name: "DataContext", dims: "dp-cp"},
	Model:                     {name: "Model", dims: "tp-pp"},
	TensorData:                {name: "TensorData", dims: "tp-dp"},
	TensorContext:             {name: "TensorContext", dims: "tp-cp"},
	TensorDataContext:         {name: "TensorDataContext", dims: "tp-dp-cp"},
	Embedding:                 {name: "Embedding", dims: "pp", members: firstAndLast},
	PositionEmbedding:         {name: "PositionEmbedding", dims: "pp", members: first},
	Expert:                    {name: "Expert", dims: "ep", experts: true},
	ExpertTensor:              {name: "ExpertTensor", dims: "tp", experts: true},
	ExpertData:                {name: "ExpertData", dims: "dp", experts: true},
	ExpertTensorModel:         {name: "ExpertTensorModel", dims: "tp-ep", experts: true},
	ExpertTensorModelPipeline: {name: "ExpertTensorModelPipeline", dims: "tp-ep-pp", experts: true},
}

// String returns the name of the constant: "TensorData".
func (k Kind) String() string { return kinds[k].name }

// first returns the first stage of a pipeline, which has the position embedding.
func first(stages []int) []int { return stages[:1] }

// firstAndLast returns the stages that have the word embedding: its input and its output
// share weights.
func firstAndLast(stages []int) []int {
	return slices.Compact([]int{stages[0], stages[len(stages)-1]})
}

// division is how a world is divided: the arguments of InitializeModelParallel.
type division struct {
	world, tensor, pipeline, context, expert int
	order                                    string
}

// grouping is the groups of a division. Kinds may have the same groups.
type grouping struct {
	distinct [][]int         // the ranks of each group
	of       [numKinds][]int // by rank of the world: the index in distinct of the rank's group
}

// groups returns the groups of a division. Sizes of 0 are 1.
func (d division) groups() (*grouping, error) {
	for _, n := range []*int{&d.tensor, &d.pipeline, &d.context, &d.expert} {
		if *n < 0 {
			return nil, fmt.Errorf("tensor %d, pipeline %d, context %d, expert %d: sizes are at least 1, or 0 for 1", d.tensor, d.pipeline, d.context, d.expert)
		}
		*n = max(*n, 1)
	}
	if n := d.tensor * d.pipeline * d.context; d.world%n != 0 {
		return nil, fmt.Errorf("tensor %d × pipeline %d × context %d = %d ranks do not divide the world of %d", d.tensor, d.pipeline, d.context, n, d.world)
	}
	if n := d.tensor * d.expert * d.pipeline; d.world%n != 0 {
		return nil, fmt.Errorf("tensor %d × expert %d × pipeline %d = %d ranks do not divide the world of %d", d.tensor, d.expert, d.pipeline, n, d.world)
	}
	dense := sizes{"tp": d.tensor, "cp": d.context, "ep": 1, "dp": d.world / (d.tensor * d.pipeline * d.context), "pp": d.pipeline}
	experts := sizes{"tp": d.tensor, "cp": 1, "ep": d.expert, "dp": d.world / (d.tensor * d.expert * d.pipeline), "pp": d.pipeline}
	denseOrder, err := dense.ordered(d.order)
	if err != nil {
		return nil, err
	}
	expertOrder, err := experts.ordered(d.order)
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(groups(dense, denseOrder, "pp"), groups(experts, expertOrder, "pp"), slices.Equal) {
		return nil, fmt.Errorf("order %q has the pipelines of experts on other ranks than those of the other layers: write an order that ends with pp", d.order)
	}
	g := &grouping{}
	known := map[string]int{} // index in distinct, by ranks
	for k, kind := range kinds {
		g.of[k] = make([]int, d.world)
		list := groups(dense, denseOrder, kind.dims)
		if kind.experts {
			list = groups(experts, expertOrder, kind.dims)
		}
		for _, ranks := range list {
			members := ranks
			if kind.members != nil {
				members = kind.members(ranks)
			}
			key := fmt.Sprint(members)
			if _, ok := known[key]; !ok {
				known[key] = len(g.distinct)
				g.distinct = append(g.distinct, members)
			}
			for _, rank := range ranks {
				g.of[k][rank] = known[key]
			}
		}
	}
	return g, nil
}

// divided is the division that a rank of a context asked for last, with its groups: every
// rank asks for the same one.
type divided struct {
	division
	*grouping
}

// state is the groups of a rank by kind. All are nil before InitializeModelParallel.
type state [numKinds]*dist.Group

// InitializeModelParallel divides the world into groups: each worker of Spawn calls it,
// with the same arguments, after InitProcessGroup. The sizes are the ranks of a group of
// each kind, 0 for 1, and what is left of the world is data parallel. The order says along
// which dimension ranks count first, in upper or lower case, and is "tp-cp-ep-dp-pp" if it
// is empty. Experts have the tensor parallel size of the other layers and no context
// parallelism, so that their data parallel size may be another. The options are for all
// groups.
func InitializeModelParallel(r *torch.Rank, tensor, pipeline, context, expert int, order string, opts ...dist.GroupOption) error {
	const who = "InitializeModelParallel"
	if !dist.IsInitialized(r) {
		return fmt.Errorf("%s: there is no process group: call InitProcessGroup first", who)
	}
	if ModelParallelIsInitialized(r) {
		return fmt.Errorf("%s: called twice: DestroyModelParallel comes first", who)
	}
	d, last := division{dist.GetWorldSize(r), tensor, pipeline, context, expert, order}, torch.Local[divided](r.Main())
	if last.grouping == nil || last.division != d {
		g, err := d.groups()
		if err != nil {
			return fmt.Errorf("%s: %w", who, err)
		}
		*last = divided{d, g}
	}
	var list []*dist.Group
	for _, ranks := range last.distinct {
		g, err := dist.NewGroup(r, ranks, opts...)
		if err != nil {
			return fmt.Errorf("%s: %w", who, err)
		}
		list = append(list, g)
	}
	for k, of := range last.of {
		torch.Local[state](r)[k] = list[of[dist.GetRank(r)]]
	}
	return nil
}

// ModelParallelIsInitialized reports whether the calling rank has its groups.
func ModelParallelIsInitialized(r *torch.Rank) bool {
	return torch.Local[state](r)[Tensor] != nil
}

// DestroyModelParallel forgets the groups of the calling rank.
func DestroyModelParallel(r *torch.Rank) { *torch.Local[state](r) = state{} }

// Group returns the rank's group of a kind. Every rank has one. A rank of a stage between the
// first and the last gets the Embedding group of its pipeline, and one of a stage after the
// first its PositionEmbedding group, without being a member: the group's Rank is -1, and
// collectives of the group refuse the rank. Group panics with a *torch.Error before
// InitializeModelParallel.
func Group(r *torch.Rank, k Kind) *dist.Group { return groupFor("Group", r, k) }

// groupFor returns what Group does. It panics with the name of a function that needs the group.
func groupFor(who string, r *torch.Rank, k Kind) *dist.Group {
	g := torch.Local[state](r)[k]
	if g == nil {
		panic(&torch.Error{Op: who, Err: errors.New("model parallel is not initialised: call tp.InitializeModelParallel first")})
	}
	return g
}

// sameGroup panics unless g, for which a layer was made, is still the tensor parallel group
// of its rank: the layer has its part of the weights for no other.
func sameGroup(who string, r *torch.Rank, g *dist.Group) {
	if groupFor(who, r, Tensor) != g {
		panic(&torch.Error{Op: who, Err: errors.New("it was made for groups that are no more: make it anew after InitializeModelParallel")})
	}
}
