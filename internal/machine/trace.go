package machine

import (
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// tracer records what a machine does, if somebody wants to see it.
type tracer struct {
	m        *Machine
	rec      *trace.Recorder
	host     *trace.Process
	launches *trace.Lanes
	links    *trace.Links
	number   int64 // of launches
	copies   int   // of the host, under way
}

// Where viewers show the processes of a trace: the host, PEs, links.
const (
	hostOrder  = -1
	linksOrder = 1 << 24
)

// trace has the machine recorded.
func (m *Machine) trace(rec *trace.Recorder) {
	host := rec.Process("host", hostOrder)
	t := &tracer{m: m, rec: rec, host: host, launches: host.Lanes("launches")}
	counts := map[string]int{}
	for id := range m.Graph.NumLinks() {
		counts[m.linkKind(topology.LinkID(id))]++
	}
	t.links = rec.Links(m.Graph.NumLinks(), func(link int) trace.LinkInfo {
		id := topology.LinkID(link)
		kind := m.linkKind(id)
		process, order := m.linkProcess(id)
		return trace.LinkInfo{Process: process, Order: order, Name: m.Graph.LinkName(id), Kind: kind, Count: counts[kind]}
	})
	m.Fabric.Observe(func(p fabric.Passage) {
		class := "compute"
		if p.Class == fabric.Comm {
			class = "comm"
		}
		if p.Cut {
			t.links.Cut(int(p.Link), int64(p.Bytes), p.End)
			return
		}
		t.links.Passage(int(p.Link), class, int64(p.Bytes), p.Start-p.Head, p.Start, p.End)
	})
	m.tracer = t
}

// linkKind is what a link is a part of.
func (m *Machine) linkKind(id topology.LinkID) string {
	l := m.Graph.Link(id)
	from, to := m.Graph.Node(l.From), m.Graph.Node(l.To)
	has := func(kinds ...topology.Kind) bool {
		return slices.Contains(kinds, from.Kind) || slices.Contains(kinds, to.Kind)
	}
	switch {
	case has(topology.KindHost):
		return "host"
	case from.SIP != to.SIP:
		return "between SIPs"
	case from.Cube < 0 && to.Cube < 0:
		return "io chiplet"
	case has(topology.KindUCIe):
		return "ucie"
	case has(topology.KindHBM):
		return "hbm"
	case has(topology.KindSRAM):
		return "sram"
	case from.Kind == topology.KindRouter && to.Kind == topology.KindRouter:
		return "noc"
	}
	return "pe"
}

// linkProcess is where the track of a link is, and where that is shown.
func (m *Machine) linkProcess(id topology.LinkID) (name string, order int) {
	l := m.Graph.Link(id)
	from, to := m.Graph.Node(l.From), m.Graph.Node(l.To)
	if from.SIP != to.SIP || from.SIP < 0 {
		return "links between SIPs", linksOrder
	}
	return "sip" + strconv.Itoa(int(from.SIP)) + " links", linksOrder + 1 + int(from.SIP)
}

// TraceLinks ends the recording of links and is what each that carried something did.
func (m *Machine) TraceLinks() (used []trace.LinkUse) {
	m.tracer.links.Close(linksOrder - 1)
	for i := range m.Graph.NumLinks() {
		id := topology.LinkID(i)
		if s := m.Fabric.Stats(id); s.Bytes > 0 {
			used = append(used, trace.LinkUse{
				Name: m.Graph.LinkName(id), Kind: m.linkKind(id), Bytes: int64(s.Bytes), Busy: s.Busy, Queued: s.Queued,
			})
		}
	}
	return used
}

// launching notes that a launch begins.
func (t *tracer) launching(l *Launch) {
	if t == nil {
		return
	}
	l.lane, l.trace = t.launches.Take(), t.number
	t.number++
}

// launched notes a launch that has ended.
func (t *tracer) launched(l *Launch) {
	if t == nil {
		return
	}
	last := 0
	for i := range l.end {
		if l.end[i] > l.end[last] {
			last = i
		}
	}
	p := t.m.PE(l.Targets[last])
	t.launches.Slice(l.lane, trace.Slice{
		Name: l.Name, Start: l.Start, End: l.end[last], After: l.last[last],
		Args: []trace.Arg{
			trace.Number("launch", l.trace), trace.Number("pes", int64(len(l.Targets))),
			trace.Nanoseconds("crit_ns", l.Critical()), trace.Text("pe", p.String()),
		},
	})
}

// copying notes that the host begins to copy, or has ended to, by the change in how many
// copies are under way.
func (t *tracer) copying(more int) {
	if t == nil {
		return
	}
	t.copies += more
	t.host.Counter(t.m.Engine.Now(), "copies", "under way", float64(t.copies))
}

// traces gives the engines of a PE their tracks.
func (m *Machine) traces(p *PE) {
	if m.tracer == nil {
		return
	}
	p.trace = pe.NewTrace(m.tracer.rec, p.String(), int(p.ID))
	p.DMA.Trace, p.Pipeline.Trace = p.trace, p.trace
}

// cpuTrace is what the CPU of a PE does: a segment, an activity in which it does not wait,
// or nothing.
type cpuTrace struct {
	mark, after sim.Mark // the segment, and who released it
	start       simtime.Time
	last        sim.Mark     // what ended its last kernel,
	ended       simtime.Time // and when
}

// runs begins a segment, released by an activity: what the CPU does from now on is of it.
func (c *core) runs(after sim.Mark) {
	if c.trace == nil {
		return
	}
	c.cpu.mark, c.cpu.after, c.cpu.start = c.trace.Mark(), after, c.now
	c.proc.Mark, c.eng.By = c.cpu.mark, c.cpu.mark
}

// stops ends the segment at an instant.
func (c *core) stops(at simtime.Time) {
	s := trace.Slice{Name: "run", Start: c.cpu.start, End: at, ID: c.cpu.mark, After: c.cpu.after}
	c.first(&s)
	c.trace.CPU.Slice(s)
}

// first says of an activity that nothing released but the launch which one that is.
func (c *core) first(s *trace.Slice) {
	if s.After == 0 {
		s.Args = []trace.Arg{trace.Number("launch", c.run.Launch.trace)}
	}
}

// waitedFor notes that the CPU has waited for something since an instant, and goes on
// because of an activity.
func (c *core) waitedFor(what string, since simtime.Time, by sim.Mark) {
	if c.trace == nil || c.now == since {
		return
	}
	c.stops(since)
	c.trace.CPU.Slice(trace.Slice{Name: "wait: " + what, Start: since, End: c.now})
	c.runs(by)
}

// drained notes that the kernel has ended, with all that it had begun, and has waited for
// that since an instant.
func (c *core) drained(since simtime.Time) {
	if c.trace == nil {
		return
	}
	now := c.eng.Now()
	c.stops(since)
	c.cpu.ended, c.cpu.last = now, c.cpu.mark
	if now == since {
		return
	}
	c.trace.CPU.Slice(trace.Slice{Name: "wait: end", Start: since, End: now})
	if c.cpu.last = c.pe.Pipeline.LastOf(now); c.cpu.last == 0 {
		c.cpu.last = c.proc.Woken
	}
}

// idled notes that a worker had nothing to do since its last kernel, or the start.
func (c *core) idled() {
	if c.trace == nil {
		return
	}
	mark := c.trace.Mark()
	s := trace.Slice{Name: "wait: task", Start: c.cpu.ended, End: c.eng.Now(), ID: mark, After: c.cpu.last}
	c.first(&s)
	c.trace.CPU.Slice(s)
	c.cpu.ended, c.cpu.last = c.eng.Now(), mark
}
