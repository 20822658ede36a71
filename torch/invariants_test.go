package torch_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/kernbench/kernbench/internal/exec"
	"github.com/kernbench/kernbench/internal/hosted"
	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// Each test in this file checks one invariant of the design.

// TestSendCarriesItsSourceAtIssue checks that a message has the values that its source held
// when the send was issued, although the source is overwritten afterwards. In some cases
// the sender overwrites the source. In others, another PE does so after a notification from
// the sender. At that time the whole message, or its later fragments, may still wait for a
// free slot.
func TestSendCarriesItsSourceAtIssue(t *testing.T) {
	vec := func(n int) tl.Shape { return tl.Shape{n} }
	for _, c := range []struct {
		name   string
		n      int
		before int // messages that fill the queue
		ref    bool
		other  bool // another PE overwrites the source
	}{
		{"tile", 64, 0, false, false},
		{"Ref", 64, 0, true, false},
		{"tile behind a full queue", 64, 4, false, false},
		{"Ref behind a full queue", 64, 4, true, false},
		{"tile larger than the ring", 20_000, 0, false, false},
		{"Ref larger than the ring", 20_000, 0, true, false},
		{"Ref, overwritten by another PE", 64, 0, true, true},
		{"Ref of four slots, overwritten by another PE", 8192, 0, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := hostedtest.New(t, torch.Options{})
			x := l.Ints(lists.Count(0, 3*c.n), torch.I32, torch.On(0, 9, 100))
			y := l.MustZeros(torch.I32, torch.On(9), c.n)
			l.MustLaunch("snapshot", func(t *tl.PE, x, y tl.Ptr) {
				switch t.Rank() {
				case 0:
					for range c.before {
						t.Send(tl.East, t.Zeros(vec(1), tl.I32))
					}
					if c.ref {
						t.Send(tl.East, t.Ref(x, vec(c.n), tl.I32))
					} else {
						t.Send(tl.East, t.Load(x, vec(c.n), tl.I32))
					}
					if c.other {
						t.Notify(2, 0, tl.Set, 1)
					} else {
						t.Store(x, t.Full(vec(c.n), tl.I32, -1))
					}
				case 1:
					for range 2000 { // receive late
						t.Test(0, tl.EQ, -1)
					}
					for range c.before {
						t.Recv(tl.West, vec(1), tl.I32)
					}
					t.Store(y, t.Recv(tl.West, vec(c.n), tl.I32))
				case 2:
					if c.other {
						v := t.Full(vec(c.n), tl.I32, -1)
						t.WaitSignal(0, tl.EQ, 1)
						t.Put(0, x, v)
					}
				}
			}, x, y, torch.PEs(0, 9, 100), torch.Neighbors(torch.Line(0, 9)))
			l.Holds("received", y, lists.Count(0, c.n))
			l.Holds("left at the source", x, append(hostedtest.Fill(-1, c.n), lists.Count(c.n, 2*c.n)...))
		})
	}
}

// TestScratchNeverLeaksStaleBytes checks that new scratch memory reads as zero, even at an
// address where an earlier kernel has left values.
func TestScratchNeverLeaksStaleBytes(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	const n = 1000
	y := l.MustZeros(torch.I32, torch.On(0), 3, n)
	l.MustLaunch("leave", func(t *tl.PE, y tl.Ptr) {
		s := t.Scratch(tl.Shape{n}, tl.I32)
		t.Store(s, t.Full(tl.Shape{n}, tl.I32, 7))
		t.Store(y, t.Load(s, tl.Shape{n}, tl.I32))
	}, y)
	l.MustLaunch("find", func(t *tl.PE, y tl.Ptr) {
		small, large := t.Scratch(tl.Shape{10}, tl.I32), t.Scratch(tl.Shape{n}, tl.I32)
		t.Store(y.At(1), t.Load(large, tl.Shape{n}, tl.I32))
		t.Store(large, t.Full(tl.Shape{n}, tl.I32, 8))
		t.Store(y.At(2), t.Load(large, tl.Shape{n}, tl.I32))
		t.Store(y.At(2), t.Load(small, tl.Shape{10}, tl.I32))
	}, y)
	want := append(hostedtest.Fill(7, n), hostedtest.Fill(0, n)...)
	want = append(want, append(hostedtest.Fill(0, 10), hostedtest.Fill(8, n-10)...)...)
	l.Holds("scratch", y, want)
}

// everything uses memory in every way that a kernel can: loads, stores, scratch buffers,
// refs, messages, composites, Put and ReducePeers.
func everything(t *tl.PE, x, y tl.Ptr, n int) {
	right, left := (t.Rank()+1)%t.NumRanks(), (t.Rank()+t.NumRanks()-1)%t.NumRanks()
	sq := tl.Shape{n, n}
	s := t.Scratch(sq, tl.F16)
	a := t.Load(x, sq, tl.F16)
	t.Store(s, a.Mul(0.5))
	t.Send(tl.East, t.Ref(x, sq, tl.F16))
	t.RecvInto(tl.West, y, sq, tl.F16)
	t.Send(tl.East, a)
	b := t.Recv(tl.West, sq, tl.F16)
	t.Wait(t.Composite(tl.Gemm(t.Ref(s, sq, tl.F16), b, y), tl.Do(tl.OpMaximum, b), tl.Do(tl.OpAdd, a)))
	t.Wait(t.Composite(tl.Stream(tl.OpSub, y, t.Ref(y, sq, tl.F16), b)))
	t.Notify(left, 0, tl.Set, 1)
	t.WaitSignal(0, tl.EQ, 1) // the right neighbour has read its y
	t.Put(right, y, t.Load(y, sq, tl.F16).Add(a.Exp()))
	t.Notify(right, 1, tl.Set, 1)
	t.WaitSignal(1, tl.EQ, 1)
	t.Wait(t.Composite(tl.ReducePeers(tl.OpAdd, s, x, sq, tl.F16, left, t.Rank(), right)))
	t.Store(y, t.Load(y, sq, tl.F16).Softmax().To(tl.F16).Add(t.Load(s, sq, tl.F16)))
}

// runEverything runs the kernel `everything` on four PEs and returns the machine and the
// result.
func runEverything(t *testing.T, o torch.Options) (*hostedtest.Lab, *torch.Tensor) {
	t.Helper()
	const n = 48
	l := hostedtest.New(t, o)
	data := make([]int, 4*n*n)
	for i := range data {
		data[i] = i*7919%13 - 6
	}
	pes := []int{0, 1, 9, 130}
	x := l.Ints(data, torch.F16, torch.On(pes...), 4*n, n)
	y := l.MustZeros(torch.F16, torch.On(pes...), 4*n, n)
	l.MustLaunch("everything", everything, x, y, n, torch.Neighbors(torch.Ring(pes...)))
	return l, y
}

// TestTimingWritesNoTensorBytes checks that a run without values stores no tensor bytes,
// with an op log and without. Reading a tensor must then return an error.
func TestTimingWritesNoTensorBytes(t *testing.T) {
	for _, keep := range []bool{false, true} {
		l, y := runEverything(t, torch.Options{NoData: true, KeepLog: keep})
		if got := resident(l, l.AllPEs()...); got != 0 {
			t.Errorf("%v of values are held, want none (op log: %v)", got, keep)
		}
		if a, err := y.Numpy(); err == nil {
			t.Errorf("a tensor without values reads as %v, want an error", a.Float64s()[:4])
		}
	}
}

// TestTimeIsTheSameWithoutValues checks that a run takes the same simulated time with
// values and without.
func TestTimeIsTheSameWithoutValues(t *testing.T) {
	with, _ := runEverything(t, torch.Options{})
	without, _ := runEverything(t, torch.Options{NoData: true})
	if got, want := without.Crit(), with.Crit(); got != want {
		t.Errorf("the critical path is %v without values, want %v", got, want)
	}
}

// TestAnHBMOperandIsNeverReadFromTCM checks that a ref is read from its memory. Neither a
// tile that was loaded from the same memory before, nor data at the same address of the
// TCM, is used instead.
func TestAnHBMOperandIsNeverReadFromTCM(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	const n = 64
	x := l.Ints(hostedtest.Fill(1, n), torch.F32, torch.On(0)) // at address 0 of its memory
	y := l.MustZeros(torch.F32, torch.On(0), 4, n)
	z := l.MustZeros(torch.F32, torch.On(1), n)
	vec := tl.Shape{n}
	l.MustLaunch("refs", func(t *tl.PE, x, y, z tl.Ptr) {
		if t.Rank() == 1 {
			t.RecvInto(tl.West, z, vec, tl.F32)
			return
		}
		s := t.Scratch(vec, tl.F32) // at address 0 of the TCM
		t.Store(s, t.Full(vec, tl.F32, 9))
		old := t.Load(x, vec, tl.F32)
		t.Store(x, t.Full(vec, tl.F32, 2)) // the tile in TCM is older
		t.Wait(t.Composite(tl.Stream(tl.OpNeg, y, t.Ref(x, vec, tl.F32))))
		t.Wait(t.Composite(tl.Stream(tl.OpNeg, y.At(1), t.Ref(s, vec, tl.F32))))
		t.Wait(t.Composite(tl.Stream(tl.OpAdd, y.At(2), t.Ref(x, vec, tl.F32), old)))
		t.Store(y.At(3), t.Load(x, vec, tl.F32))
		t.Send(tl.East, t.Ref(x, vec, tl.F32))
	}, x, y, z, torch.Neighbors(torch.Line(0, 1)))
	want := append(hostedtest.Fill(-2, n), hostedtest.Fill(-9, n)...)
	want = append(want, append(hostedtest.Fill(3, n), hostedtest.Fill(2, n)...)...)
	l.Holds("refs", y, want)
	l.Holds("sent from memory", z, hostedtest.Fill(2, n))
}

// TestZerosNeedNoCopy checks that tensors from Zeros read as zero even where the memory
// held other values, and that making them takes no simulated time, copies nothing and
// stores no bytes.
func TestZerosNeedNoCopy(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	const n = 10 << 10 // a multiple of the page size of the simulated memories
	pes := []int{0, 9, 100}
	old := l.Ints(lists.Count(1, 3*n), torch.I32, torch.On(pes...))
	l.Holds("before", old, lists.Count(1, 3*n))
	if err := old.Free(); err != nil {
		t.Fatal(err)
	}
	began, ops := l.Now(), len(l.Log().Ops)
	x := l.MustZeros(torch.I32, torch.On(pes...), 3*n) // at the address of the freed tensor
	if took := l.Now() - began; took != 0 {
		t.Errorf("Zeros takes %v, want nothing", took)
	}
	for _, op := range l.Log().Ops[ops:] {
		if op.Kind != oplog.Zero || len(op.Data) > 0 {
			t.Errorf("Zeros makes a %v of %d bytes, want only Zero", op.Kind, len(op.Data))
		}
	}
	y := l.MustZeros(torch.I32, torch.On(pes...), 3*n)
	l.MustLaunch("copy", func(t *tl.PE, x, y tl.Ptr) {
		t.Store(y, t.Load(x, tl.Shape{n}, tl.I32).Add(5))
	}, x, y)
	l.Holds("read by kernels", y, hostedtest.Fill(5, 3*n))
	l.Holds("read by the host", x, hostedtest.Fill(0, 3*n))
	if err := y.Free(); err != nil {
		t.Fatal(err)
	}
	l.Holds("again", l.MustZeros(torch.I32, torch.On(pes...), 3*n), hostedtest.Fill(0, 3*n))
	if got := resident(l, l.AllPEs()...); got != 0 {
		t.Errorf("%v are held for tensors of zeros, want none", got)
	}
}

// TestValuesAreTheSameWithManyThreads checks that values are bitwise equal, and simulated
// times equal, for any number of threads and any GOMAXPROCS.
func TestValuesAreTheSameWithManyThreads(t *testing.T) {
	l, y := runEverything(t, torch.Options{Threads: 1})
	want, crit := bytesOf(l, y), l.Crit()
	if bytes.Count(want, []byte{0}) == len(want) {
		t.Fatal("all values are zero: that would show no difference")
	}
	for _, procs := range []int{1, 2} {
		for _, threads := range []int{1, 2, 3, 16} {
			old := runtime.GOMAXPROCS(procs)
			l, y := runEverything(t, torch.Options{Threads: threads})
			got := bytesOf(l, y)
			runtime.GOMAXPROCS(old)
			if !bytes.Equal(got, want) || l.Crit() != crit {
				t.Errorf("%d threads, GOMAXPROCS=%d: other values, or %v instead of %v", threads, procs, l.Crit(), crit)
			}
		}
	}
}

// TestAReplayedLogGivesTheSameBytes checks that the replay of a saved op log gives the
// bytes that the host read, with any number of threads, and that encoding the decoded log
// again gives the same file. If the input data in the log are changed, the replay must
// report a mismatch.
func TestAReplayedLogGivesTheSameBytes(t *testing.T) {
	l, y := runEverything(t, torch.Options{KeepLog: true})
	bytesOf(l, y)
	var file bytes.Buffer
	if err := oplog.Encode(&file, oplog.Header{Tool: "test"}, l.Log()); err != nil {
		t.Fatal(err)
	}
	_, log, err := oplog.Decode(t.Context(), bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := oplog.Encode(&again, oplog.Header{Tool: "test"}, log); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Bytes(), file.Bytes()) {
		t.Errorf("the log read back is another file, of %d bytes where %d are wanted", again.Len(), file.Len())
	}
	for _, threads := range []int{1, 2, 16} {
		r, err := exec.Replay(t.Context(), log, threads)
		if err != nil || r.Reads != 4 || r.Unknown != 0 || len(r.Mismatched) != 0 {
			t.Errorf("%d threads: %+v, %v, want 4 reads that all match", threads, r, err)
		}
	}
	for i := range log.Ops { // a replay with other input must not match
		if op := &log.Ops[i]; op.Kind == oplog.HostWrite {
			op.Data = bytes.Clone(op.Data)
			op.Data[0] ^= 64
		}
	}
	if r, err := exec.Replay(t.Context(), log, 1); err != nil || len(r.Mismatched) == 0 {
		t.Errorf("with other data: %+v, %v, want reads that do not match", r, err)
	}
}

// TestBufferKindsGiveTheSameValues checks that messages arrive unchanged, whichever memory
// holds the slots of the queues: TCM, SRAM or HBM.
func TestBufferKindsGiveTheSameValues(t *testing.T) {
	for _, kind := range topology.BufferKinds {
		l := hostedtest.New(t, torch.Options{})
		pes := []int{0, 9, 130}
		x := l.Ints(lists.Count(0, 3*3000), torch.I32, torch.On(pes...))
		l.MustLaunch("rotate", func(t *tl.PE, x tl.Ptr) {
			t.Send(tl.East, t.Load(x, tl.Shape{3000}, tl.I32))
			t.RecvInto(tl.West, x, tl.Shape{3000}, tl.I32)
		}, x, torch.Neighbors(torch.Ring(pes...)), torch.Buffers(kind))
		l.Holds(string(kind), x, append(lists.Count(6000, 3000), lists.Count(0, 6000)...))
	}
}

// bytesOf returns the values of x as bytes.
func bytesOf(l *hostedtest.Lab, x *torch.Tensor) []byte {
	l.T.Helper()
	a, err := x.Numpy()
	if err != nil {
		l.T.Fatal(err)
	}
	return a.Bytes
}

// resident returns the number of bytes of tensor values that this computer stores for the
// memories of the given PEs.
func resident(l *hostedtest.Lab, pes ...int) (n memory.Bytes) {
	for _, pe := range pes {
		p := hosted.Scheduler(l.Context).Machine.PE(machine.PEID(pe))
		for _, kind := range []topology.Kind{topology.KindHBM, topology.KindSRAM, topology.KindTCM} {
			n += hosted.Scheduler(l.Context).Machine.Memory(p.Memory(kind)).Store.Resident()
		}
	}
	return n
}
