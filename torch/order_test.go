package torch_test

import (
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// bothFidelities calls `test` in two subtests: with fidelity train and with fidelity flit.
func bothFidelities(t *testing.T, test func(t *testing.T, o torch.Options)) {
	t.Run("train", func(t *testing.T) { test(t, torch.Options{}) })
	t.Run("flit", func(t *testing.T) { test(t, torch.Options{Flit: true}) })
}

// TestACompositeSeesEarlierStoresToAllOfItsOperands checks that a composite, which reads
// its operands tile by tile, sees earlier stores that may still be in flight when it
// starts.
func TestACompositeSeesEarlierStoresToAllOfItsOperands(t *testing.T) {
	bothFidelities(t, func(t *testing.T, o torch.Options) {
		const n = 128
		l := hostedtest.New(t, o)
		x := l.Ints(hostedtest.Fill(2, n*n), torch.F32, torch.On(0), n, n)
		b := l.Ints(hostedtest.Fill(0, n*n), torch.F32, torch.On(0), n, n)
		z := l.Ints(hostedtest.Fill(0, n*n), torch.F32, torch.On(0), n, n)
		l.MustLaunch("product", func(t *tl.PE, x, b, z tl.Ptr) {
			for i := 0; i < n; i += 32 {
				t.Store(b.At(i, 0), t.Load(x.At(i, 0), tl.Shape{32, n}, tl.F32).Add(1))
			}
			all := tl.Shape{n, n}
			t.Wait(t.Composite(tl.Gemm(t.Ref(x, all, tl.F32), t.Ref(b, all, tl.F32), z)))
		}, x, b, z)
		l.Holds("z", z, hostedtest.Fill(2*3*n, n*n))
	})
}

// TestLargeMessagesToAndFromMemoryKeepProgramOrder checks that a message of several slots
// is one access to the memory that it is sent from or received into: later operations see
// all of it or none.
func TestLargeMessagesToAndFromMemoryKeepProgramOrder(t *testing.T) {
	bothFidelities(t, func(t *testing.T, o torch.Options) {
		const n = 3000
		l := hostedtest.New(t, o)
		x := l.Ints(append(lists.Count(0, n), lists.Count(n, n)...), torch.F32, torch.On(0, 1), 2*n)
		first := l.Ints(hostedtest.Fill(0, 200), torch.F32, torch.On(0, 1), 200)
		l.MustLaunch("exchange", func(t *tl.PE, x, first tl.Ptr) {
			if t.Rank() == 0 {
				t.Send(tl.East, t.Ref(x, tl.Shape{n}, tl.F32))
				t.Store(x, t.Full(tl.Shape{n}, tl.F32, -1)) // does not change the message
			} else {
				t.RecvInto(tl.West, x, tl.Shape{n}, tl.F32)
				t.Store(first, t.Load(x, tl.Shape{100}, tl.F32))
				t.Store(x.At(n-1), t.Load(x.At(n-2), tl.Shape{1}, tl.F32))
			}
		}, x, first, torch.Neighbors(torch.Line(0, 1)))
		want := append(hostedtest.Fill(-1, n), lists.Count(0, n)...)
		want[2*n-1] = n - 2
		l.Holds("x", x, want)
		l.Holds("first", first, append(hostedtest.Fill(0, 100), lists.Count(0, 100)...))
	})
}

// TestACompositeOverItsOwnOperandsIsRefused checks that a composite may work in place
// element by element, but is refused if its result overlaps an operand in another way.
func TestACompositeOverItsOwnOperandsIsRefused(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	x := l.Ints(hostedtest.Fill(1, 64*64), torch.F32, torch.On(0), 64, 64)
	l.MustLaunch("in place", func(t *tl.PE, x tl.Ptr) {
		t.Wait(t.Composite(tl.Stream(tl.OpAdd, x, t.Ref(x, tl.Shape{64, 64}, tl.F32), 1)))
	}, x)
	l.Holds("x", x, hostedtest.Fill(2, 64*64))
	err := try(l, "square", func(t *tl.PE, x tl.Ptr) {
		r := t.Ref(x, tl.Shape{64, 64}, tl.F32)
		t.Composite(tl.Gemm(r, r, x))
	}, x)
	if want := "the result overlaps an operand in memory"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}
