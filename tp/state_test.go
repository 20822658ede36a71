package tp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// Each rank of 24, with [tensor, data, pipeline] = [2, 3, 4], finds its place.
func TestGettersOnEveryRank(t *testing.T) {
	const world = 24
	r := systemOf(t, world, "sip.cube_mesh.w=1", "sip.cube_mesh.h=1", "cube.pe_layout.corners=1", "cube.pe_layout.pe_per_corner=1")
	err := r.Spawn(func(r *torch.Rank) error {
		rank := r.Rank()
		torch.OK(dist.InitProcessGroup(r, "ahbm"))
		torch.OK(InitializeModelParallel(r, 2, 4, 1, 1, "TP-dp-Pp", dist.Algorithm("ring")))
		tensor, data, stage := rank%2, rank/2%3, rank/6
		for _, c := range []struct {
			name      string
			got, want any
		}{
			{"TensorModelParallelRank", GetTensorModelParallelRank(r), tensor},
			{"TensorModelParallelWorldSize", GetTensorModelParallelWorldSize(r), 2},
			{"TensorModelParallelSrcRank", GetTensorModelParallelSrcRank(r), rank - tensor},
			{"DataParallelRank", GetDataParallelRank(r), data},
			{"DataParallelWorldSize", GetDataParallelWorldSize(r), 3},
			{"DataParallelSrcRank", GetDataParallelSrcRank(r), rank - 2*data},
			{"DataAndContextParallelRank", GetDataAndContextParallelRank(r), data},
			{"DataAndContextParallelWorldSize", GetDataAndContextParallelWorldSize(r), 3},
			{"PipelineModelParallelRank", GetPipelineModelParallelRank(r), stage},
			{"PipelineModelParallelWorldSize", GetPipelineModelParallelWorldSize(r), 4},
			{"PipelineModelParallelFirstRank", GetPipelineModelParallelFirstRank(r), rank % 6},
			{"PipelineModelParallelLastRank", GetPipelineModelParallelLastRank(r), rank%6 + 18},
			{"PipelineModelParallelNextRank", GetPipelineModelParallelNextRank(r), (rank + 6) % world},
			{"PipelineModelParallelPrevRank", GetPipelineModelParallelPrevRank(r), (rank + 18) % world},
			{"IsPipelineFirstStage", IsPipelineFirstStage(r), stage == 0},
			{"IsPipelineLastStage", IsPipelineLastStage(r), stage == 3},
			{"IsRankInEmbeddingGroup", IsRankInEmbeddingGroup(r), stage == 0 || stage == 3},
			{"IsRankInPositionEmbeddingGroup", IsRankInPositionEmbeddingGroup(r), stage == 0},
			{"one group for data and for data and context", GetDataParallelGroup(r) == GetDataAndContextParallelGroup(r), true},
			{"ContextParallelRank", GetContextParallelRank(r), 0},
			{"ContextParallelWorldSize", GetContextParallelWorldSize(r), 1},
			{"TensorAndContextParallelRank", GetTensorAndContextParallelRank(r), tensor},
			{"TensorAndContextParallelWorldSize", GetTensorAndContextParallelWorldSize(r), 2},
			{"ExpertModelParallelRank", GetExpertModelParallelRank(r), 0},
			{"ExpertModelParallelWorldSize", GetExpertModelParallelWorldSize(r), 1},
			{"ExpertTensorParallelRank", GetExpertTensorParallelRank(r), tensor},
			{"ExpertTensorParallelWorldSize", GetExpertTensorParallelWorldSize(r), 2},
			{"ExpertDataParallelRank", GetExpertDataParallelRank(r), data},
			{"ExpertDataParallelWorldSize", GetExpertDataParallelWorldSize(r), 3},
			{"ExpertTensorAndModelParallelRank", GetExpertTensorAndModelParallelRank(r), tensor},
			{"ExpertTensorAndModelParallelWorldSize", GetExpertTensorAndModelParallelWorldSize(r), 2},
		} {
			if c.got != c.want {
				t.Errorf("rank %d: %s is %v, want %v", rank, c.name, c.got, c.want)
			}
		}
		checkGroups(t, rank, r)
		return nil
	}, world)
	if err != nil {
		t.Fatal(err)
	}
}

// checkGroups has a collective of each of the rank's groups: the sum of its ranks tells
// which they are.
func checkGroups(t *testing.T, rank int, self *torch.Rank) {
	all, err := allGroups(dist.GetWorldSize(self), 2, 4, 1, 1, "tp-dp-pp")
	torch.OK(err)
	for k, get := range [numKinds]func(*torch.Rank) *dist.Group{
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
			if got := misuse(func() { get(self) }); got == nil || got.Error() != want {
				t.Errorf("rank %d: %s: got %v, want %s", rank, kinds[k].name, got, want)
			}
			continue
		}
		x := torch.Must(self.Full(float64(rank), torch.F32, torch.Shape{1}))
		torch.OK(dist.AllReduce(self, x, dist.SUM, get(self)))
		if got := torch.Must(x.At(0)); got != float64(sum) {
			t.Errorf("rank %d: the ranks of %s add up to %v, want %d", rank, kinds[k].name, got, sum)
		}
	}
}

// With tensor parallelism of 4, ranks 0 to 3 and 4 to 7 reduce among themselves.
func TestReductionOfIndices(t *testing.T) {
	got := [8]float64{}
	spawned(t, systemOf(t, 8), 8, 4, func(r *torch.Rank) error {
		x := torch.Must(r.Full(float64(r.Rank()), torch.F32, torch.Shape{2, 2}, Spread))
		y, err := ReduceFromTensorModelParallelRegion.Forward(r, x)
		got[r.Rank()] = torch.Must(y.At(1, 1))
		return err
	})
	if want := [8]float64{6, 6, 6, 6, 22, 22, 22, 22}; got != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestBeforeInitialisation(t *testing.T) {
	r := systemOf(t, 2)
	err := r.Spawn(func(r *torch.Rank) error {
		rank := r.Rank()
		says := func(what string, err error, want string) {
			if err == nil || err.Error() != want {
				t.Errorf("rank %d: %s:\ngot  %v\nwant %s", rank, what, err, want)
			}
		}
		const first = ": model parallel is not initialised: call tp.InitializeModelParallel first"
		says("no process group", InitializeModelParallel(r, 1, 1, 1, 1, ""), "InitializeModelParallel: there is no process group: call InitProcessGroup first")
		torch.OK(dist.InitProcessGroup(r, "ahbm"))
		says("getter", misuse(func() { GetTensorModelParallelRank(r) }), "torch: GetTensorModelParallelRank"+first)
		says("stage", misuse(func() { IsPipelineLastStage(r) }), "torch: IsPipelineLastStage"+first)
		x := torch.Must(r.Zeros(torch.F32, torch.Shape{2, 2}, Spread))
		says("mapping", misuse(func() { CopyToTensorModelParallelRegion.Backward(r, x) }), "torch: CopyToTensorModelParallelRegion backward"+first)
		says("sizes", InitializeModelParallel(r, 3, 1, 1, 1, ""), "InitializeModelParallel: tensor 3 × pipeline 1 × context 1 = 3 ranks do not divide the world of 2")
		says("algorithm", firstLine(InitializeModelParallel(r, 2, 1, 1, 1, "", dist.Algorithm("rign"))), `InitializeModelParallel: NewGroup: no algorithm "rign"`)
		if ModelParallelIsInitialized(r) {
			t.Errorf("rank %d: initialised by a call that failed", rank)
		}

		torch.OK(InitializeModelParallel(r, 2, 1, 1, 1, ""))
		says("twice", InitializeModelParallel(r, 2, 1, 1, 1, ""), "InitializeModelParallel: called twice: DestroyModelParallel comes first")
		DestroyModelParallel(r)
		says("destroyed", misuse(func() { GetTensorModelParallelWorldSize(r) }), "torch: GetTensorModelParallelWorldSize"+first)
		torch.OK(InitializeModelParallel(r, 1, 2, 0, 0, ""))
		if got := GetPipelineModelParallelRank(r); got != rank || !ModelParallelIsInitialized(r) {
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
