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

// jobName is what a rank does, for comm/launch.
const jobName = "scenario"

func init() { launch.Register(jobName, runRank) }

// order is what a rank is told.
type order struct {
	Source  string
	Text    []byte
	Choice  scenario.Choice
	Folder  string // "" has inputs made and outputs compared by the rank
	Seed    uint64
	Runtime task.Runtime // "" runs the kernel
	Tasks   []byte       // the configuration of runtimes
	Print   int64        // the printer that kernels print to; 0 is none
}

// found is what a rank returns.
type found struct {
	Report  Report
	Took    time.Duration // in the kernel, or for all tasks
	Staging time.Duration // copying staged buffers
}

// rank is one of a run on windows.
type rank struct {
	order
	ctx     context.Context
	plan    *scenario.Plan
	comm    *comm.Comm
	values  values
	windows []*comm.Window              // by number in the plan; nil where it is no member
	own     map[*scenario.Buffer][]byte // memory of buffers that lie in none or are staged
	delays  *rand.Rand
	pe      *procpe.Rank
	took    time.Duration
	staging time.Duration
}

// runRank does what one rank does.
func runRank(ctx context.Context, c *comm.Comm, arg []byte) ([]byte, error) {
	r := &rank{ctx: ctx, comm: c}
	if err := json.Unmarshal(arg, &r.order); err != nil {
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
	compared := &computed{ctx: ctx, plan: r.plan}
	r.values = compared
	if r.Folder != "" {
		r.values = folder{ctx, r.Folder}
	}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	for round := range r.plan.Rounds {
		if err := r.round(round); err != nil {
			return nil, err
		}
	}
	return json.Marshal(found{compared.Report, r.took, r.staging})
}

// prepare makes the memory of the rank.
func (r *rank) prepare() error {
	if err := r.makeWindows(); err != nil {
		return err
	}
	r.own = map[*scenario.Buffer][]byte{}
	for _, b := range r.plan.Buffers {
		if (b.Window < 0 || b.Staged) && b.On(r.comm.Rank()) {
			r.own[b] = make([]byte, b.Bytes())
		}
	}
	r.delays = rand.New(rand.NewPCG(r.Seed, uint64(r.comm.Rank())))
	var o procpe.Options
	if r.plan.Rounds > 1 {
		o.Delay = r.hesitate
	}
	if r.Print > 0 {
		o.Print = printerOf(r.Print)
	}
	r.pe = procpe.New(r.windows[0], o)
	return nil
}

// makeWindows makes the windows that the rank is a member of. All ranks take them in
// one order, that of the first members, so that each can begin.
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

// round stages inputs, runs the kernel and hands out the outputs. Nothing keeps the
// ranks together but what the launch and the kernel do.
func (r *rank) round(round int) error {
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
		copy(r.own[b], in)
		began := time.Now()
		copy(r.memory(b), r.own[b])
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

// hesitate is called before what others can see: now and then it takes its time.
func (r *rank) hesitate() {
	if r.delays.IntN(16) == 0 {
		time.Sleep(time.Duration(1+r.delays.IntN(50)) * time.Microsecond)
	}
}

// memory is the bytes of a buffer at this rank.
func (r *rank) memory(b *scenario.Buffer) []byte {
	if b.Window < 0 {
		return r.own[b]
	}
	return r.windows[b.Window].Local()[b.Offset-r.plan.Windows[b.Window].Data():][:b.Bytes()]
}

// launch runs the kernel, and notes how long it took from when all had arrived.
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

// launchTasks runs the tasks of a round, and notes how long they took from when all ranks
// had begun.
func (r *rank) launchTasks(round int) error {
	p, err := build(r.ctx, r.plan, r.comm.Rank(), round, r.windows[0].Context())
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

// tensor is what the kernel gets of a buffer: nothing of those of domains in which the
// rank is no member.
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
