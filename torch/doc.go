// Package torch is the host's side in PyTorch's shape: tensors that live in the memories of a
// simulated machine, and kernels launched on them. Package torch/dist has process groups and
// their collectives.
//
//	ctx, err := torch.New(context.Background(), torch.Options{})
//	r := ctx.Main()
//	x, err := r.FromSlice([]float32{1, 2, 3, 4}, torch.F16, torch.Shape{4}, torch.On(0, 1))
//	_, err = r.Launch("scale", scale, x, 2)
//	y, err := x.Numpy()
//
// A [Context] is one machine with one clock, and the results of what was done with it. A [Rank]
// is host code that uses it: the program itself, or one of the functions that [Context.Spawn]
// runs side by side, each with a device of its own (rank.go). What a rank asks for is put into
// its stream: Launch returns at once, and the kernel, of the tile language (package tl), runs on
// the PEs that hold its tensors when everything before it has ended (launch.go, program.go).
// Reads of a tensor wait for what writes it (read.go). The data phase computes the values,
// unless the Context was made with NoData. Package internal/stream decides what waits for what.
//
// A tensor is laid out over PEs by a [Placement] (policy.go, tensor.go), a box of it on each. Its
// memory is a storage (contiguous.go), which slices and other views share (view.go).
//
// Misuse, such as a shape that does not fit, panics with an *Error; what depends on the run, such
// as a kernel that fails or a device out of memory, is returned. [Must] and [OK] are for programs
// that end with the first error.
package torch
