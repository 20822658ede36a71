package exec

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// newFineGrained returns an executor that starts another goroutine even for the smallest
// amount of work. Short logs then use several threads, like long logs.
func newFineGrained(log *oplog.Log, threads int) *Executor {
	e := New(log, newMemories(), threads)
	e.grain = 1
	return e
}

// TestRandomLogs checks that the executor computes the same values as the reference for
// random logs and any number of threads. A replay of the log from a file must agree, too.
func TestRandomLogs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := randomLog(t)
		want := interpret(log)
		for _, threads := range []int{1, 2, 8} {
			e := newFineGrained(log, threads)
			if err := e.Flush(); err != nil {
				t.Fatal(err)
			}
			for id, want := range want.reads {
				if got := result(e, id); !bytes.Equal(got, want) {
					t.Fatalf("with %d threads %s reads\n     %x\nwant %x", threads, log.Describe(id), got, want)
				}
			}
			for i := range log.Ops {
				op := &log.Ops[i]
				if !isTile(op.Kind) || len(op.Mem) > 0 && op.Kind == oplog.Recv || !e.node(op.ID).done {
					continue
				}
				got, err := e.Value(op.ID)
				if want := want.value(op.ID); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("with %d threads the value of %s is\n     %x, %v\nwant %x", threads, log.Describe(op.ID), got, err, want)
				}
			}
		}
		replayFile(t, log)
	})
}

// replayFile writes the log to a file, reads the file and replays it. It checks that all
// reads of the host match.
func replayFile(t *rapid.T, log *oplog.Log) {
	var file bytes.Buffer
	if err := oplog.Encode(&file, oplog.Header{Tool: "test"}, log); err != nil {
		t.Fatal(err)
	}
	_, log, err := oplog.Decode(t.Context(), &file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Replay(t.Context(), log, 2)
	if err != nil || r.Reads != len(randomSpaces) || r.Unknown != 0 || r.Mismatched != nil {
		t.Fatalf("Replay = %+v, %v, want %d reads as recorded", r, err, len(randomSpaces))
	}
}

// lastUses returns, for each operation of the log, the index of the last operation that uses
// its value. It is the operation's own index if none does.
func lastUses(log *oplog.Log) map[oplog.ID]int {
	last := map[oplog.ID]int{}
	for i := range log.Ops {
		for o := range operands(&log.Ops[i]) {
			last[o.From] = max(last[o.From], i)
		}
		last[log.Ops[i].ID] = max(last[log.Ops[i].ID], i)
	}
	return last
}

// TestIncremental flushes a log while it grows and forgets each tile after its last use. It
// checks that the values are the same as when the whole log is executed at once.
func TestIncremental(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := randomLog(t)
		want := interpret(whole)
		lastUse := lastUses(whole)
		log := &oplog.Log{PEs: whole.PEs, Launches: whole.Launches, Lines: whole.Lines}
		e := newFineGrained(log, rapid.IntRange(1, 4).Draw(t, "threads"))
		for i, effects := 0, 0; i < len(whole.Ops); {
			// A receive names its send only once the send is logged.
			op := whole.Ops[i]
			op.Args = slices.Clone(op.Args)
			for j := range op.Args {
				if op.Args[j].From > op.ID {
					op.Args[j].From = 0
				}
			}
			log.Add(op)
			for j := range log.Ops {
				if r := &log.Ops[j]; r.Kind == oplog.Recv && whole.Ops[j].Args[0].From == op.ID {
					r.Args[0].From = op.ID
				}
			}
			for id, last := range lastUse {
				if last == i && id > 0 && isTile(whole.Op(id).Kind) {
					e.Forget(id)
				}
			}
			i++
			for effects < len(whole.Effects) && e.canApply(whole.Effects[effects], whole, i) && rapid.Bool().Draw(t, "effect") {
				log.Effects = append(log.Effects, whole.Effects[effects])
				effects++
			}
			if i == len(whole.Ops) {
				log.Effects = whole.Effects
			}
			if rapid.IntRange(0, 3).Draw(t, "flush") == 0 || i == len(whole.Ops) {
				if err := e.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		for id, want := range want.reads {
			if got := result(e, id); !bytes.Equal(got, want) {
				t.Fatalf("%s reads\n     %x\nwant %x", log.Describe(id), got, want)
			}
		}
		for _, op := range log.Ops {
			if n := e.node(op.ID); n.done && n.value != nil && op.Kind != oplog.HostRead && op.Kind != oplog.Send && n.uses == 0 {
				t.Fatalf("the value of %s is still there", log.Describe(op.ID))
			}
		}
	})
}

// canApply reports whether all operations that the effect depends on, directly or
// indirectly, are among the first n operations of the log `whole`.
func (e *Executor) canApply(effect oplog.Effect, whole *oplog.Log, n int) bool {
	work := []oplog.ID{effect.Op}
	for len(work) > 0 {
		id := work[len(work)-1]
		work = work[:len(work)-1]
		if int(id) > n {
			return false
		}
		for o := range operands(whole.Op(id)) {
			if o.From > 0 {
				work = append(work, o.From)
			}
		}
	}
	return true
}

// TestLargeOperationsInParts checks that large operations give exactly the same bits when
// they are divided into parts for several threads.
func TestLargeOperationsInParts(t *testing.T) {
	const m, k, n, out = 300, 70, 130, 1 << 20
	noise := rand.New(rand.NewPCG(1, 2))
	random := func(d numeric.DType, n int) []byte {
		b := make([]byte, n*d.Size())
		for i := range n {
			numeric.Set(d, b, i, noise.NormFloat64())
		}
		return b
	}
	x, y, bias := random(f16, m*k), random(f16, k*n), random(f16, n)
	// The product of x and y plus the bias, and three times that.
	sum := make([]byte, m*n*4)
	numeric.Dot(f16, sum, x, y, m, k, n)
	wide := make([]byte, n*4)
	numeric.Cast(f32, wide, f16, bias)
	for i := range m {
		row := sum[i*n*4:][:n*4]
		numeric.Apply(numeric.Add, f32, row, row, wide)
	}
	tripled := make([]byte, m*n*4)
	numeric.Apply(numeric.FMA, f32, tripled, bytes.Repeat(values(f32, 2), m*n), sum, sum)

	b := &builder{}
	operand := func(addr int64, data []byte, s oplog.Shape) oplog.Operand {
		b.op(oplog.Op{Kind: oplog.HostWrite, Mem: at(addr, int64(len(data))), Data: data}, oplog.Write)
		return oplog.Operand{Mem: at(addr, int64(len(data))), Shape: s, DType: f16}
	}
	load := func(from oplog.Operand) oplog.Operand {
		return tile(b.op(oplog.Op{Kind: oplog.Load, DType: f16, Shape: from.Shape, Mem: from.Mem}, oplog.Read), f16, from.Shape)
	}
	args := []oplog.Operand{operand(0, x, shape(m, k)), operand(1<<17, y, shape(k, n))}
	row := operand(1<<18, bias, shape(n))
	b.op(oplog.Op{
		Kind: oplog.Gemm, DType: f32, Shape: shape(m, n), Mem: at(out, m*n*4), Args: args,
		Epilogue: []oplog.Step{{Math: numeric.Add, Args: []oplog.Operand{row}}},
	}, oplog.Read, oplog.Write)
	composite := b.read(out, m*n*4)
	product := tile(b.op(oplog.Op{Kind: oplog.Dot, DType: f32, Shape: shape(m, n), Args: []oplog.Operand{load(args[0]), load(args[1])}}), f32, shape(m, n))
	biasTile := tile(b.op(oplog.Op{Kind: oplog.Cast, DType: f32, Shape: shape(n), Args: []oplog.Operand{load(row)}}), f32, shape(n))
	added := tile(b.op(oplog.Op{Kind: oplog.Math, Math: numeric.Add, DType: f32, Shape: shape(m, n), Args: []oplog.Operand{product, biasTile}}), f32, shape(m, n))
	last := b.op(oplog.Op{Kind: oplog.Math, Math: numeric.FMA, DType: f32, Shape: shape(m, n), Args: []oplog.Operand{num(2), added, added}})
	for _, threads := range []int{1, 2, 8} {
		e := New(&b.Log, newMemories(), threads)
		got, err := e.Value(last)
		if err != nil {
			t.Fatal(err)
		}
		if i := numeric.Equal(f32, got, tripled); i >= 0 {
			t.Errorf("with %d threads element %d of the tile is %v, want %v", threads, i, numeric.Get(f32, got, i), numeric.Get(f32, tripled, i))
		}
		if i := numeric.Equal(f32, result(e, composite), sum); i >= 0 {
			t.Errorf("with %d threads element %d of the composite is %v, want %v", threads, i, numeric.Get(f32, result(e, composite), i), numeric.Get(f32, sum, i))
		}
	}
}

// TestLongChains checks the values at the ends of long chains of dependent operations. Such
// chains must not overflow the stack. The test takes very long if the time per operation
// grows with the length of the chain.
func TestLongChains(t *testing.T) {
	one := oplog.Op{Kind: oplog.Full, DType: i32, Shape: shape(1, 1), Fill: 1}
	chains := map[string]struct {
		length int
		link   func(b *builder, last oplog.Operand) oplog.Op
		want   float64
	}{
		"accumulation": {100_000, func(b *builder, last oplog.Operand) oplog.Op {
			x := tile(1, i32, shape(1, 1))
			return oplog.Op{Kind: oplog.Dot, DType: i32, Shape: shape(1, 1), Args: []oplog.Operand{x, x, last}}
		}, 100_001},
		"reshapes": {50_000, func(b *builder, last oplog.Operand) oplog.Op {
			return oplog.Op{Kind: oplog.Reshape, DType: i32, Shape: shape(1, 1), Args: []oplog.Operand{last}}
		}, 1},
		"queues": {25_000, func(b *builder, last oplog.Operand) oplog.Op {
			return oplog.Op{Kind: oplog.Recv, DType: i32, Shape: shape(1, 1), Args: []oplog.Operand{{From: b.Add(oplog.Op{Kind: oplog.Send, Args: []oplog.Operand{last}})}}}
		}, 1},
	}
	for name, chain := range chains {
		t.Run(name, func(t *testing.T) {
			b := &builder{}
			last := tile(b.Add(one), i32, shape(1, 1))
			for range chain.length {
				last.From = b.Add(chain.link(b, last))
			}
			b.op(oplog.Op{Kind: oplog.Store, DType: i32, Shape: shape(1, 1), Mem: at(0, 4), Args: []oplog.Operand{last}}, oplog.Write)
			id := b.read(0, 4)
			e := New(&b.Log, newMemories(), 2)
			if err := e.Flush(); err != nil {
				t.Fatal(err)
			}
			if got := numeric.Get(i32, result(e, id), 0); got != chain.want {
				t.Errorf("the end of the chain is %v, want %v", got, chain.want)
			}
		})
	}
}
