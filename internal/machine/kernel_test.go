package machine

import (
	"fmt"
	"testing"

	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// tensor maps n elements of f16 in the HBM of a PE.
func (m *Machine) tensor(t testing.TB, id PEID, dims ...int) tl.Ptr {
	t.Helper()
	n := memory.Bytes(2)
	p := tl.Ptr{DType: tl.F16, Rank: int8(len(dims)), Window: 0}
	for i := len(dims) - 1; i >= 0; i-- {
		p.Stride[i] = int64(n / 2)
		n *= memory.Bytes(dims[i])
	}
	hbm := m.PE(id).Memory(topology.KindHBM)
	addr, err := m.Memory(hbm).Allocator.Alloc(n, 256)
	if err != nil {
		t.Fatal(err)
	}
	va, err := m.Space.Map("x", []memory.Segment{{Memory: hbm, Addr: addr, Bytes: n}})
	if err != nil {
		t.Fatal(err)
	}
	p.Addr = int64(va)
	return p
}

func TestFirstKernel(t *testing.T) {
	m := build(t, Options{}, "default")
	a, b, c := m.tensor(t, 0, 32, 3072), m.tensor(t, 0, 3072, 32), m.tensor(t, 0, 32, 32)
	r, err := m.Start(Program{Name: "k", Targets: []PEID{0}, Body: func(t *tl.PE) {
		x := t.Load(a, tl.Shape{32, 32}, tl.F16)
		y := t.Load(b, tl.Shape{32, 32}, tl.F16)
		t.Store(c, x.Add(y))
	}}, sim.Event{})
	if err != nil {
		t.Fatal(err)
	}
	m.mustRun(t)
	fmt.Println(r.Critical())
	r, err = m.Start(Program{Name: "k", Targets: []PEID{0}, Body: func(t *tl.PE) {
		h := t.Composite(tl.Gemm(t.Ref(a, tl.Shape{32, 3072}, tl.F16), t.Ref(b, tl.Shape{3072, 32}, tl.F16), c))
		t.Wait(h)
	}}, sim.Event{})
	if err != nil {
		t.Fatal(err)
	}
	m.mustRun(t)
	p := m.PE(0)
	fmt.Println(r.Critical(), p.DMABusy(memory.Read), p.Pipeline.Fetch.Busy, p.Pipeline.Units)
}

func TestRingKernel(t *testing.T) {
	m := build(t, Options{}, "default")
	ids := everyPE(m)
	var links []Connection
	for i := range ids {
		links = append(links, Connection{ids[i], tl.East, ids[(i+1)%len(ids)], tl.West})
	}
	x := m.tensor(t, 0, 64)
	const rounds = 40
	r, err := m.Start(Program{Name: "ring", Targets: ids, Links: links, Body: func(t *tl.PE) {
		acc := t.Full(tl.Shape{64}, tl.F16, 1)
		for range rounds {
			t.Send(tl.East, acc)
			acc = acc.Add(t.Recv(tl.West, tl.Shape{64}, tl.F16))
		}
	}}, sim.Event{})
	if err != nil {
		t.Fatal(err)
	}
	_ = x
	m.mustRun(t)
	fmt.Println(r.Critical(), m.Engine.Events(), float64(m.Engine.Events())/(rounds*256))
}
