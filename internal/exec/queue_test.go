package exec

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// TestTransientLogs appends random logs to a transient log while its batches are executed,
// and forgets each tile after its last use. It checks that the host reads the same bytes as
// with the reference, with any number of threads, and that no record is left.
func TestTransientLogs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := randomLog(t)
		want := interpret(whole)
		lastUse := lastUses(whole)
		for _, threads := range []int{1, 2, 3, 8} {
			log := &oplog.Log{Transient: true}
			e := newFineGrained(log, threads)
			effects := 0
			for i := range whole.Ops {
				op := whole.Ops[i]
				op.Args = slices.Clone(op.Args)
				for j := range op.Args {
					if op.Args[j].From > op.ID { // a receive whose send is not known yet
						op.Args[j].From = 0
					}
				}
				log.Add(op)
				for j := range whole.Ops[:i] {
					if r := &whole.Ops[j]; r.Kind == oplog.Recv && r.Args[0].From == op.ID {
						log.Match(r.ID, r.Args[0])
					}
				}
				for id, last := range lastUse {
					if last == i && id > 0 && isTile(whole.Op(id).Kind) {
						e.Forget(id)
					}
				}
				for effects < len(whole.Effects) && e.canApply(whole.Effects[effects], whole, i+1) && rapid.Bool().Draw(t, "effect") {
					log.Effect(whole.Effects[effects].Op, whole.Effects[effects].Phase)
					effects++
				}
				if rapid.IntRange(0, 3).Draw(t, "hand over") == 0 {
					e.handOver()
				}
			}
			for _, effect := range whole.Effects[effects:] {
				log.Effect(effect.Op, effect.Phase)
			}
			flush(t, e)
			for id, want := range want.reads {
				if got := result(e, id); !bytes.Equal(got, want) {
					t.Fatalf("with %d threads %s reads\n     %x\nwant %x", threads, whole.Describe(id), got, want)
				}
				e.Forget(id)
			}
			flush(t, e)
			for i := range whole.Ops {
				if n := e.nodes.find(whole.Ops[i].ID); n != nil && n.effects == 0 && n.kind != oplog.Send && (n.done || !hasValue[n.kind]) {
					t.Fatalf("with %d threads the record of %s is still there", threads, whole.Describe(whole.Ops[i].ID))
				}
			}
		}
	})
}

// grow appends rounds of operations to a transient log. In each round, a PE loads two
// tiles, adds them, stores the sum and forgets the tiles.
func grow(log *oplog.Log, e *Executor, rounds int) {
	const n = 64
	add := func(op oplog.Op, effects ...oplog.Phase) oplog.Operand {
		op.DType, op.Shape = f32, shape(n)
		id := log.Add(op)
		for _, p := range effects {
			log.Effect(id, p)
		}
		return tile(id, f32, shape(n))
	}
	for range rounds {
		x := add(oplog.Op{Kind: oplog.Load, Mem: at(0, 4*n)}, oplog.Read)
		y := add(oplog.Op{Kind: oplog.Full, Fill: 1})
		sum := add(oplog.Op{Kind: oplog.Math, Math: numeric.Add, Args: []oplog.Operand{x, y}})
		add(oplog.Op{Kind: oplog.Store, Mem: at(0, 4*n), Args: []oplog.Operand{sum}}, oplog.Write)
		for _, o := range []oplog.Operand{x, y, sum} {
			e.Forget(o.From)
		}
	}
}

// TestTransientLogIsBounded checks that neither the log nor the executor keeps more than a
// few batches of records at a time, however long the log is.
func TestTransientLogIsBounded(t *testing.T) {
	const rounds, batchOps = 100_000, 4096
	for _, threads := range []int{1, 3} {
		log := &oplog.Log{Transient: true}
		e := New(log, newMemories(), threads)
		grow(log, e, rounds)
		if len(log.Ops) > batchOps {
			t.Errorf("%d operations wait in the log, want at most %d", len(log.Ops), batchOps)
		}
		read := log.Add(oplog.Op{Kind: oplog.HostRead, PE: -1, Launch: -1, Mem: at(0, 4)})
		log.Effect(read, oplog.Read)
		flush(t, e)
		if got := numeric.Get(f32, result(e, read), 0); got != rounds {
			t.Errorf("counted to %v, want %v", got, rounds)
		}
		e.Forget(read)
		flush(t, e)
		if records := len(e.nodes.freeOps); e.nodes.live != 0 || records > 2*batchOps {
			t.Errorf("with %d threads there were %d records at a time, and %d are left, want at most %d and none", threads, records, e.nodes.live, 2*batchOps)
		}
		if n := len(e.queue.free); n > maxBatches+2 {
			t.Errorf("%d batches were in use at a time, want at most %d", n, maxBatches+2)
		}
	}
}

// checkIdle checks that no goroutine of the executor runs.
func checkIdle(t *testing.T, e *Executor) {
	t.Helper()
	e.queue.mu.Lock()
	defer e.queue.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.queue.running || e.workers > 0 || len(e.queue.batches) > 0 {
		t.Errorf("running %v, %d workers, %d batches, want none", e.queue.running, e.workers, len(e.queue.batches))
	}
}

// TestTransientLogEnds checks that after an interrupt, an error or Stop in the middle of a
// long log, appending does not block, Flush returns the error, and no goroutine is left.
func TestTransientLogEnds(t *testing.T) {
	interrupt := errors.New("interrupted")
	for _, threads := range []int{1, 3} {
		polls := 0
		log := &oplog.Log{Transient: true}
		e := newFineGrained(log, threads)
		e.Poll = func() error {
			if polls++; polls > 5 {
				return interrupt
			}
			return nil
		}
		grow(log, e, 30_000)
		for range 2 {
			if err := e.Flush(); err != interrupt {
				t.Errorf("Flush error %v, want %v", err, interrupt)
			}
		}
		checkIdle(t, e)

		log = &oplog.Log{Transient: true}
		e = newFineGrained(log, threads)
		grow(log, e, 2000)
		log.Effect(1, oplog.Read)
		grow(log, e, 30_000)
		const want = "operation 1: an effect names it; the log is damaged"
		if err := e.Flush(); err == nil || err.Error() != want {
			t.Errorf("Flush error %v, want %s", err, want)
		}
		checkIdle(t, e)

		log = &oplog.Log{Transient: true}
		e = newFineGrained(log, threads)
		grow(log, e, 30_000)
		e.Stop()
		checkIdle(t, e)
		grow(log, e, 30_000)
		if err := e.Flush(); err != errStopped {
			t.Errorf("Flush after Stop: error %v, want %v", err, errStopped)
		}
		checkIdle(t, e)
	}
}

// TestTransientValues checks that Value returns a tile that was not forgotten, and an error
// for a tile that was.
func TestTransientValues(t *testing.T) {
	log := &oplog.Log{Transient: true}
	e := New(log, newMemories(), 1)
	x := log.Add(oplog.Op{Kind: oplog.Full, DType: f32, Shape: shape(2), Fill: 3})
	wantValue(t, e, x, 3, 3)
	e.Forget(x)
	const want = "operation 1: its value is no longer there: ask before the tile is freed and its kernel ends"
	if _, err := e.Value(x); err == nil || err.Error() != want {
		t.Errorf("Value error %v, want %s", err, want)
	}
}

// BenchmarkTransient measures the time per operation from Add to the end of its execution,
// with 1 and 2 threads that compute.
func BenchmarkTransient(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(string(rune('0'+threads)), func(b *testing.B) {
			log := &oplog.Log{Transient: true}
			e := New(log, newMemories(), threads)
			e.Poll = func() error { return context.Cause(b.Context()) }
			b.ReportAllocs()
			for b.Loop() {
				grow(log, e, 100)
			}
			if err := e.Flush(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*400), "ns/operation")
		})
	}
}
