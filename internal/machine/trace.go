package machine

import (
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/internal/cpu"
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/trace"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// tracer records the activities of a machine.
type tracer struct {
	m         *Machine
	rec       *trace.Recorder
	processes map[string]*trace.Process      // the host and control cores, by name
	subtracks map[[2]string]*trace.Subtracks // by process and track
	links     *trace.Links
	number    int64 // launches that have started
}

// Host is the name of the process that shows the host in traces.
const Host = "host"

// Positions of processes in viewers: first the host and control cores, then PEs, then links.
const (
	hostOrder  = -1 << 24
	linksOrder = 1 << 24
)

// startTrace starts to record the launches, engines, links and copies of the machine with
// rec.
func (m *Machine) startTrace(rec *trace.Recorder) {
	t := &tracer{m: m, rec: rec, processes: map[string]*trace.Process{}, subtracks: map[[2]string]*trace.Subtracks{}}
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
			t.links.Cut(int(p.Link), p.ID, int64(p.Bytes), p.End)
			return
		}
		t.links.Passage(int(p.Link), p.ID, class, int64(p.Bytes), p.Start-p.Head, p.Start, p.End, m.Engine.Now())
	})
	m.tracer = t
}

// linkKind returns the part of the system that a link belongs to, such as "ucie" or
// "between SIPs".
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

// linkProcess returns the name of the trace process that shows the track of a link, and the
// position of that process in viewers.
func (m *Machine) linkProcess(id topology.LinkID) (name string, order int) {
	l := m.Graph.Link(id)
	from, to := m.Graph.Node(l.From), m.Graph.Node(l.To)
	if from.SIP != to.SIP || from.SIP < 0 {
		return "links between SIPs", linksOrder
	}
	return "sip" + strconv.Itoa(int(from.SIP)) + " links", linksOrder + 1 + int(from.SIP)
}

// TraceProgram records `end` as the end time of the host's program, and `last` as its last
// activity. It is called once, at the end of the recording.
func (m *Machine) TraceProgram(end simtime.Time, last sim.Mark) {
	m.tracer.subtracksOf(Host, "program").Slice(trace.Slice{
		Name: "program", End: end, After: last, Args: []trace.Arg{trace.Nanoseconds("makespan_ns", end)},
	})
}

// TraceLinks ends the recording of links and returns the use of each link that carried data.
func (m *Machine) TraceLinks() []trace.LinkUse {
	used := []trace.LinkUse{} // not nil: it must be an empty list in JSON
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

// subtracksOf returns the subtracks of the given track of a process, which is the host or a
// control core. It creates them on first use.
func (t *tracer) subtracksOf(process, track string) *trace.Subtracks {
	key := [2]string{process, track}
	if t.subtracks[key] == nil {
		if t.processes[process] == nil {
			t.processes[process] = t.rec.Process(process, hostOrder+len(t.processes))
		}
		t.subtracks[key] = t.processes[process].Subtracks(track)
	}
	return t.subtracks[key]
}

// TraceActivity records an activity of the host or of a control core that began at the time
// `since`, ends now and was released by the activity `after`. The new activity becomes the
// cause of what happens next. If `since` is the current time, TraceActivity records nothing
// and `after` becomes the cause.
func (m *Machine) TraceActivity(process, track, name string, since simtime.Time, after sim.Mark) {
	if m.tracer == nil {
		return
	}
	if m.Engine.By = after; since == m.Engine.Now() {
		return
	}
	m.Engine.By = m.tracer.rec.Mark()
	m.tracer.subtracksOf(process, track).Slice(trace.Slice{Name: name, Start: since, End: m.Engine.Now(), ID: m.Engine.By, After: after})
}

// recordSend records that the commands of a launch leave the host.
func (l *Launch) recordSend(e *sim.Engine) {
	l.commands, l.sent, l.sentBy = len(l.Targets), e.Now(), e.By
}

// recordArrival counts a command of the launch that has reached its PE. After the last
// command, it records the time from the send to the last arrival as one activity.
func (l *Launch) recordArrival(m *Machine) {
	if l.commands--; l.commands == 0 {
		m.TraceActivity(Host, "commands", "command "+l.Name, l.sent, l.sentBy)
	}
}

// recordStart records that a launch starts.
func (t *tracer) recordStart(l *Launch) {
	if t == nil {
		return
	}
	l.trace, l.released = t.number, t.m.Engine.By
	t.number++
}

// recordEnd records that a launch has ended.
func (t *tracer) recordEnd(l *Launch) {
	if t == nil {
		return
	}
	last := l.lastTarget()
	p := t.m.PE(l.Targets[last])
	t.subtracksOf(Host, "launches").Slice(trace.Slice{
		Name: l.Name, Start: l.Start, End: l.end[last], After: l.last[last],
		Args: []trace.Arg{
			trace.Number("launch", l.trace), trace.Number("released", int64(l.released)), trace.Number("pes", int64(len(l.Targets))),
			trace.Nanoseconds("crit_ns", l.Critical()), trace.Text("pe", p.String()),
		},
	})
}

// lastTarget returns the index of the target that ended last. If several targets ended at
// that time, it is the first of them.
func (l *Launch) lastTarget() int { return slices.Index(l.end, slices.Max(l.end)) }

// Last returns the activity whose end ended the launch, or 0 without a trace.
func (l *Launch) Last() sim.Mark {
	if l.last == nil {
		return 0
	}
	return l.last[l.lastTarget()]
}

// newPETrace returns a recorder for the engines of PE p, or nil if t is nil.
func (t *tracer) newPETrace(p *cpu.Element) *pe.Trace {
	if t == nil {
		return nil
	}
	return pe.NewTrace(t.rec, p.String(), int(p.ID))
}
