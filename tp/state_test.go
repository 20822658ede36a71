package tp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/torch"
)

// Each rank of 24, with [tensor, data, pipeline] = [2, 3, 4], finds its place.
func TestGettersOnEveryRank(t *testing.T) {
	const world = 24
	ctx := systemOf(t, world, "sip.cube_mesh.w=1", "sip.cube_mesh.h=1", "cube.pe_layout.corners=1", "cube.pe_layout.pe_per_corner=1")
	err := ctx.Spawn(func(rank int, ctx *torch.Context) error {
		torch.OK(ctx.Distributed().InitProcessGroup("ahbm"))
		torch.OK(InitializeModelParallel(ctx, 2, 4, 1, 1, "TP-dp-Pp", torch.Algorithm("ring")))
		tensor, data, stage := rank%2, rank/2%3, rank/6
		for _, c := range []struct {
			name      string
			got, want any
		}{
			{"TensorModelParallelRank", GetTensorModelParallelRank(ctx), tensor},
			{"TensorModelParallelWorldSize", GetTensorModelParallelWorldSize(ctx), 2},
			{"TensorModelParallelSrcRank", GetTensorModelParallelSrcRank(ctx), rank - tensor},
			{"DataParallelRank", GetDataParallelRank(ctx), data},
			{"DataParallelWorldSize", GetDataParallelWorldSize(ctx), 3},
			{"DataParallelSrcRank", GetDataParallelSrcRank(ctx), rank - 2*data},
			{"DataAndContextParallelRank", GetDataAndContextParallelRank(ctx), data},
			{"DataAndContextParallelWorldSize", GetDataAndContextParallelWorldSize(ctx), 3},
			{"PipelineModelParallelRank", GetPipelineModelParallelRank(ctx), stage},
			{"PipelineModelParallelWorldSize", GetPipelineModelParallelWorldSize(ctx), 4},
			{"PipelineModelParallelFirstRank", GetPipelineModelParallelFirstRank(ctx), rank % 6},
			{"PipelineModelParallelLastRank", GetPipelineModelParallelLastRank(ctx), rank%6 + 18},
			{"PipelineModelParallelNextRank", GetPipelineModelParallelNextRank(ctx), (rank + 6) % world},
			{"PipelineModelParallelPrevRank", GetPipelineModelParallelPrevRank(ctx), (rank + 18) % world},
			{"IsPipelineFirstStage", IsPipelineFirstStage(ctx), stage == 0},
			{"IsPipelineLastStage", IsPipelineLastStage(ctx), stage == 3},
			{"IsRankInEmbeddingGroup", IsRankInEmbeddingGroup(ctx), stage == 0 || stage == 3},
			{"IsRankInPositionEmbeddingGroup", IsRankInPositionEmbeddingGroup(ctx), stage == 0},
			{"one group for data and for data and context", GetDataParallelGroup(ctx) == GetDataAndContextParallelGroup(ctx), true},
			{"ContextParallelRank", GetContextParallelRank(ctx), 0},
			{"ContextParallelWorldSize", GetContextParallelWorldSize(ctx), 1},
			{"TensorAndContextParallelRank", GetTensorAndContextParallelRank(ctx), tensor},
			{"TensorAndContextParallelWorldSize", GetTensorAndContextParallelWorldSize(ctx), 2},
			{"ExpertModelParallelRank", GetExpertModelParallelRank(ctx), 0},
			{"ExpertModelParallelWorldSize", GetExpertModelParallelWorldSize(ctx), 1},
			{"ExpertTensorParallelRank", GetExpertTensorParallelRank(ctx), tensor},
			{"ExpertTensorParallelWorldSize", GetExpertTensorParallelWorldSize(ctx), 2},
			{"ExpertDataParallelRank", GetExpertDataParallelRank(ctx), data},
			{"ExpertDataParallelWorldSize", GetExpertDataParallelWorldSize(ctx), 3},
			{"ExpertTensorAndModelParallelRank", GetExpertTensorAndModelParallelRank(ctx), tensor},
			{"ExpertTensorAndModelParallelWorldSize", GetExpertTensorAndModelParallelWorldSize(ctx), 2},
		} {
			if c.got != c.want {
				t.Errorf("rank %d: %s is %v, want %v", rank, c.name, c.got, c.want)
			}
		}
		checkGroups(t, rank, ctx)
		return nil
	}, world)
	if err != nil {
		t.Fatal(err)
	}
}

// checkGroups has a collective of each of the rank's groups: the sum of its ranks tells
// which they are.
func checkGroups(t *testing.T, rank int, ctx *torch.Context) {
	dist := ctx.Distributed()
	all, err := allGroups(dist.GetWorldSize(), 2, 4, 1, 1, "tp-dp-pp")
	torch.OK(err)
	for k, get := range [numKinds]func(*torch.Context) *torch.Group{
		byTP: GetTensorModelParallelGroup, byPP: GetPipelineModelParallelGroup, byDP: GetDataParallelGroup,
		byCP: GetContextParallelGroup, byDPCP: GetDataAndContextParallelGroup, byTPPP: GetModelParallelGroup,
		byTPDP: GetTensorAndDataParallelGroup, byTPCP: GetTensorAndContextParallelGroup,
		byTPDPCP: GetTensorAndDataAndContextParallelGroup, byEmbedding: GetEmbeddingGroup,
		byPositionEmbedding: GetPositionEmbeddingGroup, byEP: GetExpertModelParallelGroup, byExpertTP: GetExpertTensorParallelGroup,
		byExpertDP: GetExpertDataParallelGroup, byExpertTPEP: GetExpertTensorAndModelParallelGroup,
		byExpertTPEPPP: GetExpertTensorModelPipelineParallelGroup,
	} {
		sum, found := 0, false
		for _, ranks := range all[k] {
			for _, r := range ranks {
				found = found || r == rank
			}
			if found {
				for _, r := range ranks {
					sum += r
				}
				break
			}
		}
		if !found {
			want := fmt.Sprintf("torch: Get%sGroup: rank %d is in no such group: ask IsRankIn%[1]sGroup first", kinds[k].name, rank)
			if got := misuse(func() { get(ctx) }); got == nil || got.Error() != want {
				t.Errorf("rank %d: %s: got %v, want %s", rank, kinds[k].name, got, want)
			}
			continue
		}
		x := torch.Must(ctx.Full(float64(rank), torch.F32, torch.Shape{1}))
		torch.OK(dist.AllReduce(x, torch.SUM, get(ctx)))
		if got := torch.Must(x.At(0)); got != float64(sum) {
			t.Errorf("rank %d: the ranks of %s add up to %v, want %d", rank, kinds[k].name, got, sum)
		}
	}
}

// With tensor parallelism of 4, ranks 0 to 3 and 4 to 7 reduce among themselves.
func TestReductionOfIndices(t *testing.T) {
	got := [8]float64{}
	spawned(t, systemOf(t, 8), 8, 4, func(rank int, ctx *torch.Context) error {
		x := torch.Must(ctx.Full(float64(rank), torch.F32, torch.Shape{2, 2}, Spread))
		y, err := ReduceFromTensorModelParallelRegion.Forward(ctx, x)
		got[rank] = torch.Must(y.At(1, 1))
		return err
	})
	if want := [8]float64{6, 6, 6, 6, 22, 22, 22, 22}; got != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestBeforeInitialisation(t *testing.T) {
	ctx := systemOf(t, 2)
	err := ctx.Spawn(func(rank int, ctx *torch.Context) error {
		says := func(what string, err error, want string) {
			if err == nil || err.Error() != want {
				t.Errorf("rank %d: %s:\ngot  %v\nwant %s", rank, what, err, want)
			}
		}
		const first = ": model parallel is not initialised: call tp.InitializeModelParallel first"
		says("no process group", InitializeModelParallel(ctx, 1, 1, 1, 1, ""), "InitializeModelParallel: there is no process group: call InitProcessGroup first")
		dist := ctx.Distributed()
		torch.OK(dist.InitProcessGroup("ahbm"))
		says("getter", misuse(func() { GetTensorModelParallelRank(ctx) }), "torch: GetTensorModelParallelRank"+first)
		says("stage", misuse(func() { IsPipelineLastStage(ctx) }), "torch: IsPipelineLastStage"+first)
		x := torch.Must(ctx.Zeros(torch.F32, torch.Shape{2, 2}, Spread))
		says("mapping", misuse(func() { CopyToTensorModelParallelRegion.Backward(ctx, x) }), "torch: CopyToTensorModelParallelRegion backward"+first)
		says("sizes", InitializeModelParallel(ctx, 3, 1, 1, 1, ""), "InitializeModelParallel: tensor 3 × pipeline 1 × context 1 = 3 ranks do not divide the world of 2")
		says("algorithm", firstLine(InitializeModelParallel(ctx, 2, 1, 1, 1, "", torch.Algorithm("rign"))), `InitializeModelParallel: NewGroup: no algorithm "rign"`)
		if ModelParallelIsInitialized(ctx) {
			t.Errorf("rank %d: initialised by a call that failed", rank)
		}

		torch.OK(InitializeModelParallel(ctx, 2, 1, 1, 1, ""))
		says("twice", InitializeModelParallel(ctx, 2, 1, 1, 1, ""), "InitializeModelParallel: called twice: DestroyModelParallel comes first")
		DestroyModelParallel(ctx)
		says("destroyed", misuse(func() { GetTensorModelParallelWorldSize(ctx) }), "torch: GetTensorModelParallelWorldSize"+first)
		torch.OK(InitializeModelParallel(ctx, 1, 2, 0, 0, ""))
		if got := GetPipelineModelParallelRank(ctx); got != rank || !ModelParallelIsInitialized(ctx) {
			t.Errorf("anew: stage %d, want %d", got, rank)
		}
		return nil
	}, 2)
	if err != nil {
		t.Fatal(err)
	}
}

// firstLine is an error without what there is instead.
func firstLine(err error) error {
	text, _, _ := strings.Cut(fmt.Sprint(err), ": there are")
	return fmt.Errorf("%s", text)
}
