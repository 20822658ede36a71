package task

import (
	vm "github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// hostBuilder is the host of the ranks of one orchestration, which builds their graphs under
// host_build_graph.
type hostBuilder struct {
	devices  []*device // one, or those of all ranks
	began    int       // devices that have begun
	launched int       // tasks built so far
	reading  bool      // a value is being read
	from     Time      // when that began
}

// build builds the graph of the tasks that are recorded and not built, and launches it.
func (s *hostBuilder) build() {
	n, d := 0, s.devices[0]
	for _, e := range s.devices {
		n += e.recordedUntil(e.passed).tasks - int(e.next)
	}
	if n == 0 {
		s.launch()
		return
	}
	c := &d.config.Host
	took := c.Fixed + Time(n)*c.PerTask
	d.causes[len(d.busy)] = d.begins(Building.String(), ID(s.launched))
	d.did(BuilderCore, Building, ID(s.launched), took)
	d.engine.Post(d.engine.Now()+took, d.event(evBuilt, d.rank, 0, 0))
	s.launched += n
}

// launch submits the tasks of a graph that has been built.
func (s *hostBuilder) launch() {
	for _, d := range s.devices {
		for !d.submitted() {
			d.submit()
		}
		d.finishIfOver()
	}
	for _, d := range s.devices {
		d.step()
	}
}

// read starts to read the value that the orchestration waits for, if the device has it.
func (s *hostBuilder) read(d *device) {
	p, ok := d.asked()
	if !ok || s.reading {
		return
	}
	s.reading, s.from = true, d.engine.Now()-d.start
	d.causes[len(d.busy)] = d.begins(Reading.String(), d.Tasks[p.task.Task].ID)
	va, n := d.element(p)
	d.fail(d.machine.HostPeek(va, n, d.event(evValue, d.rank, len(d.busy), 0)))
}

// element returns where the value of a pause lies.
func (d *device) element(p *pause) (vm.VA, vm.Bytes) {
	size := int64(p.x.DType.Size())
	return vm.VA(d.memory[p.x.number].addr + p.elem*size), vm.Bytes(size)
}

// value resumes the orchestration with the value that it waits for, and adds the tasks that
// it submits then. The device continues after the pause. Other ranks of the orchestration
// continue when they receive a message, or together under host_build_graph.
func (d *device) value() {
	number := d.passed
	p := d.by.pauses[number]
	data, err := d.machine.Peek(d.element(&p))
	if err == nil {
		err = d.by.resume(numeric.Get(p.x.DType, data, 0))
	}
	for _, e := range d.host.devices {
		if err == nil {
			err = e.grow()
		}
	}
	if err != nil {
		d.fail(err)
		return
	}
	d.reading = false
	if d.runtime != HostBuildGraph {
		d.pass()
		d.postValue(number)
		d.finishIfOver()
		return
	}
	d.host.reading = false
	now := d.engine.Now() - d.start
	d.result.Control = append(d.result.Control, Work{d.host.devices[0].rank, BuilderCore, Reading, d.by.task(p.task).ID, d.host.from, now})
	for _, e := range d.host.devices {
		e.pass()
	}
	d.host.build()
}

// grow adds the tasks that the orchestration has recorded since, if there is room for them.
func (d *device) grow() error {
	err := d.schedule.grow()
	if err == nil {
		d.enlarge()
	}
	return err
}

// enlarge makes room for what is kept of each task.
func (d *device) enlarge() {
	more := len(d.Tasks) - len(d.firstCore)
	d.result.Tasks += more
	d.firstCore = append(d.firstCore, make([]int32, more)...)
	d.storedAt, d.readyAt = append(d.storedAt, make([]Time, more)...), append(d.readyAt, make([]Time, more)...)
	if d.logged {
		d.endOps = append(d.endOps, make([][]oplog.ID, more)...)
	}
}
