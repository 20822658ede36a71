package task

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/oplog"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// Builder is what an orchestration function submits tasks to. It makes the program of
// one rank; every rank has its own.
type Builder struct {
	program *Program
	ctx     *torch.Context // of programs on one, else nil
	device  int            // SIP of the rank there
	open    []int          // scopes, outermost first
	sources map[any]*Tensor
	done    context.Context // building ends with it
	built   bool
}

// ID is the number of a task in the program of its rank, from 0, in the order of
// submission.
type ID int32

// maxTasks bounds the tasks of a rank, so that an endless orchestration ends.
const maxTasks = 1 << 20

// Rank is the rank whose program is built.
func (b *Builder) Rank() int { return b.program.Rank }

// NumRanks is how many ranks there are.
func (b *Builder) NumRanks() int { return b.program.Ranks }

// Tensor is what the rank has of a tensor of the host API: the rows that its device
// holds.
func (b *Builder) Tensor(x *torch.Tensor) *Tensor {
	b.goesOn("Tensor")
	switch t, known := b.sources[x]; {
	case known:
		return t
	case b.ctx == nil:
		panic(misuse("Tensor", "the program is not for a torch.Context: use the tensors that the orchestration was given"))
	case x == nil:
		panic(misuse("Tensor", "a nil tensor"))
	case x.Context() != b.ctx:
		panic(misuse("Tensor", "%v %v is a tensor of another torch.Context", x.Shape(), x.DType()))
	}
	if n := len(x.Shape()); n > oplog.MaxRank {
		panic(misuse("Tensor", "%v %v has %d axes, and tasks have tensors of up to %d: give a View with fewer", x.Shape(), x.DType(), n, oplog.MaxRank))
	}
	for of, other := range b.sources {
		if y, ok := of.(*torch.Tensor); ok && x.SharesMemory(y) {
			panic(misuse("Tensor", "%v %v shares memory with %v, one being a view: use one of them, or conflicts would not be seen", x.Shape(), x.DType(), other))
		}
	}
	_, _, shape, ok := x.PartOn(b.device)
	if !ok {
		has := "something that is not whole rows, one after the other"
		if !slices.ContainsFunc(x.Shards(), func(s torch.Shard) bool { return s.SIP == b.device }) {
			has = "nothing"
		}
		panic(misuse("Tensor", "rank %d is SIP %d, which holds %s of the tensor %v %v: place it with torch.On", b.Rank(), b.device, has, x.Shape(), x.DType()))
	}
	return b.Declare(Tensor{Name: fmt.Sprintf("tensor%d", len(b.program.Tensors)), DType: x.DType(), Shape: shape, Window: true, Source: x})
}

// goesOn checks that the program is still being built.
func (b *Builder) goesOn(op string) {
	if b.built {
		panic(misuse(op, "the program has been built: a Builder is for its orchestration, not for kernels"))
	}
	if b.done.Err() != nil {
		panic(misuse(op, "%w", context.Cause(b.done)))
	}
}

// Declare makes memory known to the program, for those who run programs on memory of
// their own: Source tells them which.
func (b *Builder) Declare(x Tensor) *Tensor {
	b.goesOn("Declare")
	if len(x.Shape) > oplog.MaxRank || !x.DType.Valid() || slices.ContainsFunc(x.Shape, func(n int) bool { return n < 0 || n > math.MaxInt32 }) {
		panic(misuse("Declare", "%v: a tensor has a dtype and up to %d axes, each of 0 to %d elements", &x, oplog.MaxRank, math.MaxInt32))
	}
	if other, taken := b.sources[x.Source]; taken && x.Source != nil {
		panic(misuse("Declare", "%v is of the same memory as %v, which is declared already: use that one, or conflicts would not be seen", &x, other))
	}
	x.number = len(b.program.Tensors)
	b.program.Tensors = append(b.program.Tensors, &x)
	if x.Source != nil {
		b.sources[x.Source] = &x
	}
	return &x
}

// Option changes how a task is run.
type Option func(*Task)

// After has a task begin when others have ended: an explicit edge from each.
func After(ids ...ID) Option {
	return func(t *Task) { t.After = append(t.After, ids...) }
}

// Group runs a task on a number of PEs, its members, which begin at one instant. The kernel
// is called on each, and tells members apart by t.ProgramID(0) of t.NumPrograms(0).
//
// neighbors are functions that return neighbour tables, such as torch.Ring, torch.Line and
// torch.AllPairs. Group calls them with the numbers of the members, which count from 0. The
// tables join members as those of a launch join PEs, and the members can exchange tiles with
// t.Send and t.Recv.
func Group(members int, neighbors ...func(members ...int) []torch.Connection) Option {
	return func(t *Task) { t.Members, t.Neighbors, t.tables = members, nil, neighbors }
}

// Buffers chooses the memory of the slots of the queues between the members of a task, tcm,
// sram or hbm, instead of that of the topology, as torch.Buffers does for a launch. It makes
// no difference on real ranks.
func Buffers(kind topology.BufferKind) Option {
	return func(t *Task) { t.Buffers = kind }
}

// Submit adds a task: a kernel, its arguments, and what it waits for. Where the runtime
// finds dependencies itself it also waits for all earlier tasks of the rank that write
// what it reads, or touch what it writes.
func (b *Builder) Submit(name string, kernel any, args Args, options ...Option) ID {
	b.goesOn("Submit")
	p := b.program
	args = slices.Clone(args) // the caller may use the slice again
	t := Task{Name: name, Members: 1, Args: args, Scope: -1, Depth: int32(len(b.open)), Line: caller()}
	if len(b.open) > 0 {
		t.Scope = int32(b.open[len(b.open)-1])
	}
	for _, o := range options {
		if o != nil {
			o(&t)
		}
	}
	slices.Sort(t.After)
	t.After = slices.Compact(t.After)
	fail := func(format string, args ...any) {
		panic(misuse("Submit", "task %d (%s): %s", len(p.Tasks), name, fmt.Sprintf(format, args...)))
	}
	if name == "" {
		fail("it has no name")
	}
	if t.Members < 1 {
		fail("a group of %d: a task runs on one PE or more", t.Members)
	}
	if err := t.join(); err != nil {
		fail("%v", err)
	}
	for _, id := range t.After {
		if id < 0 || int(id) >= len(p.Tasks) {
			fail("it is to be after task %d, and there are %d tasks so far, counted from 0", id, len(p.Tasks))
		}
	}
	for i := range args {
		if x := args[i].Region.Tensor; x != nil && (x.number >= len(p.Tensors) || p.Tensors[x.number] != x) {
			fail("argument %s is a region of %v, which is no tensor of this program", args[i].Name, x)
		}
	}
	var err error
	if t.bound, err = args.bind(name, kernel); err != nil {
		fail("%v", err)
	}
	if len(p.Tasks) >= maxTasks {
		fail("a rank has at most %d tasks", maxTasks)
	}
	p.Tasks = append(p.Tasks, t)
	return ID(len(p.Tasks) - 1)
}

// Scope submits the tasks of body as a scope: under tensormap_and_ringbuffer they lie in
// the ring of its depth, and keep their slots until the scope ends. Scopes may be nested.
func (b *Builder) Scope(name string, body func()) {
	b.goesOn("Scope")
	p := b.program
	n := len(p.Scopes)
	if n >= maxTasks {
		panic(misuse("Scope", "a rank has at most %d scopes", maxTasks))
	}
	p.Scopes = append(p.Scopes, Scope{Name: name, First: ID(len(p.Tasks)), Line: caller()})
	b.open = append(b.open, n)
	defer func() { // also of a body that panics
		b.open = b.open[:len(b.open)-1]
		p.Scopes[n].End = ID(len(p.Tasks))
	}()
	if body != nil {
		body()
	}
}

// Build records the program of a rank. If ctx ends first it does not wait for the
// orchestration, which cannot be stopped.
func Build(ctx context.Context, rank, ranks int, orchestrate func(b *Builder)) (*Program, error) {
	return newBuilder(ctx, &Program{Rank: rank, Ranks: ranks}).build(orchestrate)
}

func newBuilder(ctx context.Context, p *Program) *Builder {
	return &Builder{program: p, sources: map[any]*Tensor{}, done: ctx}
}

// build runs an orchestration.
func (b *Builder) build(orchestrate func(b *Builder)) (*Program, error) {
	if orchestrate == nil {
		return nil, fmt.Errorf("the orchestration of rank %d is nil", b.Rank())
	}
	ended := make(chan error, 1)
	go func() {
		ended <- called(func() { orchestrate(b) })
	}()
	select {
	case err := <-ended:
		b.built = true
		if err != nil {
			return nil, fmt.Errorf("the orchestration of rank %d: %w", b.Rank(), err)
		}
		return b.program, nil
	case <-b.done.Done():
		return nil, fmt.Errorf("the orchestration of rank %d has not ended: %w", b.Rank(), context.Cause(b.done))
	}
}

// called calls a function, and is the error that it panics with, if it does.
func called(f func()) (err error) {
	ended := false
	defer func() {
		value := recover()
		switch wrong, ok := value.(*Error); {
		case ended:
		case ok:
			err = wrong
		case value == nil:
			err = errors.New("it ended its goroutine: return instead")
		default:
			err = fmt.Errorf("panic at %s: %w", outside(2), asError(value))
		}
	}()
	f()
	ended = true
	return nil
}

// asError is what somebody panicked with.
func asError(value any) error {
	if err, ok := value.(error); ok {
		return err
	}
	return fmt.Errorf("%v", value)
}

// Error is a mistake of an orchestration. Functions panic with it, and Build returns it.
type Error struct {
	Op   string // "Submit"
	Line string // where it was called
	Err  error
}

func (e *Error) Error() string { return e.Op + " at " + e.Line + ": " + e.Err.Error() }

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }

func misuse(op, format string, args ...any) *Error {
	return &Error{op, outside(2), fmt.Errorf(format, args...)}
}

// caller is the line of the orchestration that called Submit or Scope.
func caller() string { return outside(3) }

// outside is the line of the first caller that is not of this package, or of the runtime,
// from some callers up.
func outside(skip int) string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(skip+1, pcs[:])])
	for {
		f, more := frames.Next()
		file := f.File[strings.LastIndexByte(f.File, '/')+1:]
		own := strings.HasPrefix(f.Function, thisPackage) && !strings.HasSuffix(file, "_test.go")
		if !own && !strings.HasPrefix(f.Function, "runtime.") {
			return file + ":" + strconv.Itoa(f.Line)
		}
		if !more {
			return "?"
		}
	}
}

// thisPackage begins the names of functions of this package.
const thisPackage = "github.com/kernbench/kernbench/task."
