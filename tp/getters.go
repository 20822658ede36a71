package tp

import (
	"fmt"

	"github.com/kernbench/kernbench/torch"
)

// The getters panic with a *torch.Error before InitializeModelParallel. A rank is that in
// the group, where nothing else is said.

// GetTensorModelParallelGroup returns the tensor parallel group.
func GetTensorModelParallelGroup(ctx *torch.Context) *torch.Group { return byTP.group(ctx) }

// GetTensorModelParallelRank returns the tensor parallel rank.
func GetTensorModelParallelRank(ctx *torch.Context) int { return byTP.rank(ctx) }

// GetTensorModelParallelWorldSize returns the tensor parallel size.
func GetTensorModelParallelWorldSize(ctx *torch.Context) int { return byTP.size(ctx) }

// GetPipelineModelParallelGroup returns the pipeline.
func GetPipelineModelParallelGroup(ctx *torch.Context) *torch.Group { return byPP.group(ctx) }

// GetPipelineModelParallelRank returns the rank in the pipeline: the stage.
func GetPipelineModelParallelRank(ctx *torch.Context) int { return byPP.rank(ctx) }

// GetPipelineModelParallelWorldSize returns the number of stages.
func GetPipelineModelParallelWorldSize(ctx *torch.Context) int { return byPP.size(ctx) }

// GetDataParallelGroup returns the data parallel group.
func GetDataParallelGroup(ctx *torch.Context) *torch.Group { return byDP.group(ctx) }

// GetDataParallelRank returns the data parallel rank.
func GetDataParallelRank(ctx *torch.Context) int { return byDP.rank(ctx) }

// GetDataParallelWorldSize returns the data parallel size.
func GetDataParallelWorldSize(ctx *torch.Context) int { return byDP.size(ctx) }

// GetContextParallelGroup returns the context parallel group.
func GetContextParallelGroup(ctx *torch.Context) *torch.Group { return byCP.group(ctx) }

// GetContextParallelRank returns the context parallel rank.
func GetContextParallelRank(ctx *torch.Context) int { return byCP.rank(ctx) }

// GetContextParallelWorldSize returns the context parallel size.
func GetContextParallelWorldSize(ctx *torch.Context) int { return byCP.size(ctx) }

// GetDataAndContextParallelGroup returns the group along data and context: Megatron's data
// parallel group with_context_parallel.
func GetDataAndContextParallelGroup(ctx *torch.Context) *torch.Group { return byDPCP.group(ctx) }

// GetDataAndContextParallelRank returns the data and context parallel rank.
func GetDataAndContextParallelRank(ctx *torch.Context) int { return byDPCP.rank(ctx) }

// GetDataAndContextParallelWorldSize returns the data and context parallel size.
func GetDataAndContextParallelWorldSize(ctx *torch.Context) int { return byDPCP.size(ctx) }

// GetModelParallelGroup returns the group along tensor and pipeline: the ranks that have one model.
func GetModelParallelGroup(ctx *torch.Context) *torch.Group { return byTPPP.group(ctx) }

// GetTensorAndDataParallelGroup returns the group along tensor and data.
func GetTensorAndDataParallelGroup(ctx *torch.Context) *torch.Group { return byTPDP.group(ctx) }

// GetTensorAndContextParallelGroup returns the group along tensor and context.
func GetTensorAndContextParallelGroup(ctx *torch.Context) *torch.Group { return byTPCP.group(ctx) }

// GetTensorAndContextParallelRank returns the tensor and context parallel rank.
func GetTensorAndContextParallelRank(ctx *torch.Context) int { return byTPCP.rank(ctx) }

// GetTensorAndContextParallelWorldSize returns the tensor and context parallel size.
func GetTensorAndContextParallelWorldSize(ctx *torch.Context) int { return byTPCP.size(ctx) }

// GetTensorAndDataAndContextParallelGroup returns the group along tensor, data and context.
func GetTensorAndDataAndContextParallelGroup(ctx *torch.Context) *torch.Group {
	return byTPDPCP.group(ctx)
}

// GetEmbeddingGroup returns the group that shares the word embedding, the first and the last
// stage of a pipeline: it panics on other ranks.
func GetEmbeddingGroup(ctx *torch.Context) *torch.Group { return byEmbedding.group(ctx) }

// GetPositionEmbeddingGroup returns the first stage of the pipeline: it panics on other ranks.
func GetPositionEmbeddingGroup(ctx *torch.Context) *torch.Group {
	return byPositionEmbedding.group(ctx)
}

// GetExpertModelParallelGroup returns the group that experts are dealt out to.
func GetExpertModelParallelGroup(ctx *torch.Context) *torch.Group { return byEP.group(ctx) }

// GetExpertModelParallelRank returns the expert parallel rank.
func GetExpertModelParallelRank(ctx *torch.Context) int { return byEP.rank(ctx) }

// GetExpertModelParallelWorldSize returns the expert parallel size.
func GetExpertModelParallelWorldSize(ctx *torch.Context) int { return byEP.size(ctx) }

// GetExpertTensorParallelGroup returns the group that has one expert's parts.
func GetExpertTensorParallelGroup(ctx *torch.Context) *torch.Group { return byExpertTP.group(ctx) }

// GetExpertTensorParallelRank returns the experts' tensor parallel rank.
func GetExpertTensorParallelRank(ctx *torch.Context) int { return byExpertTP.rank(ctx) }

// GetExpertTensorParallelWorldSize returns the experts' tensor parallel size.
func GetExpertTensorParallelWorldSize(ctx *torch.Context) int { return byExpertTP.size(ctx) }

// GetExpertDataParallelGroup returns the group that has the same parts of the same experts.
func GetExpertDataParallelGroup(ctx *torch.Context) *torch.Group { return byExpertDP.group(ctx) }

// GetExpertDataParallelRank returns the experts' data parallel rank.
func GetExpertDataParallelRank(ctx *torch.Context) int { return byExpertDP.rank(ctx) }

// GetExpertDataParallelWorldSize returns the experts' data parallel size.
func GetExpertDataParallelWorldSize(ctx *torch.Context) int { return byExpertDP.size(ctx) }

// GetExpertTensorAndModelParallelGroup returns the group that has a layer's experts.
func GetExpertTensorAndModelParallelGroup(ctx *torch.Context) *torch.Group {
	return byExpertTPEP.group(ctx)
}

// GetExpertTensorAndModelParallelRank returns the experts' tensor and model parallel rank.
func GetExpertTensorAndModelParallelRank(ctx *torch.Context) int { return byExpertTPEP.rank(ctx) }

// GetExpertTensorAndModelParallelWorldSize returns the experts' tensor and model parallel size.
func GetExpertTensorAndModelParallelWorldSize(ctx *torch.Context) int { return byExpertTPEP.size(ctx) }

// GetExpertTensorModelPipelineParallelGroup returns the group that has the experts of all layers.
func GetExpertTensorModelPipelineParallelGroup(ctx *torch.Context) *torch.Group {
	return byExpertTPEPPP.group(ctx)
}

// GetTensorModelParallelSrcRank returns the first rank, of the world, of the tensor parallel group.
func GetTensorModelParallelSrcRank(ctx *torch.Context) int { return byTP.get(ctx, "SrcRank").rank(0) }

// GetDataParallelSrcRank returns the first rank, of the world, of the data parallel group.
func GetDataParallelSrcRank(ctx *torch.Context) int { return byDP.get(ctx, "SrcRank").rank(0) }

// GetPipelineModelParallelFirstRank returns the rank, of the world, of the first stage.
func GetPipelineModelParallelFirstRank(ctx *torch.Context) int {
	return byPP.get(ctx, "FirstRank").rank(0)
}

// GetPipelineModelParallelLastRank returns the rank, of the world, of the last stage.
func GetPipelineModelParallelLastRank(ctx *torch.Context) int {
	return byPP.get(ctx, "LastRank").rank(-1)
}

// GetPipelineModelParallelNextRank returns the rank, of the world, of the next stage; the first
// comes after the last.
func GetPipelineModelParallelNextRank(ctx *torch.Context) int {
	m := byPP.get(ctx, "NextRank")
	return m.rank(m.at + 1)
}

// GetPipelineModelParallelPrevRank returns the rank, of the world, of the stage before; the
// last comes before the first.
func GetPipelineModelParallelPrevRank(ctx *torch.Context) int {
	m := byPP.get(ctx, "PrevRank")
	return m.rank(m.at - 1)
}

// IsPipelineFirstStage reports whether the rank has the first stage.
func IsPipelineFirstStage(ctx *torch.Context) bool {
	return of(ctx, "IsPipelineFirstStage").own[byPP].at == 0
}

// IsPipelineLastStage reports whether the rank has the last stage.
func IsPipelineLastStage(ctx *torch.Context) bool {
	m := &of(ctx, "IsPipelineLastStage").own[byPP]
	return m.at == len(m.ranks)-1
}

// IsRankInEmbeddingGroup reports whether the rank has the word embedding.
func IsRankInEmbeddingGroup(ctx *torch.Context) bool {
	return of(ctx, "IsRankInEmbeddingGroup").own[byEmbedding].group != nil
}

// IsRankInPositionEmbeddingGroup reports whether the rank has the position embedding.
func IsRankInPositionEmbeddingGroup(ctx *torch.Context) bool {
	return of(ctx, "IsRankInPositionEmbeddingGroup").own[byPositionEmbedding].group != nil
}

// group returns the caller's group of the kind, for Get…Group.
func (k kind) group(ctx *torch.Context) *torch.Group { return k.get(ctx, "Group").group }

// rank returns the caller's rank in its group, for Get…Rank.
func (k kind) rank(ctx *torch.Context) int { return k.get(ctx, "Rank").at }

// size returns the size of the caller's group, for Get…WorldSize.
func (k kind) size(ctx *torch.Context) int { return len(k.get(ctx, "WorldSize").ranks) }

// get returns the caller's membership of the kind, for the getter of something about it.
func (k kind) get(ctx *torch.Context, what string) *membership {
	who := "Get" + kinds[k].name + what
	s := of(ctx, who)
	m := &s.own[k]
	if m.group == nil {
		panic(&torch.Error{Op: who, Err: fmt.Errorf("rank %d is in no such group: ask IsRankIn%sGroup first", s.rank, kinds[k].name)})
	}
	return m
}

// rank returns the rank of the world that is rank i of the group, going round.
func (m *membership) rank(i int) int { return m.ranks[(i+len(m.ranks))%len(m.ranks)] }
