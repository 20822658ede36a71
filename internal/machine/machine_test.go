package machine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

const ns = simtime.Nanosecond

func build(t testing.TB, o Options, preset string, sets ...string) *Machine {
	t.Helper()
	spec, err := topology.Load(t.Context(), preset, sets...)
	if err != nil {
		t.Fatal(err)
	}
	g, err := topology.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	m := New(g, o)
	t.Cleanup(m.Close)
	return m
}

func (m *Machine) mustRun(t testing.TB) {
	t.Helper()
	if err := m.Engine.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// everyPE returns the numbers of all PEs of the machine.
func everyPE(m *Machine) (ids []PEID) {
	for id := range m.NumPEs() {
		ids = append(ids, PEID(id))
	}
	return ids
}

var fidelities = map[string]fabric.Fidelity{"train": fabric.Train, "flit": fabric.Flit}

// measureStream lets each of PEs 0 to n-1 read 1 MiB from its own HBM slice. It returns the
// total bandwidth in bytes per second.
func measureStream(t testing.TB, o Options, n int) float64 {
	const size = 1 << 20
	m := build(t, o, "default")
	for id := range PEID(n) {
		p := m.PE(id)
		r := p.Request(memory.Read, p.Memory(topology.KindHBM), memory.Contiguous(0, size), 0)
		p.DMA.Submit(&r)
	}
	m.mustRun(t)
	return float64(n*size) / (m.Engine.Now().NS() * 1e-9)
}

// TestHBMStreamsAtItsBandwidth checks that large reads reach 98 % of the bandwidth of the
// HBM slices, for one PE and for eight PEs that each read their own slice.
func TestHBMStreamsAtItsBandwidth(t *testing.T) {
	for name, fid := range fidelities {
		one, eight := measureStream(t, Options{Fidelity: fid}, 1), measureStream(t, Options{Fidelity: fid}, 8)
		if one < 0.98*256e9 || one > 256e9 {
			t.Errorf("%s: one PE streams at %.1f GB/s, want 98 %% of 256", name, one/1e9)
		}
		if eight < 0.98*2048e9 || eight > 2048e9 {
			t.Errorf("%s: eight PEs stream at %.1f GB/s, want 98 %% of 2048", name, eight/1e9)
		}
	}
}

// TestDMABusyIsDataBeats runs two loads and a store. It checks that the DMA channels are
// busy for 1 ns per flit, no matter how long the transfers take.
func TestDMABusyIsDataBeats(t *testing.T) {
	m := build(t, Options{}, "default")
	p, far := m.PE(0), m.PE(m.ID(1, 9, 3)).Memory(topology.KindHBM)
	for i := range memory.Addr(2) {
		r := p.Request(memory.Read, far, memory.Contiguous(i<<16, 1<<16), i<<16)
		p.DMA.Submit(&r)
	}
	r := p.Request(memory.Write, far, memory.Contiguous(1<<20, 4096), 1<<20)
	p.DMA.Submit(&r)
	m.mustRun(t)
	for op, want := range map[memory.Op]simtime.Time{memory.Read: 512 * ns, memory.Write: 16 * ns} {
		if got := p.DMABusy(op); got != want {
			t.Errorf("channel (write: %v) busy %v, want %v", op, got, want)
		}
	}
}

// TestTileRowsUseManyChannels reads a tile of 32 rows of 128 B from an f16 matrix with 3072
// columns. It checks that the rows are spread over the channels of the HBM slice, so that
// the tile takes far less time than 32 bursts on one channel.
func TestTileRowsUseManyChannels(t *testing.T) {
	m := build(t, Options{}, "default")
	p := m.PE(0)
	tile := memory.Region{Rows: 32, RowBytes: 128, Stride: 3072 * 2}
	r := p.Request(memory.Read, p.Memory(topology.KindHBM), tile, 0)
	p.DMA.Submit(&r)
	m.mustRun(t)
	if now := m.Engine.Now(); now > 100*ns {
		t.Errorf("the tile takes %v; on one channel it would take %v", now, 32*8*ns)
	}
}

// launchTime computes, with the closed form of the fabric, how long the command of a launch
// takes from the host to pe.
func (m *Machine) launchTime(t testing.TB, pe *PE) (total simtime.Time) {
	t.Helper()
	g := m.Graph
	cpus := []topology.NodeID{
		g.Host(), g.IOCPU(pe.SIP), g.CubeCPU(pe.SIP, pe.Cube), g.PENode(pe.SIP, pe.Cube, pe.PE, topology.KindPECPU),
	}
	for i, to := range cpus[1:] {
		path, err := g.Route(nil, cpus[i], to)
		if err != nil {
			t.Fatal(err)
		}
		total += fabric.Uncontended(m.Hops(path), g.Spec().Host.LaunchBytes, g.Spec().System.Flit)
	}
	return total
}

// TestLaunchOfOnePETakesThePath checks that a launch on one PE starts when its command has
// arrived at the PE. launchTime computes this time.
func TestLaunchOfOnePETakesThePath(t *testing.T) {
	for name, fid := range fidelities {
		for _, id := range []PEID{0, 7, 8, 100, 255} {
			m := build(t, Options{Fidelity: fid}, "default")
			l, err := m.Launch("k", []PEID{id}, func(p *sim.Proc, _ *PE) { p.Sleep(5 * ns) }, sim.Event{})
			if err != nil {
				t.Fatal(err)
			}
			m.mustRun(t)
			if want := m.launchTime(t, m.PE(id)); l.Start != want || l.Exec(0) != 5*ns || l.Spread() != 0 {
				t.Errorf("%s: PE %d starts at %v, runs %v, want %v and 5ns", name, id, l.Start, l.Exec(0), want)
			}
		}
	}
}

// TestLaunchStartsEverywhereAtOnce checks that all PEs start at the same instant: when the
// last command has arrived.
func TestLaunchStartsEverywhereAtOnce(t *testing.T) {
	for _, c := range []struct {
		preset string
		fid    fabric.Fidelity
		start  simtime.Time // the expected start; 0 is not checked
	}{
		{"default", fabric.Train, 279_477_743 * simtime.Femtosecond},
		{"default", fabric.Flit, 279_477_743 * simtime.Femtosecond},
		{"torus2x3", fabric.Train, 0},
		{"alpha_beta", fabric.Flit, 0},
	} {
		preset := c.preset
		m := build(t, Options{Fidelity: c.fid}, preset)
		started := map[simtime.Time]int{}
		var latest simtime.Time
		l, err := m.Launch("k", everyPE(m), func(p *sim.Proc, pe *PE) {
			started[p.Now()]++
			p.Sleep(simtime.Time(pe.ID) * ns)
		}, sim.Event{})
		if err != nil {
			t.Fatal(err)
		}
		m.mustRun(t)
		for _, at := range l.ready {
			latest = max(latest, at)
		}
		if len(started) != 1 || started[l.Start] != m.NumPEs() || l.Start != latest {
			t.Errorf("%s: starts %v, want all %d PEs at %v", preset, started, m.NumPEs(), latest)
		}
		if c.start != 0 && l.Start != c.start {
			t.Errorf("%s: starts at %v, want %v", preset, l.Start, c.start)
		}
		if want := simtime.Time(m.NumPEs()-1) * ns; l.Start < 0 || l.running != 0 || l.Critical() != want {
			t.Errorf("%s: critical path %v, want %v", preset, l.Critical(), want)
		}
	}
}

// TestLaunchEndsWithItsTransfers runs a kernel that returns while one of its transfers is
// in flight. It checks that the kernel ends when the transfer ends, and that the next
// launch on the PE starts then.
func TestLaunchEndsWithItsTransfers(t *testing.T) {
	m := build(t, Options{}, "default")
	var arrived simtime.Time
	a, err := m.Launch("a", []PEID{0}, func(p *sim.Proc, pe *PE) {
		r := pe.Request(memory.Read, pe.Memory(topology.KindHBM), memory.Contiguous(0, 1<<20), 0)
		pe.DMA.Submit(&r)
	}, sim.Event{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Launch("b", []PEID{0}, func(p *sim.Proc, _ *PE) { arrived = p.Now() }, sim.Event{}); err != nil {
		t.Fatal(err)
	}
	m.mustRun(t)
	if want := 4110_516_870 * simtime.Femtosecond; a.Critical() != want || arrived != a.Start+want {
		t.Errorf("critical path %v, next launch at %v, want %v and %v", a.Critical(), arrived, want, a.Start+want)
	}
}

// TestLaunchGoesBeforeBulk checks that bulk traffic delays the commands of a launch by at
// most the time of 4 KiB on each link, because the commands are in class comm.
func TestLaunchGoesBeforeBulk(t *testing.T) {
	quiet, busy := build(t, Options{}, "default"), build(t, Options{}, "default")
	hbm := busy.PE(0).Memory(topology.KindHBM)
	busy.HostCopy(memory.Write, hbm, memory.Contiguous(0, 16<<20), sim.Event{})
	var start [2]simtime.Time
	for i, m := range []*Machine{quiet, busy} {
		m.Engine.AfterFunc(10_000*ns, m.Engine.Pause)
		m.mustRun(t)
		l, err := m.Launch("k", []PEID{0}, func(*sim.Proc, *PE) {}, sim.Event{})
		if err != nil {
			t.Fatal(err)
		}
		m.mustRun(t)
		start[i] = l.Start
	}
	// The bulk traffic shares the PCIe link, the links of the IO chiplet and the UCIe port,
	// and the first links of the cube with the commands.
	most := (63 * topology.GBps).Serialize(4096) + 2*(512*topology.GBps).Serialize(4096) +
		(128 * topology.GBps).Serialize(4096) + 3*(256*topology.GBps).Serialize(4096) + ns
	if late := start[1] - start[0]; late <= 0 || late > most {
		t.Errorf("a launch under bulk traffic is %v late, want more than 0 and at most %v", late, most)
	}
}

// TestEveryMemoryEqualsItsFormula checks that a read and a write of every kind of memory,
// over the NoC and over UCIe, take exactly the closed-form time of the path and the HBM
// channels.
func TestEveryMemoryEqualsItsFormula(t *testing.T) {
	const n = 8192
	spec := build(t, Options{}, "default").Graph.Spec()
	for name, fid := range fidelities {
		for _, kind := range []topology.Kind{topology.KindHBM, topology.KindSRAM, topology.KindTCM} {
			for _, far := range []PEID{3, 100, 255} {
				for _, op := range []memory.Op{memory.Read, memory.Write} {
					m := build(t, Options{Fidelity: fid}, "default")
					p, id, region := m.PE(0), m.PE(far).Memory(kind), memory.Contiguous(0, n)
					r := p.Request(op, id, region, 0)
					p.DMA.Submit(&r)
					m.mustRun(t)
					want := fabric.Uncontended(m.Hops(r.Path), n, spec.System.Flit)
					if kind == topology.KindHBM {
						want, _ = fabric.UncontendedHBM(m.Hops(r.Path), memory.NewHBM(spec.Cube.HBM), op, n, spec.System.Flit)
					}
					if far == 255 { // in the other SIP: the request of a read, or the acknowledgement of a write
						back := m.findRoute(nil, r.To.Memory, r.From.Memory)
						want += fabric.Control(m.Hops(back), spec.PE.IPCQ.CreditBytes)
					}
					if got := m.Engine.Now() - spec.PE.DMA.Setup; got != want {
						t.Errorf("%s: %v (write: %v): %v, want %v", name, id, op, got, want)
					}
				}
			}
		}
	}
}

// TestEndlessKernelsAreStopped checks that a run whose kernel never ends fails at the limit
// of simulated time.
func TestEndlessKernelsAreStopped(t *testing.T) {
	m := build(t, Options{Limit: simtime.Millisecond}, "alpha_beta")
	if _, err := m.Launch("endless", everyPE(m), func(p *sim.Proc, _ *PE) {
		for {
			p.Sleep(simtime.Microsecond)
		}
	}, sim.Event{}); err != nil {
		t.Fatal(err)
	}
	var limit *sim.TimeLimit
	if err := m.Engine.Run(context.Background()); !errors.As(err, &limit) || limit.Limit != simtime.Millisecond {
		t.Errorf("Run = %v", err)
	}
	if m := build(t, Options{}, "alpha_beta"); m.Engine.Limit != DefaultLimit {
		t.Errorf("limit %v, want %v", m.Engine.Limit, DefaultLimit)
	}
}

// runFingerprint runs a kernel on all PEs and returns the end time, the number of events
// and the statistics of every link.
func runFingerprint(t testing.TB) string {
	m := build(t, Options{}, "default")
	if _, err := m.Launch("k", everyPE(m), func(p *sim.Proc, pe *PE) {
		for i := range 3 {
			from := m.PE((pe.ID*7 + PEID(i)*31) % PEID(m.NumPEs())).Memory(topology.KindHBM)
			r := pe.Request(memory.Read, from, memory.Contiguous(memory.Addr(i)<<12, 10_000), 0)
			pe.DMA.Submit(&r)
			pe.DMA.Drain(p)
		}
	}, sim.Event{}); err != nil {
		t.Fatal(err)
	}
	m.mustRun(t)
	out := fmt.Sprintln(m.Engine.Now(), m.Engine.Events())
	for id := range m.Graph.NumLinks() {
		out += fmt.Sprintln(id, m.Fabric.Stats(topology.LinkID(id)))
	}
	return out
}

// TestRunsAreIdentical checks that a run has the same end time, events and link statistics
// for every GOMAXPROCS.
func TestRunsAreIdentical(t *testing.T) {
	want := runFingerprint(t)
	for _, procs := range []int{1, 2} {
		old := runtime.GOMAXPROCS(procs)
		got := runFingerprint(t)
		runtime.GOMAXPROCS(old)
		if got != want {
			t.Errorf("with GOMAXPROCS=%d the run differs", procs)
		}
	}
}

// TestMachinesRunInParallel checks that several machines run in parallel goroutines with
// the same result. With the race detector, the test also finds data that the machines
// share.
func TestMachinesRunInParallel(t *testing.T) {
	const n = 4
	got := make([]string, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { got[i] = runFingerprint(t) }) // a failure ends the goroutine and fails the test
	}
	all.Wait()
	if len(slices.Compact(got)) != 1 {
		t.Error("machines that run in parallel give different results")
	}
}

// TestMemories checks the name, size and node of each memory of a PE.
func TestMemories(t *testing.T) {
	m := build(t, Options{}, "default")
	for _, c := range []struct {
		kind topology.Kind
		name string
		size memory.Bytes
	}{
		{topology.KindHBM, "sip1.cube2.hbm3", 6 << 30},
		{topology.KindSRAM, "sip1.cube2.sram", 32 << 20},
		{topology.KindTCM, "sip1.cube2.pe3.tcm", 2 << 20},
	} {
		id := m.PE(m.ID(1, 2, 3)).Memory(c.kind)
		mem := m.Memory(id)
		if id.String() != c.name || mem.Allocator.Size != c.size || mem.Store.Size != c.size || m.Memory(id) != mem {
			t.Errorf("%v: %v of %v, want %s of %v", c.kind, id, mem.Allocator.Size, c.name, c.size)
		}
		if got := m.Graph.Name(m.Node(id)); got != c.name {
			t.Errorf("node %s, want %s", got, c.name)
		}
	}
}

// TestLargeMachineIsLazy checks that a launch on two PEs of a system with 131,072 PEs
// allocates at most 1 GiB.
func TestLargeMachineIsLazy(t *testing.T) {
	if testing.Short() {
		t.Skip("builds 131,072 PEs")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m := build(t, Options{}, "default", "system.sips.count=1024", "system.sips.topology=torus_2d")
	l, err := m.Launch("k", []PEID{0, 131_071}, func(p *sim.Proc, _ *PE) { p.Sleep(ns) }, sim.Event{})
	if err != nil {
		t.Fatal(err)
	}
	m.mustRun(t)
	runtime.ReadMemStats(&after)
	if l.Critical() != ns {
		t.Errorf("critical path %v", l.Critical())
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
		t.Errorf("%d MiB allocated for two PEs of %d", used>>20, m.NumPEs())
	}
}

// BenchmarkLaunch131072 measures a launch on all 131,072 PEs of a system with 1,024 SIPs.
func BenchmarkLaunch131072(b *testing.B) {
	for b.Loop() {
		m := build(b, Options{}, "default", "system.sips.count=1024", "system.sips.topology=torus_2d")
		l, err := m.Launch("k", everyPE(m), func(p *sim.Proc, _ *PE) { p.Sleep(ns) }, sim.Event{})
		if err != nil {
			b.Fatal(err)
		}
		m.mustRun(b)
		b.ReportMetric(l.Start.NS(), "start-ns")
		m.Close()
	}
}
