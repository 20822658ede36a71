package probe

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/version"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
)

// Options selects what Run measures.
type Options struct {
	Fidelity fabric.Fidelity
	Sizes    []topology.Bytes // in the order of the report
}

// Report is the result of a probe.
type Report struct {
	Version  string          `json:"version"`
	Topology topology.Origin `json:"topology"`
	Fidelity string          `json:"fidelity"`
	OK       bool            `json:"ok"`       // no simulated time differs from its formula
	Compared int             `json:"compared"` // number of rows that have a formula
	Launch   Launch          `json:"launch"`
	Schema   table.Schema    `json:"schema"` // of the rows
	Rows     []Row           `json:"rows"`
	Skipped  []Skipped       `json:"skipped,omitempty"`
}

// Launch is the measurement of a launch on all PEs by the host: the time at which the
// kernel starts.
type Launch struct {
	PEs     int          `json:"pes"`
	StartNS simtime.Time `json:"start_ns"`
	Spread  simtime.Time `json:"spread_ns"` // from the first PE that was ready to the last
}

// Row is the measurement of one case at one size.
type Row struct {
	Case        string         `json:"case" table:",setting"`
	From        string         `json:"from" table:",setting"`
	To          string         `json:"to" table:",setting"`
	Bytes       topology.Bytes `json:"bytes" table:"B,setting,transfer size"` // of each stream
	Streams     int            `json:"streams" table:",setting"`              // number of simultaneous transfers
	FormulaNS   *simtime.Time  `json:"formula_ns" table:"ns,result"`
	SimulatedNS simtime.Time   `json:"simulated_ns" table:"ns,lower,time"`
	Match       *bool          `json:"match" table:",check"`                 // null if there is no formula
	NoFormula   string         `json:"no_formula,omitempty" table:",result"` // why there is no formula
	Bottleneck  *float64       `json:"bottleneck_gbs" table:"GB/s,bound"`    // slowest link or HBM channels; null if unlimited
	Bandwidth   *float64       `json:"bandwidth_gbs" table:"GB/s,higher"`    // of all streams; null if they take no time
	Utilization *float64       `json:"utilization" table:",higher"`          // of the bottleneck
	Hops        []Hop          `json:"hops"`                                 // of the first stream
}

// Hop is a link on the path of a transfer. HeadNS and TailNS count from the start.
type Hop struct {
	Link       string       `json:"link"`
	Bandwidth  *float64     `json:"bandwidth_gbs"`
	LatencyNS  simtime.Time `json:"latency_ns"`  // on the wire
	OverheadNS simtime.Time `json:"overhead_ns"` // of the node that the link enters
	FlitNS     simtime.Time `json:"flit_ns"`     // time of one flit on the link
	HeadNS     simtime.Time `json:"head_ns"`     // when the first flit reaches the link
	TailNS     simtime.Time `json:"tail_ns"`     // when the last flit has left the link
	BusyNS     simtime.Time `json:"busy_ns"`     // time in which the link carries data
	QueuedNS   simtime.Time `json:"queued_ns"`   // mean time that a flit waits for the link
}

// Skipped is a case that cannot be measured on the machine: it has no PE for the case, or a
// memory is too small for a size.
type Skipped struct {
	Case  string         `json:"case"`
	Bytes topology.Bytes `json:"bytes,omitempty"` // 0 if the case is skipped at all sizes
	Why   string         `json:"why"`
}

// Run measures a launch, and every case at every size. It uses a new machine for each
// measurement. Run skips the cases for which the system has no PE, and the sizes that do
// not fit in memory.
func Run(ctx context.Context, g *topology.Graph, o Options) (*Report, error) {
	r := &Report{
		Version: version.Version, Topology: topology.OriginOf(g.Spec()), OK: true, Schema: table.Schema{"rows": table.ColumnsOf(Row{})},
		Fidelity: map[fabric.Fidelity]string{fabric.Train: "train", fabric.Flit: "flit"}[o.Fidelity],
	}
	if err := checkMemory(g, o); err != nil {
		return nil, err
	}
	var err error
	if r.Launch, err = measureLaunch(ctx, g, o); err != nil {
		return nil, err
	}
	for _, c := range cases {
		for _, n := range o.Sizes {
			row, ok, err := c.measure(ctx, g, o, n)
			if full, ok := errors.AsType[*memory.OutOfMemory](err); ok {
				r.Skipped = append(r.Skipped, Skipped{c.name, n, fmt.Sprintf("%v has room for %v", full.Memory, full.Largest)})
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("probe %s with %v: %w", c.name, n, err)
			}
			if !ok {
				r.Skipped = append(r.Skipped, Skipped{Case: c.name, Why: "the system has no such place: " + c.what})
				break
			}
			if row.Match != nil {
				r.Compared++
				r.OK = r.OK && *row.Match
			}
			r.Rows = append(r.Rows, row)
		}
	}
	return r, nil
}

// checkMemory returns an error if this computer has too little memory for a probe. The
// launch needs memory for all PEs. At flit fidelity, simultaneous transfers to each PE of a
// cube need memory for all their bursts.
func checkMemory(g *topology.Graph, o Options) error {
	const perPE, perBurst = 12 << 10, 80
	s := g.Spec()
	pes := s.System.SIPs.Count * s.CubesPerSIP() * s.PEsPerCube()
	if err := host.Check(host.Product(pes, perPE)); err != nil {
		return fmt.Errorf("a launch on %d PEs: %w: take a smaller system", pes, err)
	}
	if o.Fidelity != fabric.Flit || len(o.Sizes) == 0 {
		return nil
	}
	largest := min(slices.Max(o.Sizes), s.Cube.HBM.SliceSize) // larger sizes are skipped
	if err := host.Check(host.Product(int64(largest/s.Cube.HBM.Burst)+1, int64(s.PEsPerCube()), perBurst)); err != nil {
		return fmt.Errorf("transfers of %v flit by flit: %w: take smaller sizes, or --fidelity train", largest, err)
	}
	return nil
}

// measureLaunch launches an empty kernel on all PEs. It measures when the kernel starts,
// and how much later the last PE became ready to start than the first PE.
func measureLaunch(ctx context.Context, g *topology.Graph, o Options) (Launch, error) {
	m := machine.New(g, machine.Options{Fidelity: o.Fidelity})
	defer m.Close()
	all := lists.Make(m.NumPEs(), func(i int) machine.PEID { return machine.PEID(i) })
	l, err := m.Launch("probe", all, func(*sim.Proc, *machine.PE) {}, sim.Event{})
	if err != nil {
		return Launch{}, err
	}
	if err := m.Engine.Run(ctx); err != nil {
		return Launch{}, err
	}
	return Launch{PEs: len(all), StartNS: l.Start, Spread: l.Spread()}, nil
}

// stopwatch records the end of the last transfer.
type stopwatch struct {
	eng *sim.Engine
	end simtime.Time
}

func (s *stopwatch) Handle(sim.Kind, uint64) { s.end = s.eng.Now() }

// measure measures the transfers of the case with n bytes each, on a new machine. ok is
// false if the machine has no PE for the case.
func (c probeCase) measure(ctx context.Context, g *topology.Graph, o Options, n memory.Bytes) (row Row, ok bool, err error) {
	m := machine.New(g, machine.Options{Fidelity: o.Fidelity})
	defer m.Close()
	t, ok, err := c.prepare(m, n)
	if err != nil || !ok {
		return row, ok, err
	}
	seen := map[topology.LinkID]fabric.Passage{}
	m.Fabric.Observe(func(p fabric.Passage) {
		if first, ok := seen[p.Link]; ok {
			p.Head = first.Head
		}
		seen[p.Link] = p
	})
	watch := &stopwatch{eng: m.Engine}
	t.begin(sim.Event{Target: m.Engine.Register(watch)})
	if err := m.Engine.Run(ctx); err != nil {
		return row, true, err
	}
	row = Row{Case: c.name, From: g.Name(t.from), To: g.Name(t.to), Bytes: n, Streams: t.streams, SimulatedNS: watch.end}
	row.compare(m, t)
	for _, id := range t.path {
		l, p, stats := g.Link(id), seen[id], m.Fabric.Stats(id)
		row.Hops = append(row.Hops, Hop{
			Link: g.LinkName(id), Bandwidth: gbs(l.Bandwidth), LatencyNS: l.Latency, OverheadNS: g.Node(l.To).Overhead,
			FlitNS: l.Bandwidth.Serialize(min(n, g.Spec().System.Flit)), HeadNS: p.Head, TailNS: p.End,
			BusyNS: stats.Busy, QueuedNS: stats.Queued,
		})
	}
	return row, true, nil
}

// compare sets the time of the closed form, and whether the simulated time equals that
// time. If there is no closed form, it sets the reason instead. It also sets the bandwidth,
// and the utilization of the bottleneck.
func (r *Row) compare(m *machine.Machine, t transfer) {
	s := m.Graph.Spec()
	hbm := memory.NewHBM(s.Cube.HBM)
	if want, ok := fabric.UncontendedHBM(m.Hops(t.path), hbm, t.op, r.Bytes, s.System.Flit); ok {
		want += t.setup + fabric.Control(m.Hops(t.request), s.PE.IPCQ.CreditBytes) // 0 without a request
		match := r.SimulatedNS == want
		r.FormulaNS, r.Match = &want, &match
	} else if hbm.Burst != s.System.Flit {
		r.NoFormula = fmt.Sprintf("bursts of %v are not flits of %v", hbm.Burst, s.System.Flit)
	} else {
		r.NoFormula = fmt.Sprintf("a write of %v is not whole groups of a burst on each channel, %v", r.Bytes, hbm.Burst*topology.Bytes(hbm.Channels))
	}
	if r.SimulatedNS > 0 {
		achieved := float64(r.Bytes) * float64(r.Streams) / r.SimulatedNS.NS()
		r.Bandwidth = &achieved
	}
	slowest := m.Graph.Bottleneck(t.path)
	if ch := s.Cube.HBM.ChannelBandwidth; ch != topology.Unlimited {
		if all := ch * topology.BytesPerSec(hbm.Channels); slowest == topology.Unlimited || all < slowest {
			slowest = all
		}
	}
	if r.Bottleneck = gbs(slowest); r.Bottleneck != nil { // the transfer took time, so Bandwidth is not nil
		*r.Bottleneck *= float64(r.Streams)
		used := *r.Bandwidth / *r.Bottleneck
		r.Utilization = &used
	}
}

// gbs converts a bandwidth to GB/s; it returns nil for an unlimited bandwidth.
func gbs(bw topology.BytesPerSec) *float64 {
	if bw == topology.Unlimited {
		return nil
	}
	v := float64(bw) / float64(topology.GBps)
	return &v
}

// ParseSizes parses sizes in the syntax of topology.yaml. The returned error joins an error
// for each text that is not a size. ParseSizes also returns an error if there are no texts.
func ParseSizes(texts []string) (sizes []topology.Bytes, err error) {
	var errs []error
	for _, text := range texts {
		v, err := config.Quantities[reflect.TypeFor[topology.Bytes]()].Parse(strings.TrimSpace(text))
		if err != nil {
			errs = append(errs, fmt.Errorf("--sizes: %w", err))
			continue
		}
		sizes = append(sizes, v.(topology.Bytes))
	}
	if len(texts) == 0 {
		errs = append(errs, errors.New("--sizes: none given: write some, such as 4KiB,1MiB"))
	}
	return sizes, errors.Join(errs...)
}
