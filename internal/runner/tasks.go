package runner

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// orchestration submits the tasks of a rank in a round: those of the scenario, or its
// kernel as the only one. declare makes the tensor of a buffer known to the builder.
func orchestration(pl *scenario.Plan, round int, ctx func(rank int) comm.Context, declare func(*task.Builder, *scenario.Buffer) *task.Tensor, wrong *error) func(*task.Builder) {
	return func(b *task.Builder) {
		tensors := map[*scenario.Buffer]*task.Tensor{}
		for _, buffer := range pl.Buffers {
			tensors[buffer] = declare(b, buffer)
		}
		given := pl.Args
		if pl.Tasks != nil {
			given = pl.TaskArgs
		}
		args, err := given(b.Rank(), round, ctx(b.Rank()))
		if err != nil {
			*wrong = errors.Join(*wrong, err)
			return
		}
		if pl.Tasks == nil {
			b.Submit(pl.Kernel, pl.Func, oneTask(args, tensors))
			return
		}
		f := reflect.ValueOf(pl.Tasks)
		in := []reflect.Value{reflect.ValueOf(b)}
		for i, a := range args {
			if buffer, ok := a.(*scenario.Buffer); ok {
				a = tensors[buffer]
			}
			in = append(in, reflect.ValueOf(a).Convert(f.Type().In(i+1))) // the plan has checked that it can be
		}
		f.Call(in)
	}
}

// oneTask is the arguments of a kernel as those of a task that may do anything to them.
func oneTask(args []any, tensors map[*scenario.Buffer]*task.Tensor) (list task.Args) {
	for i, a := range args {
		name := fmt.Sprintf("argument %d", i+1)
		if buffer, ok := a.(*scenario.Buffer); ok {
			list = append(list, task.InOut(buffer.Name, tensors[buffer]))
		} else {
			list = append(list, task.Scalar(name, a))
		}
	}
	return list
}

// declared is the tensor of a buffer at a rank: nothing where it is no member.
func declared(buffer *scenario.Buffer, rank int, source any) task.Tensor {
	t := task.Tensor{Name: buffer.Name, DType: buffer.DType, Shape: buffer.Shape, Window: buffer.Window >= 0, Source: source}
	if !buffer.On(rank) {
		t.Shape, t.Source = make(tl.Shape, len(buffer.Shape)), nil
	}
	return t
}

// taskOptions is how tasks are scheduled.
func (o *Options) taskOptions(pl *scenario.Plan) task.Options {
	name := pl.Orchestration
	if name == "" {
		name = pl.Kernel
	}
	return task.Options{Name: name, Runtime: o.Runtime, Config: o.Tasks, Devices: pl.Devices, Signals: pl.Windows[0].Signals}
}

// checkTasks refuses programs that their runtime has no room for, before anything runs.
func (j *job) checkTasks(ctx context.Context) error {
	var wrong error
	source := func(b *task.Builder, buffer *scenario.Buffer) *task.Tensor {
		return b.Declare(declared(buffer, b.Rank(), buffer))
	}
	build := orchestration(j.plan, 0, j.deviceContext, source, &wrong)
	for rank := range j.plan.Ranks {
		p, err := task.Build(ctx, rank, j.plan.Ranks, build)
		if err == nil && wrong == nil && j.Backend != Sim { // the simulated machine looks itself
			err = p.Check(j.taskOptions(j.plan))
		}
		if err := errors.Join(err, wrong); err != nil {
			return err
		}
	}
	return nil
}

// launchTasks runs the tasks of a round on the simulated machine.
func (s *simulation) launchTasks(round int, r *Result) (torch.Time, error) {
	var wrong error
	place := func(b *task.Builder, buffer *scenario.Buffer) *task.Tensor {
		for _, t := range s.tensors {
			if t.Buffer == buffer {
				return b.Declare(declared(buffer, b.Rank(), t.Tensor))
			}
		}
		panic("runner: a buffer without a tensor")
	}
	found, err := task.Run(s.Context, s.taskOptions(s.plan), orchestration(s.plan, round, s.deviceContext, place, &wrong))
	var refused *task.Refused
	if errors.As(err, &refused) {
		wrong = errors.Join(wrong, refused)
	}
	if wrong != nil {
		return 0, &InputError{wrong}
	}
	if err != nil {
		return 0, err
	}
	r.Tasks = found
	return found.Makespan, nil
}

// nanoseconds is a simulated time in a Result.
func nanoseconds(t torch.Time) float64 { return float64(t) / float64(sim.Nanosecond) }
