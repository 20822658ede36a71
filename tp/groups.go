package tp

import (
	"fmt"
	"slices"
	"sync"
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
