package tp

import (
	"fmt"

	"github.com/kernbench/kernbench/torch"
)

// The getters panic with a *torch.Error before InitializeModelParallel. A rank is that in
// the group, where nothing else is said.

// GetTensorModelParallelGroup is the tensor parallel group.
func GetTensorModelParallelGroup(ctx *torch.Context) *torch.Group {
	return get(ctx, tensorGroup, "Group").group
}

// GetTensorModelParallelRank is the tensor parallel rank.
func GetTensorModelParallelRank(ctx *torch.Context) int { return get(ctx, tensorGroup, "Rank").at }

// GetTensorModelParallelWorldSize is the tensor parallel size.
func GetTensorModelParallelWorldSize(ctx *torch.Context) int {
	return len(get(ctx, tensorGroup, "WorldSize").ranks)
}

// GetPipelineModelParallelGroup is the pipeline.
func GetPipelineModelParallelGroup(ctx *torch.Context) *torch.Group {
	return get(ctx, pipelineGroup, "Group").group
}

// GetPipelineModelParallelRank is the rank in the pipeline: the stage.
func GetPipelineModelParallelRank(ctx *torch.Context) int { return get(ctx, pipelineGroup, "Rank").at }

// GetPipelineModelParallelWorldSize is the number of stages.
func GetPipelineModelParallelWorldSize(ctx *torch.Context) int {
	return len(get(ctx, pipelineGroup, "WorldSize").ranks)
}

// GetDataParallelGroup is the data parallel group.
func GetDataParallelGroup(ctx *torch.Context) *torch.Group { return get(ctx, dataGroup, "Group").group }

// GetDataParallelRank is the data parallel rank.
func GetDataParallelRank(ctx *torch.Context) int { return get(ctx, dataGroup, "Rank").at }

// GetDataParallelWorldSize is the data parallel size.
func GetDataParallelWorldSize(ctx *torch.Context) int {
	return len(get(ctx, dataGroup, "WorldSize").ranks)
}

// GetContextParallelGroup is the context parallel group.
func GetContextParallelGroup(ctx *torch.Context) *torch.Group {
	return get(ctx, contextGroup, "Group").group
}

// GetContextParallelRank is the context parallel rank.
func GetContextParallelRank(ctx *torch.Context) int { return get(ctx, contextGroup, "Rank").at }

// GetContextParallelWorldSize is the context parallel size.
func GetContextParallelWorldSize(ctx *torch.Context) int {
	return len(get(ctx, contextGroup, "WorldSize").ranks)
}

// GetDataAndContextParallelGroup is the group along data and context: Megatron's data
// parallel group with_context_parallel.
func GetDataAndContextParallelGroup(ctx *torch.Context) *torch.Group {
	return get(ctx, dataContextGroup, "Group").group
}

// GetDataAndContextParallelRank is the data and context parallel rank.
func GetDataAndContextParallelRank(ctx *torch.Context) int {
	return get(ctx, dataContextGroup, "Rank").at
}

// GetDataAndContextParallelWorldSize is the data and context parallel size.
func GetDataAndContextParallelWorldSize(ctx *torch.Context) int {
	return len(get(ctx, dataContextGroup, "WorldSize").ranks)
}

// GetModelParallelGroup is the group along tensor and pipeline: the ranks that have one model.
func GetModelParallelGroup(ctx *torch.Context) *torch.Group {
	return get(ctx, modelGroup, "Group").group
}

// GetTensorAndDataParallelGroup is the group along tensor and data.
func GetTensorAndDataParallelGroup(ctx *torch.Context) *torch.Group {
	return get(ctx, tensorDataGroup, "Group").group
}

// GetTensorAndContextParallelGroup is the group along tensor and context.
func GetTensorAndContextParallelGroup(ctx *torch.Context) *torch.Group {
	return get(ctx, tensorContextGroup, "Group").group
}

// GetTensorAndContextParallelRank is the tensor and context parallel rank.
func GetTensorAndContextParallelRank(ctx *torch.Context) int {
	return get(ctx, tensorContextGroup, "Rank").at
}

// GetTensorAndContextParallelWorldSize is the tensor and context parallel size.
func GetTensorAndContextParallelWorldSize(ctx *torch.Context) int {
	return len(get(ctx, tensorContextGroup, "WorldSize").ranks)
}

// GetTensorAndDataAndContextParallelGroup is the group along tensor, data and context.
func GetTensorAndDataAndContextParallelGroup(ctx *torch.Context) *torch.Group {
	return get(ctx, tensorDataContextGroup, "Group").group
}

// GetEmbeddingGroup is the group that shares the word embedding, the first and the last
// stage of a pipeline: it panics on other ranks.
func GetEmbeddingGroup(ctx *torch.Context) *torch.Group {
	return get(ctx, embeddingGroup, "Group").group
}

// GetPositionEmbeddingGroup is the first stage of the pipeline: it panics on other ranks.
func GetPositionEmbeddingGroup(ctx *torch.Context) *torch.Group {
	return get(ctx, positionEmbeddingGroup, "Group").group
}

// GetExpertModelParallelGroup is the group that experts are dealt out to.
func GetExpertModelParallelGroup(ctx *torch.Context) *torch.Group {
	return get(ctx, expertGroup, "Group").group
}

// GetExpertModelParallelRank is the expert parallel rank.
func GetExpertModelParallelRank(ctx *torch.Context) int { return get(ctx, expertGroup, "Rank").at }

// GetExpertModelParallelWorldSize is the expert parallel size.
func GetExpertModelParallelWorldSize(ctx *torch.Context) int {
	return len(get(ctx, expertGroup, "WorldSize").ranks)
}

// GetExpertTensorParallelGroup is the group that has one expert's parts.
func GetExpertTensorParallelGroup(ctx *torch.Context) *torch.Group {
	return get(ctx, expertTensorGroup, "Group").group
}

// GetExpertTensorParallelRank is the experts' tensor parallel rank.
func GetExpertTensorParallelRank(ctx *torch.Context) int {
	return get(ctx, expertTensorGroup, "Rank").at
}

// GetExpertTensorParallelWorldSize is the experts' tensor parallel size.
func GetExpertTensorParallelWorldSize(ctx *torch.Context) int {
	return len(get(ctx, expertTensorGroup, "WorldSize").ranks)
}

// GetExpertDataParallelGroup is the group that has the same parts of the same experts.
func GetExpertDataParallelGroup(ctx *torch.Context) *torch.Group {
	return get(ctx, expertDataGroup, "Group").group
}

// GetExpertDataParallelRank is the experts' data parallel rank.
func GetExpertDataParallelRank(ctx *torch.Context) int { return get(ctx, expertDataGroup, "Rank").at }

// GetExpertDataParallelWorldSize is the experts' data parallel size.
func GetExpertDataParallelWorldSize(ctx *torch.Context) int {
	return len(get(ctx, expertDataGroup, "WorldSize").ranks)
}

// GetExpertTensorAndModelParallelGroup is the group that has a layer's experts.
func GetExpertTensorAndModelParallelGroup(ctx *torch.Context) *torch.Group {
	return get(ctx, expertTensorModelGroup, "Group").group
}

// GetExpertTensorAndModelParallelRank is the experts' tensor and model parallel rank.
func GetExpertTensorAndModelParallelRank(ctx *torch.Context) int {
	return get(ctx, expertTensorModelGroup, "Rank").at
}

// GetExpertTensorAndModelParallelWorldSize is the experts' tensor and model parallel size.
func GetExpertTensorAndModelParallelWorldSize(ctx *torch.Context) int {
	return len(get(ctx, expertTensorModelGroup, "WorldSize").ranks)
}

// GetExpertTensorModelPipelineParallelGroup is the group that has the experts of all layers.
func GetExpertTensorModelPipelineParallelGroup(ctx *torch.Context) *torch.Group {
	return get(ctx, expertTensorModelPipelineGroup, "Group").group
}

// GetTensorModelParallelSrcRank is the first rank, of the world, of the tensor parallel group.
func GetTensorModelParallelSrcRank(ctx *torch.Context) int {
	return get(ctx, tensorGroup, "SrcRank").rank(0)
}

// GetDataParallelSrcRank is the first rank, of the world, of the data parallel group.
func GetDataParallelSrcRank(ctx *torch.Context) int { return get(ctx, dataGroup, "SrcRank").rank(0) }

// GetPipelineModelParallelFirstRank is the rank, of the world, of the first stage.
func GetPipelineModelParallelFirstRank(ctx *torch.Context) int {
	return get(ctx, pipelineGroup, "FirstRank").rank(0)
}

// GetPipelineModelParallelLastRank is the rank, of the world, of the last stage.
func GetPipelineModelParallelLastRank(ctx *torch.Context) int {
	return get(ctx, pipelineGroup, "LastRank").rank(-1)
}

// GetPipelineModelParallelNextRank is the rank, of the world, of the next stage; the first
// comes after the last.
func GetPipelineModelParallelNextRank(ctx *torch.Context) int {
	m := get(ctx, pipelineGroup, "NextRank")
	return m.rank(m.at + 1)
}

// GetPipelineModelParallelPrevRank is the rank, of the world, of the stage before; the
// last comes before the first.
func GetPipelineModelParallelPrevRank(ctx *torch.Context) int {
	m := get(ctx, pipelineGroup, "PrevRank")
	return m.rank(m.at - 1)
}

// IsPipelineFirstStage reports whether the rank has the first stage.
func IsPipelineFirstStage(ctx *torch.Context) bool {
	return of(ctx, "IsPipelineFirstStage").own[pipelineGroup].at == 0
}

// IsPipelineLastStage reports whether the rank has the last stage.
func IsPipelineLastStage(ctx *torch.Context) bool {
	m := &of(ctx, "IsPipelineLastStage").own[pipelineGroup]
	return m.at == len(m.ranks)-1
}

// IsRankInEmbeddingGroup reports whether the rank has the word embedding.
func IsRankInEmbeddingGroup(ctx *torch.Context) bool {
	return of(ctx, "IsRankInEmbeddingGroup").own[embeddingGroup].group != nil
}

// IsRankInPositionEmbeddingGroup reports whether the rank has the position embedding.
func IsRankInPositionEmbeddingGroup(ctx *torch.Context) bool {
	return of(ctx, "IsRankInPositionEmbeddingGroup").own[positionEmbeddingGroup].group != nil
}

// get is the caller's group of a kind, for the getter of something about it.
func get(ctx *torch.Context, k kind, what string) *membership {
	who := "Get" + kinds[k].name + what
	s := of(ctx, who)
	m := &s.own[k]
	if m.group == nil {
		panic(&torch.Error{Op: who, Err: fmt.Errorf("rank %d is in no such group: ask IsRankIn%sGroup first", s.rank, kinds[k].name)})
	}
	return m
}

// rank is the rank of the world that is rank i of the group, going round.
func (m *membership) rank(i int) int { return m.ranks[(i+len(m.ranks))%len(m.ranks)] }
