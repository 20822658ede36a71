package exec

import (
	"slices"
	"testing"

	"github.com/kernbench/kernbench/oplog"
)

// newFlushed returns an executor that has executed all operations of the builder's log.
func newFlushed(t *testing.T, b *builder) *Executor {
	t.Helper()
	e := New(&b.Log, newMemories(), 2)
	flush(t, e)
	return e
}

func flush(t interface {
	Helper()
	Fatal(...any)
}, e *Executor) {
	t.Helper()
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
}

func wantValue(t *testing.T, e *Executor, id oplog.ID, want ...float64) {
	t.Helper()
	got, err := e.Value(id)
	if err != nil || !slices.Equal(elements(f32, got), want) {
		t.Errorf("value of %s = %v, %v, want %v", e.describe(id), elements(f32, got), err, want)
	}
}

// wantGone checks that the value of operation id no longer exists.
func wantGone(t *testing.T, e *Executor, id oplog.ID) {
	t.Helper()
	want := e.log.Describe(id) + ": its value is no longer there: ask before the tile is freed and its kernel ends"
	if _, err := e.Value(id); err == nil || err.Error() != want {
		t.Errorf("Value error\n got %v\nwant %s", err, want)
	}
}

// TestForget checks that a forgotten value exists as long as operations that were logged
// before the call of Forget need it, and is released after that.
func TestForget(t *testing.T) {
	b := &builder{}
	x := b.tile(f32, shape(2), 1, 2)
	e := newFlushed(t, b)
	wantValue(t, e, x.From, 1, 2)
	store := b.op(oplog.Op{Kind: oplog.Store, DType: f32, Shape: shape(2), Mem: at(0, 8), Args: []oplog.Operand{x}})
	y := b.op(oplog.Op{Kind: oplog.Reshape, DType: f32, Shape: shape(2, 1), Args: []oplog.Operand{x}})
	e.Forget(x.From)
	flush(t, e)
	wantValue(t, e, x.From, 1, 2) // the store still needs it
	b.Effect(store, oplog.Write)
	id := b.read(0, 8)
	flush(t, e)
	if got := elements(f32, result(e, id)); !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("the store wrote %v, want [1 2]", got)
	}
	wantGone(t, e, x.From)
	wantValue(t, e, y, 1, 2) // the same bytes, but another tile
	e.Forget(y)
	wantGone(t, e, y)
	e.Forget(id)
	if got := e.Result(id); got != nil {
		t.Errorf("the result is still there: %v", got)
	}
	late := b.op(oplog.Op{Kind: oplog.Cast, DType: f32, Shape: shape(2), Args: []oplog.Operand{x}})
	want := e.log.Describe(late) + ": it uses the value of " + e.log.Describe(x.From) + ", which was forgotten; forget tiles after their last use, and receive a message once"
	if err := e.Flush(); err == nil || err.Error() != want {
		t.Errorf("Flush error\n got %v\nwant %s", err, want)
	}
}

// TestForgetKeepsMessages checks that Forget releases a tile, but neither messages nor
// other tiles.
func TestForgetKeepsMessages(t *testing.T) {
	b := &builder{}
	b.Launches = []oplog.Launch{{Name: "first"}, {Name: "second"}}
	full := func(launch int32, v float64) oplog.Operand {
		return tile(b.op(oplog.Op{Kind: oplog.Full, Launch: launch, DType: f32, Shape: shape(1), Fill: v}), f32, shape(1))
	}
	x, y := full(0, 1), full(1, 2)
	send := b.op(oplog.Op{Kind: oplog.Send, Args: []oplog.Operand{x}})
	e := newFlushed(t, b)
	e.Forget(x.From)
	wantGone(t, e, x.From)
	wantValue(t, e, y.From, 2)
	recv := b.op(oplog.Op{Kind: oplog.Recv, Launch: 1, DType: f32, Shape: shape(1), Args: []oplog.Operand{{From: send}}})
	wantValue(t, e, recv, 1)
	wantGone(t, e, send)
	e.Forget(recv)
	wantGone(t, e, recv)
}

// TestValueErrors checks the errors for operations without a value and for values that do
// not exist yet.
func TestValueErrors(t *testing.T) {
	b := &builder{}
	id := b.op(oplog.Op{Kind: oplog.Barrier})
	load := b.op(oplog.Op{Kind: oplog.Load, DType: f32, Mem: at(0, 4)})
	cast := b.op(oplog.Op{Kind: oplog.Cast, DType: f16, Args: []oplog.Operand{tile(load, f32, shape())}})
	e := New(&b.Log, newMemories(), 1)
	for id, want := range map[oplog.ID]string{
		id:   "operation 1 (Barrier on PE 0) has no value",
		9:    "operation 9 (not in the log, which has 3) has no value",
		cast: "operation 3 (Cast on PE 0): its value does not exist: the read of operation 2 (Load on PE 0) has not happened; let the simulation continue until it has",
	} {
		if _, err := e.Value(id); err == nil || err.Error() != want {
			t.Errorf("Value(%d) error\n got %v\nwant %s", id, err, want)
		}
	}
	b.Effect(load, oplog.Read)
	if got, err := e.Value(cast); err != nil || len(got) != 2 {
		t.Errorf("Value(%d) after the read = %v, %v, want 2 bytes", cast, got, err)
	}
}

// TestBuffersAreReused checks that the host memory of the executor is bounded by the values
// that exist at the same time, because buffers are reused.
func TestBuffersAreReused(t *testing.T) {
	const pes = 4
	e := New(vectorAdds(pes, 500, 64), newMemories(), 1)
	e.keepTiles = false
	flush(t, e)
	buffers := 0
	for _, list := range e.pool.free {
		buffers += len(list)
	}
	if most := 4 * pes; buffers > most {
		t.Errorf("%d operations took %d buffers, want at most %d: the tiles of a round", len(e.log.Ops), buffers, most)
	}
	if len(e.edges) > len(e.log.Ops)/10 || len(e.inputs) > 0 {
		t.Errorf("%d edges and %d inputs are left, want few and none", len(e.edges), len(e.inputs))
	}
}

// TestScratchTakesNoPages checks that zeroing a new scratch buffer allocates no pages of
// host memory.
func TestScratchTakesNoPages(t *testing.T) {
	b := &builder{}
	b.op(oplog.Op{Kind: oplog.Scratch, Mem: at(0, 1<<40)}, oplog.Write)
	mem := newMemories()
	e := New(&b.Log, mem, 1)
	flush(t, e)
	if got := mem(hbm).Resident(); got != 0 {
		t.Errorf("a TiB of scratch takes %v, want nothing", got)
	}
}

// TestReplayCompares checks that a replay reports a read of the host whose bytes do not
// match the recorded digest. A read without a digest must be counted as Unknown.
func TestReplayCompares(t *testing.T) {
	b := &builder{}
	b.host(0, f32, 1, 2, 3)
	good, bad := b.read(0, 4), b.read(4, 4)
	b.read(8, 4)
	b.Op(good).Digest, b.Op(bad).Digest = digest(values(f32, 1)), digest(values(f32, 1))
	r, err := Replay(t.Context(), &b.Log, 1)
	if err != nil || r.Reads != 3 || r.Unknown != 1 || !slices.Equal(r.Mismatched, []oplog.ID{bad}) {
		t.Errorf("Replay = %+v, %v, want 3 reads, 1 unknown, %d mismatched", r, err, bad)
	}
	if got := b.Op(bad).Digest; got != digest(values(f32, 1)) {
		t.Errorf("Replay changed a digest to %#x", got)
	}
}

// TestDigest checks that the digest is the 64-bit FNV-1a hash, so that other programs can
// compute it.
func TestDigest(t *testing.T) {
	for text, want := range map[string]uint64{"": 0xcbf29ce484222325, "a": 0xaf63dc4c8601ec8c} {
		if got := digest([]byte(text)); got != want {
			t.Errorf("digest(%q) = %#x, want %#x", text, got, want)
		}
	}
}
