package task

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/torch"
)

// Builder is what an orchestration function submits tasks to. It makes the program of
// one rank; every rank has its own.
type Builder struct {
	program *Program
	device  int   // SIP of the rank, of programs on a torch.Context
	open    []int // scopes, outermost first
	sources map[any]*Tensor
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
	if t, ok := b.sources[x]; ok {
		return t
	}
	if b.device < 0 {
		panic(misuse("Tensor", "the program is not for a torch.Context: use the tensors that the orchestration was given"))
	}
	if x == nil {
		panic(misuse("Tensor", "a nil tensor"))
	}
	_, _, shape, ok := x.PartOn(b.device)
	if !ok {
		panic(misuse("Tensor", "rank %d is SIP %d, and what that holds of the tensor %v %v is not whole rows, one after the other: place it with torch.On", b.Rank(), b.device, x.Shape(), x.DType()))
	}
	return b.Declare(Tensor{Name: fmt.Sprintf("tensor%d", len(b.program.Tensors)), DType: x.DType(), Shape: shape, Window: true, Source: x})
}

// Declare makes memory known to the program, for those who run programs on memory of
// their own: Source tells them which.
func (b *Builder) Declare(x Tensor) *Tensor {
	if len(x.Shape) > 4 || !x.DType.Valid() {
		panic(misuse("Declare", "%v: a tensor has up to 4 axes and a dtype", &x))
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

// Group has a task run on so many PEs, which begin at one instant. The kernel is called
// on each, and tells its members apart by t.ProgramID(0) of t.NumPrograms(0).
func Group(members int) Option {
	return func(t *Task) { t.Members = members }
}

// Submit adds a task: a kernel, its arguments, and what it waits for. Where the runtime
// finds dependencies itself it also waits for all earlier tasks of the rank that write
// what it reads, or touch what it writes.
func (b *Builder) Submit(name string, kernel any, args Args, options ...Option) ID {
	p := b.program
	t := Task{Name: name, Members: 1, Args: args, Scope: -1, Depth: int32(len(b.open)), Line: caller()}
	if len(b.open) > 0 {
		t.Scope = int32(b.open[len(b.open)-1])
	}
	for _, o := range options {
		o(&t)
	}
	fail := func(format string, args ...any) {
		panic(misuse("Submit", "task %d (%s) at %s: %s", len(p.Tasks), name, t.Line, fmt.Sprintf(format, args...)))
	}
	if name == "" {
		fail("it has no name")
	}
	if t.Members < 1 {
		fail("a group of %d: a task runs on one PE or more", t.Members)
	}
	for _, id := range t.After {
		if id < 0 || int(id) >= len(p.Tasks) {
			fail("it is to be after task %d, and the tasks so far are 0 to %d", id, len(p.Tasks)-1)
		}
	}
	for i := range args {
		if x := args[i].Region.Tensor; x != nil && (x.number >= len(p.Tensors) || p.Tensors[x.number] != x) {
			fail("argument %s is a region of %v, which belongs to another rank's program", args[i].Name, x)
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
	p := b.program
	n := len(p.Scopes)
	p.Scopes = append(p.Scopes, Scope{Name: name, First: ID(len(p.Tasks)), Line: caller()})
	b.open = append(b.open, n)
	body()
	b.open = b.open[:len(b.open)-1]
	p.Scopes[n].End = ID(len(p.Tasks))
}

// Build records the program of a rank.
func Build(rank, ranks int, orchestrate func(b *Builder)) (*Program, error) {
	return build(rank, ranks, -1, orchestrate)
}

func build(rank, ranks, device int, orchestrate func(b *Builder)) (p *Program, err error) {
	b := &Builder{program: &Program{Rank: rank, Ranks: ranks}, device: device, sources: map[any]*Tensor{}}
	defer func() {
		if value := recover(); value != nil {
			wrong, ok := value.(*Error)
			if !ok {
				panic(value)
			}
			p, err = nil, fmt.Errorf("the orchestration of rank %d: %w", rank, wrong)
		}
	}()
	orchestrate(b)
	return b.program, nil
}

// Error is a mistake of an orchestration. Functions panic with it, and Build returns it.
type Error struct {
	Op  string // "Submit"
	Err error
}

func (e *Error) Error() string { return "task: " + e.Op + ": " + e.Err.Error() }

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }

func misuse(op, format string, args ...any) *Error {
	return &Error{op, fmt.Errorf(format, args...)}
}

// caller is the line of the orchestration that called Submit or Scope.
func caller() string {
	_, file, line, ok := runtime.Caller(2)
	if !ok {
		return ""
	}
	return file[strings.LastIndexByte(file, '/')+1:] + ":" + strconv.Itoa(line)
}
