package dist_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestPiecesOfViewsWithThreeAxes checks the result of Pieces for boxes in views with the
// axes s, b and h. Pieces treats such a view as a matrix of s·b rows and h columns. It must
// refuse a view in which the distance between consecutive rows varies.
func TestPiecesOfViewsWithThreeAxes(t *testing.T) {
	l := hostedtest.New(t, torch.Options{})
	x := l.Ints(lists.Count(0, 60), torch.I32, torch.On(0, 1), 5, 3, 4) // s of 0 to 2 on PE 0, 3 and 4 on PE 1
	base := x.Pieces(0, 0, 15, 4, 0)[0].Ptr.Addr
	for _, c := range []struct {
		name           string
		x              *torch.Tensor
		row, col, h, w int
		want           string // row, column, rows × columns, element of x, strides
	}{
		{"all", x, 0, 0, 15, 4, "0,0 15×4 at 0 by 4,1"},
		{"rows of both PEs", x, 7, 1, 4, 2, "7,1 4×2 at 29 by 4,1"},
		{"columns", x.Narrow(2, 1, 2), 4, 0, 3, 2, "4,0 3×2 at 17 by 4,1"},
		{"one of b", x.Narrow(1, 2, 1), 1, 0, 3, 4, "1,0 3×4 at 20 by 12,1"},
		{"one of b of one s", x.Narrow(1, 2, 1), 2, 1, 1, 3, "2,1 1×3 at 33 by 12,1"},
		{"of s", x.Narrow(0, 1, 3), 0, 0, 9, 4, "0,0 9×4 at 12 by 4,1"},
		{"a vector", x.View(60).Narrow(0, 7, 9), 0, 2, 1, 5, "0,2 1×5 at 9 by 9,1"},
	} {
		var got []string
		for _, p := range c.x.Pieces(c.row, c.col, c.h, c.w, 0) {
			got = append(got, fmt.Sprintf("%d,%d %d×%d at %d by %d,%d", p.Row, p.Col, p.Rows, p.Cols, (p.Ptr.Addr-base)/4, p.Ptr.Stride[0], p.Ptr.Stride[1]))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: got %s, want %s", c.name, text, c.want)
		}
	}
	err := hostedtest.Misuse(func() { x.Narrow(1, 0, 2).Pieces(0, 0, 10, 4, 0) })
	hostedtest.Says(t, "rows at two distances", err, "torch: Pieces: tensor 1[:, 0:2] [5 2 4] i32: what PE 0 holds, [0:3, 0:2, 0:4], is not a block of rows: place the tensor so that only its first and its last axis are cut")
}

// TestViewsThatOverlapInOneCall checks that a call is refused if its views share memory and
// the order in which the call uses them is not defined.
func TestViewsThatOverlapInOneCall(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(r *torch.Rank, a, b *torch.Tensor) error
		want string
	}{
		{"coalesced", func(r *torch.Rank, a, b *torch.Tensor) error {
			return dist.AllReduceCoalesced(r, []*torch.Tensor{a, b}, dist.SUM)
		}, "is used by an earlier collective of the same Coalescing, and these have no order"},
		{"to itself", func(r *torch.Rank, a, b *torch.Tensor) error {
			rank := dist.GetRank(r)
			return hostedtest.Second(dist.BatchISendIRecv(r, []dist.P2POp{{Kind: dist.Sends, Tensor: a, Peer: rank}, {Kind: dist.Recvs, Tensor: b, Peer: rank}}))
		}, "which share memory: receive into memory of its own"},
	} {
		for shift, refused := range map[int]bool{3: true, 6: false} {
			_, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
				x := torch.Must(r.FromSlice(lists.Count(0, 12), torch.I32, torch.Shape{12}))
				return c.call(r, x.Narrow(0, 0, 6), x.Narrow(0, shift, 6))
			})
			if got := err != nil && strings.Contains(err.Error(), c.want); got != refused {
				t.Errorf("%s, %d elements apart: got %v, want it refused: %v", c.name, shift, err, refused)
			}
		}
	}
}

// TestAllToAllOfViewsThatOverlap checks an all-to-all that sends blocks from memory that it
// also receives into. The all-to-all must first copy these blocks.
func TestAllToAllOfViewsThatOverlap(t *testing.T) {
	for shift := range 7 {
		l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
			rank := r.Rank()
			x := torch.Must(r.FromSlice(lists.Count(100*rank, 12), torch.I32, torch.Shape{12}))
			torch.OK(dist.AllToAllSingle(r, x.Narrow(0, 0, 6), x.Narrow(0, shift, 6), nil, nil))
			want := lists.Count(100*rank, 12)
			for from := range 3 {
				copy(want[2*from:], lists.Count(100*from+shift+2*rank, 2))
			}
			return r.Check(fmt.Sprintf("%d elements apart, rank %d", shift, rank), x, want)
		})
		if err != nil || !l.Checks().OK() || len(l.Checks()) != 3 {
			t.Errorf("%d elements apart: error %v, checks %+v", shift, err, l.Checks())
		}
	}
}

// TestOverlapsBetweenLanes checks a message of a rank to itself, and an all-to-all of one
// rank, on slices of a tensor on several PEs. If the slice to send and the slice to receive
// into overlap but are not the same, the call must be refused: one PE would overwrite data
// before another PE has sent it.
func TestOverlapsBetweenLanes(t *testing.T) {
	const n = 20
	for _, c := range []struct {
		name string
		call func(r *torch.Rank, a, b *torch.Tensor) error
		want string
	}{
		{"to itself", func(r *torch.Rank, a, b *torch.Tensor) error {
			return hostedtest.Second(dist.BatchISendIRecv(r, []dist.P2POp{{Kind: dist.Sends, Tensor: a}, {Kind: dist.Recvs, Tensor: b}}))
		}, "rank 0: message from rank 0 to rank 0: tensor 1[%d:%d] [40] i32 is sent and tensor 1[%d:%d] [40] i32 received into, which share memory: receive into memory of its own"},
		{"all to all", func(r *torch.Rank, a, b *torch.Tensor) error {
			return dist.AllToAllSingle(r, b, a, nil, nil)
		}, "rank 0: all_to_all 1 of the default group: rank 0 sends tensor 1[%d:%d] [40] i32 and receives into tensor 1[%d:%d] [40] i32, which share memory: they may do so where the block of the rank is, and nowhere else"},
	} {
		for _, from := range [][2]int{{n / 2, 3 * n / 2}, {3 * n / 2, n / 2}, {0, n}} {
			_, err := hostedtest.Spawn(t, 1, func(r *torch.Rank) error {
				x := torch.Must(r.FromSlice(lists.Count(0, 4*n), torch.I32, torch.Shape{4 * n}, torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 4}))
				return c.call(r, x.Narrow(0, from[0], 2*n), x.Narrow(0, from[1], 2*n))
			})
			hostedtest.Says(t, c.name, err, fmt.Sprintf(c.want, from[0], from[0]+2*n, from[1], from[1]+2*n))
		}
		l, err := hostedtest.Spawn(t, 1, func(r *torch.Rank) error {
			x := torch.Must(r.FromSlice(lists.Count(0, 4*n), torch.I32, torch.Shape{4 * n}, torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 4}))
			torch.OK(errors.Join(c.call(r, x.Narrow(0, 0, n), x.Narrow(0, n, n)), c.call(r, x.Narrow(0, 5, n), x.Narrow(0, 5, n)), c.call(r, x, x), r.Synchronize()))
			return r.Check("", x, slices.Concat(lists.Count(0, n), lists.Count(0, n), lists.Count(2*n, 2*n)))
		})
		if err != nil || !l.Checks().OK() || len(l.Checks()) != 1 {
			t.Errorf("%s of slices that do not overlap, or are the same: error %v, checks %+v", c.name, err, l.Checks())
		}
	}
}

// TestViewsOfPrograms checks collectives and messages of views, in a program without Spawn.
// A view consists of some columns of a matrix that has one row for each rank. So each rank
// exchanges a slice of its row.
func TestViewsOfPrograms(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	torch.OK(dist.InitProcessGroup(l.Rank, "ahbm"))
	ws := dist.GetWorldSize(l.Rank)
	x := l.Ints(lists.Count(0, ws*7), torch.I32, torch.On(dist.PEs(l.Rank)...), ws, 7)
	torch.OK(dist.AllReduce(l.Rank, x.Narrow(1, 2, 4), dist.SUM))
	want := lists.Count(0, ws*7)
	for i := range want {
		if col := i % 7; col >= 2 && col < 6 {
			want[i] = 7*ws*(ws-1)/2 + ws*col
		}
	}
	l.Holds("all_reduce", x, want)
	torch.OK(dist.Broadcast(l.Rank, x.Select(1, 0).View(ws, 1), 3))
	for rank := range ws {
		want[rank*7] = 21
	}
	l.Holds("broadcast", x, want)
	// Two ends of a message on slices of one tensor do not wait for each other.
	works := torch.Must(dist.BatchISendIRecv(l.Rank, []dist.P2POp{
		{Kind: dist.Sends, Tensor: x.Narrow(1, 0, 2), Rank: 4, Peer: 9},
		{Kind: dist.Recvs, Tensor: x.Narrow(1, 5, 2), Rank: 4, Peer: 9},
		{Kind: dist.Sends, Tensor: x.Narrow(1, 0, 2), Rank: 9, Peer: 4},
		{Kind: dist.Recvs, Tensor: x.Narrow(1, 5, 2), Rank: 9, Peer: 4},
	}))
	for _, w := range works {
		torch.OK(w.Wait())
	}
	if got, want := dist.Last(l.Context).Name, "message from rank 9 to rank 4 and 1 more"; got != want {
		t.Errorf("the last program is %q, want %q", got, want)
	}
	copy(want[4*7+5:], []int{want[9*7], want[9*7+1]})
	copy(want[9*7+5:], []int{want[4*7], want[4*7+1]})
	l.Holds("messages", x, want)
}
