package tp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// Kind is a kind of process group. The ranks of a group differ only in their coordinates
// along the dimensions of the kind.
type Kind int

// The kinds of groups, with their dimensions. For experts, the world is divided differently
// than for the other layers.
const (
	Tensor                    Kind = iota // tp: ranks with parts of the same layers
	Pipeline                              // pp: the stages of a model, in order
	Data                                  // dp: ranks with the same part of the model
	Context                               // cp: ranks with parts of the same sequences
	DataContext                           // dp-cp
	Model                                 // tp-pp: ranks that together have one model
	TensorData                            // tp-dp
	TensorContext                         // tp-cp
	TensorDataContext                     // tp-dp-cp
	Embedding                             // pp, first and last stage: ranks with the word embedding
	PositionEmbedding                     // pp, first stage: the rank with the position embedding
	Expert                                // ep, for experts: ranks with different experts
	ExpertTensor                          // tp, for experts: ranks with parts of the same experts
	ExpertData                            // dp, for experts: ranks with the same parts of the same experts
	ExpertTensorModel                     // tp-ep, for experts: ranks that together have the experts of a layer
	ExpertTensorModelPipeline             // tp-ep-pp, for experts: ranks that together have all experts
	numKinds
)

// kinds lists, for each kind of group, its name, its dimensions, and whether it is for
// experts. If only some of the ranks along the dimensions are members, the function members
// returns these ranks.
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
	Embedding:                 {name: "Embedding", dims: "pp", members: firstAndLastStage},
	PositionEmbedding:         {name: "PositionEmbedding", dims: "pp", members: firstStage},
	Expert:                    {name: "Expert", dims: "ep", experts: true},
	ExpertTensor:              {name: "ExpertTensor", dims: "tp", experts: true},
	ExpertData:                {name: "ExpertData", dims: "dp", experts: true},
	ExpertTensorModel:         {name: "ExpertTensorModel", dims: "tp-ep", experts: true},
	ExpertTensorModelPipeline: {name: "ExpertTensorModelPipeline", dims: "tp-ep-pp", experts: true},
}

// String returns the name of the kind's constant, such as "TensorData".
func (k Kind) String() string { return kinds[k].name }

// firstStage returns the ranks of a pipeline that have the position embedding: the first
// stage.
func firstStage(stages []int) []int { return stages[:1] }

// firstAndLastStage returns the ranks of a pipeline that have the word embedding: the first
// and the last stage. Input and output share the weights of the embedding.
func firstAndLastStage(stages []int) []int {
	return slices.Compact([]int{stages[0], stages[len(stages)-1]})
}

// division holds the size of the world and the arguments of InitializeModelParallel.
type division struct {
	world, tensor, pipeline, context, expert int
	order                                    string
}

// grouping holds all groups that a division creates. Several kinds may share a group.
type grouping struct {
	distinct [][]int         // the ranks of each group
	groupOf  [numKinds][]int // by kind and rank of the world: index of the rank's group in distinct
}

// groups computes the groups that the division creates. It returns an error if the sizes do
// not fit the world, or if the order is invalid. A size of 0 means 1.
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
	denseOrder, err := dense.orderDims(d.order)
	if err != nil {
		return nil, err
	}
	expertOrder, err := experts.orderDims(d.order)
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(groupsAlong(dense, denseOrder, "pp"), groupsAlong(experts, expertOrder, "pp"), slices.Equal) {
		return nil, fmt.Errorf("order %q has the pipelines of experts on other ranks than those of the other layers: write an order that ends with pp", d.order)
	}
	g := &grouping{}
	known := map[string]int{} // index in distinct, by ranks
	for k, kind := range kinds {
		g.groupOf[k] = make([]int, d.world)
		list := groupsAlong(dense, denseOrder, kind.dims)
		if kind.experts {
			list = groupsAlong(experts, expertOrder, kind.dims)
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
				g.groupOf[k][rank] = known[key]
			}
		}
	}
	return g, nil
}

// lastDivision is a cache of one entry per context: the last division, with its groups. All
// ranks ask for the same division.
type lastDivision struct {
	division
	*grouping
}

// state holds the groups of a rank by kind. All are nil before InitializeModelParallel.
type state [numKinds]*dist.Group

// InitializeModelParallel divides the world into groups. Each worker of Spawn calls it with
// the same arguments after InitProcessGroup. The sizes are the numbers of ranks along each
// dimension; 0 means 1. The data parallel size is the world size divided by the product of
// the tensor, pipeline and context parallel sizes. `order` lists the dimensions, in upper
// or lower case, fastest first; "" means "tp-cp-ep-dp-pp". Experts have the tensor parallel
// size of the other layers and no context parallelism, so their data parallel size may
// differ. The options apply to all groups.
func InitializeModelParallel(r *torch.Rank, tensor, pipeline, context, expert int, order string, opts ...dist.GroupOption) error {
	const who = "InitializeModelParallel"
	if !dist.IsInitialized(r) {
		return fmt.Errorf("%s: there is no process group: call InitProcessGroup first", who)
	}
	if ModelParallelIsInitialized(r) {
		return fmt.Errorf("%s: called twice: DestroyModelParallel comes first", who)
	}
	d, last := division{dist.GetWorldSize(r), tensor, pipeline, context, expert, order}, torch.Local[lastDivision](r.Main())
	if last.grouping == nil || last.division != d {
		g, err := d.groups()
		if err != nil {
			return fmt.Errorf("%s: %w", who, err)
		}
		*last = lastDivision{d, g}
	}
	var list []*dist.Group
	for _, ranks := range last.distinct {
		g, err := dist.NewGroup(r, ranks, opts...)
		if err != nil {
			return fmt.Errorf("%s: %w", who, err)
		}
		list = append(list, g)
	}
	for k, indices := range last.groupOf {
		torch.Local[state](r)[k] = list[indices[dist.GetRank(r)]]
	}
	return nil
}

// ModelParallelIsInitialized reports whether the calling rank has called
// InitializeModelParallel, and has not removed the groups since.
func ModelParallelIsInitialized(r *torch.Rank) bool {
	return torch.Local[state](r)[Tensor] != nil
}

// DestroyModelParallel removes the groups of the calling rank.
func DestroyModelParallel(r *torch.Rank) { *torch.Local[state](r) = state{} }

// Group returns the rank's group of kind k. Every rank gets a group. The Embedding group of
// a pipeline has only the first and the last stage as members, and the PositionEmbedding
// group only the first stage. A rank of another stage gets the group of its pipeline
// without being a member: the group's Rank is -1, and its collectives return an error on
// this rank. Before InitializeModelParallel, Group panics with a *torch.Error.
func Group(r *torch.Rank, k Kind) *dist.Group { return groupFor("Group", r, k) }

// groupFor returns the rank's group of kind k, as Group does. `who` is the caller's name in
// the panic.
func groupFor(who string, r *torch.Rank, k Kind) *dist.Group {
	g := torch.Local[state](r)[k]
	if g == nil {
		panic(&torch.Error{Op: who, Err: errors.New("model parallel is not initialised: call tp.InitializeModelParallel first")})
	}
	return g
}

// requireSameGroup panics unless g, the group for which a layer was created, is still the
// tensor parallel group of rank r. The layer's part of the weights fits no other group.
// `who` is the layer's name in the panic.
func requireSameGroup(who string, r *torch.Rank, g *dist.Group) {
	if groupFor(who, r, Tensor) != g {
		panic(&torch.Error{Op: who, Err: errors.New("it was made for groups that no longer exist: create it again after InitializeModelParallel")})
	}
}
