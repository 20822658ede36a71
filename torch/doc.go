// Package torch is a host API in the shape of PyTorch: tensors in the memories of a
// simulated machine, and kernels that are launched on them. Package torch/dist has process
// groups and their collectives.
//
//	ctx, err := torch.New(context.Background(), torch.Options{})
//	r := ctx.Main()
//	x, err := r.FromSlice([]float32{1, 2, 3, 4}, torch.F16, torch.Shape{4}, torch.On(0, 1))
//	_, err = r.Launch("scale", scale, x, 2)
//	y, err := x.Numpy()
//
// A [Context] is one machine with one clock, and the results of the program that used it. A
// [Rank] is host code that uses the machine: the program itself, or one of the functions
// that [Context.Spawn] runs concurrently, each with a device of its own (rank.go). Every
// request of a rank goes into its stream. Launch returns at once. The kernel, written in
// the tile language (package tl), runs on the PEs that hold its tensors when everything
// before it has ended (launch.go, program.go). A read of a tensor waits for the operations
// that write it (read.go). The data phase computes the values, unless the Context was made
// with NoData. Package internal/stream decides which operation waits for which.
//
// A [Placement] lays a tensor out over PEs, one box of the tensor on each (policy.go,
// tensor.go). The memory of a tensor is a storage (contiguous.go), which slices and other
// views share (view.go).
//
// Misuse, such as a shape that does not fit, panics with an *Error. Errors that depend on
// the run, such as a failed kernel or a device out of memory, are returned. Programs that
// end with the first error can use [Must] and [OK].
package torch
