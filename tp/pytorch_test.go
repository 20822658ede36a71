package tp

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/kernbench/kernbench/torch"
)

// recordedLayers holds results and gradients computed by PyTorch's autograd. The numbers
// are integers, so that every order of additions gives the same sum.
// torch/testdata/pytorch.py writes the file.
type recordedLayers struct {
	Linear []struct {
		Rows, In, Out              int
		X, W, B, DY, Y, DX, DW, DB []float32
	}
	Embedding []struct {
		Vocab, Dim int
		IDs        []int
		DY, DTable []float32
	}
}

// readRecordedLayers reads the recorded layers from pytorch.json, which is test data of
// package torch.
func readRecordedLayers(t *testing.T) recordedLayers {
	t.Helper()
	text, err := os.ReadFile("../torch/testdata/pytorch.json")
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Layers recordedLayers }
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Layers.Linear) == 0 || len(r.Layers.Embedding) == 0 {
		t.Fatal("pytorch.json lacks layers")
	}
	return r.Layers
}

// TestLayersLikePyTorch checks that results and gradients of the layers equal those of
// PyTorch bit for bit, on 1, 2, 4 and 8 ranks.
func TestLayersLikePyTorch(t *testing.T) {
	recorded := readRecordedLayers(t)
	for _, ranks := range []int{1, 2, 4, 8} {
		r := newSystem(t, ranks)
		spawn(t, r, ranks, ranks, func(r *torch.Rank) error {
			rank := r.Rank()
			for _, c := range recorded.Linear {
				check := func(name string, x *torch.Tensor, want []float32) {
					torch.OK(r.Check(fmt.Sprintf("%s of %d×%d×%d on rank %d of %d", name, c.Rows, c.In, c.Out, rank, ranks), x, want))
				}
				tensor := func(values []float32, width, first, cols int) *torch.Tensor {
					return torch.Must(r.FromSlice(boxElements(values, width, 0, first, c.Rows, cols), torch.F32, torch.Shape{c.Rows, cols}, Spread))
				}
				in, out := c.In/ranks, c.Out/ranks

				column := torch.Must(NewColumnParallelLinear(r, "column", c.In, c.Out, Options{DType: torch.F32, Bias: true}))
				torch.OK(column.Load(c.W, c.B))
				x := tensor(c.X, c.In, 0, c.In)
				y, _, err := column.Forward(x)
				torch.OK(err)
				check("column y", y, boxElements(c.Y, c.Out, 0, rank*out, c.Rows, out))
				check("column dx", torch.Must(column.Backward(x, tensor(c.DY, c.Out, rank*out, out))), c.DX)
				check("column dw", column.WeightGrad[0], boxElements(c.DW, c.Out, 0, rank*out, c.In, out))
				check("column db", column.BiasGrad, c.DB[rank*out:][:out])

				row := torch.Must(NewRowParallelLinear(r, "row", c.In, c.Out, Options{DType: torch.F32, Bias: true, InputIsParallel: true}))
				torch.OK(row.Load(c.W, c.B))
				x = tensor(c.X, c.In, rank*in, in)
				y, _, err = row.Forward(x)
				torch.OK(err)
				check("row y", y, c.Y)
				check("row dx", torch.Must(row.Backward(x, tensor(c.DY, c.Out, 0, c.Out))), boxElements(c.DX, c.In, 0, rank*in, c.Rows, in))
				check("row dw", row.WeightGrad[0], c.DW[rank*in*c.Out:][:in*c.Out])
				check("row db", row.BiasGrad, c.DB)
			}
			for _, c := range recorded.Embedding {
				e := torch.Must(NewVocabParallelEmbedding(r, "wte", c.Vocab, c.Dim, Options{DType: torch.F32}))
				dy := torch.Must(r.FromSlice(c.DY, torch.F32, torch.Shape{len(c.IDs), c.Dim}, Spread))
				torch.OK(e.Backward(c.IDs, dy))
				from, to := e.VocabStartIndex()*c.Dim, e.VocabEndIndex()*c.Dim
				torch.OK(r.Check(fmt.Sprintf("gradient of a table of %d×%d on rank %d of %d", c.Vocab, c.Dim, rank, ranks), e.WeightGrad, c.DTable[from:to]))
			}
			return nil
		})
		requireChecks(t, r)
	}
}
