package torch_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestEastAndWestMayBeTheSamePeer checks that messages in both directions stay separate in
// a ring of two ranks, where each rank is the other's east and west neighbour.
func TestEastAndWestMayBeTheSamePeer(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	const n, rounds = 64, 10
	x := l.Ints(lists.Count(0, 2*n), torch.I32, torch.On(0, 9))
	y := l.MustZeros(torch.I32, torch.On(0, 9), 2*rounds, 2, n)
	vec := tl.Shape{n}
	l.MustLaunch("both ways", func(t *tl.PE, x, y tl.Ptr) {
		v := t.Load(x, vec, tl.I32)
		for i := range rounds {
			t.Send(tl.East, v.Add(1000*i))
			t.Send(tl.West, v.Add(1000*i+500))
			t.Store(y.At(i, 0), t.Recv(tl.West, vec, tl.I32)) // the peer's east
			t.Store(y.At(i, 1), t.Recv(tl.East, vec, tl.I32)) // the peer's west
		}
	}, x, y, torch.Neighbors(torch.Ring(0, 9)))
	var want []int
	for rank := range 2 {
		for i := range rounds {
			want = append(want, lists.Count((1-rank)*n+1000*i, n)...)
			want = append(want, lists.Count((1-rank)*n+1000*i+500, n)...)
		}
	}
	l.Holds("received", y, want)
}

// TestMessagesOfAnySizeArrive checks that messages of several sizes and dtypes arrive
// unchanged: empty, of odd size, of several slots, and larger than the queue.
func TestMessagesOfAnySizeArrive(t *testing.T) {
	for _, dtype := range []torch.DType{torch.I8, torch.F16, torch.I32, torch.F64} {
		for _, n := range []int{0, 1, 3, 511, 2049, 5000, 20_001} {
			l := hostedtest.New(t, torch.Options{})
			var data []int
			for i := range n {
				data = append(data, i%97)
			}
			x := l.Ints(data, dtype, torch.On(0))
			y := l.MustZeros(dtype, torch.On(100), max(1, n))
			l.MustLaunch("send", func(t *tl.PE, x, y tl.Ptr) {
				if t.Rank() == 0 {
					t.Send(tl.East, t.Load(x, tl.Shape{n}, dtype))
					t.Send(tl.East, t.Zeros(tl.Shape{0}, dtype))
				} else {
					t.Store(y, t.Recv(tl.West, tl.Shape{n}, dtype))
					t.Recv(tl.West, tl.Shape{0}, dtype)
				}
			}, x, y, torch.PEs(0, 100), torch.Neighbors(torch.Line(0, 100)))
			if n > 0 {
				l.Holds(fmt.Sprintf("%d elements of %v", n, dtype), y, data)
			}
		}
	}
}

// TestRecvIntoWritesRowsWhereTheyBelong checks that RecvInto writes the rows of a message
// to the memory that its pointer describes, and nothing else. The rows may have gaps
// between them, and the message may have any number of fragments.
func TestRecvIntoWritesRowsWhereTheyBelong(t *testing.T) {
	for _, c := range []struct{ row, col, rows, cols int }{
		{0, 0, 40, 60}, {3, 0, 5, 60}, {0, 7, 40, 50}, {1, 59, 39, 1}, {5, 5, 1, 1}, {2, 3, 0, 4},
	} {
		l := hostedtest.New(t, torch.Options{})
		x := l.Ints(lists.Count(1, c.rows*c.cols), torch.F32, torch.On(0), c.rows, c.cols)
		y := l.Ints(hostedtest.Fill(-1, 40*60), torch.F32, torch.On(1), 40, 60)
		shape := tl.Shape{c.rows, c.cols}
		l.MustLaunch("into", func(t *tl.PE, x, y tl.Ptr) {
			if t.Rank() == 0 {
				t.Send(tl.East, t.Load(x, shape, tl.F32))
			} else {
				t.RecvInto(tl.West, y.At(c.row, c.col), shape, tl.F32)
			}
		}, x, y, torch.PEs(0, 1), torch.Neighbors(torch.Line(0, 1)))
		want := hostedtest.Fill(-1, 40*60)
		for i := range c.rows {
			copy(want[(c.row+i)*60+c.col:], lists.Count(1+i*c.cols, c.cols))
		}
		l.Holds(fmt.Sprintf("%+v", c), y, want)
	}
}

// TestRecvAnyGivesThePortsMessage checks that RecvAny returns a message and the port that
// it came from.
func TestRecvAnyGivesThePortsMessage(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	const n, each = 16, 7
	ports := []tl.Port{tl.North, tl.South, tl.East}
	x := l.MustZeros(torch.I32, torch.On(0), 3*each, n)
	var table []torch.Connection
	for i, p := range ports {
		table = append(table, torch.Connection{A: 0, APort: p, B: 10 * (i + 1), BPort: tl.Parent})
	}
	var taken []tl.Port
	l.MustLaunch("gather", func(t *tl.PE, x tl.Ptr) {
		if t.Rank() > 0 {
			for i := range each {
				t.Send(tl.Parent, t.Full(tl.Shape{n}, tl.I32, float64(100*t.Rank()+i)))
			}
			return
		}
		for i := range 3 * each {
			v, port := t.RecvAny(tl.Shape{n}, tl.I32)
			taken = append(taken, port)
			t.Store(x.At(i), v)
		}
	}, x, torch.PEs(0, 10, 20, 30), torch.Neighbors(table))
	var want []int
	next := map[tl.Port]int{}
	for _, p := range taken {
		want = append(want, hostedtest.Fill(100*(1+slices.Index(ports, p))+next[p], n)...)
		next[p]++
	}
	l.Holds("taken", x, want)
}

// TestReceiverSeesEarlierStores checks that after a Recv, the receiver sees everything that
// the sender stored before the Send, both in the receiver's memory and in the sender's
// memory.
func TestReceiverSeesEarlierStores(t *testing.T) {
	l := hostedtest.New(t, torch.Options{Race: true})
	const n, rounds = 5000, 8
	x := l.MustZeros(torch.I32, torch.OnEach(0, 100), n)
	y := l.MustZeros(torch.I32, torch.On(100), 2*rounds, n)
	vec := tl.Shape{n}
	l.MustLaunch("publish", func(t *tl.PE, x, y tl.Ptr) {
		for i := range rounds {
			if t.Rank() == 0 {
				t.Store(x, t.Full(vec, tl.I32, float64(i)))
				t.Put(1, x, t.Full(vec, tl.I32, float64(-i)))
				t.Send(tl.East, t.Zeros(tl.Shape{1}, tl.U8))
				t.Recv(tl.East, tl.Shape{0}, tl.U8) // the receiver has read
				continue
			}
			t.Recv(tl.West, tl.Shape{1}, tl.U8)
			t.Store(y.At(2*i), t.Get(0, x, vec, tl.I32))
			t.Store(y.At(2*i+1), t.Load(x, vec, tl.I32))
			t.Send(tl.West, t.Zeros(tl.Shape{0}, tl.U8))
		}
	}, x, y, torch.PEs(0, 100), torch.Neighbors(torch.Line(0, 100)))
	var want []int
	for i := range rounds {
		want = append(append(want, hostedtest.Fill(i, n)...), hostedtest.Fill(-i, n)...)
	}
	l.Holds("seen", y, want)
}

// TestWaiterSeesEarlierPuts checks that after a WaitSignal, a PE sees everything that was
// put before the notification.
func TestWaiterSeesEarlierPuts(t *testing.T) {
	l := hostedtest.New(t, torch.Options{Race: true})
	const n, rounds = 5000, 8
	pes := []int{0, 9, 100, 130}
	x := l.MustZeros(torch.I32, torch.On(pes...), 4*n)
	y := l.MustZeros(torch.I32, torch.On(pes...), 4*rounds, n)
	vec := tl.Shape{n}
	l.MustLaunch("rounds", func(t *tl.PE, x, y tl.Ptr) {
		right, left := (t.Rank()+1)%4, (t.Rank()+3)%4
		for i := range rounds {
			t.Put(right, x, t.Full(vec, tl.I32, float64(100*i+t.Rank())))
			t.Notify(right, 0, tl.Add, 1)
			t.WaitSignal(0, tl.GE, i+1)
			t.Store(y.At(i), t.Load(x, vec, tl.I32))
			t.Notify(left, 1, tl.Set, i+1) // the left neighbour may put again
			t.WaitSignal(1, tl.GE, i+1)
		}
	}, x, y)
	var want []int
	for rank := range 4 {
		for i := range rounds {
			want = append(want, hostedtest.Fill(100*i+(rank+3)%4, n)...)
		}
	}
	l.Holds("seen", y, want)
}

// TestNeighborsMustExist checks that a neighbour table with a PE outside the system is
// refused. That includes PE numbers of more than 32 bits whose lower 32 bits are the number
// of a PE.
func TestNeighborsMustExist(t *testing.T) {
	for _, pe := range []int{-1, 256, 1<<32 + 1, -1 << 32} {
		l := hostedtest.New(t, torch.Options{})
		want := fmt.Sprintf("torch: Launch: the neighbour table of k names PE %d of a system that has 0 to 255", pe)
		for _, link := range []torch.Connection{{A: 0, APort: tl.East, B: pe, BPort: tl.West}, {A: pe, APort: tl.East, B: 0, BPort: tl.West}} {
			func() {
				defer func() {
					if err, _ := recover().(error); err == nil || err.Error() != want {
						t.Errorf("%v: panic with %v, want %s", link, err, want)
					}
				}()
				try(l, "k", func(*tl.PE) {}, torch.PEs(0, 1), torch.Neighbors([]torch.Connection{link}))
			}()
		}
	}
}
