// Package torch is the host's side in PyTorch's shape: tensors that live in the
// memories of a simulated machine, and kernels launched on them.
//
//	ctx, err := torch.New(context.Background(), torch.Options{})
//	x, err := ctx.FromSlice([]float32{1, 2, 3, 4}, torch.F16, torch.Shape{4}, torch.On(0, 1))
//	_, err = ctx.Launch("scale", scale, x, 2)
//	y, err := x.Numpy()
//
// A Context is one machine with one clock. Launch runs a kernel of the tile
// language (package tl) on the PEs that hold its tensors and waits for its end; the
// data phase then computes the values, unless the Context was made with NoData.
//
// Misuse, such as a shape that does not fit, panics with an *Error; what depends
// on the run, such as a kernel that fails or a device out of memory, is returned.
//
// A Context also has the Report of a bench, and gives up a run that is stuck in a
// kernel (guard.go). The package imports tl, topology, and the machines and values
// below internal. Benches are above it.
package torch
