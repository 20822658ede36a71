package tp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestGroupsOnEveryRank checks the groups of each of 24 ranks, with a tensor size of 2, a
// data size of 3 and a pipeline size of 4.
func TestGroupsOnEveryRank(t *testing.T) {
	const world = 24
	r := newSystem(t, world, "sip.cube_mesh.w=1", "sip.cube_mesh.h=1", "cube.pe_layout.corners=1", "cube.pe_layout.pe_per_corner=1")
	err := r.Spawn(func(r *torch.Rank) error {
		rank := r.Rank()
		torch.OK(dist.InitProcessGroup(r, "ahbm"))
		torch.OK(InitializeModelParallel(r, 2, 4, 1, 1, "TP-dp-Pp", dist.Algorithm("ring")))
		tensor, data, stage := rank%2, rank/2%3, rank/6
		for _, c := range []struct {
			name      string
			got, want any
		}{
			{"TensorModelParallelRank", Group(r, Tensor).Rank(), tensor},
			{"TensorModelParallelWorldSize", Group(r, Tensor).Size(), 2},
			{"TensorModelParallelSrcRank", Group(r, Tensor).Ranks()[0], rank - tensor},
			{"DataParallelRank", Group(r, Data).Rank(), data},
			{"DataParallelWorldSize", Group(r, Data).Size(), 3},
			{"DataParallelSrcRank", Group(r, Data).Ranks()[0], rank - 2*data},
			{"DataAndContextParallelRank", Group(r, DataContext).Rank(), data},
			{"DataAndContextParallelWorldSize", Group(r, DataContext).Size(), 3},
			{"PipelineModelParallelRank", Group(r, Pipeline).Rank(), stage},
			{"PipelineModelParallelWorldSize", Group(r, Pipeline).Size(), 4},
			{"PipelineModelParallelFirstRank", Group(r, Pipeline).Ranks()[0], rank % 6},
			{"PipelineModelParallelLastRank", Group(r, Pipeline).Ranks()[Group(r, Pipeline).Size()-1], rank%6 + 18},
			{"PipelineModelParallelNextRank", Group(r, Pipeline).Next(), (rank + 6) % world},
			{"PipelineModelParallelPrevRank", Group(r, Pipeline).Prev(), (rank + 18) % world},
			{"IsPipelineFirstStage", Group(r, Pipeline).Rank() == 0, stage == 0},
			{"IsPipelineLastStage", Group(r, Pipeline).Rank() == Group(r, Pipeline).Size()-1, stage == 3},
			{"IsRankInEmbeddingGroup", Group(r, Embedding).Rank() >= 0, stage == 0 || stage == 3},
			{"IsRankInPositionEmbeddingGroup", Group(r, PositionEmbedding).Rank() >= 0, stage == 0},
			{"one group for data and for data and context", Group(r, Data) == Group(r, DataContext), true},
			{"ContextParallelRank", Group(r, Context).Rank(), 0},
			{"ContextParallelWorldSize", Group(r, Context).Size(), 1},
			{"TensorAndContextParallelRank", Group(r, TensorContext).Rank(), tensor},
			{"TensorAndContextParallelWorldSize", Group(r, TensorContext).Size(), 2},
			{"ExpertModelParallelRank", Group(r, Expert).Rank(), 0},
			{"ExpertModelParallelWorldSize", Group(r, Expert).Size(), 1},
			{"ExpertTensorParallelRank", Group(r, ExpertTensor).Rank(), tensor},
			{"ExpertTensorParallelWorldSize", Group(r, ExpertTensor).Size(), 2},
			{"ExpertDataParallelRank", Group(r, ExpertData).Rank(), data},
			{"ExpertDataParallelWorldSize", Group(r, ExpertData).Size(), 3},
			{"ExpertTensorAndModelParallelRank", Group(r, ExpertTensorModel).Rank(), tensor},
			{"ExpertTensorAndModelParallelWorldSize", Group(r, ExpertTensorModel).Size(), 2},
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

// checkGroups checks the members of each of the rank's groups. It runs an all-reduce of
// rank numbers in each group and checks the sum. In a group of which the rank is not a
// member, collectives must return an error.
func checkGroups(t *testing.T, rank int, self *torch.Rank) {
	all, err := division{world: dist.GetWorldSize(self), tensor: 2, pipeline: 4, order: "tp-dp-pp"}.groups()
	torch.OK(err)
	for k := range numKinds {
		g, want := Group(self, k), all.distinct[all.groupOf[k][rank]]
		sum := 0
		for _, r := range want {
			sum += r
		}
		if !slices.Equal(g.Ranks(), want) || g.Size() != len(want) || g.Rank() != slices.Index(want, rank) {
			t.Errorf("rank %d: rank %d of %d of %v is of ranks %v, want %v", rank, g.Rank(), g.Size(), k, g.Ranks(), want)
		}
		x := torch.Must(self.Full(float64(rank), torch.F32, torch.Shape{1}))
		err := dist.AllReduce(self, x, dist.SUM, g)
		if g.Rank() < 0 {
			if refused := fmt.Sprintf("all_reduce: rank %d is not in group", rank); err == nil || !strings.HasPrefix(err.Error(), refused) {
				t.Errorf("rank %d: %v: got %v, want %s …", rank, k, err, refused)
			}
			matrix := torch.Must(self.Zeros(torch.F32, torch.Shape{2, 2}))
			_, err := AllToAll(g, nil, nil).Forward(self, matrix)
			if refused := fmt.Sprintf("AllToAll: all_to_all: rank %d is not in group", rank); err == nil || !strings.HasPrefix(err.Error(), refused) {
				t.Errorf("rank %d: %v: got %v, want %s …", rank, k, err, refused)
			}
			name, _, _ := strings.Cut(g.String(), " of ranks")
			want := fmt.Sprintf("torch: Next: the caller is not in %s of ranks %v: call it on these ranks alone", name, want)
			if got := panicError(func() { g.Next() }); got == nil || got.Error() != want {
				t.Errorf("rank %d: %v: got %v, want %s", rank, k, got, want)
			}
			continue
		}
		torch.OK(err)
		if got := torch.Must(x.At(0)); got != float64(sum) {
			t.Errorf("rank %d: the ranks of %v add up to %v, want %d", rank, k, got, sum)
		}
	}
}

// TestKinds checks all groups of rank 17. The coordinates of the rank are [1, 0, 1, 1] in a
// world of [tensor, context, data, pipeline] = [2, 2, 3, 3]. For experts they are [1, 2, 0,
// 1] in [tensor, expert, data, pipeline] = [2, 3, 2, 3].
func TestKinds(t *testing.T) {
	const world = 36
	r := newSystem(t, world, "sip.cube_mesh.w=1", "sip.cube_mesh.h=1", "cube.pe_layout.corners=1", "cube.pe_layout.pe_per_corner=1")
	got := map[string]string{}
	err := r.Spawn(func(r *torch.Rank) error {
		torch.OK(dist.InitProcessGroup(r, "ahbm"))
		torch.OK(InitializeModelParallel(r, 2, 3, 2, 3, ""))
		for k := range numKinds {
			if g := Group(r, k); r.Rank() == 17 {
				got[k.String()] = fmt.Sprintf("%d of %v", g.Rank(), g.Ranks())
			}
		}
		return nil
	}, world)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"Tensor": "1 of [16 17]", "Pipeline": "1 of [5 17 29]", "Data": "1 of [13 17 21]", "Context": "0 of [17 19]",
		"DataContext": "2 of [13 15 17 19 21 23]", "Model": "3 of [4 5 16 17 28 29]", "TensorData": "3 of [12 13 16 17 20 21]",
		"TensorContext": "1 of [16 17 18 19]", "TensorDataContext": "5 of [12 13 14 15 16 17 18 19 20 21 22 23]",
		"Embedding": "-1 of [5 29]", "PositionEmbedding": "-1 of [5]",
		"Expert": "2 of [13 15 17]", "ExpertTensor": "1 of [16 17]", "ExpertData": "0 of [17 23]",
		"ExpertTensorModel": "5 of [12 13 14 15 16 17]", "ExpertTensorModelPipeline": "11 of [0 1 2 3 4 5 12 13 14 15 16 17 24 25 26 27 28 29]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups of rank 17 (-want +got):\n%s", diff)
	}
}

// TestGroupsComputedOncePerContext checks that the groups are computed once for all ranks
// of a context, and again for another context.
func TestGroupsComputedOncePerContext(t *testing.T) {
	var found [2]*grouping
	for i := range found {
		r := newSystem(t, 4)
		spawn(t, r, 4, 2, func(r *torch.Rank) error {
			g := torch.Local[lastDivision](r.Main()).grouping
			if found[i] == nil {
				found[i] = g
			}
			if g != found[i] {
				t.Errorf("context %d: rank %d computed the groups again", i, r.Rank())
			}
			return nil
		})
	}
	if found[0] == found[1] || &found[0].distinct[0][0] == &found[1].distinct[0][0] {
		t.Error("two contexts share the groups of their divisions")
	}
	if diff := cmp.Diff(found[0].distinct, found[1].distinct); diff != "" {
		t.Errorf("contexts with the same division (-first +second):\n%s", diff)
	}
}

// TestReduceWithinGroups checks that with tensor parallelism of 4, ranks 0 to 3 and ranks 4
// to 7 reduce separately.
func TestReduceWithinGroups(t *testing.T) {
	got := [8]float64{}
	spawn(t, newSystem(t, 8), 8, 4, func(r *torch.Rank) error {
		x := torch.Must(r.Full(float64(r.Rank()), torch.F32, torch.Shape{2, 2}, Spread))
		y, err := ReduceFromTensorModelParallelRegion.Forward(r, x)
		got[r.Rank()] = torch.Must(y.At(1, 1))
		return err
	})
	if want := [8]float64{6, 6, 6, 6, 22, 22, 22, 22}; got != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestBeforeInitialisation checks the errors before InitProcessGroup, before
// InitializeModelParallel and after DestroyModelParallel. It also checks the errors of
// InitializeModelParallel for wrong arguments and for a second call.
func TestBeforeInitialisation(t *testing.T) {
	r := newSystem(t, 2)
	err := r.Spawn(func(r *torch.Rank) error {
		rank := r.Rank()
		wantError := func(what string, err error, want string) {
			if err == nil || err.Error() != want {
				t.Errorf("rank %d: %s:\ngot  %v\nwant %s", rank, what, err, want)
			}
		}
		const first = ": model parallel is not initialised: call tp.InitializeModelParallel first"
		wantError("no process group", InitializeModelParallel(r, 1, 1, 1, 1, ""), "InitializeModelParallel: there is no process group: call InitProcessGroup first")
		torch.OK(dist.InitProcessGroup(r, "ahbm"))
		wantError("group", panicError(func() { Group(r, Tensor) }), "torch: Group"+first)
		wantError("stage", panicError(func() { Group(r, Pipeline) }), "torch: Group"+first)
		x := torch.Must(r.Zeros(torch.F32, torch.Shape{2, 2}, Spread))
		wantError("mapping", panicError(func() { CopyToTensorModelParallelRegion.Backward(r, x) }), "torch: CopyToTensorModelParallelRegion backward"+first)
		wantError("sizes", InitializeModelParallel(r, 3, 1, 1, 1, ""), "InitializeModelParallel: tensor 3 × pipeline 1 × context 1 = 3 ranks do not divide the world of 2")
		wantError("algorithm", withoutChoices(InitializeModelParallel(r, 2, 1, 1, 1, "", dist.Algorithm("rign"))), `InitializeModelParallel: NewGroup: no algorithm "rign"`)
		if ModelParallelIsInitialized(r) {
			t.Errorf("rank %d: initialised by a call that failed", rank)
		}

		torch.OK(InitializeModelParallel(r, 2, 1, 1, 1, ""))
		wantError("twice", InitializeModelParallel(r, 2, 1, 1, 1, ""), "InitializeModelParallel: called twice: DestroyModelParallel comes first")
		DestroyModelParallel(r)
		wantError("destroyed", panicError(func() { Group(r, Tensor) }), "torch: Group"+first)
		torch.OK(InitializeModelParallel(r, 1, 2, 0, 0, ""))
		if got := Group(r, Pipeline).Rank(); got != rank || !ModelParallelIsInitialized(r) {
			t.Errorf("anew: stage %d, want %d", got, rank)
		}
		return nil
	}, 2)
	if err != nil {
		t.Fatal(err)
	}
}

// withoutChoices returns err without its list of valid names.
func withoutChoices(err error) error {
	text, _, _ := strings.Cut(fmt.Sprint(err), ": there are")
	return fmt.Errorf("%s", text)
}
