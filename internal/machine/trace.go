package machine

import (
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/internal/cpu"
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/internal/trace"
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
	m.Copied = func() { t.copying(-1) }
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
	last := slices.Index(l.end, slices.Max(l.end))
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

// engines returns the tracks of a PE's engines; nil without a tracer.
func (t *tracer) engines(p *cpu.Element) *pe.Trace {
	if t == nil {
		return nil
	}
	return pe.NewTrace(t.rec, p.String(), int(p.ID))
}
