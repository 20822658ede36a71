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

// The files rules_*_test.go hold the machine to what its documents say, with
// kernels of the tile language and nothing below it. Each test is named after its
// rule, and states the time it wants as a sum of the documented terms.

// tester is what the rules need of a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// rig is a machine for one experiment, and the terms of its formulas.
type rig struct {
	*Machine
	tester
	spec *topology.Spec

	dispatch  simtime.Time // of a call of the tile language
	scheduler simtime.Time // from the CPU to an engine
	setup     simtime.Time // of a DMA request
}

// graphs are the systems that were compiled so far.
var graphs = map[string]*topology.Graph{}

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

// callTime is how long after the start of a kernel its n-th call reaches an engine.
func (r *rig) callTime(n int) simtime.Time { return simtime.Time(n)*r.dispatch + r.scheduler }

// on runs a program to its end.
func (r *rig) run(p Program) *Run {
	r.Helper()
	run, err := r.try(p)
	if err != nil {
		r.Fatal(err)
	}
	return run
}

// try runs a program to its end, or to its error.
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

// alone is how long a kernel runs on PE 0.
func (r *rig) runAlone(body func(t *tl.PE)) simtime.Time {
	r.Helper()
	return r.run(Program{Targets: []PEID{0}, Body: body}).Critical()
}

// pair joins port East of PE a with port West of PE b.
func pair(a, b PEID) []Connection { return []Connection{{a, tl.East, b, tl.West}} }

// by runs the body of each rank.
func perRank(bodies ...func(t *tl.PE)) func(t *tl.PE) {
	return func(t *tl.PE) { bodies[t.Rank()](t) }
}

// pass lets the CPU make n calls that no engine hears of.
func spendCalls(t *tl.PE, n int) {
	for range n {
		t.Test(0, tl.EQ, -1)
	}
}

// callsFor is how many of them take at least so long.
func (r *rig) callsFor(d simtime.Time) int { return int(d/r.dispatch) + 1 }

// clock reads the time of a kernel's CPU off what it prints, to the femtosecond.
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

// tensor maps a tensor of f16 in the HBM of a PE, from a boundary of one burst per
// channel on.
func (r *rig) tensor(id PEID, dims ...int) tl.Ptr {
	r.Helper()
	return r.place(r.PE(id).Memory(topology.KindHBM), dims...)
}

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

// path is the hops from one memory to another. From a TCM to itself it is the read
// port.
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

// moves is the time of n bytes from one memory to another, alone: the formulas of
// package fabric.
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

// ops is the operations of a kind, in the order of the log.
func (r *rig) ops(kind oplog.Kind) (list []oplog.Op) {
	for _, op := range r.Log.Ops {
		if op.Kind == kind {
			list = append(list, op)
		}
	}
	return list
}

// op is the only operation of a kind.
func (r *rig) op(kind oplog.Kind) oplog.Op {
	r.Helper()
	list := r.ops(kind)
	if len(list) != 1 {
		r.Fatalf("%d operations %v, want one", len(list), kind)
	}
	return list[0]
}

// failure is the error of a kernel, as its *tl.Error.
func (r *rig) failure(p Program) *tl.Error {
	r.Helper()
	_, err := r.try(p)
	var e *tl.Error
	if !errors.As(err, &e) {
		r.Fatalf("the run ends with %v, want a *tl.Error", err)
	}
	return e
}

// same compares what happened with what the documents say.
func same[T comparable](t tester, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// here is the line so many lines below its call, as reports write it.
func lineBelow(below int) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", filepath.Base(file), line+below)
}

func set(key string, value any) string { return fmt.Sprintf("%s=%v", key, value) }

var anyPE = rapid.Custom(func(t *rapid.T) PEID { return PEID(rapid.IntRange(0, 255).Draw(t, "PE")) })

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }
