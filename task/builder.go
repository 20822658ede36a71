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

// Builder is what an orchestration function submits tasks to. It makes the program of
// one rank or, for an orchestration of all ranks (Options.Single), those of all.
type Builder struct {
	program   *Program   // of the first of its ranks
	programs  []*Program // of one rank, or of all by rank
	single    bool       // of all ranks
	tasks     []Ref      // by ID
	posted    map[outwardKey]bool
	rank      *torch.Rank // of programs on one, else nil
	devices   []int       // the SIP of each rank there
	open      []int       // scopes, outermost first
	sources   map[sourceKey]*Tensor
	domains   []*Domain
	conflicts conflicts       // by ID, of an orchestration of all ranks
	done      context.Context // building ends with it
	beat      func()          // called while building goes on; may be nil
	recording
}

// outwardKey identifies the one message about the end of a task that a rank gets.
type outwardKey struct {
	Ref
	to   int
	kind int // as in Program.out
}

// sourceKey identifies memory of a rank.
type sourceKey struct {
	rank   int
	source any
}

// ID is the number that Submit returns: from 0, in the order of submission, among the
// tasks of the orchestration.
type ID int32

// maxTasks bounds the tasks of a rank, so that an endless orchestration ends.
const maxTasks = 1 << 20

// Rank returns the rank whose program is built, and -1 for an orchestration of all ranks.
func (b *Builder) Rank() int {
	if b.single {
		return -1
	}
	return b.program.Rank
}

// NumRanks returns how many ranks there are.
func (b *Builder) NumRanks() int { return b.program.Ranks }

// of returns the program of a rank; op is for whom.
func (b *Builder) of(op string, rank int) *Program {
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

// own returns the rank of an orchestration of one rank.
func (b *Builder) own(op string) int {
	if b.single {
		panic(misuse(op, "the orchestration is for all ranks: say of which one, with %sOn", op))
	}
	return b.Rank()
}

// Tensor returns what the rank has of a tensor of the host API: the rows that its device
// holds.
func (b *Builder) Tensor(x *torch.Tensor) *Tensor { return b.tensor("Tensor", b.own("Tensor"), x) }

// TensorOn is like Tensor for what a rank has, in an orchestration of all ranks.
func (b *Builder) TensorOn(rank int, x *torch.Tensor) *Tensor { return b.tensor("TensorOn", rank, x) }

func (b *Builder) tensor(op string, rank int, x *torch.Tensor) *Tensor {
	b.goesOn(op)
	p := b.of(op, rank)
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

// goesOn checks that the program is still being built.
func (b *Builder) goesOn(op string) {
	if b.built {
		panic(misuse(op, "the program has been built: a Builder is for its orchestration, not for kernels"))
	}
	if b.paused.Load() {
		panic(misuse(op, "the orchestration waits for a value: a Builder is for its orchestration, not for kernels"))
	}
	if b.done.Err() != nil {
		panic(misuse(op, "%w", context.Cause(b.done)))
	}
	if b.beat != nil {
		b.beat()
	}
}

// Declare makes memory known to the program, for those who run programs on memory of
// their own: Source tells them which.
func (b *Builder) Declare(x Tensor) *Tensor { return b.DeclareOn(b.own("Declare"), x) }

// DeclareOn is like Declare for memory of a rank, in an orchestration of all ranks.
func (b *Builder) DeclareOn(rank int, x Tensor) *Tensor {
	b.goesOn("Declare")
	return b.declare("Declare", b.of("Declare", rank), x)
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

// After has a task begin when others have ended: an explicit edge from each. In an
// orchestration of all ranks those may be tasks of other ranks.
func After(ids ...ID) Option {
	return func(t *Task) { t.after = append(t.after, ids...) }
}

// OnRank has a task run on a rank, in an orchestration of all ranks, where every task has
// to say so.
func OnRank(rank int) Option {
	return func(t *Task) { t.rank = rank }
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
	args = slices.Clone(args) // the caller may use the slice again
	id := ID(len(b.tasks))
	t := Task{Name: name, Members: 1, Args: args, ID: id, Scope: -1, Depth: int32(len(b.open)), Line: caller(), rank: b.Rank(), read: b.read}
	if len(b.open) > 0 {
		t.Scope = int32(b.open[len(b.open)-1])
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
	p := b.of("Submit", t.rank)
	if t.Members < 1 {
		fail("a group of %d: a task runs on one PE or more", t.Members)
	}
	if err := t.join(); err != nil {
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
	b.connect(p, &t)
	b.tasks = append(b.tasks, Ref{int32(p.Rank), ID(len(p.Tasks))})
	p.Tasks = append(p.Tasks, t)
	return id
}

// Scope submits the tasks of body as a scope: under tensormap_and_ringbuffer they lie in
// the ring of its depth, and keep their slots until the scope ends. Scopes may be nested.
func (b *Builder) Scope(name string, body func()) {
	b.goesOn("Scope")
	n := len(b.program.Scopes)
	if n >= maxTasks {
		panic(misuse("Scope", "a rank has at most %d scopes", maxTasks))
	}
	line := caller()
	for _, p := range b.programs {
		p.Scopes = append(p.Scopes, Scope{Name: name, First: ID(len(p.Tasks)), End: math.MaxInt32, Line: line})
	}
	b.open = append(b.open, n)
	defer func() { // also of a body that panics
		b.open = b.open[:len(b.open)-1]
		for _, p := range b.programs {
			p.Scopes[n].End = ID(len(p.Tasks))
		}
	}()
	if body != nil {
		body()
	}
}

// Build records the program of a rank, up to the first Value if it asks for any. If ctx
// ends first it does not wait for the orchestration, which cannot be stopped.
func Build(ctx context.Context, rank, ranks int, orchestrate func(b *Builder)) (*Program, error) {
	b := newBuilder(ctx, &Program{Rank: rank, Ranks: ranks})
	return b.program, b.build(orchestrate)
}

// BuildAll is like Build for one orchestration that submits the tasks of all ranks, and
// returns the program of each.
func BuildAll(ctx context.Context, ranks int, orchestrate func(b *Builder)) ([]*Program, error) {
	b := newBuilder(ctx, newPrograms(ranks)...)
	b.single = true
	return b.programs, b.build(orchestrate)
}

// newPrograms makes an empty program for each rank.
func newPrograms(ranks int) (list []*Program) {
	for rank := range ranks {
		list = append(list, &Program{Rank: rank, Ranks: ranks})
	}
	return list
}

// newBuilder makes the builder of programs: of a rank, or of all.
func newBuilder(ctx context.Context, programs ...*Program) *Builder {
	b := &Builder{program: programs[0], programs: programs, posted: map[outwardKey]bool{}, conflicts: conflicts{maps: map[*Tensor]*tensorMap{}}, sources: map[sourceKey]*Tensor{}, done: ctx}
	b.moved, b.values = make(chan step, 1), make(chan float64)
	for i, p := range programs {
		p.by, p.index = b, i
	}
	return b
}

// called calls a function, and returns the error that it panics with, if it does.
func called(f func()) (err error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case *Error:
			err = value
		case error:
			err = fmt.Errorf("panic at %s: %w", outside(2), value)
		default:
			err = fmt.Errorf("panic at %s: %v", outside(2), value)
		}
	}()
	f()
	return nil
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

// caller returns the line of the orchestration that called Submit or Scope.
func caller() string { return outside(3) }

// outside returns the line of the first caller that is not of this package, or of the runtime,
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
