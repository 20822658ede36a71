package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/fabric"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/rapidtest"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// The files rules_*_test.go check the rules of the documentation with kernels in the tile
// language. Each test is named after its rule. Expected times are sums of documented terms.

// tester is the part of *testing.T and *rapid.T that these tests use.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// rig is a machine for one test, together with the times of which the tested formulas
// consist.
type rig struct {
	*Machine
	tester
	spec *topology.Spec

	dispatch  simtime.Time // the time of one call on the CPU
	scheduler simtime.Time // the time from the CPU to an engine
	setup     simtime.Time // the time to form the descriptor of a DMA request
}

// graphs is a cache of compiled topologies, by preset and settings.
var graphs = map[string]*topology.Graph{}

// newRig builds a machine of the default preset. `sets` are settings to change, as
// KEY=VALUE.
func newRig(t tester, o Options, sets ...string) *rig {
	t.Helper()
	return newPresetRig(t, o, "default", sets...)
}

func newPresetRig(t tester, o Options, preset string, sets ...string) *rig {
	t.Helper()
	key := fmt.Sprint(preset, sets)
	if graphs[key] == nil {
		spec, err := topology.Load(context.Background(), preset, sets...)
		if err != nil {
			t.Fatal(err)
		}
		if graphs[key], err = topology.Compile(spec); err != nil {
			t.Fatal(err)
		}
	}
	g := graphs[key]
	spec := g.Spec()
	pe := &spec.PE
	return &rig{
		Machine: New(g, o), tester: t, spec: spec,
		dispatch: pe.CPU.Clock.Cycles(pe.CPU.DispatchCycles), scheduler: pe.Scheduler.Overhead, setup: pe.DMA.Setup,
	}
}

// callTime returns the time from the start of a kernel until its n-th call reaches an
// engine, if no call waits.
func (r *rig) callTime(n int) simtime.Time { return simtime.Time(n)*r.dispatch + r.scheduler }

// run runs a program to its end. An error fails the test.
func (r *rig) run(p Program) *Run {
	r.Helper()
	run, err := r.try(p)
	if err != nil {
		r.Fatal(err)
	}
	return run
}

// try runs a program until it ends or fails, and returns the error if it fails.
func (r *rig) try(p Program) (*Run, error) {
	if p.Name == "" {
		p.Name = "k"
	}
	defer r.Close()
	run, err := r.Start(p, sim.Event{})
	if err != nil {
		return nil, err
	}
	return run, r.Engine.Run(context.Background())
}

// runAlone runs a kernel on PE 0 and returns how long it takes.
func (r *rig) runAlone(body func(t *tl.PE)) simtime.Time {
	r.Helper()
	return r.run(Program{Targets: []PEID{0}, Body: body}).Critical()
}

// pair returns a neighbour table that connects the east port of PE a with the west port of
// PE b.
func pair(a, b PEID) []Connection { return []Connection{{a, tl.East, b, tl.West}} }

// perRank returns a kernel that runs bodies[i] on rank i.
func perRank(bodies ...func(t *tl.PE)) func(t *tl.PE) {
	return func(t *tl.PE) { bodies[t.Rank()](t) }
}

// spendCalls makes n calls that use only the CPU. Each call takes one dispatch.
func spendCalls(t *tl.PE, n int) {
	for range n {
		t.Test(0, tl.EQ, -1)
	}
}

// callsFor returns a number of calls whose dispatches together take longer than d.
func (r *rig) callsFor(d simtime.Time) int { return int(d/r.dispatch) + 1 }

// clock returns the current time of the CPU that runs the kernel, to the femtosecond. It
// parses the time that Printf prints before its text.
func (r *rig) clock(t *tl.PE) (at simtime.Time) {
	r.Print = func(text string) {
		_, text, _ = strings.Cut(strings.TrimSuffix(text, "] "), " ")
		unit, digits := simtime.Nanosecond, strings.TrimSuffix(text, "ns")
		if strings.HasSuffix(text, "µs") {
			unit, digits = simtime.Microsecond, strings.TrimSuffix(text, "µs")
		}
		whole, part, _ := strings.Cut(digits, ".")
		for _, c := range whole {
			at = 10*at + simtime.Time(c-'0')
		}
		at *= unit
		for _, c := range part {
			unit /= 10
			at += simtime.Time(c-'0') * unit
		}
	}
	t.Printf("")
	return at
}

// tensor maps an f16 tensor of the given dimensions in the HBM slice of PE id. Its address
// is aligned to 16 KiB, so that the tensor starts with a whole group of bursts, one for
// each channel.
func (r *rig) tensor(id PEID, dims ...int) tl.Ptr {
	r.Helper()
	return r.place(r.PE(id).Memory(topology.KindHBM), dims...)
}

// place maps an f16 tensor of the given dimensions in memory id, aligned to 16 KiB.
func (r *rig) place(id memory.ID, dims ...int) tl.Ptr {
	r.Helper()
	p := tl.Ptr{DType: tl.F16, Rank: int8(len(dims))}
	elems := 1
	for i := len(dims) - 1; i >= 0; i-- {
		p.Stride[i] = int64(elems)
		elems *= dims[i]
	}
	n := 2 * memory.Bytes(elems)
	addr, err := r.Memory(id).Allocator.Alloc(n, 16384)
	if err != nil {
		r.Fatal(err)
	}
	va, err := r.Space.Map("x", []memory.Segment{{Memory: id, Addr: addr, Bytes: n}})
	if err != nil {
		r.Fatal(err)
	}
	p.Addr = int64(va)
	return p
}

// path returns the hops from one memory to another. If both are the same TCM, the path is
// only its read port.
func (r *rig) path(from, to memory.ID) []fabric.Hop {
	r.Helper()
	if from == to {
		dma := r.Graph.PENode(int(from.SIP), int(from.Cube), int(from.PE), topology.KindDMA)
		port, _ := r.Graph.LinkBetween(r.Node(from), dma)
		return r.Hops([]topology.LinkID{port})
	}
	path, err := r.Graph.Route(nil, r.Node(from), r.Node(to))
	if err != nil {
		r.Fatal(err)
	}
	return r.Hops(path)
}

func (r *rig) tcm(id PEID) memory.ID { return r.PE(id).Memory(topology.KindTCM) }
func (r *rig) hbm(id PEID) memory.ID { return r.PE(id).Memory(topology.KindHBM) }

// wayTime returns how long control information takes from one memory to another in another
// SIP, by the formula of package fabric. Within a SIP it is 0.
func (r *rig) wayTime(from, to memory.ID) simtime.Time {
	r.Helper()
	if from.SIP == to.SIP {
		return 0
	}
	return fabric.Control(r.path(from, to), r.spec.PE.IPCQ.CreditBytes)
}

// loadTime returns the time from the set-up of a read of n bytes by PE 0 until they are in its
// TCM, without contention: the request travels to another SIP, and the bytes back.
func (r *rig) loadTime(from memory.ID, n memory.Bytes) simtime.Time {
	r.Helper()
	return r.setup + r.wayTime(r.tcm(0), from) + r.transferTime(from, r.tcm(0), n)
}

// storeTime returns the time from the set-up of a write of n bytes by PE 0 until it ends,
// without contention: the acknowledgement travels back from another SIP.
func (r *rig) storeTime(to memory.ID, n memory.Bytes) simtime.Time {
	r.Helper()
	return r.setup + r.transferTime(r.tcm(0), to, n) + r.wayTime(to, r.tcm(0))
}

// transferTime returns the time of n bytes from one memory to another without contention,
// by the formulas of package fabric.
func (r *rig) transferTime(from, to memory.ID, n memory.Bytes) simtime.Time {
	r.Helper()
	path, flit := r.path(from, to), r.spec.System.Flit
	for op, id := range map[memory.Op]memory.ID{memory.Read: from, memory.Write: to} {
		if id.Kind != oplog.HBM {
			continue
		}
		took, ok := fabric.UncontendedHBM(path, memory.NewHBM(r.spec.Cube.HBM), op, n, flit)
		if !ok {
			r.Fatalf("no formula for %v", n)
		}
		return took
	}
	return fabric.Uncontended(path, n, flit)
}

// ops returns the operations of the given kind in the order of the op log.
func (r *rig) ops(kind oplog.Kind) (list []oplog.Op) {
	for _, op := range r.Log.Ops {
		if op.Kind == kind {
			list = append(list, op)
		}
	}
	return list
}

// op returns the only operation of the given kind in the op log. Another number of
// operations fails the test.
func (r *rig) op(kind oplog.Kind) oplog.Op {
	r.Helper()
	list := r.ops(kind)
	if len(list) != 1 {
		r.Fatalf("%d operations %v, want one", len(list), kind)
	}
	return list[0]
}

// failure runs a program whose kernel must fail and returns the error of the kernel.
func (r *rig) failure(p Program) *tl.Error {
	r.Helper()
	_, err := r.try(p)
	var e *tl.Error
	if !errors.As(err, &e) {
		r.Fatalf("the run ends with %v, want a *tl.Error", err)
	}
	return e
}

// same checks that got equals want. `what` is the name of the value in the failure message.
func same[T comparable](t tester, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// lineBelow returns the position of the source line that is `below` lines below the call of
// lineBelow, as file:line. Error messages have this format.
func lineBelow(below int) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line+below)
}

func set(key string, value any) string { return fmt.Sprintf("%s=%v", key, value) }

var anyPE = rapid.Custom(func(t *rapid.T) PEID { return PEID(rapid.IntRange(0, 255).Draw(t, "PE")) })

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }
