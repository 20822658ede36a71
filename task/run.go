package task

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/machine"
	vm "github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// Options select how and where a program runs.
type Options struct {
	Name    string  // for traces and errors; "tasks" if empty
	Runtime Runtime // required
	Config  *Config // nil for the Config in the Settings of the torch.Context or, if there is none, the default
	Devices []int   // for Run: the SIP of each rank; nil for all SIPs
	Single  bool    // for Run: one call of the orchestration submits the tasks of all ranks (OnRank)
	Signals int     // number of signals that kernels may use; 0 for all of the machine, negative for none
}

// Run builds the programs of all ranks by calling `orchestrate`, and runs them on the
// simulated machine. The programs start after all operations that r enqueued before. Run
// returns when the programs have ended. It returns a *Refused if the options or the
// programs are wrong.
func Run(r *torch.Rank, o Options, orchestrate func(b *Builder)) (_ *Result, err error) {
	s, err := newSimulation(r, &o)
	if err != nil {
		return nil, err
	}
	failed := false
	defer func() {
		if !failed { // after a failure a kernel or an orchestration may still use s
			*s = simulation{} // free its memory, because the engine keeps a pointer to it
		}
	}()
	l := &launch{simulation: s, windows: map[*torch.Tensor]int{}}
	l.Name, l.Serve = o.Name, s.serve
	builders, err := s.build(r, orchestrate)
	defer func() {
		for _, b := range builders {
			b.discard()
		}
	}()
	defer func() {
		if freed := l.freeDomains(); err == nil {
			err = freed
		}
	}()
	if err == nil {
		err = l.place(r)
	}
	if err != nil && r.GoContext().Err() == nil {
		err = &Refused{err}
	}
	if err != nil {
		return nil, err
	}
	wait, err := hosted.RunProgram(r, &l.Program, l.tensors)
	if err == nil {
		err = wait()
	}
	failed = err != nil
	if _, ok := errors.AsType[*sim.Deadlock](err); ok {
		err = fmt.Errorf("%w\n%s", err, strings.Join(lists.Map(s.devices, (*device).progress), "\n"))
	}
	if s.failed != nil && r.GoContext().Err() == nil {
		err = &Refused{s.failed}
	}
	if err != nil {
		return nil, err
	}
	if r.LooksForRaces() && !o.Runtime.infers() {
		for _, d := range s.devices {
			s.machine.Races = append(s.machine.Races, d.unorderedLines()...)
		}
	}
	s.result.sum()
	return s.result, nil
}

// build records the programs of all ranks, and returns the builders. Each rank has its own
// orchestration, or, with Options.Single, one orchestration builds the programs of all
// ranks.
func (s *simulation) build(r *torch.Rank, orchestrate func(b *Builder)) (builders []*Builder, err error) {
	for _, p := range newPrograms(len(s.options.Devices)) {
		programs := []*Program{p}
		if s.options.Single {
			programs = newPrograms(len(s.options.Devices))
		}
		b := newBuilder(r.GoContext(), programs...)
		b.rank, b.devices, b.single, b.beat = r, s.options.Devices, s.options.Single, s.engine.Beat
		if !r.HasData() {
			b.noValues = errors.New("values are not computed in this run: leave out --data=off, or submit tasks that do not depend on them")
		}
		builders = append(builders, b)
		hosted.Scheduler(r.Context).ForbidOperations(func() { err = b.build(orchestrate) })
		host := &hostBuilder{}
		for _, p := range programs {
			if err == nil {
				err = s.addDevice(p, host, r.KeepsLog())
			}
		}
		if err != nil || b.single {
			break
		}
	}
	return builders, err
}

// launch is the programs of all ranks as one program for the machine.
type launch struct {
	*simulation
	machine.Program
	tensors       []*torch.Tensor
	windows       map[*torch.Tensor]int     // index in tensors, plus 1
	domains       map[*Tensor]*torch.Tensor // by part of a tensor of a domain: its memory
	domainTensors []*torch.Tensor           // the memory of all domains
}

// place allocates the memory of all domains, determines where all tensors are in memory,
// and selects the PEs on which the launch runs.
func (l *launch) place(r *torch.Rank) error {
	if err := l.allocateDomains(r); err != nil {
		return err
	}
	for rank, sip := range l.options.Devices {
		d := l.devices[rank]
		if err := l.addTensors(d, sip); err != nil {
			return err
		}
		d.messagePE = l.computeCore(r, sip, 0)
		for core := range l.cores {
			l.Targets = append(l.Targets, l.computeCore(r, sip, core))
			l.Homes = append(l.Homes, d.messagePE)
		}
	}
	return nil
}

// addTensors determines where the tensors of device d's program are in the memory of the
// given SIP. It returns an error if a tensor has no torch.Tensor as its Source, or if the
// part of this torch.Tensor on the SIP has another shape or dtype.
func (l *launch) addTensors(d *device, sip int) error {
	for _, x := range d.Tensors {
		if x.bytes() == 0 {
			d.memory = append(d.memory, memory{}) // the rank holds no bytes of the tensor
			continue
		}
		of, ok := l.domains[x]
		if !ok {
			of, ok = x.Source.(*torch.Tensor)
		}
		if !ok {
			return fmt.Errorf("rank %d: %v has no torch.Tensor as its Source", d.rank, x)
		}
		va, bytes, shape, ok := of.PartOn(sip)
		if x.domain == nil && (!ok || of.DType() != x.DType || !slices.Equal(shape, x.Shape)) {
			return fmt.Errorf("rank %d: %v is declared as what SIP %d has of a tensor %v %v, and that is another shape or dtype", d.rank, x, sip, of.Shape(), of.DType())
		}
		if l.windows[of] == 0 {
			l.tensors = append(l.tensors, of)
			l.windows[of] = len(l.tensors)
			l.Windows = append(l.Windows, make([]vm.Part, len(l.options.Devices)*l.cores))
		}
		at := memory{addr: va}
		if x.Window {
			at.window = int16(l.windows[of])
		}
		d.memory = append(d.memory, at)
		for core := range l.cores {
			l.Windows[l.windows[of]-1][d.rank*l.cores+core] = vm.Part{VA: vm.VA(va), Bytes: vm.Bytes(bytes)}
		}
	}
	return nil
}

// newSimulation checks the options o, sets their defaults, and returns the state of a run
// that has no programs yet.
func newSimulation(r *torch.Rank, o *Options) (*simulation, error) {
	if o.Config == nil {
		o.Config, _ = torch.Setting[*Config](r.Context)
	}
	if broken, ok := torch.Setting[*Refused](r.Context); ok && o.Config == nil {
		return nil, broken
	}
	if err := o.settle(); err != nil {
		return nil, err
	}
	spec := r.Topology().Spec()
	if o.Devices == nil {
		o.Devices = lists.Count(0, spec.System.SIPs.Count)
	}
	for i, sip := range o.Devices {
		if sip < 0 || sip >= spec.System.SIPs.Count || slices.Contains(o.Devices[:i], sip) {
			return nil, &Refused{fmt.Errorf("devices %v: each rank has a SIP of its own, from 0 to %d", o.Devices, spec.System.SIPs.Count-1)}
		}
	}
	all := spec.CubesPerSIP() * spec.PEsPerCube()
	cores := cmp.Or(o.Config.Control.ComputeCores, all)
	if cores > all {
		return nil, &Refused{fmt.Errorf("tasks.control.compute_cores is %d, and a SIP has %d PEs: write 1 to %[2]d, or 0 for all", cores, all)}
	}
	m := hosted.Scheduler(r.Context).Machine
	s := &simulation{
		engine: m.Engine, machine: m, options: o, cores: cores,
		result: &Result{Runtime: o.Runtime, Config: o.Config, Ranks: len(o.Devices), Cores: cores, single: o.Single},
	}
	s.target = s.engine.Register(s)
	if used := topology.OriginOf(o.Config); !slices.Contains(s.machine.Configs, used) {
		s.machine.Configs = append(s.machine.Configs, used)
	}
	return s, nil
}

// settle sets defaults of the options and returns an error if an option is wrong. It
// handles only the options that simulated and real ranks have in common.
func (o *Options) settle() error {
	if _, err := ParseRuntime(string(o.Runtime)); err != nil {
		return &Refused{err}
	}
	o.Name = cmp.Or(o.Name, "tasks")
	if o.Config == nil {
		o.Config = Default()
	}
	if o.Config.origin != nil {
		return nil
	}
	if _, err := Parse("the configuration of tasks", o.Config.YAML()); err != nil { // a Config made in Go has not been checked
		return &Refused{err}
	}
	return nil
}

// computeCore returns the PE of a SIP that is the compute core with the given number.
func (s *simulation) computeCore(r *torch.Rank, sip, core int) machine.PEID {
	pes := r.Topology().Spec().PEsPerCube()
	return machine.PEID(r.PE(sip, core/pes, core%pes))
}

// addDevice adds a rank with its program p. It returns an error if the program does not fit
// into the storage or the compute cores.
func (s *simulation) addDevice(p *Program, at *hostBuilder, logged bool) error {
	o := s.options
	limits := newLimits(o.Runtime, o.Config, s.cores)
	limits.ports = s.machine.Graph.Spec().PE.IPCQ.MaxPorts
	if err := limits.extend(p); err != nil {
		return err
	}
	control := o.Config.schedulers(o.Runtime)
	d := &device{
		simulation: s, schedule: newSchedule(p, limits), host: at,
		rank: len(s.devices), workers: make([]*machine.Worker, s.cores),
		free: newFreeCores(s.cores), busy: make([]bool, control), posting: make([]message, control), activities: make([]activity, control+1), dispatchMarks: map[ID]sim.Mark{},
		current: make([]assignment, s.cores), nextCore: make([]int32, s.cores),
		logged: logged, groups: map[ID]*machine.Group{}, groupAfterOps: map[ID][]oplog.Operand{},
	}
	d.enlarge()
	at.devices = append(at.devices, d)
	s.devices = append(s.devices, d)
	return nil
}
