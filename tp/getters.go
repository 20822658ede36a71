package tp

import (
	"fmt"

	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// The getters panic with a *torch.Error before InitializeModelParallel. A rank is that in
// the group, where nothing else is said.

// GetTensorModelParallelGroup returns the tensor parallel group.
func GetTensorModelParallelGroup(r *torch.Rank) *dist.Group { return byTP.group(r) }

// GetTensorModelParallelRank returns the tensor parallel rank.
func GetTensorModelParallelRank(r *torch.Rank) int { return byTP.rank(r) }

// GetTensorModelParallelWorldSize returns the tensor parallel size.
func GetTensorModelParallelWorldSize(r *torch.Rank) int { return byTP.size(r) }

// GetPipelineModelParallelGroup returns the pipeline.
func GetPipelineModelParallelGroup(r *torch.Rank) *dist.Group { return byPP.group(r) }

// GetPipelineModelParallelRank returns the rank in the pipeline: the stage.
func GetPipelineModelParallelRank(r *torch.Rank) int { return byPP.rank(r) }

// GetPipelineModelParallelWorldSize returns the number of stages.
func GetPipelineModelParallelWorldSize(r *torch.Rank) int { return byPP.size(r) }

// GetDataParallelGroup returns the data parallel group.
func GetDataParallelGroup(r *torch.Rank) *dist.Group { return byDP.group(r) }

// GetDataParallelRank returns the data parallel rank.
func GetDataParallelRank(r *torch.Rank) int { return byDP.rank(r) }

// GetDataParallelWorldSize returns the data parallel size.
func GetDataParallelWorldSize(r *torch.Rank) int { return byDP.size(r) }

// GetContextParallelGroup returns the context parallel group.
func GetContextParallelGroup(r *torch.Rank) *dist.Group { return byCP.group(r) }

// GetContextParallelRank returns the context parallel rank.
func GetContextParallelRank(r *torch.Rank) int { return byCP.rank(r) }

// GetContextParallelWorldSize returns the context parallel size.
func GetContextParallelWorldSize(r *torch.Rank) int { return byCP.size(r) }

// GetDataAndContextParallelGroup returns the group along data and context: Megatron's data
// parallel group with_context_parallel.
func GetDataAndContextParallelGroup(r *torch.Rank) *dist.Group { return byDPCP.group(r) }

// GetDataAndContextParallelRank returns the data and context parallel rank.
func GetDataAndContextParallelRank(r *torch.Rank) int { return byDPCP.rank(r) }

// GetDataAndContextParallelWorldSize returns the data and context parallel size.
func GetDataAndContextParallelWorldSize(r *torch.Rank) int { return byDPCP.size(r) }

// GetModelParallelGroup returns the group along tensor and pipeline: the ranks that have one model.
func GetModelParallelGroup(r *torch.Rank) *dist.Group { return byTPPP.group(r) }

// GetTensorAndDataParallelGroup returns the group along tensor and data.
func GetTensorAndDataParallelGroup(r *torch.Rank) *dist.Group { return byTPDP.group(r) }

// GetTensorAndContextParallelGroup returns the group along tensor and context.
func GetTensorAndContextParallelGroup(r *torch.Rank) *dist.Group { return byTPCP.group(r) }

// GetTensorAndContextParallelRank returns the tensor and context parallel rank.
func GetTensorAndContextParallelRank(r *torch.Rank) int { return byTPCP.rank(r) }

// GetTensorAndContextParallelWorldSize returns the tensor and context parallel size.
func GetTensorAndContextParallelWorldSize(r *torch.Rank) int { return byTPCP.size(r) }

// GetTensorAndDataAndContextParallelGroup returns the group along tensor, data and context.
func GetTensorAndDataAndContextParallelGroup(r *torch.Rank) *dist.Group {
	return byTPDPCP.group(r)
}

// GetEmbeddingGroup returns the group that shares the word embedding, the first and the last
// stage of a pipeline: it panics on other ranks.
func GetEmbeddingGroup(r *torch.Rank) *dist.Group { return byEmbedding.group(r) }

// GetPositionEmbeddingGroup returns the first stage of the pipeline: it panics on other ranks.
func GetPositionEmbeddingGroup(r *torch.Rank) *dist.Group {
	return byPositionEmbedding.group(r)
}

// GetExpertModelParallelGroup returns the group that experts are dealt out to.
func GetExpertModelParallelGroup(r *torch.Rank) *dist.Group { return byEP.group(r) }

// GetExpertModelParallelRank returns the expert parallel rank.
func GetExpertModelParallelRank(r *torch.Rank) int { return byEP.rank(r) }

// GetExpertModelParallelWorldSize returns the expert parallel size.
func GetExpertModelParallelWorldSize(r *torch.Rank) int { return byEP.size(r) }

// GetExpertTensorParallelGroup returns the group that has one expert's parts.
func GetExpertTensorParallelGroup(r *torch.Rank) *dist.Group { return byExpertTP.group(r) }

// GetExpertTensorParallelRank returns the experts' tensor parallel rank.
func GetExpertTensorParallelRank(r *torch.Rank) int { return byExpertTP.rank(r) }

// GetExpertTensorParallelWorldSize returns the experts' tensor parallel size.
func GetExpertTensorParallelWorldSize(r *torch.Rank) int { return byExpertTP.size(r) }

// GetExpertDataParallelGroup returns the group that has the same parts of the same experts.
func GetExpertDataParallelGroup(r *torch.Rank) *dist.Group { return byExpertDP.group(r) }

// GetExpertDataParallelRank returns the experts' data parallel rank.
func GetExpertDataParallelRank(r *torch.Rank) int { return byExpertDP.rank(r) }

// GetExpertDataParallelWorldSize returns the experts' data parallel size.
func GetExpertDataParallelWorldSize(r *torch.Rank) int { return byExpertDP.size(r) }

// GetExpertTensorAndModelParallelGroup returns the group that has a layer's experts.
func GetExpertTensorAndModelParallelGroup(r *torch.Rank) *dist.Group {
	return byExpertTPEP.group(r)
}

// GetExpertTensorAndModelParallelRank returns the experts' tensor and model parallel rank.
func GetExpertTensorAndModelParallelRank(r *torch.Rank) int { return byExpertTPEP.rank(r) }

// GetExpertTensorAndModelParallelWorldSize returns the experts' tensor and model parallel size.
func GetExpertTensorAndModelParallelWorldSize(r *torch.Rank) int { return byExpertTPEP.size(r) }

// GetExpertTensorModelPipelineParallelGroup returns the group that has the experts of all layers.
func GetExpertTensorModelPipelineParallelGroup(r *torch.Rank) *dist.Group {
	return byExpertTPEPPP.group(r)
}

// GetTensorModelParallelSrcRank returns the first rank, of the world, of the tensor parallel group.
func GetTensorModelParallelSrcRank(r *torch.Rank) int { return byTP.get(r, "SrcRank").rank(0) }

// GetDataParallelSrcRank returns the first rank, of the world, of the data parallel group.
func GetDataParallelSrcRank(r *torch.Rank) int { return byDP.get(r, "SrcRank").rank(0) }

// GetPipelineModelParallelFirstRank returns the rank, of the world, of the first stage.
func GetPipelineModelParallelFirstRank(r *torch.Rank) int {
	return byPP.get(r, "FirstRank").rank(0)
}

// GetPipelineModelParallelLastRank returns the rank, of the world, of the last stage.
func GetPipelineModelParallelLastRank(r *torch.Rank) int {
	return byPP.get(r, "LastRank").rank(-1)
}

// GetPipelineModelParallelNextRank returns the rank, of the world, of the next stage; the first
// comes after the last.
func GetPipelineModelParallelNextRank(r *torch.Rank) int {
	m := byPP.get(r, "NextRank")
	return m.rank(m.at + 1)
}

// GetPipelineModelParallelPrevRank returns the rank, of the world, of the stage before; the
// last comes before the first.
func GetPipelineModelParallelPrevRank(r *torch.Rank) int {
	m := byPP.get(r, "PrevRank")
	return m.rank(m.at - 1)
}

// IsPipelineFirstStage reports whether the rank has the first stage.
func IsPipelineFirstStage(r *torch.Rank) bool {
	return of(r, "IsPipelineFirstStage").own[byPP].at == 0
}

// IsPipelineLastStage reports whether the rank has the last stage.
func IsPipelineLastStage(r *torch.Rank) bool {
	m := &of(r, "IsPipelineLastStage").own[byPP]
	return m.at == len(m.ranks)-1
}

// IsRankInEmbeddingGroup reports whether the rank has the word embedding.
func IsRankInEmbeddingGroup(r *torch.Rank) bool {
	return of(r, "IsRankInEmbeddingGroup").own[byEmbedding].group != nil
}

// IsRankInPositionEmbeddingGroup reports whether the rank has the position embedding.
func IsRankInPositionEmbeddingGroup(r *torch.Rank) bool {
	return of(r, "IsRankInPositionEmbeddingGroup").own[byPositionEmbedding].group != nil
}

// group returns the caller's group of the kind, for Get…Group.
func (k kind) group(r *torch.Rank) *dist.Group { return k.get(r, "Group").group }

// rank returns the caller's rank in its group, for Get…Rank.
func (k kind) rank(r *torch.Rank) int { return k.get(r, "Rank").at }

// size returns the size of the caller's group, for Get…WorldSize.
func (k kind) size(r *torch.Rank) int { return len(k.get(r, "WorldSize").ranks) }

// get returns the caller's membership of the kind, for the getter of something about it.
func (k kind) get(r *torch.Rank, what string) *membership {
	who := "Get" + kinds[k].name + what
	s := of(r, who)
	m := &s.own[k]
	if m.group == nil {
		panic(&torch.Error{Op: who, Err: fmt.Errorf("rank %d is in no such group: ask IsRankIn%sGroup first", s.rank, kinds[k].name)})
	}
	return m
}

// rank returns the rank of the world that is rank i of the group, going round.
func (m *membership) rank(i int) int { return m.ranks[(i+len(m.ranks))%len(m.ranks)] }
