// Package torch is the host's side in PyTorch's shape: tensors that live in the
// memories of a simulated machine, kernels launched on them, process groups and their
// collectives.
//
//	ctx, err := torch.New(context.Background(), torch.Options{})
//	r := ctx.Main()
//	x, err := r.FromSlice([]float32{1, 2, 3, 4}, torch.F16, torch.Shape{4}, torch.On(0, 1))
//	_, err = r.Launch("scale", scale, x, 2)
//	y, err := x.Numpy()
//
// A Context is one machine with one clock. A Rank is host code that uses it: the program
// itself, or a worker of Spawn. What a rank asks for is put into its
// stream (stream.go, operations.go): Launch returns at once, and the kernel, of the
// tile language (package tl), runs on the PEs that hold its tensors when everything
// before it has ended. Whoever reads a tensor waits for what writes it. The data phase
// computes the values, unless the Context was made with NoData.
//
// A tensor is laid out over PEs by a Placement (policy.go, tensor.go), a box of it on each.
// Its memory, and what uses and writes that, is a storage (contiguous.go), which slices and
// other views share (view.go).
//
// Spawn runs a worker for each rank, with a stream and a device of its own, on the
// same clock (rank.go, stuck.go). Distributed has process groups (group.go) and
// collectives: each rank's call becomes a request (request.go), the call is complete
// when all ranks have made it (call.go), is cut into lanes of PEs that hold the same
// shard (lanes.go), and becomes one program of an algorithm of package ccl (planned.go).
// Messages between two ranks are matched (p2p.go) and run side by side (exchange.go).
//
// Misuse, such as a shape that does not fit, panics with an *Error; what depends
// on the run, such as a kernel that fails or a device out of memory, is returned. Must
// and OK are for programs that have nothing better to do with an error than to end.
//
// A Context gives up a run that is stuck in a kernel (guard.go). The package imports tl, ccl, topology, and the machines and values
// below internal. Benches are above it.
package torch
