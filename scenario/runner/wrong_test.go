package runner_test

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/scenario/runner"
	"github.com/kernbench/kernbench/tl"
)

// copyX copies x to `out`.
func copyX(t *tl.PE, x, out tl.Ptr) {
	t.Store(out, t.Load(x, tl.Shape{4}, tl.F32))
}

func init() {
	registerProbe("probe_golden", "", "", `"func:off"`, copyX)
	scenario.RegisterGolden("off", func(e scenario.Env, out []float64) error {
		for i := range out {
			out[i] = float64(i + 10*e.Rank + 100*e.Round)
			switch {
			case e.Rank == 0 && (i == 1 || i == 2):
				out[i] += float64(i)
			case e.Rank == 1 && e.Round == 0 && i == 3:
				out[i] += 1.0 / (1 << 20)
			}
		}
		return nil
	})
	registerProbe("probe_misuse", "", "", "0", func(t *tl.PE, x, out tl.Ptr) {
		if t.Rank() == 1 {
			t.Load(x, tl.Shape{4}, tl.F16)
		}
	})
	registerProbe("probe_panic", "", "", "0", func(t *tl.PE, x, out tl.Ptr) {
		if t.Rank() == 1 {
			panic("no luck")
		}
		t.WaitSignal(0, tl.EQ, 1)
	})
	registerProbe("probe_signal", "", "", "0", func(t *tl.PE, x, out tl.Ptr) {
		if t.Rank() == 1 {
			t.Notify(0, 2, tl.Set, 1)
		}
	})
	registerProbe("probe_stuck", "", "", "0", func(t *tl.PE, x, out tl.Ptr) { t.WaitSignal(0, tl.EQ, 1) })
	registerProbe("probe_beyond", "", "", "0", func(t *tl.PE, x, out tl.Ptr) {
		if t.Rank() == 0 { // on the simulated machine, x of rank 1 follows x of rank 0
			t.Load(x.At(2), tl.Shape{4}, tl.F32)
		}
	})
	registerProbe("probe_device", "", "", "0", func(t *tl.PE, x, out tl.Ptr) {
		if t.Rank() == 1 {
			t.Put(0, out, t.Load(x, tl.Shape{4}, tl.F32))
		}
	})
	registerProbe("probe_context", "", ", deviceCtx, rank, round, device", "i", func(t *tl.PE, x, out tl.Ptr, ctx comm.Context, rank, round, device int) {
		t.Assert(ctx.Rank == rank && ctx.Ranks == 2 && len(ctx.Base) == 2 && rank == t.Rank() && round == 0, "%+v, rank %d, round %d", ctx, rank, round)
		t.Assert(device == 1-rank, "device %d of rank %d", device, rank)
		t.Store(out, t.Arange(4, tl.F32))
	})
	registerProbe("probe_member", "  - {name: mine, dtype: f32, shape: [4], placement: device, domain: one}\ndomains: {one: [1]}\n", `, mine, "domain:one"`, "0", func(t *tl.PE, x, out, mine tl.Ptr, d scenario.Domain) {
		t.Store(mine, t.Load(x, tl.Shape{4}, tl.F32))
	})
	registerProbe("probe_print", "", "", "0", func(t *tl.PE, x, out tl.Ptr) {
		t.Printf("hello from %d", t.Rank())
		t.Store(out, t.Zeros(tl.Shape{4}, tl.F32))
	})
	registerProbe("probe_hasty", "  - {name: flag, dtype: f32, shape: [1], placement: device, init: \"func:staged\"}\n", ", flag", "i + 10*(1 - rank) + 100*round", copyWithoutBarrier)
	scenario.RegisterInput("staged", func(e scenario.Env, _ []float64) error {
		if e.Rank == 0 && e.Round == 1 {
			close(stagedAgain) // inputs are written in order: x of rank 0 has its values of round 1
		}
		return nil
	})
}

// stagedAgain is closed when rank 0 has its inputs of round 1.
var stagedAgain chan struct{}

// copyWithoutBarrier copies x of the other rank and ends. It does not wait until the other
// rank has copied, which is a mistake. Rank 1 copies only after rank 0 has written the
// inputs of round 1.
func copyWithoutBarrier(t *tl.PE, x, out, _ tl.Ptr) {
	t.Notify(1-t.Rank(), 0, tl.Set, 1)
	t.WaitSignal(0, tl.EQ, 1)
	if t.Rank() == 1 {
		<-stagedAgain
	}
	t.Store(out, t.Get(1-t.Rank(), x, tl.Shape{4}, tl.F32))
}

// TestWrongGolden checks that the report lists all wrong elements as spans, each with the
// element that has the largest error.
func TestWrongGolden(t *testing.T) {
	want := []runner.Mismatch{
		{Rank: 0, Round: 0, Buffer: "out", First: 1, Last: 2, Worst: 1, Got: "1", Want: "2", ULP: 1 << 23},
		{Rank: 0, Round: 1, Buffer: "out", First: 1, Last: 2, Worst: 2, Got: "102", Want: "104", ULP: 2 << 17},
		{Rank: 1, Round: 0, Buffer: "out", First: 3, Last: 3, Worst: 3, Got: "13", Want: "13.000001", ULP: 1},
	}
	for _, backend := range runner.Backends {
		o := runner.Options{Scenario: "probe_golden", Backend: backend}
		o.Rounds = 2
		r := run(t, o)
		if diff := cmp.Diff(want, r.Mismatches); diff != "" || r.OK || r.Compared != 16 || r.Wrong != 5 || r.Spans != 3 {
			t.Errorf("%s: ok %v, %d of %d wrong in %d spans (-want +got):\n%s", backend, r.OK, r.Wrong, r.Compared, r.Spans, diff)
		}
	}
	if got, want := want[0].String(), "rank 0, round 0: out[1..2] is wrong, worst at 1: 1, want 2 (8388608 ulp)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := want[2].String(), "rank 1, round 0: out[3] is 13, want 13.000001 (1 ulp)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestMissingBarrier checks that a run of several rounds finds wrong values if the kernel
// of a rank ends while another rank still reads the window of that rank.
func TestMissingBarrier(t *testing.T) {
	stagedAgain = make(chan struct{})
	o := runner.Options{Scenario: "probe_hasty", Backend: runner.InProc}
	o.Rounds = 2
	r := run(t, o)
	want := []runner.Mismatch{{Rank: 1, Round: 0, Buffer: "out", First: 0, Last: 3, Worst: 0, Got: "100", Want: "0", ULP: 0x42c80000}}
	if diff := cmp.Diff(want, r.Mismatches); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

var lineNumber = regexp.MustCompile(`\.go:\d+`)

// TestFailures checks the errors of kernels that fail, on every backend.
func TestFailures(t *testing.T) {
	for _, tt := range []struct{ scenario, simulated, real string }{
		{
			"probe_misuse",
			"kernel probe_misuse on sip1.cube0.pe0: Load([4] f16) at wrong_test.go:NN: the pointer is to f32: use that dtype and convert with To, or reinterpret memory with As",
			"kernel probe_misuse on rank 1: Load([4] f16) at wrong_test.go:NN: the pointer is to f32: use that dtype and convert with To, or reinterpret memory with As",
		},
		{
			"probe_panic",
			"kernel probe_panic on sip1.cube0.pe0: panic at wrong_test.go:NN: no luck",
			"kernel probe_panic on rank 1: panic at wrong_test.go:NN: no luck",
		},
		{
			"probe_signal",
			"kernel probe_signal on sip1.cube0.pe0: Notify(rank 0, signal 2) at wrong_test.go:NN: no signal 2: this kernel has 0 to 1; a scenario says how many with signals: 3",
			"kernel probe_signal on rank 1: Notify(rank 0, signal 2) at wrong_test.go:NN: no signal 2: this kernel has 0 to 1; a scenario says how many with signals: 3",
		},
		{
			"probe_beyond",
			"kernel probe_beyond on sip0.cube0.pe0: Load([4] f32) at wrong_test.go:NN: bytes 8 to 24 are not all in x [4] f32, which has 16: move the pointer, or mask what lies beyond",
			"kernel probe_beyond on rank 0: Load([4] f32) at wrong_test.go:NN: bytes 8 to 24 are not all in x [4] f32, which has 16: move the pointer, or mask what lies beyond",
		},
		{
			"probe_device",
			"kernel probe_device on sip1.cube0.pe0: Put(rank 0, [4] f32) at wrong_test.go:NN: the pointer is into no window",
			"kernel probe_device on rank 1: Put(rank 0, [4] f32) at wrong_test.go:NN: out [4] f32 is memory of this rank's own",
		},
		{
			"probe_member",
			"kernel probe_member on sip0.cube0.pe0: Store([4] f32) at wrong_test.go:NN: this rank has no such buffer: it belongs to a domain without this rank",
			"kernel probe_member on rank 0: Store([4] f32) at wrong_test.go:NN: axis 0 of the block",
		},
	} {
		for _, backend := range runner.Backends {
			want := tt.real
			if backend == runner.Sim {
				want = tt.simulated
			}
			_, err := runner.Run(t.Context(), runner.Options{Scenario: tt.scenario, Backend: backend})
			var failed *runner.RankError
			if !errors.As(err, &failed) {
				t.Errorf("%s on %s: got %v, want a RankError", tt.scenario, backend, err)
				continue
			}
			if got := lineNumber.ReplaceAllString(err.Error(), ".go:NN"); !strings.Contains(got, want) {
				t.Errorf("%s on %s: got %s, want %s", tt.scenario, backend, got, want)
			}
		}
	}
}

// TestStuck checks the error when all ranks wait forever. The simulated machine stops them
// at once, and the timeout stops them on other backends.
func TestStuck(t *testing.T) {
	for _, tt := range []struct {
		backend string
		timeout time.Duration
		want    string
	}{
		{runner.Sim, time.Minute, "probe_stuck@sip1.cube0.pe0 waits for signal 0 EQ 1"},
		{runner.InProc, 50 * time.Millisecond, "not done within 50ms"},
		{runner.SHM, 50 * time.Millisecond, "not done within 50ms"},
	} {
		_, err := runner.Run(t.Context(), runner.Options{Scenario: "probe_stuck", Backend: tt.backend, Timeout: tt.timeout})
		var failed *runner.RankError
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want a RankError with %s", tt.backend, err, tt.want)
		}
	}
}

// TestDeadlock checks that inproc and shm detect that all ranks wait forever, without a
// timeout.
func TestDeadlock(t *testing.T) {
	for _, backend := range []string{runner.InProc, runner.SHM} {
		_, err := runner.Run(t.Context(), runner.Options{Scenario: "probe_stuck", Backend: backend})
		const want = "a deadlock, every rank waits: rank 0: wait, signal 0 EQ 1; rank 1: wait, signal 0 EQ 1"
		var failed *runner.RankError
		if !errors.As(err, &failed) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want a RankError that ends with %s", backend, err, want)
		}
	}
}

// TestSpecialValues checks that a kernel gets the values of the arguments deviceCtx, rank,
// round and device.
func TestSpecialValues(t *testing.T) {
	for _, backend := range runner.Backends {
		o := runner.Options{Scenario: "probe_context", Backend: backend}
		o.Devices = "1,0"
		runRight(t, o)
	}
}

// TestPrint checks that the text that a kernel prints is written together with the PE or
// the rank that prints it.
func TestPrint(t *testing.T) {
	for backend, want := range map[string]string{
		runner.Sim:    "sip1.cube0.pe0",
		runner.InProc: "[rank 1 ",
		runner.SHM:    "[rank 1 ",
	} {
		var said bytes.Buffer
		runRight(t, runner.Options{Scenario: "probe_print", Backend: backend, Print: &said})
		if got := said.String(); !strings.Contains(got, want) || strings.Count(got, "hello from") != 2 {
			t.Errorf("%s: got %q, want %s", backend, got, want)
		}
	}
}
