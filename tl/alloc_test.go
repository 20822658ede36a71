package tl_test

import (
	"testing"

	"github.com/kernbench/kernbench/tl"
)

// TestNoAllocation checks that the operations of inner loops allocate no memory.
func TestNoAllocation(t *testing.T) {
	r := &recorder{}
	pe := tl.NewPE(r, "test")
	o := newOperands(pe)
	r.silent = true
	n, scale := 500, 1.0
	shard := inShard(matrix, 1<<30)
	for _, tt := range []struct {
		name string
		do   func()
	}{
		{"Load", func() { pe.Load(vector.At(n), tl.Shape{64}, tl.F16) }},
		{"Load from a shard", func() { pe.Load(shard.At(1, 4), tl.Shape{32, n}, tl.F16) }},
		{"Store to a shard", func() { pe.Store(shard.At(n), o.m) }},
		{"Load masked", func() { pe.Load(matrix.At(n, n), tl.Shape{8, n}, tl.F16, tl.Mask(n, 3), tl.Other(scale)) }},
		{"Store", func() { pe.Store(vector.At(n), o.v, tl.Mask(n)) }},
		{"Zeros", func() { pe.Zeros(tl.Shape{n, 4}, tl.F32) }},
		{"Add of tiles", func() { o.m.Add(o.v) }},
		{"Add of a number", func() { o.v.Add(scale).Mul(2).Sub(n) }},
		{"Sub of a number", func() { pe.Sub(scale, o.v) }},
		{"And of tiles", func() { o.in.And(o.in) }},
		{"Or of a number", func() { o.in.Or(n) }},
		{"FMA", func() { o.v.FMA(scale, o.v) }},
		{"Where", func() { pe.Where(o.cond, o.v, scale) }},
		{"Dot", func() { o.m.Dot(o.k, o.acc) }},
		{"Sum", func() { o.m.Sum(-1) }},
		{"Reshape", func() { o.m.Reshape(n-436, 32) }},
		{"Broadcast", func() { o.v.Broadcast(tl.Shape{n, 64}) }},
		{"Send", func() { pe.Send(tl.East, o.v) }},
		{"Recv", func() { pe.Recv(tl.West, tl.Shape{n}, tl.F16) }},
		{"RecvAsync", func() { pe.RecvAsync(tl.West, tl.Shape{n}, tl.F16).Wait() }},
		{"RecvAny", func() { pe.RecvAny(tl.Shape{n}, tl.F16) }},
		{"RecvInto", func() { pe.RecvInto(tl.West, vector, tl.Shape{n}, tl.F16) }},
		{"Select", func() {
			pe.Select(tl.CanRecv(tl.West), tl.CanSend(tl.East, tl.Shape{n}, tl.F16), tl.CanSignal(n, tl.GE, n))
		}},
		{"Put and Notify", func() { pe.Put(1, vector, o.v); pe.Notify(1, 0, tl.Add, n) }},
		{"Barrier", func() { pe.Barrier(0) }},
		{"Get", func() { pe.Get(1, vector, tl.Shape{n}, tl.F16) }},
		{"Callers", func() { r.callers.Line() }},
	} {
		if got := testing.AllocsPerRun(100, tt.do); got != 0 {
			t.Errorf("%s allocates %v times, want 0", tt.name, got)
		}
	}
}

// BenchmarkAdd measures the time that package tl itself takes for one Add, on a machine
// that does nothing.
func BenchmarkAdd(b *testing.B) {
	pe := tl.NewPE(&recorder{silent: true}, "bench")
	x := pe.Zeros(tl.Shape{32, 64}, tl.F16)
	row := pe.Zeros(tl.Shape{64}, tl.F16)
	b.ReportAllocs()
	for b.Loop() {
		x.Add(row)
	}
}

// inShard returns a copy of p that may access only the given number of bytes, starting at
// p.
func inShard(p tl.Ptr, bytes int64) tl.Ptr {
	p.Shard = &tl.Shard{Tensor: "tensor 1", Addr: p.Addr, Bytes: bytes}
	return p
}

// BenchmarkLoad measures the time that package tl itself takes for a masked load of a block
// of a shard.
func BenchmarkLoad(b *testing.B) {
	pe := tl.NewPE(&recorder{silent: true}, "bench")
	shard := inShard(matrix, 1<<20)
	b.ReportAllocs()
	for b.Loop() {
		pe.Load(shard.At(3, 4), tl.Shape{32, 64}, tl.F16, tl.Mask(30, 60))
	}
}

// BenchmarkCaller measures how long [tl.Callers.Line] takes to find a line of a kernel that
// is already in the cache of the Callers.
func BenchmarkCaller(b *testing.B) {
	m := &deepMachine{depth: 1}
	pe := tl.NewPE(m, "bench")
	b.ReportAllocs()
	for b.Loop() {
		pe.Zeros(tl.Shape{64}, tl.F16)
	}
}
