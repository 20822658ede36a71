package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/launch"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/procpe"
	"github.com/kernbench/kernbench/internal/taskrank"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/task"
)

// jobName is the name under which runRank is registered with comm/launch.
const jobName = "scenario"

func init() { launch.Register(jobName, runRank) }

// rankOrder is the argument of runRank: what a rank must run.
type rankOrder struct {
	Source  string
	Text    []byte
	Choice  scenario.Choice
	Folder  string // the folder of inputs and outputs; "": the rank computes inputs and compares outputs
	Seed    uint64
	Runtime task.Runtime // "": run the kernel
	Tasks   []byte       // the configuration of the runtime, as YAML
	Print   int64        // the number of the printer that kernels print to; 0: none
}

// rankResult is the result of runRank.
type rankResult struct {
	Report  Report
	Took    time.Duration // time in the kernel, or for all tasks
	Staging time.Duration // time to copy staged buffers
}

// rank is the state of a rank that is a process or a goroutine.
type rank struct {
	rankOrder
	ctx     context.Context
	plan    *scenario.Plan
	comm    *comm.Comm
	values  values
	windows []*comm.Window              // by index in Plan.Windows; nil where the rank is not a member
	private map[*scenario.Buffer][]byte // private memory of the buffers that are staged or in no window
	delays  *rand.Rand
	pe      *procpe.Rank
	took    time.Duration
	staging time.Duration
}

// runRank runs all rounds of one rank, as the job of comm/launch. arg encodes a rankOrder,
// and the result encodes a rankResult.
func runRank(ctx context.Context, c *comm.Comm, arg []byte) ([]byte, error) {
	r := &rank{ctx: ctx, comm: c}
	if err := json.Unmarshal(arg, &r.rankOrder); err != nil {
		return nil, err
	}
	s, err := scenario.Parse(r.Source, r.Text)
	if err != nil {
		return nil, err
	}
	r.Choice.Trusted = true
	if r.plan, err = s.Plan(ctx, r.Choice); err != nil {
		return nil, err
	}
	compared := &computedValues{ctx: ctx, plan: r.plan}
	r.values = compared
	if r.Folder != "" {
		r.values = folder{ctx, r.Folder}
	}
	if err := r.allocate(); err != nil {
		return nil, err
	}
	for round := range r.plan.Rounds {
		if err := r.runRound(round); err != nil {
			return nil, err
		}
	}
	return json.Marshal(rankResult{compared.Report, r.took, r.staging})
}

// allocate allocates the windows and buffers of the rank and prepares it to run kernels.
func (r *rank) allocate() error {
	if err := r.makeWindows(); err != nil {
		return err
	}
	r.private = map[*scenario.Buffer][]byte{}
	for _, b := range r.plan.Buffers {
		if (b.Window < 0 || b.Staged) && b.On(r.comm.Rank()) {
			r.private[b] = make([]byte, b.Bytes())
		}
	}
	r.delays = rand.New(rand.NewPCG(r.Seed, uint64(r.comm.Rank())))
	var o procpe.Options
	if r.plan.Rounds > 1 {
		o.Delay = r.delayRandomly
	}
	if r.Print > 0 {
		o.Print = findPrinter(r.Print)
	}
	r.pe = procpe.New(r.windows[0], o)
	return nil
}

// makeWindows allocates the window of all ranks, and then the windows of the domains that
// this rank is a member of. It sorts these domains by their first member. All ranks use
// this order, so that ranks with several domains do not wait for each other in a cycle.
func (r *rank) makeWindows() (err error) {
	r.windows = make([]*comm.Window, len(r.plan.Windows))
	order := lists.Count(0, len(r.windows))
	slices.SortStableFunc(order, func(a, b int) int {
		first := func(w int) int {
			if d := r.plan.Windows[w].Domain; d != nil {
				return d.Ranks[0]
			}
			return -1
		}
		return cmp.Compare(first(a), first(b))
	})
	for _, i := range order {
		m, c := r.plan.Windows[i], r.comm
		if m.Domain != nil {
			if !slices.Contains(m.Domain.Ranks, r.comm.Rank()) {
				continue
			}
			if c, err = r.comm.Domain(m.Domain.Ranks...); err != nil {
				return fmt.Errorf("domain %s: %w", m.Domain.Name, err)
			}
		}
		if r.windows[i], err = c.AllocWindow(m.Bytes-m.Data(), scenario.SignalBanks*m.Signals); err != nil {
			return err
		}
	}
	return nil
}

// runRound writes the inputs of a round, runs the kernel or the tasks, and compares or
// stores the outputs. Ranks synchronize only in the launch and in the kernel.
func (r *rank) runRound(round int) error {
	me := r.comm.Rank()
	for _, b := range r.plan.Inputs() {
		if !b.On(me) {
			continue
		}
		in, err := r.values.input(b, me, round)
		if err != nil {
			return err
		}
		if !b.Staged {
			copy(r.memory(b), in)
			continue
		}
		copy(r.private[b], in)
		began := time.Now()
		copy(r.memory(b), r.private[b])
		r.staging += time.Since(began)
	}
	if r.plan.Rounds > 1 {
		time.Sleep(time.Duration(10+r.delays.IntN(3000)) * time.Microsecond)
	}
	if err := r.launch(round); err != nil {
		return err
	}
	for _, o := range r.plan.Outputs {
		if !o.On(me) {
			continue
		}
		if err := r.values.output(o, me, round, r.memory(o.Buffer)); err != nil {
			return err
		}
	}
	return nil
}

// delayRandomly sleeps for up to 50 µs, on average in one of 16 calls. It is called before
// operations that other ranks can see, to vary the order of operations.
func (r *rank) delayRandomly() {
	if r.delays.IntN(16) == 0 {
		time.Sleep(time.Duration(1+r.delays.IntN(50)) * time.Microsecond)
	}
}

// memory returns the memory that holds buffer b at this rank.
func (r *rank) memory(b *scenario.Buffer) []byte {
	if b.Window < 0 {
		return r.private[b]
	}
	return r.windows[b.Window].Local()[b.Offset-r.plan.Windows[b.Window].Data():][:b.Bytes()]
}

// launch runs the kernel of a round, or its tasks if there is a runtime, and adds the time
// to r.took. The time begins when all ranks have launched the kernel.
func (r *rank) launch(round int) error {
	if r.Runtime != "" {
		return r.launchTasks(round)
	}
	args, err := r.plan.Args(r.comm.Rank(), round, r.windows[0].Context())
	if err != nil {
		return err
	}
	for i, a := range args {
		if b, ok := a.(*scenario.Buffer); ok {
			args[i] = r.tensor(b)
		}
	}
	kernel := reflect.ValueOf(r.plan.Func)
	timed := reflect.MakeFunc(kernel.Type(), func(in []reflect.Value) []reflect.Value {
		began := time.Now()
		defer func() { r.took += time.Since(began) }()
		return kernel.Call(in)
	})
	return r.pe.Launch(r.plan.Kernel, timed.Interface(), args...)
}

// launchTasks runs the tasks of a round and adds their time to r.took. The time begins when
// all ranks have started.
func (r *rank) launchTasks(round int) error {
	p, err := buildProgram(r.ctx, r.plan, r.comm.Rank(), round, r.windows[0].Context())
	if err != nil {
		return err
	}
	config, err := task.Parse("the configuration of tasks", r.Tasks)
	if err != nil {
		return err
	}
	o := (&Options{Runtime: r.Runtime, Tasks: config}).taskOptions(r.plan)
	var began time.Time
	err = taskrank.Run(r.pe, p, o, func(v any) procpe.Tensor {
		x := v.(*task.Tensor)
		if x.Source == nil {
			return procpe.Tensor{Name: x.Name, DType: x.DType, Shape: x.Shape}
		}
		return r.tensor(x.Source.(*scenario.Buffer))
	}, func() { began = time.Now() })
	if err != nil {
		return err
	}
	r.took += time.Since(began)
	return nil
}

// tensor returns buffer b in the form that Launch needs. If this rank is not a member of
// the buffer's domain, the tensor is empty.
func (r *rank) tensor(b *scenario.Buffer) procpe.Tensor {
	t := procpe.Tensor{Name: b.Name, DType: b.DType, Shape: b.Shape}
	switch {
	case !b.On(r.comm.Rank()):
		t.Shape = make([]int, len(b.Shape))
	case b.Window < 0:
		t.Memory = r.memory(b)
	default:
		t.Window = r.windows[b.Window]
		t.Offset = b.Offset - r.plan.Windows[b.Window].Data()
	}
	return t
}
