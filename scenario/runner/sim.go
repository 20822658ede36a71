package runner

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// simulation is a run on the simulated machine.
type simulation struct {
	*job
	*torch.Rank
	pes     []int     // the PE of each rank
	tensors []*tensor // by index in Plan.Buffers
}

// tensor is a buffer on the simulated machine. Its first axis concatenates the buffers of
// the ranks that have it.
type tensor struct {
	*torch.Tensor
	*scenario.Buffer
	ranks   []int
	private *torch.Tensor // the source of staging; nil for a buffer that is not staged
}

// simulate runs all rounds on the simulated machine and adds times and races to r.
func (j *job) simulate(ctx context.Context, r *Result) error {
	if err := checkMemory(j.plan); err != nil {
		return err
	}
	others := "choose others with --devices, fewer with --nranks"
	if _, ok := j.values.(folder); ok && j.Keep == "" {
		others = "prepare another folder with other devices (-d) or fewer ranks (--nranks)"
	}
	graph, err := loadSystem(ctx, j.Preset, j.plan, others)
	if err != nil {
		return &InputError{err}
	}
	spec := graph.Spec()
	r.System = spec.Source()
	if j.Runtime != "" {
		if err := j.checkTasks(ctx, spec.CubesPerSIP()*spec.PEsPerCube()); err != nil {
			return err
		}
	}
	c, err := torch.New(ctx, torch.Options{Topology: graph, Race: j.Race, Output: j.Print})
	if err != nil {
		return &RankError{-1, err}
	}
	defer c.Close()
	s := &simulation{job: j, Rank: c.Main()}
	if err := s.runRounds(r); err != nil {
		return userError(err, c.Err())
	}
	if j.Race {
		if r.Races, err = c.Races(); err != nil {
			return &RankError{-1, err}
		}
	}
	return nil
}

// runRounds allocates the buffers on the simulated machine and runs all rounds.
func (s *simulation) runRounds(r *Result) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = torch.Recovered(value)
		}
	}()
	for _, device := range s.plan.Devices {
		s.pes = append(s.pes, s.PE(device, 0, 0))
	}
	for _, b := range s.plan.Buffers {
		if err := s.placeBuffer(b); err != nil {
			return err
		}
	}
	for _, t := range s.tensors { // after all buffers, so that the addresses of buffers do not depend on staging
		if t.Staged {
			if t.private, err = s.Zeros(t.Buffer.DType, t.Tensor.Shape(), torch.On(s.pesOf(t)...)); err != nil {
				return err
			}
		}
	}
	for round := range s.plan.Rounds {
		for _, step := range []func(round int, r *Result) error{s.writeInputs, s.stage, s.launch, s.collectOutputs} {
			if err := step(round, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// placeBuffer allocates a zeroed tensor for buffer b, with a part for each rank that has
// the buffer.
func (s *simulation) placeBuffer(b *scenario.Buffer) (err error) {
	t := &tensor{Buffer: b}
	for rank := range s.pes {
		if b.On(rank) {
			t.ranks = append(t.ranks, rank)
		}
	}
	shape := append(torch.Shape{}, b.Shape...)
	shape[0] *= len(t.ranks)
	t.Tensor, err = s.Zeros(b.DType, shape, torch.On(s.pesOf(t)...))
	s.tensors = append(s.tensors, t)
	return err
}

// pesOf returns the PEs of the ranks that have the buffer of tensor t.
func (s *simulation) pesOf(t *tensor) (pes []int) {
	for _, rank := range t.ranks {
		pes = append(pes, s.pes[rank])
	}
	return pes
}

// writeInputs copies the inputs of a round to the simulated memory. Staged inputs go to
// private memory.
func (s *simulation) writeInputs(round int, _ *Result) error {
	for _, b := range s.plan.Inputs() {
		t := s.tensorOf(b)
		a := &torch.Array{Shape: t.Tensor.Shape(), DType: t.Buffer.DType}
		for _, rank := range t.ranks {
			part, err := s.values.input(t.Buffer, rank, round)
			if err != nil {
				return &InputError{err}
			}
			a.Bytes = append(a.Bytes, part...)
		}
		to := t.Tensor
		if t.Staged {
			to = t.private
		}
		if err := to.CopyFrom(a); err != nil {
			return err
		}
	}
	return nil
}

// collectOutputs reads the outputs of a round from the simulated memory and passes them to
// s.values, which compares or stores them.
func (s *simulation) collectOutputs(round int, _ *Result) error {
	for _, o := range s.plan.Outputs {
		t := s.tensorOf(o.Buffer)
		all, err := t.Numpy()
		if err != nil {
			return err
		}
		n := int(o.Bytes())
		for i, rank := range t.ranks {
			if !o.On(rank) {
				continue
			}
			if err := s.values.output(o, rank, round, all.Bytes[i*n:(i+1)*n]); err != nil {
				return &InputError{err}
			}
		}
	}
	return nil
}

// tensorOf returns the tensor that holds buffer b.
func (s *simulation) tensorOf(b *scenario.Buffer) *tensor {
	return s.tensors[slices.Index(s.plan.Buffers, b)]
}

// launch runs the kernel, or the tasks, of a round on all ranks and adds the time to r. The
// arguments of the kernel differ by rank. The machine therefore runs a wrapper that takes
// all buffers and calls the kernel with the arguments of its rank.
func (s *simulation) launch(round int, r *Result) error {
	if s.Runtime != "" {
		return s.launchTasks(round, r)
	}
	bound := make([]*tl.Binding, s.plan.Ranks)
	given := make([][]*scenario.Buffer, s.plan.Ranks)
	for rank := range bound {
		args, err := s.plan.Args(rank, round, s.deviceContext(rank))
		if err == nil {
			bound[rank], given[rank], err = tl.Bind[*scenario.Buffer](s.plan.Kernel, s.plan.Func, args)
		}
		if err != nil {
			return &InputError{err}
		}
	}
	in := []reflect.Type{reflect.TypeFor[*tl.PE]()}
	args := []any{torch.PEs(s.pes...)}
	for _, t := range s.tensors {
		in, args = append(in, reflect.TypeFor[tl.Ptr]()), append(args, t.Tensor)
	}
	kernel := reflect.MakeFunc(reflect.FuncOf(in, nil, false), func(in []reflect.Value) []reflect.Value {
		t := in[0].Interface().(*tl.PE)
		own := map[*scenario.Buffer]tl.Ptr{}
		c := &rankGuard{signals: s.plan.Windows[0].Signals}
		for i, x := range s.tensors {
			p := rankPointer(x.Buffer, in[1+i].Interface().(tl.Ptr), t.Rank())
			own[x.Buffer] = p
			if x.On(t.Rank()) {
				c.regions = append(c.regions, region{fmt.Sprintf("%s %v %v", x.Buffer.Name, x.Buffer.Shape, x.Buffer.DType), p.Addr, x.Bytes()})
			}
		}
		var ptrs []tl.Ptr
		for _, b := range given[t.Rank()] {
			ptrs = append(ptrs, own[b])
		}
		bound[t.Rank()].Call(t.Through(func(m tl.Machine) tl.Machine { return tl.Guarded(m, t.Rank(), c) }), ptrs...)
		return nil
	})
	return s.launchTimed(&r.TimeNS, s.plan.Kernel, kernel.Interface(), args...)
}

// launchTimed launches a kernel, waits for its end and adds its time in nanoseconds to *ns.
func (s *simulation) launchTimed(ns *float64, name string, kernel any, args ...any) error {
	l, err := s.Launch(name, kernel, args...)
	if err == nil {
		err = l.Wait()
	}
	if err == nil {
		*ns += l.Crit().NS()
	}
	return err
}

// deviceContext returns the comm.Context that the kernel of a rank gets on the simulated
// machine. Its addresses are 0, because simulated windows have none.
func (j *job) deviceContext(rank int) comm.Context {
	w := &j.plan.Windows[0]
	return comm.Context{Rank: rank, Ranks: j.plan.Ranks, WindowBytes: w.Bytes - w.Data(), Base: make([]uint64, j.plan.Ranks)}
}

// rankPointer returns pointer p to buffer b in the form that the kernel of a rank gets.
// Puts and gets can use it only if the buffer is in a window. If the rank is not a member
// of the buffer's domain, the address is 0.
func rankPointer(b *scenario.Buffer, p tl.Ptr, rank int) tl.Ptr {
	p.Shard = nil // rankGuard checks accesses instead
	if b.Window < 0 {
		p.Window = 0
	}
	if !b.On(rank) {
		p.Addr = 0
	}
	return p
}

// scalablePresets lists the presets whose number of SIPs a run sets: default models
// chiplets, alpha_beta plain links. Other presets and files have a fixed number.
var scalablePresets = []string{"default", "alpha_beta"}

// loadSystem returns the simulated system of a preset, with at least the devices that the
// plan uses. If the system has too few devices, the error contains `others`, a text that
// says how to choose other devices.
func loadSystem(ctx context.Context, preset string, plan *scenario.Plan, others string) (*topology.Graph, error) {
	if preset == "" {
		preset = scalablePresets[0]
	}
	need := slices.Max(plan.Devices) + 1
	var sets []string
	if slices.Contains(scalablePresets, preset) {
		sets = append(sets, fmt.Sprintf("system.sips.count=%d", need))
	}
	spec, err := topology.Load(ctx, preset, sets...)
	if err != nil {
		return nil, err
	}
	if n := spec.System.SIPs.Count; need > n {
		return nil, fmt.Errorf("unknown device %d: the system %s has 0 to %d; %s, or choose -t %s, which has as many as needed",
			need-1, preset, n-1, others, scalablePresets[0])
	}
	return topology.Compile(spec)
}
