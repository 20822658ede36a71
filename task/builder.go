package task

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// Builder records the tasks that an orchestration function submits. It builds the program
// of one rank or, for an orchestration of all ranks (Options.Single), the programs of all
// ranks.
type Builder struct {
	program    *Program            // programs[0]
	programs   []*Program          // the program of one rank, or those of all ranks by rank
	single     bool                // one orchestration submits the tasks of all ranks
	tasks      []Ref               // by ID
	outEdges   map[outEdgeKey]bool // edges between ranks that programs have already
	rank       *torch.Rank         // for programs on the simulated machine, else nil
	devices    []int               // the SIP of each rank on the simulated machine
	openScopes []int               // indices of the open scopes, outermost first
	sources    map[sourceKey]*Tensor
	domains    []*Domain
	conflicts  conflicts       // by ID; only for an orchestration of all ranks
	ctx        context.Context // building stops when it ends
	beat       func()          // called by every function of the builder; may be nil
	recording
}

// outEdgeKey identifies the single message by which the rank "to" learns that a task has
// ended.
type outEdgeKey struct {
	Ref
	to   int
	kind int // index in Program.out
}

// sourceKey identifies the memory of a rank that a tensor stands for.
type sourceKey struct {
	rank   int
	source any
}

// ID is the number of a task, as Submit returns it. It counts the tasks of the
// orchestration from 0, in the order of submission.
type ID int32

// maxTasks is the largest number of tasks of a rank. With it an endless orchestration fails
// instead of running forever.
const maxTasks = 1 << 20

// Rank returns the rank whose program the orchestration builds, or -1 in an orchestration
// of all ranks.
func (b *Builder) Rank() int {
	if b.single {
		return -1
	}
	return b.program.Rank
}

// NumRanks returns the number of ranks that run programs.
func (b *Builder) NumRanks() int { return b.program.Ranks }

// programOf returns the program of the given rank. It panics if the builder has no such
// program; the panic names op as the function that was called.
func (b *Builder) programOf(op string, rank int) *Program {
	switch {
	case rank < 0 || rank >= b.NumRanks():
		panic(misuse(op, "no rank %d: there are 0 to %d", rank, b.NumRanks()-1))
	case b.single:
		return b.programs[rank]
	case rank != b.Rank():
		panic(misuse(op, "rank %d in the orchestration of rank %d, which is for that rank alone: run one orchestration for all ranks, with Options.Single", rank, b.Rank()))
	}
	return b.program
}

// ownRank returns the rank of an orchestration of one rank. In an orchestration of all
// ranks it panics; the panic names op as the function that was called.
func (b *Builder) ownRank(op string) int {
	if b.single {
		panic(misuse(op, "the orchestration is for all ranks: say of which one, with %sOn", op))
	}
	return b.Rank()
}

// Tensor returns the rank's part of x, a tensor of the host API: the rows on the rank's
// device.
func (b *Builder) Tensor(x *torch.Tensor) *Tensor { return b.tensor("Tensor", b.ownRank("Tensor"), x) }

// TensorOn returns the part of tensor x that the given rank holds. It is for an
// orchestration of all ranks.
func (b *Builder) TensorOn(rank int, x *torch.Tensor) *Tensor { return b.tensor("TensorOn", rank, x) }

func (b *Builder) tensor(op string, rank int, x *torch.Tensor) *Tensor {
	b.checkBuilding(op)
	p := b.programOf(op, rank)
	switch t, known := b.sources[sourceKey{rank, x}]; {
	case known:
		return t
	case b.rank == nil:
		panic(misuse(op, "the program is not for a torch.Context: use the tensors that the orchestration was given"))
	case x == nil:
		panic(misuse(op, "a nil tensor"))
	case x.Rank().Context != b.rank.Context:
		panic(misuse(op, "%v %v is a tensor of another torch.Context", x.Shape(), x.DType()))
	}
	if n := len(x.Shape()); n > oplog.MaxRank {
		panic(misuse(op, "%v %v has %d axes, and tasks have tensors of up to %d: give a View with fewer", x.Shape(), x.DType(), n, oplog.MaxRank))
	}
	for of, other := range b.sources {
		if y, ok := of.source.(*torch.Tensor); ok && y != x && x.SharesMemory(y) {
			panic(misuse(op, "%v %v shares memory with %v, one being a view: use one of them, or conflicts would not be seen", x.Shape(), x.DType(), other))
		}
	}
	device := b.devices[rank]
	_, _, shape, ok := x.PartOn(device)
	if !ok {
		has := "something that is not whole rows, one after the other"
		if !slices.ContainsFunc(x.Shards(), func(s torch.Shard) bool { return s.SIP == device }) {
			has = "nothing"
		}
		panic(misuse(op, "rank %d is SIP %d, which holds %s of the tensor %v %v: place it with torch.On", rank, device, has, x.Shape(), x.DType()))
	}
	return b.declare(op, p, Tensor{Name: fmt.Sprintf("tensor%d", len(p.Tensors)), DType: x.DType(), Shape: shape, Window: true, Source: x})
}

// checkBuilding panics if the builder must not be used now: the orchestration has ended or
// waits for a value, or its context has ended. The panic names op as the function that was
// called.
func (b *Builder) checkBuilding(op string) {
	if b.built {
		panic(misuse(op, "the program has been built: a Builder is for its orchestration, not for kernels"))
	}
	if b.paused.Load() {
		panic(misuse(op, "the orchestration waits for a value: a Builder is for its orchestration, not for kernels"))
	}
	if b.ctx.Err() != nil {
		panic(misuse(op, "%w", context.Cause(b.ctx)))
	}
	if b.beat != nil {
		b.beat()
	}
}

// Declare adds tensor x to the program of the rank. The caller provides the memory when the
// program runs; x.Source identifies this memory to the caller.
func (b *Builder) Declare(x Tensor) *Tensor { return b.DeclareOn(b.ownRank("Declare"), x) }

// DeclareOn adds tensor x to the program of the given rank, in an orchestration of all
// ranks. As for Declare, the caller provides the memory when the program runs.
func (b *Builder) DeclareOn(rank int, x Tensor) *Tensor {
	b.checkBuilding("Declare")
	return b.declare("Declare", b.programOf("Declare", rank), x)
}

func (b *Builder) declare(op string, p *Program, x Tensor) *Tensor {
	if len(b.pauses) > 0 {
		panic(misuse(op, "%v after the first Value, when tasks run already: declare all tensors before it", &x))
	}
	if len(x.Shape) > oplog.MaxRank || !x.DType.Valid() || slices.ContainsFunc(x.Shape, func(n int) bool { return n < 0 || n > math.MaxInt32 }) {
		panic(misuse(op, "%v: a tensor has a dtype and up to %d axes, each of 0 to %d elements", &x, oplog.MaxRank, math.MaxInt32))
	}
	key := sourceKey{p.Rank, x.Source}
	if other, taken := b.sources[key]; taken && x.Source != nil {
		panic(misuse(op, "%v is of the same memory as %v, which is declared already: use that one, or conflicts would not be seen", &x, other))
	}
	x.number, x.rank = len(p.Tensors), p.Rank
	p.Tensors = append(p.Tensors, &x)
	if x.Source != nil {
		b.sources[key] = &x
	}
	return &x
}

// Option changes how a task is run.
type Option func(*Task)

// After adds explicit edges: the task waits until the tasks with the given IDs have ended.
// In an orchestration of all ranks they may be tasks of other ranks.
func After(ids ...ID) Option {
	return func(t *Task) { t.after = append(t.after, ids...) }
}

// OnRank sets the rank that runs a task. In an orchestration of all ranks every task must
// have this option.
func OnRank(rank int) Option {
	return func(t *Task) { t.rank = rank }
}

// Group runs a task on several PEs, its members, which start at the same instant. The
// kernel is called on each member: t.ProgramID(0) is the number of the member, and
// t.NumPrograms(0) the number of members.
//
// `neighbors` are functions that return neighbour tables, such as torch.Ring, torch.Line
// and torch.AllPairs. Group calls them with the member numbers, which count from 0. The
// tables connect members as the tables of a launch connect PEs. Connected members can
// exchange tiles with t.Send and t.Recv.
func Group(members int, neighbors ...func(members ...int) []torch.Connection) Option {
	return func(t *Task) { t.Members, t.Neighbors, t.tables = members, nil, neighbors }
}

// Buffers selects the memory for the slots of the queues between the members of a task:
// tcm, sram or hbm instead of the default of the topology. torch.Buffers does the same for
// a launch. On real ranks, Buffers has no effect.
func Buffers(kind topology.BufferKind) Option {
	return func(t *Task) { t.Buffers = kind }
}

// Submit adds a task to the program and returns its number. The task runs the function
// `kernel` with the given arguments. Options say, for example, which tasks it waits for.
// Under a runtime that infers dependencies, the task also waits for those earlier tasks of
// the rank that conflict with it. These are the tasks that write what the new task reads,
// or that access what the new task writes.
func (b *Builder) Submit(name string, kernel any, args Args, options ...Option) ID {
	b.checkBuilding("Submit")
	args = slices.Clone(args) // the caller may use the slice again
	id := ID(len(b.tasks))
	t := Task{Name: name, Members: 1, Args: args, ID: id, Scope: -1, Depth: int32(len(b.openScopes)), Line: caller(), rank: b.Rank(), valueTasks: b.valueTasks}
	if len(b.openScopes) > 0 {
		t.Scope = int32(b.openScopes[len(b.openScopes)-1])
	}
	for _, o := range options {
		if o != nil {
			o(&t)
		}
	}
	fail := func(format string, args ...any) {
		panic(misuse("Submit", "task %d (%s): %s", id, name, fmt.Sprintf(format, args...)))
	}
	if name == "" {
		fail("it has no name")
	}
	if t.rank < 0 && b.single {
		fail("it is for no rank: the orchestration is for all ranks, so say which with task.OnRank")
	}
	p := b.programOf("Submit", t.rank)
	if t.Members < 1 {
		fail("a group of %d: a task runs on one PE or more", t.Members)
	}
	if err := t.makeNeighbors(); err != nil {
		fail("%v", err)
	}
	for _, on := range t.after {
		if on < 0 || on >= id {
			fail("it is to be after task %d, and there are %d tasks so far, counted from 0", on, id)
		}
	}
	for i := range args {
		switch x := args[i].Region.Tensor; {
		case x == nil:
		case x.rank != p.Rank && b.single && args[i].Access == 0:
			own := b.counterpart(x, p)
			if own == nil {
				fail("argument %s is a region of %v of rank %d, and rank %d has no part of that: declare it there as well", args[i].Name, x, x.rank, p.Rank)
			}
			args[i].Peer = args[i].Region
			args[i].Region.Tensor = own
		case x.rank != p.Rank && b.single:
			fail("argument %s is a region of %v, which is memory of rank %d, and the task runs on rank %d: a kernel reaches other ranks with Put and Get, so name the region with task.Puts, task.Gets or task.AtPeers", args[i].Name, x, x.rank, p.Rank)
		case x.number >= len(p.Tensors) || p.Tensors[x.number] != x:
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
	b.addEdges(p, &t)
	b.tasks = append(b.tasks, Ref{int32(p.Rank), ID(len(p.Tasks))})
	p.Tasks = append(p.Tasks, t)
	return id
}

// Scope calls the function `body`. The tasks that `body` submits form a scope. Under
// tensormap_and_ringbuffer these tasks are stored in a task ring, which all scopes of the
// same nesting depth share. The tasks keep their slots until the scope ends.
func (b *Builder) Scope(name string, body func()) {
	b.checkBuilding("Scope")
	n := len(b.program.Scopes)
	if n >= maxTasks {
		panic(misuse("Scope", "a rank has at most %d scopes", maxTasks))
	}
	line := caller()
	for _, p := range b.programs {
		p.Scopes = append(p.Scopes, Scope{Name: name, First: ID(len(p.Tasks)), End: math.MaxInt32, Line: line})
	}
	b.openScopes = append(b.openScopes, n)
	defer func() { // also if body panics
		b.openScopes = b.openScopes[:len(b.openScopes)-1]
		for _, p := range b.programs {
			p.Scopes[n].End = ID(len(p.Tasks))
		}
	}()
	if body != nil {
		body()
	}
}

// Build records the program of a rank. If the orchestration asks for a value, Build returns
// at the first call of Value. If ctx ends first, Build returns without waiting for the
// orchestration, which cannot be stopped.
func Build(ctx context.Context, rank, ranks int, orchestrate func(b *Builder)) (*Program, error) {
	b := newBuilder(ctx, &Program{Rank: rank, Ranks: ranks})
	return b.program, b.build(orchestrate)
}

// BuildAll records the programs of all ranks from one orchestration that submits the tasks
// of all ranks. It returns the programs by rank.
func BuildAll(ctx context.Context, ranks int, orchestrate func(b *Builder)) ([]*Program, error) {
	b := newBuilder(ctx, newPrograms(ranks)...)
	b.single = true
	return b.programs, b.build(orchestrate)
}

// newPrograms returns an empty program for each of the given number of ranks.
func newPrograms(ranks int) (list []*Program) {
	for rank := range ranks {
		list = append(list, &Program{Rank: rank, Ranks: ranks})
	}
	return list
}

// newBuilder returns a builder for the given programs: the program of one rank, or the
// programs of all ranks.
func newBuilder(ctx context.Context, programs ...*Program) *Builder {
	b := &Builder{program: programs[0], programs: programs, outEdges: map[outEdgeKey]bool{}, conflicts: conflicts{maps: map[*Tensor]*tensorMap{}}, sources: map[sourceKey]*Tensor{}, ctx: ctx}
	// With a buffer, an orchestration that was abandoned can still report its end.
	b.steps, b.values = make(chan step, 1), make(chan float64)
	for i, p := range programs {
		p.builder, p.index = b, i
	}
	return b
}

// catchPanic calls f. If f panics, catchPanic returns the panic as an error.
func catchPanic(f func()) (err error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case *Error:
			err = value
		case error:
			err = fmt.Errorf("panic at %s: %w", lineOutside(2), value)
		default:
			err = fmt.Errorf("panic at %s: %v", lineOutside(2), value)
		}
	}()
	f()
	return nil
}

// Error describes a mistake in an orchestration. Functions of the package panic with it,
// and Build returns it.
type Error struct {
	Op   string // "Submit"
	Line string // file and line of the call
	Err  error
}

func (e *Error) Error() string { return e.Op + " at " + e.Line + ": " + e.Err.Error() }

// Unwrap returns the reason of the error.
func (e *Error) Unwrap() error { return e.Err }

// misuse returns an Error for a wrong call of the function op. The other arguments are the
// format and operands of the reason.
func misuse(op, format string, args ...any) *Error {
	return &Error{op, lineOutside(2), fmt.Errorf(format, args...)}
}

// caller returns the file and line in the orchestration that called Submit, Scope or Value.
func caller() string { return lineOutside(3) }

// lineOutside returns the file and line of the innermost caller that is neither in this
// package nor in the Go runtime. It ignores the innermost `skip` callers.
func lineOutside(skip int) string {
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

// thisPackage is the prefix of the names of all functions of this package.
const thisPackage = "github.com/kernbench/kernbench/task."
