package task

import (
	vm "github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// hostBuilder is the host that builds the graphs of the ranks of one orchestration under
// host_build_graph.
type hostBuilder struct {
	devices        []*device // one device, or those of all ranks
	startedDevices int       // devices whose programs have begun
	launched       int       // tasks built so far
	reading        bool      // a value is being read
	readStart      Time      // when the reading began
}

// build starts to build the graph of the tasks that are recorded but not yet built. When
// the graph is complete, its tasks are launched. If there are no such tasks, build calls
// launch at once.
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
	d.activities[len(d.busy)] = d.beginActivity(Building.String(), ID(s.launched))
	d.logWork(BuilderCore, Building, ID(s.launched), took)
	d.engine.Post(d.engine.Now()+took, d.event(evBuilt, d.rank, 0, 0))
	s.launched += n
}

// launch submits the tasks of the graph that the host has built.
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

// read starts to read the value that the orchestration waits for, if the value is in the
// memory of device d and the task that computes it has ended.
func (s *hostBuilder) read(d *device) {
	p, ok := d.valueToRead()
	if !ok || s.reading {
		return
	}
	s.reading, s.readStart = true, d.engine.Now()-d.start
	d.activities[len(d.busy)] = d.beginActivity(Reading.String(), d.Tasks[p.task.Task].ID)
	va, n := d.elementAddr(p)
	d.fail(d.machine.HostPeek(va, n, d.event(evValue, d.rank, len(d.busy), 0)))
}

// elementAddr returns the address and the size of the element whose value the orchestration
// waits for at pause p.
func (d *device) elementAddr(p *pause) (vm.VA, vm.Bytes) {
	size := int64(p.x.DType.Size())
	return vm.VA(d.memory[p.x.number].addr + p.elem*size), vm.Bytes(size)
}

// deliverValue gives the orchestration the value that it waits for, and adds the tasks that
// the orchestration then submits. This rank continues with these tasks. Other ranks of the
// orchestration continue when they receive a message or, under host_build_graph, at the
// same time.
func (d *device) deliverValue() {
	number := d.passed
	p := d.builder.pauses[number]
	data, err := d.machine.Peek(d.elementAddr(&p))
	if err == nil {
		err = d.builder.resume(numeric.Get(p.x.DType, data, 0))
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
		d.passPause()
		d.postValue(number)
		d.finishIfOver()
		return
	}
	d.host.reading = false
	now := d.engine.Now() - d.start
	d.result.Control = append(d.result.Control, Work{d.host.devices[0].rank, BuilderCore, Reading, d.builder.task(p.task).ID, d.host.readStart, now})
	for _, e := range d.host.devices {
		e.passPause()
	}
	d.host.build()
}

// grow adds the tasks that the orchestration has recorded since the last call. It returns
// an error if these tasks do not fit into the storage or the compute cores of the rank.
func (d *device) grow() error {
	err := d.schedule.grow()
	if err == nil {
		d.enlarge()
	}
	return err
}

// enlarge extends the slices of the device that are indexed by task, so that they have an
// entry for each recorded task.
func (d *device) enlarge() {
	more := len(d.Tasks) - len(d.firstCore)
	d.result.Tasks += more
	d.firstCore = append(d.firstCore, make([]int32, more)...)
	d.storedAt, d.readyAt = append(d.storedAt, make([]Time, more)...), append(d.readyAt, make([]Time, more)...)
	if d.logged {
		d.endOps = append(d.endOps, make([][]oplog.ID, more)...)
	}
}
