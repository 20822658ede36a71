package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/tl"
)

// orchestrate calls the orchestration of the plan, which submits the tasks of a rank to b.
// Without an orchestration, it submits the kernel as the only task. args is the result of
// TaskArgs. `source` returns, for a buffer, the value of the field Source of its
// task.Tensor. With this value, the caller later finds the memory of the buffer.
func orchestrate(b *task.Builder, pl *scenario.Plan, args []any, source func(*scenario.Buffer) any) {
	tensors := map[*scenario.Buffer]*task.Tensor{}
	for _, buffer := range pl.Buffers {
		tensors[buffer] = b.Declare(taskTensor(buffer, b.Rank(), source(buffer)))
	}
	if pl.Tasks == nil {
		b.Submit(pl.Kernel, pl.Func, kernelArgs(args, tensors))
		return
	}
	f := reflect.ValueOf(pl.Tasks)
	in := []reflect.Value{reflect.ValueOf(b)}
	for i, a := range args {
		if buffer, ok := a.(*scenario.Buffer); ok {
			a = tensors[buffer]
		}
		in = append(in, reflect.ValueOf(a).Convert(f.Type().In(i+1))) // Plan has checked that the conversion is possible
	}
	f.Call(in)
}

// buildProgram runs the orchestration of a rank for a round and returns the program of
// tasks. The Source of each tensor in the program is its *scenario.Buffer.
func buildProgram(ctx context.Context, pl *scenario.Plan, rank, round int, device comm.Context) (*task.Program, error) {
	args, err := pl.TaskArgs(rank, round, device)
	if err != nil {
		return nil, err
	}
	return task.Build(ctx, rank, pl.Ranks, func(b *task.Builder) {
		orchestrate(b, pl, args, func(buffer *scenario.Buffer) any { return buffer })
	})
}

// kernelArgs converts the arguments of a kernel to arguments of a task. The task may read
// and write all buffers.
func kernelArgs(args []any, tensors map[*scenario.Buffer]*task.Tensor) (list task.Args) {
	for i, a := range args {
		if buffer, ok := a.(*scenario.Buffer); ok {
			list = append(list, task.InOut(buffer.Name, tensors[buffer]))
		} else {
			list = append(list, task.Scalar(fmt.Sprintf("argument %d", i+1), a))
		}
	}
	return list
}

// taskTensor returns the task.Tensor of a buffer at a rank. It is empty if the rank is not
// a member of the buffer's domain.
func taskTensor(buffer *scenario.Buffer, rank int, source any) task.Tensor {
	t := task.Tensor{Name: buffer.Name, DType: buffer.DType, Shape: buffer.Shape, Window: buffer.Window >= 0, Source: source}
	if !buffer.On(rank) {
		t.Shape, t.Source = make(tl.Shape, len(buffer.Shape)), nil
	}
	return t
}

// taskOptions returns the options with which package task runs the tasks of plan pl.
func (o *Options) taskOptions(pl *scenario.Plan) task.Options {
	return task.Options{Name: cmp.Or(pl.Orchestration, pl.Kernel), Runtime: o.Runtime, Config: o.Tasks, Devices: pl.Devices, Signals: cmp.Or(pl.Windows[0].Signals, -1)}
}

// checkTasks returns an error if the runtime cannot run the tasks of a rank, for example
// because they need too many compute cores. It checks the tasks of the first and the last
// round before anything runs. `cores` is the number of compute cores of a rank if the
// configuration gives none; 0 means task.DefaultCores.
func (j *job) checkTasks(ctx context.Context, cores int) error {
	o := j.taskOptions(j.plan)
	if o.Config.Control.ComputeCores == 0 {
		config := *o.Config
		config.Control.ComputeCores = cores
		o.Config = &config
	}
	for _, round := range j.plan.SomeRounds() {
		for rank := range j.plan.Ranks {
			p, err := buildProgram(ctx, j.plan, rank, round, j.deviceContext(rank))
			if err == nil {
				err = p.Check(o)
				p.Discard()
			}
			if err != nil {
				return inputError(ctx, err)
			}
		}
	}
	return nil
}

// launchTasks runs the tasks of a round on the simulated machine and adds their makespan to
// r.
func (s *simulation) launchTasks(round int, r *Result) error {
	args := make([][]any, s.plan.Ranks)
	for rank := range args {
		var err error
		if args[rank], err = s.plan.TaskArgs(rank, round, s.deviceContext(rank)); err != nil {
			return &InputError{err}
		}
	}
	place := func(buffer *scenario.Buffer) any { return s.tensorOf(buffer).Tensor }
	found, err := task.Run(s.Rank, s.taskOptions(s.plan), func(b *task.Builder) { orchestrate(b, s.plan, args[b.Rank()], place) })
	if refused, ok := errors.AsType[*task.Refused](err); ok {
		return &InputError{refused}
	}
	if err != nil {
		return err
	}
	r.Tasks = found
	r.TimeNS += found.Makespan.NS()
	return nil
}
