package tp

import (
	"testing"

	"github.com/kernbench/kernbench/attention"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// errorOf returns the error of a call with two results, and drops the first result.
func errorOf(_ any, err error) error { return err }

// forwardError returns the error of a layer's Forward, and drops the other two results.
func forwardError(_, _ any, err error) error { return err }

const linearOnly = "options Bias, SkipBiasAdd, GatherOutput, Gated, InputIsParallel and Overlap are for linear layers: leave them out"

// TestLinearMisuse checks that errors of linear layers name the layer, say what is wrong,
// and say what is expected.
func TestLinearMisuse(t *testing.T) {
	spawn(t, newSystem(t, 4), 4, 4, func(r *torch.Rank) error {
		column := func(in, out int, o Options) error { return errorOf(NewColumnParallelLinear(r, "up", in, out, o)) }
		row := func(in, out int, o Options) error { return errorOf(NewRowParallelLinear(r, "down", in, out, o)) }
		zeros := func(dtype torch.DType, shape ...int) *torch.Tensor {
			return torch.Must(r.Zeros(dtype, shape, Spread))
		}
		up := torch.Must(NewColumnParallelLinear(r, "up", 6, 8, Options{Bias: true}))
		down := torch.Must(NewRowParallelLinear(r, "down", 8, 6, Options{}))
		gate := torch.Must(NewColumnParallelLinear(r, "gate", 6, 32, Options{Gated: true}))
		own := torch.Must(NewRowParallelLinear(r, "own", 8, 6, Options{InputIsParallel: true}))
		parallel := torch.Must(NewRowParallelLinear(r, "own", 8, 6, Options{InputIsParallel: true, SequenceParallel: true}))
		overlapped := torch.Must(NewRowParallelLinear(r, "own", 8, 6, Options{InputIsParallel: true, SequenceParallel: true, Overlap: 2}))
		embedding := torch.Must(NewVocabParallelEmbedding(r, "wte", 8, 4, Options{SequenceParallel: true}))
		heads := attention.Heads{Query: 4, KV: 2, Dim: 8}
		for _, c := range []struct {
			err  error
			want string
		}{
			{column(6, 10, Options{}), "ColumnParallelLinear up: 10 output features do not divide by the tensor parallel world size 4: choose a multiple"},
			{column(6, 0, Options{}), "ColumnParallelLinear up: 0 output features: there has to be one for each of 4 ranks"},
			{row(10, 6, Options{}), "RowParallelLinear down: 10 input features do not divide by the tensor parallel world size 4: choose a multiple"},
			{column(6, 8, Options{Weight: &torch.DPPolicy{SIP: torch.RowWise}}), "ColumnParallelLinear up: placement sip=row_wise(all) cube=replicate(all) pe=replicate(all): a layer lies on the device of its rank: leave SIP and NumSIPs out"},
			{column(6, 8, Options{Output: &torch.DPPolicy{NumSIPs: 2}}), "ColumnParallelLinear up: placement sip=replicate(2) cube=replicate(all) pe=replicate(all): a layer lies on the device of its rank: leave SIP and NumSIPs out"},
			{column(6, 8, Options{DType: torch.I32}), "ColumnParallelLinear up: dtype i32: a layer is of f16, bf16, f32 or f64"},
			{errorOf(NewRMSNorm(r, "in", 8, 0, Options{Overlap: 2})), "RMSNorm in: " + linearOnly},
			{errorOf(NewLayerNorm(r, "in", 8, 0, Options{Bias: true})), "LayerNorm in: " + linearOnly},
			{errorOf(NewRMSNorm(r, "in", 8, -1, Options{})), "RMSNorm in: eps of -1: want a number, 0 or more"},
			{errorOf(NewVocabParallelEmbedding(r, "wte", 8, 4, Options{GatherOutput: true})), "VocabParallelEmbedding wte: " + linearOnly},
			{errorOf(NewVocabParallelEmbedding(r, "wte", 8, 4, Options{DType: torch.I32})), "VocabParallelEmbedding wte: dtype i32: a layer is of f16, bf16, f32 or f64"},
			{column(0, 8, Options{}), "ColumnParallelLinear up: 0 input features: there has to be one"},
			{row(8, 0, Options{}), "RowParallelLinear down: 0 output features: there has to be one"},
			{forwardError(parallel.Forward(zeros(torch.F16, 6, 2))), "RowParallelLinear own: 6 tokens do not divide by the tensor parallel world size 4: choose a multiple"},
			{forwardError(overlapped.Forward(zeros(torch.F16, 6, 2))), "RowParallelLinear own: 6 tokens do not divide by the tensor parallel world size 4: choose a multiple"},
			{errorOf(NewVocabParallelEmbedding(r, "wte", 10, 4, Options{})), "VocabParallelEmbedding wte: 10 tokens of the vocabulary do not divide by the tensor parallel world size 4: choose a multiple"},
			{errorOf(embedding.Forward([]int{1, 2, 3})), "VocabParallelEmbedding wte: 3 tokens do not divide by the tensor parallel world size 4: choose a multiple"},

			{forwardError(up.Forward(zeros(torch.F16, 3, 5))), "ColumnParallelLinear up: input f16 [3 5]: want [tokens 6] or [s b 6], f16"},
			{forwardError(up.Forward(zeros(torch.F32, 3, 6))), "ColumnParallelLinear up: input f32 [3 6]: want [tokens 6] or [s b 6], f16"},
			{forwardError(up.Forward(zeros(torch.F16, 6))), "ColumnParallelLinear up: input f16 [6]: want [tokens 6] or [s b 6], f16"},
			{forwardError(down.Forward(zeros(torch.F16, 3, 2))), "RowParallelLinear down: input f16 [3 2] has the rank's 2 of 8 columns, and Options.InputIsParallel is false, which asks for all of them: set it to true, or give all columns"},
			{forwardError(own.Forward(zeros(torch.F16, 4, 8))), "RowParallelLinear own: input f16 [4 8] has all 8 columns, and Options.InputIsParallel is true, which asks for the rank's 2: set it to false, or give these"},
			{forwardError(parallel.Forward(zeros(torch.F16, 4, 8))), "RowParallelLinear own: input f16 [4 8] has all 8 columns, and Options.InputIsParallel is true, which asks for the rank's 2: give these, since SequenceParallel needs InputIsParallel"},
			{forwardError(down.Forward(zeros(torch.F16, 3, 4))), "RowParallelLinear down: input f16 [3 4]: want [tokens 8] or [s b 8], f16"},
			{forwardError(down.Forward(zeros(torch.F32, 3, 2))), "RowParallelLinear down: input f32 [3 2]: want [tokens 8] or [s b 8], f16"},
			{forwardError(own.Forward(zeros(torch.F16))), "RowParallelLinear own: input f16 []: want [tokens 2] or [s b 2], f16"},

			{errorOf(up.Backward(zeros(torch.F16, 3, 5), zeros(torch.F16, 3, 2))), "ColumnParallelLinear up: input f16 [3 5]: want [tokens 6] or [s b 6], f16"},
			{errorOf(up.Backward(zeros(torch.F16, 3, 6), zeros(torch.F16, 3, 8))), "ColumnParallelLinear up: gradient f16 [3 8]: want that of the result, [3 2] f16"},
			{errorOf(up.Backward(zeros(torch.F16, 3, 6), zeros(torch.F32, 3, 2))), "ColumnParallelLinear up: gradient f32 [3 2]: want that of the result, [3 2] f16"},
			{errorOf(down.Backward(zeros(torch.F16, 3, 2), zeros(torch.F16, 3, 6))), "RowParallelLinear down: input f16 [3 2] has the rank's 2 of 8 columns, and Options.InputIsParallel is false, which asks for all of them: set it to true, or give all columns"},
			{errorOf(down.Backward(zeros(torch.F16, 3, 8), zeros(torch.F16, 4, 6))), "RowParallelLinear down: gradient f16 [4 6]: want that of the result, [3 6] f16"},
			{errorOf(parallel.Backward(zeros(torch.F16, 6, 2), zeros(torch.F16, 3, 6))), "RowParallelLinear own: 6 tokens do not divide by the tensor parallel world size 4: choose a multiple"},
			{errorOf(parallel.Backward(zeros(torch.F16, 8, 2), zeros(torch.F16, 8, 6))), "RowParallelLinear own: gradient f16 [8 6]: want that of the result, [2 6] f16"},
			{column(6, 8, Options{GradDType: torch.F64}), "ColumnParallelLinear up: GradDType f64 of a layer of f16: gradients are of f16 or f32"},
			{errorOf(NewRMSNorm(r, "in", 8, 0, Options{GradDType: torch.F32})), "RMSNorm in: option GradDType is for layers that have a Backward: leave it out"},

			{column(6, 8, Options{GatherOutput: true, SequenceParallel: true}), "ColumnParallelLinear up: GatherOutput with SequenceParallel: outside of the layers ranks have rows, not all columns: choose one"},
			{column(6, 16, Options{GatherOutput: true, Gated: true}), "ColumnParallelLinear up: GatherOutput with Gated: the columns of the result are not in their order: choose one"},
			{column(6, 8, Options{InputIsParallel: true}), "ColumnParallelLinear up: InputIsParallel and Overlap are for a RowParallelLinear"},
			{column(6, 8, Options{Overlap: 2}), "ColumnParallelLinear up: InputIsParallel and Overlap are for a RowParallelLinear"},
			{column(6, 8, Options{Overlap: -1}), "ColumnParallelLinear up: InputIsParallel and Overlap are for a RowParallelLinear"},
			{column(6, 17, Options{Gated: true}), "ColumnParallelLinear up: 17 output features with Gated: there are as many gates as features that they gate: choose an even number"},
			{column(6, 24, Options{Gated: true}), "ColumnParallelLinear up: 3 gated features of a rank do not divide by the 2 parts that cubes and PEs have of them: choose a multiple, or another placement of the weight"},
			{row(8, 6, Options{GatherOutput: true}), "RowParallelLinear down: GatherOutput and Gated are for a ColumnParallelLinear"},
			{row(8, 6, Options{Gated: true}), "RowParallelLinear down: GatherOutput and Gated are for a ColumnParallelLinear"},
			{row(8, 6, Options{SequenceParallel: true}), "RowParallelLinear down: SequenceParallel without InputIsParallel: the rows of the input are not the result's: set both"},
			{row(8, 6, Options{Overlap: 7}), "RowParallelLinear down: Overlap 7: the result has 6 columns to cut into pieces"},
			{row(8, 6, Options{Overlap: -1}), "RowParallelLinear down: Overlap -1: the result has 6 columns to cut into pieces"},

			{up.Load(make([]float32, 47), make([]float32, 8)), "ColumnParallelLinear up: a weight of 47 elements, and the layer has 6 × 8"},
			{up.Load(make([]float32, 48), make([]float32, 2)), "ColumnParallelLinear up: a bias of 2 elements, and the layer has 8 outputs, with Options.Bias: give all of them"},
			{up.Load(make([]float32, 48), nil), "ColumnParallelLinear up: a bias of 0 elements, and the layer has 8 outputs, with Options.Bias: give all of them"},
			{down.Load(make([]float32, 48), make([]float32, 6)), "RowParallelLinear down: a bias of 6 elements, and Options.Bias is false: set it to true, or give nil"},

			{errorOf(SwiGLU("act", up, zeros(torch.F16, 3, 4))), "act: input [3 4] of ColumnParallelLinear up, Gated false: want what a layer with Gated has made of some tokens, [tokens 2]"},
			{errorOf(SwiGLU("act", gate, zeros(torch.F16, 3, 6))), "act: input [3 6] of ColumnParallelLinear gate, Gated true: want what a layer with Gated has made of some tokens, [tokens 8]"},
			{errorOf(Add(r, "residual", zeros(torch.F16, 3, 4), zeros(torch.F16, 4, 3))), "residual: f16 [3 4] and f16 [4 3]: want tensors alike"},
			{errorOf(Add(r, "residual", zeros(torch.F16, 3, 4), zeros(torch.F32, 3, 4))), "residual: f16 [3 4] and f32 [3 4]: want tensors alike"},
			{errorOf(DotProductAttention(r, "core", zeros(torch.F16, 3, 60), heads)), "core: input [3 60]: want [tokens 64] of 4 query heads, 2 key heads and as many of values, of 8 elements"},
			{errorOf(DotProductAttention(r, "core", zeros(torch.F16, 3, 64), attention.Heads{Query: 3, KV: 2, Dim: 8})), "core: 3 query heads and 2 KV heads of 8 elements: the first has to be a multiple of the second"},
		} {
			if c.err == nil || c.err.Error() != c.want {
				t.Errorf("rank %d:\ngot  %v\nwant %s", r.Rank(), c.err, c.want)
			}
		}
		return nil
	})
}

// TestLayersBeforeInitialisation checks that layers cannot be created or used before
// InitializeModelParallel or after DestroyModelParallel.
func TestLayersBeforeInitialisation(t *testing.T) {
	err := newSystem(t, 1).Spawn(func(r *torch.Rank) error {
		torch.OK(dist.InitProcessGroup(r, "ahbm"))
		torch.OK(InitializeModelParallel(r, 1, 1, 1, 1, ""))
		column := torch.Must(NewColumnParallelLinear(r, "up", 6, 8, Options{}))
		row := torch.Must(NewRowParallelLinear(r, "down", 6, 8, Options{}))
		embedding := torch.Must(NewVocabParallelEmbedding(r, "wte", 8, 4, Options{}))
		x := torch.Must(r.Zeros(torch.F16, torch.Shape{2, 6}, Spread))
		DestroyModelParallel(r)
		for _, c := range []struct {
			who string
			use func()
		}{
			{"ColumnParallelLinear up", func() { NewColumnParallelLinear(r, "up", 6, 8, Options{}) }},
			{"ColumnParallelLinear up", func() { column.Forward(x) }},
			{"RowParallelLinear down", func() { NewRowParallelLinear(r, "down", 6, 8, Options{}) }},
			{"RowParallelLinear down", func() { row.Forward(x) }},
			{"VocabParallelEmbedding wte", func() { NewVocabParallelEmbedding(r, "wte", 8, 4, Options{}) }},
			{"ColumnParallelLinear up", func() { column.Backward(x, x) }},
			{"RowParallelLinear down", func() { row.Backward(x, x) }},
			{"VocabParallelEmbedding wte", func() { embedding.Backward([]int{1}, x) }},
			{"VocabParallelEmbedding wte", func() { embedding.Forward([]int{1}) }},
			{"VocabParallelCrossEntropy", func() { VocabParallelCrossEntropy(r, x, []int{1, 2}, 0) }},
		} {
			want := "torch: " + c.who + ": model parallel is not initialised: call tp.InitializeModelParallel first"
			if got := panicError(c.use); got == nil || got.Error() != want {
				t.Errorf("got  %v\nwant %s", got, want)
			}
		}
		return nil
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
}

// TestLayerAfterNewGroups checks that a layer refuses to run after the groups for which it
// was created were replaced.
func TestLayerAfterNewGroups(t *testing.T) {
	spawn(t, newSystem(t, 4), 4, 4, func(r *torch.Rank) error {
		layer := torch.Must(NewRowParallelLinear(r, "down", 8, 6, Options{InputIsParallel: true}))
		table := torch.Must(NewVocabParallelEmbedding(r, "wte", 8, 4, Options{}))
		x := torch.Must(r.Zeros(torch.F16, torch.Shape{2, 2}, Spread))
		DestroyModelParallel(r)
		torch.OK(InitializeModelParallel(r, 2, 1, 1, 1, ""))
		const why = "it was made for groups that no longer exist: create it again after InitializeModelParallel"
		for want, call := range map[string]func(){
			"torch: RowParallelLinear down: " + why:     func() { _, _, _ = layer.Forward(x) },
			"torch: VocabParallelEmbedding wte: " + why: func() { _, _ = table.Forward([]int{1}) },
		} {
			if err := panicError(call); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		return nil
	})
}
