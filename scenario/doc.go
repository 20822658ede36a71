// Package scenario defines distributed scenarios and keeps the registry of all scenarios.
//
// A scenario is a file that describes a kernel of the tile language (package tl), or a
// program of tasks (package task), that runs on several ranks at once, and the values that
// it must produce:
//
//	summary: "all-gather: every rank receives the data of all ranks"
//	nranks: 4                       # the default of --nranks; 1 to 64
//	params: {count: 64}             # names for expressions; --set count=100
//	signals: 2                      # the signals of each rank that the kernel uses
//	buffers:
//	  - {name: x, dtype: f32, shape: [count], placement: window, init: i + 100*rank + 10*round}
//	  - {name: out, dtype: f32, shape: [nranks, count], placement: device}
//	kernel: {name: all_gather, args: [x, out, count]}
//	tasks: {name: all_gather, args: [x, out, count]}
//	outputs:
//	  - {buffer: out, golden: 100*floor(i/count) + i%count + 10*round}
//
// # Keys
//
//	summary   one line
//	nranks    the number of ranks, unless a [Choice] has Ranks or Devices
//	ranks     {min, max}: the numbers of ranks that the scenario supports; default 1 to 64
//	root      the default root; only in scenarios that use the root
//	devices   the device of each rank, such as 0-3 or 0,2,5; default 0, 1, 2 ...
//	params    names with a number, or with words such as ring|tree, the default first
//	signals   the number of signals that the kernel and the tasks use; default 0
//	signal_matrices  names of matrices, each with a signal for each pair of ranks; default none
//	window    bytes of each rank's window, signals included; default: as many as needed
//	domains   names with the member ranks, in the order of their ranks in the domain
//	buffers   name, dtype, shape, placement; init; staged; offset and bytes; domain
//	kernel    name, in which $mode is replaced by the value of the parameter mode, and args
//	tasks     name and args of an orchestration; a file needs kernel, tasks or both
//	outputs   buffer, golden; ranks: all or root; relative, absolute
//
// A buffer is memory of each rank, or of each member of its domain. Placement window is
// memory that peers can reach. Placement device is the rank's private memory. The window of
// a rank begins with the signals, 64 bytes each, in two banks. The buffers follow in order,
// each at a multiple of 64 bytes, unless offset gives the position. A domain has its own
// window, without signals.
//
// A buffer with init is set to these values before every round. A buffer without init is
// zero before the first round and keeps its values between rounds. The init of a buffer
// with staged: true is written to the rank's private memory. A phase before the kernel
// copies it from there into the window.
//
// An output is compared with its golden values, rounded to its dtype, after every
// round: for equality, or as |got - want| <= absolute + relative |want|.
//
// # Expressions
//
// Values are expressions of numbers and names with + - * / % and parentheses, min, max,
// cdiv (division rounded up) and floor. Division is exact: 7/2 is 3.5; % has the sign of
// its right side. A result that is too large, and division by zero, are errors. Shapes and
// sizes may use nranks, root and the parameters; arguments also rank, round and device;
// init and golden also i, the index of the element in row-major order. Init and golden may
// be func:NAME instead, a registered Go function.
//
// An argument is a buffer (tl.Ptr of a kernel, *task.Tensor of an orchestration), an
// expression (number), a parameter with words (string), domain:NAME ([Domain]),
// matrix:NAME ([Matrix]) or deviceCtx ([comm.Context], without addresses on the simulated
// machine).
//
// # Programs
//
// [RegisterKernel], [RegisterTasks], [RegisterInput] and [RegisterGolden] add Go functions.
// [Register] adds a scenario. [Load] reads a file or finds a registered scenario, and
// reports all mistakes at once, with their lines and columns. [Scenario.Plan] evaluates the
// scenario for a number of ranks, a root and parameters, and checks that its values can be
// computed. In the resulting [Plan] every size is known. The plan computes values until its
// context ends.
//
// This package runs nothing: scenario/runner does. The built-in scenarios are in package
// scenario/builtin. The package imports comm and internal/procpe for the types and the
// window layout that kernels use, tl and task for the types of functions, internal/config,
// numeric and internal/stack.
package scenario
