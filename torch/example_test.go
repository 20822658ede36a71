package torch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// small returns the main rank of a system with the given number of SIPs. Each SIP has 2
// cubes of 8 PEs.
func small(sips int) *torch.Rank {
	spec := torch.Must(topology.Load(context.Background(), "default", fmt.Sprintf("system.sips.count=%d", sips), "sip.cube_mesh.w=2", "sip.cube_mesh.h=1"))
	return torch.Must(torch.New(context.Background(), torch.Options{Topology: torch.Must(topology.Compile(spec))})).Main()
}

func ExampleDPPolicy() {
	r := small(3)
	defer r.Close()
	torch.OK(dist.InitProcessGroup(r, "ahbm"))

	columns := torch.DPPolicy{SIP: torch.ColumnWise, Cube: torch.ColumnWise, PE: torch.ColumnWise}
	x := torch.Must(r.Full(1, torch.F32, torch.Shape{1, dist.GetWorldSize(r) * 3}, columns))
	torch.OK(dist.AllReduce(r, x, dist.SUM)) // 3 elements of each of 48 PEs
	fmt.Println(x.Shape(), torch.Must(x.At(0, 0)), len(x.Shards()))
	// Output: [1 144] 48 48
}

func ExampleNamed() {
	r := small(1)
	defer r.Close()

	w := torch.Must(r.Zeros(torch.F32, torch.Shape{4, 8}, torch.DPPolicy{PE: torch.RowWise}, torch.Named("weights")))
	err := w.CopyFrom(&torch.Array{Shape: torch.Shape{8, 4}, DType: torch.F32})
	fmt.Println(err)
	// Output: torch: CopyFrom: [8 4] f32 into weights (tensor 1) [4 8] f32: shape and dtype must be the same
}

func ExampleRank_FromNumpy() {
	r := small(1)
	defer r.Close()
	dir := torch.Must(os.MkdirTemp("", "numpy"))
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "mask.npy")
	torch.OK((&torch.Array{Shape: torch.Shape{3}, DType: torch.U8, Bytes: []byte{1, 0, 1}, Bool: true}).Save(file))

	mask := torch.Must(torch.LoadNumpy(file)) // numpy.save(file, x > 0)
	m := torch.Must(r.FromNumpy(mask, torch.On(0, 1)))
	a := torch.Must(m.Numpy())
	fmt.Println(mask, m.DType(), a)
	a.Bool = true
	torch.OK(a.Save(file))
	// Output: [True, False, True] u8 [1, 0, 1]
}

func ExampleTensor_Narrow() {
	r := small(2)
	defer r.Close()
	scale := func(t *tl.PE, x tl.Ptr) {
		t.Store(x, t.Load(x, tl.Shape{x.Dim(0), x.Dim(1)}, tl.F32).Mul(10))
	}
	torch.OK(r.Spawn(func(r *torch.Rank) error {
		torch.OK(dist.InitProcessGroup(r, "ahbm"))

		grads := torch.Must(r.Full(1, torch.F32, torch.Shape{12}, torch.Named("grads")))
		w, b := grads.Narrow(0, 0, 8).View(2, 4), grads.Narrow(0, 8, 4)
		torch.OK(b.CopyFrom([]float32{5, 6, 7, 8}))
		torch.OK(dist.AllReduce(r, b, dist.SUM)) // a slice of the bucket, in place
		torch.Must(r.Launch("scale", scale, w.Narrow(1, 1, 2)))
		fmt.Println(grads)
		return nil
	}, 2))
	// Unordered output:
	// tensor([1, 10, 10, 1, 1, 10, 10, 1, 10, 12, 14, 16], dtype=f32, device=sip0)
	// tensor([1, 10, 10, 1, 1, 10, 10, 1, 10, 12, 14, 16], dtype=f32, device=sip1)
}

func ExampleTensor_Data() {
	r := small(1)
	defer r.Close()

	x := torch.Must(r.FromSlice([]int{1, 2, 3, 4, 5}, torch.I32, torch.Shape{5}, torch.DPPolicy{Cube: torch.Partial, PE: torch.RowWise, NumPEs: 2}))
	for i, s := range x.Shards() {
		fmt.Println(s.Cube, s.PE, s.Start, torch.Must(x.Data(i)))
	}
	// Output:
	// 0 0 [0] [1, 2, 3]
	// 0 1 [3] [4, 5]
	// 1 0 [0] [0, 0, 0]
	// 1 1 [3] [0, 0]
}
