// Package scenario is the contract of a distributed scenario and the registry of all
// there are.
//
// A scenario is a file that says what a kernel of the tile language (package tl), or a
// program of tasks (package task), does on several ranks at once, and what must come of
// it:
//
//	summary: "all-gather: every rank receives the data of all ranks"
//	nranks: 4                       # unless --nranks says otherwise; 1 to 64
//	params: {count: 64}             # names for expressions; --set count=100
//	signals: 2                      # of each rank, as many as the kernel uses
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
//	nranks    how many ranks, unless a [Choice] has Ranks or Devices
//	ranks     {min, max}: for how many it is defined; 1 to 64 if not given
//	root      the root, if nobody says otherwise; only where something uses it
//	devices   which device each rank has, such as 0-3 or 0,2,5; from 0 on if not given
//	params    names with a number, or with words of which the first is the default: ring|tree
//	signals   how many signals the kernel and the tasks use; none if not given
//	signal_matrices  names of matrices, each a signal for each pair of ranks; none if not given
//	window    bytes of each rank's window, signals included; what is needed if not given
//	domains   names with the ranks that are members, in the order of their ranks there
//	buffers   name, dtype, shape, placement; init; staged; offset and bytes; domain
//	kernel    name, in which $mode is the value of a parameter, and args
//	tasks     the same of an orchestration; one of the two may be missing
//	outputs   buffer, golden; ranks: all or root; relative, absolute
//
// A buffer is memory of each rank, or of each member of its domain. Placement window
// is memory that peers can reach, device is the rank's own. In the window of a rank
// signals come first, 64 bytes each, in two banks, then the buffers in order, each from
// a multiple of 64 bytes on, unless offset says where. A domain has a window of its own, without
// signals. A buffer with init gets it before every round; one without is zero at
// first, and then what the round before has left. The init of a buffer with staged: true goes
// to memory of the rank's own, from which a phase before the kernel copies it into the window.
//
// An output is compared with its golden values, rounded to its dtype, after every
// round: for equality, or as |got - want| <= absolute + relative |want|.
//
// # Expressions
//
// Values are written as expressions of numbers and names with + - * / % and
// parentheses, min, max, cdiv (division rounded up) and floor. Division is exact: 7/2
// is 3.5; % has the sign of its right side. A result that is too large, and division
// by zero, are errors. Shapes and sizes know nranks, root and the parameters; arguments
// also rank, round and device; init and golden also i, the index of the element in
// row-major order. Instead of an expression these may be func:NAME, a Go function that
// was registered.
//
// Arguments are buffers (tl.Ptr of a kernel, *task.Tensor of an orchestration),
// expressions (numbers), parameters that are words (string), domain:NAME ([Domain]),
// matrix:NAME ([Matrix]) and deviceCtx ([comm.Context], of which the simulated machine has
// no addresses).
//
// # Programs
//
// [RegisterKernel], [RegisterTasks], [RegisterInput], [RegisterGolden] and [Register]
// add what is written in Go. [Load] reads a file or finds a registered scenario, with
// every mistake at once, at its line and column. [Scenario.Plan] settles the number of
// ranks, the root and the parameters: the result is what runs, every size known and every
// value defined. [Scenario.Plan] does so, and makes values, for as long as a context
// lasts.
//
// Nothing runs here: that is for scenario/runner. The built-in scenarios are in package
// scenarios. The package imports comm and internal/procpe for what kernels may ask for and
// where it lies, tl and task for what functions take, internal/config, numeric and
// internal/stack.
package scenario
