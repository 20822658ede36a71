package torch_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestViewsAsInPyTorch checks that views of arange(24).view(4, 6) have the same shapes and
// elements as in PyTorch.
func TestViewsAsInPyTorch(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	x := l.Ints(lists.Count(0, 24), torch.I32, torch.On(1), 4, 6)
	sizes := func(list []*torch.Tensor) (text string) {
		for _, y := range list {
			text += y.Shape().String()
		}
		return text
	}
	for _, c := range []struct {
		y           *torch.Tensor
		shape, want string
	}{
		{x.View(-1), "[24]", ""},
		{x.View(2, -1, 3), "[2 4 3]", ""},
		{x.View(2, 2, 6).Select(1, -1), "[2 6]", "[[6, 7, 8, 9, 10, 11], [18, 19, 20, 21, 22, 23]]"},
		{x.Narrow(0, 1, 2), "[2 6]", "[[6, 7, 8, 9, 10, 11], [12, 13, 14, 15, 16, 17]]"},
		{x.Narrow(-1, -2, 2), "[4 2]", "[[4, 5], [10, 11], [16, 17], [22, 23]]"},
		{x.Narrow(1, 2, 0), "[4 0]", "[[], [], [], []]"},
		{x.Select(0, 3), "[6]", "[18, 19, 20, 21, 22, 23]"},
		{x.Select(-1, 1), "[4]", "[1, 7, 13, 19]"},
		{x.Select(0, 2).Select(0, 5), "[]", "17"},
		{x.Select(0, 2).Select(0, 5).View(1, 1), "[1 1]", "[[17]]"},
		{x.Split(4, 1)[1], "[4 2]", "[[4, 5], [10, 11], [16, 17], [22, 23]]"},
		{x.Chunk(3, 0)[1], "[2 6]", "[[12, 13, 14, 15, 16, 17], [18, 19, 20, 21, 22, 23]]"},
		{x.Chunk(5, 1)[2], "[4 2]", "[[4, 5], [10, 11], [16, 17], [22, 23]]"},
	} {
		a := torch.Must(c.y.Numpy())
		if got := c.y.Shape().String(); got != c.shape || c.want != "" && a.String() != c.want || c.want == "" && a.Wrong(lists.Count(0, 24)) >= 0 {
			t.Errorf("got %s %v, want %s %s", got, a, c.shape, c.want)
		}
	}
	for _, c := range []struct{ got, want string }{
		{sizes(x.Split(4, 1)), "[4 4][4 2]"},
		{sizes(x.Split(9, 0)), "[4 6]"},
		{sizes(x.Chunk(3, 0)), "[2 6][2 6]"},
		{sizes(x.Chunk(4, -1)), "[4 2][4 2][4 2]"},
		{sizes(x.Chunk(math.MaxInt, 0)), "[1 6][1 6][1 6][1 6]"},
		{sizes(x.Narrow(0, 0, 0).Chunk(3, 0)), "[0 6][0 6][0 6]"},
		{sizes(x.Narrow(0, 0, 0).Split(2, 0)), "[0 6]"},
		{sizes(x.Narrow(0, 0, 0).Split(0, 0)), "[0 6]"},
		{x.Narrow(1, 2, 3).String(), "tensor([[2, 3, 4], [8, 9, 10], [14, 15, 16], [20, 21, 22]], dtype=i32, device=sip0)"},
		{fmt.Sprint(x.IsContiguous(), x.Narrow(0, 1, 2).IsContiguous(), x.Narrow(1, 0, 2).IsContiguous(), x.Select(1, 0).IsContiguous(), x.Narrow(0, 1, 1).Narrow(1, 0, 2).IsContiguous()), "true true false false true"},
		{fmt.Sprint(x.SharesMemory(x), x.SharesMemory(x.Narrow(0, 1, 1)), x.Narrow(0, 1, 2).SharesMemory(x.Narrow(0, 2, 2)), x.Narrow(0, 0, 2).SharesMemory(x.Narrow(0, 2, 2)), x.SharesMemory(l.MustZeros(torch.I32, nil, 1))), "true true true false false"},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

// TestAtCountsFromTheEnd checks that negative indices of At count from the end of an axis,
// on whichever PE the element is.
func TestAtCountsFromTheEnd(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	x := l.Ints(lists.Count(0, 15), torch.I32, torch.On(0, 1), 5, 3)
	for _, i := range [][2]int{{-1, -1}, {-5, 0}, {3, -2}, {-2, 1}} {
		if got, want := torch.Must(x.At(i[0], i[1])), float64((i[0]+5)%5*3+(i[1]+3)%3); got != want {
			t.Errorf("element %v is %v, want %v", i, got, want)
		}
	}
}

// TestShardsOfViews checks that the shard of a view on a PE consists of those elements of
// the view that are in the tensor's shard on the same PE. Such a shard may be empty. The
// expected texts list the shards as start+extent@offset.
func TestShardsOfViews(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	boxes := func(x *torch.Tensor) (text string) {
		for _, s := range x.Shards() {
			text += fmt.Sprintf("%v+%v@%d ", s.Start, s.Extent, s.Offset)
		}
		return text
	}
	rows := l.Ints(lists.Count(0, 24), torch.U8, torch.On(0, 1, 2, 3), 8, 3)
	cols := l.Ints(lists.Count(0, 24), torch.U8, torch.DPPolicy{PE: torch.ColumnWise, NumCubes: 1, NumPEs: 3}, 4, 6)
	for _, c := range []struct{ got, want string }{
		{boxes(rows.Narrow(0, 3, 4)), "[0 0]+[0 3]@0 [0 0]+[1 3]@0 [1 0]+[2 3]@3 [3 0]+[1 3]@9 "},
		{boxes(rows.Select(0, 4)), "[0]+[0]@0 [0]+[0]@0 [0]+[3]@0 [0]+[0]@0 "},
		{boxes(rows.Narrow(1, 1, 2)), "[0 0]+[2 2]@0 [2 0]+[2 2]@6 [4 0]+[2 2]@12 [6 0]+[2 2]@18 "},
		{boxes(rows.View(4, 2, 3)), "[0 0 0]+[1 2 3]@0 [1 0 0]+[1 2 3]@6 [2 0 0]+[1 2 3]@12 [3 0 0]+[1 2 3]@18 "},
		{boxes(rows.View(2, 12)), "[0 0]+[1 6]@0 [0 6]+[1 6]@6 [1 0]+[1 6]@12 [1 6]+[1 6]@18 "},
		{boxes(rows.View(24)), "[0]+[6]@0 [6]+[6]@6 [12]+[6]@12 [18]+[6]@18 "},
		{boxes(cols.Narrow(1, 1, 4)), "[0 0]+[4 1]@0 [0 1]+[4 2]@7 [0 3]+[4 1]@15 "},
		{boxes(cols.View(2, 2, 6)), "[0 0 0]+[2 2 2]@0 [0 0 2]+[2 2 2]@8 [0 0 4]+[2 2 2]@16 "},
		{boxes(cols.View(4, 3, 2)), "[0 0 0]+[4 1 2]@0 [0 1 0]+[4 1 2]@8 [0 2 0]+[4 1 2]@16 "},
		{boxes(cols.Narrow(0, 1, 1).View(6)), "[0]+[2]@0 [2]+[2]@8 [4]+[2]@16 "},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

// TestViewMisuse checks the errors for wrong shapes, axes and indices, and for views of
// freed tensors.
func TestViewMisuse(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	x := torch.Must(l.Zeros(torch.F32, torch.Shape{4, 6}, torch.Named("w")))
	rows := l.MustZeros(torch.F32, torch.On(0, 1, 2), 8)
	cols := l.MustZeros(torch.F32, torch.DPPolicy{PE: torch.ColumnWise, NumCubes: 1, NumPEs: 2}, 4, 6)
	gone := l.MustZeros(torch.F32, nil, 8)
	slice := gone.Narrow(0, 2, 3)
	torch.OK(gone.Free())
	for _, c := range []struct {
		f    func()
		want string
	}{
		{func() { x.View(5, 5) }, "torch: View: w (tensor 1) [4 6] f32 as [5 5], which has 25 elements, not 24"},
		{func() { x.View(5, -1) }, "torch: View: w (tensor 1) [4 6] f32 as [5 -1]: no extent for -1 makes 24 elements"},
		{func() { x.View(0, -1) }, "torch: View: w (tensor 1) [4 6] f32 as [0 -1]: no extent for -1 makes 24 elements"},
		{func() { x.View(-1, -1) }, "torch: View: w (tensor 1) [4 6] f32 as [-1 -1]: one extent may be -1, not several"},
		{func() { x.View(-2, -12) }, "torch: View: shape [-2 -12] has a negative extent"},
		{func() { x.View(1, 1, 1, 1, 1, 1, 1, 4, 6) }, "torch: View: shape [1 1 1 1 1 1 1 4 6] has 9 axes, and a tensor has at most 8: merge some of them"},
		{func() { rows.View(2, 4) }, "torch: View: tensor 2 [8] f32 as [2 4]: what PE 1 holds, [3:6], is no box of that shape: keep the axes that are cut, or place the tensor on one PE; if it is a slice, call Contiguous first"},
		{func() { cols.View(24) }, "torch: View: tensor 3 [4 6] f32 as [24]: what PE 0 holds, [0:4, 0:3], is no box of that shape: keep the axes that are cut, or place the tensor on one PE; if it is a slice, call Contiguous first"},
		{func() { x.Narrow(1, 0, 3).View(12) }, "torch: View: w (tensor 1)[:, 0:3] [4 3] f32 as [12]: what PE 0 holds, [0:4, 0:3], is no box of that shape: keep the axes that are cut, or place the tensor on one PE; if it is a slice, call Contiguous first"},
		{func() { x.Narrow(2, 0, 1) }, "torch: Narrow: no axis 2: w (tensor 1) [4 6] f32 has 2"},
		{func() { x.Narrow(-3, 0, 1) }, "torch: Narrow: no axis -3: w (tensor 1) [4 6] f32 has 2"},
		{func() { x.Narrow(0, 3, 2) }, "torch: Narrow: 2 elements from 3 on of axis 0 of w (tensor 1) [4 6] f32, which has 4"},
		{func() { x.Narrow(0, -5, 2) }, "torch: Narrow: 2 elements from -5 on of axis 0 of w (tensor 1) [4 6] f32, which has 4"},
		{func() { x.Narrow(0, 1, -1) }, "torch: Narrow: -1 elements from 1 on of axis 0 of w (tensor 1) [4 6] f32, which has 4"},
		{func() { x.Select(1, 6) }, "torch: Select: index 6 of axis 1 of w (tensor 1) [4 6] f32, which has 0 to 5"},
		{func() { x.Select(1, -7) }, "torch: Select: index -7 of axis 1 of w (tensor 1) [4 6] f32, which has 0 to 5"},
		{func() { x.Split(0, 1) }, "torch: Split: pieces of 0 elements of axis 1 of w (tensor 1) [4 6] f32, which has 6"},
		{func() { x.Chunk(0, 1) }, "torch: Chunk: 0 chunks of w (tensor 1) [4 6] f32: ask for at least 1"},
		{func() { x.Select(0, 1).Narrow(0, 2, 3).At(3) }, "torch: At: index [3] of w (tensor 1)[1][2:5] [3] f32: axis 0 has 0 to 2"},
		{func() { slice.Numpy() }, "torch: Numpy: tensor 4[2:5] [3] f32 is a view of tensor 4 [8] f32, which has been freed"},
		{func() { slice.Narrow(0, 0, 1) }, "torch: Narrow: tensor 4[2:5] [3] f32 is a view of tensor 4 [8] f32, which has been freed"},
		{func() { l.Launch("k", hostedtest.Nothing, slice) }, "torch: Launch: tensor 4[2:5] [3] f32 is a view of tensor 4 [8] f32, which has been freed"},
		{func() { l.Launch("k", hostedtest.Nothing, x.View(2, 2, 1, 2, 3).Narrow(1, 0, 1)) }, ""},
		{func() { l.Launch("k", hostedtest.Nothing, x.View(4, 1, 2, 1, 3).Narrow(2, 0, 1).View(2, 2, 1, 1, 3)) }, ""},
		{func() { l.Launch("k", hostedtest.Nothing, x.View(2, 2, 1, 2, 3).Narrow(1, 0, 1).View(2, 1, 1, 2, 3)) }, ""},
		{func() { l.Launch("k", hostedtest.Nothing, l.MustZeros(torch.F32, nil, 2, 3, 2, 1, 1).Narrow(1, 0, 2)) }, "torch: Launch: k: tensor 5[:, 0:2] [2 2 2 1 1] f32 is not contiguous, and its first 2 axes cannot be one axis of a pointer: give a View with fewer axes, or what Contiguous returns"},
	} {
		if err := hostedtest.Misuse(c.f); c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	hostedtest.Says(t, "free", x.Narrow(0, 0, 1).Free(), "w (tensor 1)[0:1] [1 6] f32 is a view: free w (tensor 1) [4 6] f32")
	y := x.View(24).Narrow(0, 3, 2)
	y.SetName("bias")
	hostedtest.Says(t, "free", y.Free(), "bias (w (tensor 1)[3:5]) [2] f32 is a view: free w (tensor 1) [4 6] f32")
}

// TestKernelsStayInViews checks that a kernel on a view is stopped if it accesses elements
// outside the view, even if they are elements of the tensor.
func TestKernelsStayInViews(t *testing.T) {
	read := func(rows, cols, row, col int) func(t *tl.PE, x tl.Ptr) {
		return func(t *tl.PE, x tl.Ptr) { t.Load(x.At(row, col), tl.Shape{rows, cols}, tl.F32) }
	}
	for _, c := range []struct {
		name   string
		kernel func(t *tl.PE, x tl.Ptr)
		want   string // the error, or "" if there is none
	}{
		{"all", read(4, 3, 0, 0), ""},
		{"a box", read(2, 2, 1, 1), ""},
		{"a row", func(t *tl.PE, x tl.Ptr) { t.Load(x.At(3), tl.Shape{3}, tl.F32) }, ""},
		{"a column", func(t *tl.PE, x tl.Ptr) { t.Load(x.At(0, 2).Strided(8), tl.Shape{4}, tl.F32) }, ""},
		{"part of a row in two", func(t *tl.PE, x tl.Ptr) { t.Load(x.At(1).Strided(1), tl.Shape{3, 1}, tl.F32) }, ""},
		{"one more column", read(4, 4, 0, 0), "elements 0 to 27 are not all in this PE's shard [0:4, 0:3] of tensor 1[:, 2:5] [4 3] f32, which has 12, with gaps between them: move the pointer"},
		{"beyond a row", read(1, 2, 1, 2), "elements 10 to 11 are not all in this PE's shard"},
		{"before a row", read(1, 2, 1, -1), "elements 7 to 8 are not all in this PE's shard"},
		{"in a gap", read(1, 1, 1, 4), "elements 12 to 12 are not all in this PE's shard"},
		{"as if it had no gaps", func(t *tl.PE, x tl.Ptr) { t.Load(x.Strided(1), tl.Shape{12}, tl.F32) }, "elements 0 to 11 are not all in this PE's shard"},
		{"one more row", read(5, 3, 0, 0), "elements 0 to 34 are not all in this PE's shard"},
	} {
		l := hostedtest.New(t, hostedtest.Options(t, 3))
		x := l.MustZeros(torch.F32, nil, 4, 8).Narrow(1, 2, 3)
		err := try(l, c.name, c.kernel, x)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// TestPutIntoViews checks Put with a slice as its window. If all shards have the same gaps,
// Put writes to the same position in the peer's shard. Otherwise Put is refused.
func TestPutIntoViews(t *testing.T) {
	put := func(t *tl.PE, x tl.Ptr) {
		row := tl.Shape{1, x.Dim(1)}
		t.Put(1-t.Rank(), x.At(1), t.Load(x, row, tl.I32))
	}
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	x := l.Ints(lists.Count(0, 24), torch.I32, torch.On(0, 1), 4, 6)
	l.MustLaunch("put", put, x.Narrow(1, 1, 4))
	l.Holds("x", x, []int{0, 1, 2, 3, 4, 5, 6, 13, 14, 15, 16, 11, 12, 13, 14, 15, 16, 17, 18, 1, 2, 3, 4, 23})
	y := l.Ints(lists.Count(0, 24), torch.I32, torch.DPPolicy{PE: torch.ColumnWise, NumCubes: 1, NumPEs: 2}, 4, 6)
	err := try(l, "put", put, y.Narrow(1, 1, 5))
	if err == nil || !strings.Contains(err.Error(), "elements 3 to 4 are not all in the shard of rank 1 of tensor 2[:, 1:6] [4 5] i32, which has 0") {
		t.Errorf("got %v", err)
	}
}

// TestCollectivesOnViews checks the values of collectives on slices of one tensor.
func TestCollectivesOnViews(t *testing.T) {
	const ranks, n = 3, 5
	for name, on := range map[string]func(r *torch.Rank, rank int) torch.Placement{
		"one PE": func(r *torch.Rank, rank int) torch.Placement { return torch.On(r.PE(rank, 0, 2)) },
		"rows": func(*torch.Rank, int) torch.Placement {
			return torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 4}
		},
		"copies": func(*torch.Rank, int) torch.Placement { return torch.DPPolicy{NumCubes: 1, NumPEs: 2} },
	} {
		l, err := hostedtest.Spawn(t, ranks, func(self *torch.Rank) error {
			rank := self.Rank()
			bucket := func(length int) *torch.Tensor {
				return torch.Must(self.FromSlice(lists.Count(100*rank, length), torch.I32, torch.Shape{length}, on(self, rank)))
			}
			// Reduce the middle of a bucket. The rest does not change.
			x := bucket(17)
			torch.OK(dist.AllReduce(self, x.Narrow(0, 4, 9), dist.SUM))
			want := lists.Count(100*rank, 17)
			for i := 4; i < 13; i++ {
				want[i] = 300 + 3*i
			}
			torch.OK(self.Check(name+": all_reduce", x, want))
			torch.OK(dist.Broadcast(self, x.Narrow(0, 0, 4), 2))
			copy(want, lists.Count(200, 4))
			torch.OK(self.Check(name+": broadcast", x, want))
			torch.OK(dist.Reduce(self, x.Narrow(0, 13, 4), 1, dist.MAX))
			if rank == 1 {
				copy(want[13:], lists.Count(213, 4))
			}
			torch.OK(self.Check(name+": reduce", x, want))

			// Gather into the chunks of one tensor.
			y := bucket(ranks * n)
			torch.OK(dist.AllGather(self, y.Chunk(ranks, 0), bucket(n)))
			all := slices.Concat(lists.Count(0, n), lists.Count(100, n), lists.Count(200, n))
			torch.OK(self.Check(name+": all_gather", y, all))
			// In place, as in NCCL: the input is the rank's own chunk of the output. Chunks
			// of different ranks are on different PEs, and some PEs hold more than others.
			z := bucket(ranks * n)
			torch.OK(dist.AllGatherIntoTensor(self, z, z.Chunk(ranks, 0)[rank]))
			for r := range ranks {
				copy(all[r*n:], lists.Count(100*r+r*n, n))
			}
			torch.OK(self.Check(name+": all_gather_into_tensor", z, all))
			u := bucket(ranks * 8)
			torch.OK(dist.ReduceScatterTensor(self, u.Chunk(ranks, 0)[rank], u, dist.SUM))
			want = lists.Count(100*rank, ranks*8)
			for i := rank * 8; i < rank*8+8; i++ {
				want[i] = 300 + 3*i
			}
			torch.OK(self.Check(name+": reduce_scatter_tensor", u, want))
			v := bucket(n + 2)
			torch.OK(dist.ReduceScatter(self, v.Narrow(0, 1, n), bucket(ranks*n).Chunk(ranks, 0), dist.SUM))
			want = lists.Count(100*rank, n+2)
			for i := range n {
				want[1+i] = 300 + 3*(rank*n+i)
			}
			torch.OK(self.Check(name+": reduce_scatter", v, want))
			to := bucket(ranks * n)
			torch.OK(dist.AllToAll(self, to.Chunk(ranks, 0), bucket(ranks*n).Chunk(ranks, 0)))
			for r := range ranks {
				copy(all[r*n:], lists.Count(100*r+rank*n, n))
			}
			torch.OK(self.Check(name+": all_to_all", to, all))
			return nil
		})
		if err != nil || !l.Checks().OK() {
			t.Errorf("%s: error %v, checks %+v", name, err, l.Checks())
		}
	}
}

// TestProducerOfChunks checks that the pieces of a producer (dist.Making) may be chunks of
// one tensor. Pieces that overlap must be refused.
func TestProducerOfChunks(t *testing.T) {
	l, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		x := torch.Must(r.Zeros(torch.I32, torch.Shape{7, 3}))
		pieces := x.Chunk(3, 0)
		torch.OK(dist.AllReduceMaking(r, dist.Making{Name: "fill", Room: 1024, Make: func(t *tl.PE, pe, piece int) func() bool {
			made := false
			return func() bool {
				if made {
					return false
				}
				rows := pieces[piece].Shape()[0]
				to := pieces[piece].Copies(0, 0, rows, 3)[0].Ptr
				t.Store(to, t.Full(tl.Shape{rows, 3}, tl.I32, float64(10*piece+r.Rank())))
				made = true
				return true
			}
		}}, pieces, dist.SUM))
		overlap := hostedtest.Misuse(func() {
			dist.AllReduceMaking(r, dist.Making{Name: "fill", Make: func(*tl.PE, int, int) func() bool { return nil }}, []*torch.Tensor{pieces[0], x.Narrow(0, 2, 2)}, dist.SUM)
		})
		hostedtest.Says(t, "overlap", overlap, fmt.Sprintf("torch: Making: fill: tensor %d[0:3] [3 3] i32 is two pieces: make each a tensor of its own", r.Rank()+1))
		return r.Check("", x, slices.Concat(hostedtest.Fill(1, 9), hostedtest.Fill(21, 9), hostedtest.Fill(41, 3)))
	})
	if err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestMessagesOnViews checks the values of a halo exchange, in which every rank sends and
// receives slices of one tensor. Before Wait, a row that no message writes can be read. A
// read of the whole tensor must be refused.
func TestMessagesOnViews(t *testing.T) {
	l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		rank := r.Rank()
		x := torch.Must(r.FromSlice(lists.Count(100*rank, 6*5), torch.I32, torch.Shape{6, 5}))
		next, last := (rank+1)%3, (rank+2)%3
		works := torch.Must(dist.BatchISendIRecv(r, []dist.P2POp{
			{Kind: dist.Sends, Tensor: x.Narrow(0, 4, 1), Peer: next, Tag: 1},
			{Kind: dist.Recvs, Tensor: x.Narrow(0, 0, 1), Peer: last, Tag: 1},
			{Kind: dist.Sends, Tensor: x.Narrow(0, 1, 1), Peer: last, Tag: 2},
			{Kind: dist.Recvs, Tensor: x.Narrow(0, 5, 1), Peer: next, Tag: 2},
		}))
		if _, err := x.Narrow(0, 2, 1).Numpy(); err != nil { // no message writes this row
			return err
		}
		_, err := x.Numpy()
		hostedtest.Says(t, "rows", err, fmt.Sprintf("Numpy of tensor %d [6 5] i32: message from rank %d to rank %d with tag 1, which writes it, has not been waited for: call Wait of its Work first", rank+1, last, rank))
		for _, w := range works {
			torch.OK(w.Wait())
		}
		want := lists.Count(100*rank, 30)
		copy(want, lists.Count(100*last+20, 5))
		copy(want[25:], lists.Count(100*next+5, 5))
		return r.Check("halo", x, want)
	})
	if err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestMessagesOnRowsOfPEs checks messages that carry rows between devices: from the last PE
// of one device to the first PE of the next, and from one PE to two PEs.
func TestMessagesOnRowsOfPEs(t *testing.T) {
	l, err := hostedtest.Spawn(t, 3, func(r *torch.Rank) error {
		rank := r.Rank()
		x := torch.Must(r.FromSlice(lists.Count(100*rank, 8*5), torch.I32, torch.Shape{8, 5}, torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 3}))
		next, last := (rank+1)%3, (rank+2)%3
		for _, w := range torch.Must(dist.BatchISendIRecv(r, []dist.P2POp{
			{Kind: dist.Sends, Tensor: x.Narrow(0, 6, 1), Peer: next},
			{Kind: dist.Recvs, Tensor: x.Narrow(0, 0, 1), Peer: last},
		})) {
			torch.OK(w.Wait())
		}
		// The sender has the two rows on one PE, the receiver on two PEs.
		torch.OK(errors.Join(dist.Send(r, x.Narrow(0, 3, 2), next, 1), dist.Recv(r, x.Narrow(0, 5, 2), last, 1)))
		want := lists.Count(100*rank, 40)
		copy(want, lists.Count(100*last+30, 5))
		copy(want[25:], lists.Count(100*last+15, 10))
		return r.Check("rows", x, want)
	})
	if err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestMessagesOnOneViewDepend checks a deadlock: two ranks first receive into a slice and
// then send an overlapping slice. The send waits for the receive, as it would with the
// whole tensor, so that the ranks wait for each other.
func TestMessagesOnOneViewDepend(t *testing.T) {
	_, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		x := torch.Must(r.Zeros(torch.I32, torch.Shape{8}))
		return errors.Join(dist.Recv(r, x.Narrow(0, 0, 4), 1-r.Rank(), 0), dist.Send(r, x.Narrow(0, 3, 4), 1-r.Rank(), 0), r.Synchronize())
	})
	hostedtest.Blames(t, err, []int{0, 1}, "the ranks wait for each other", "the ranks wait for each other")
}

// TestOrderThroughViews checks that reads of a tensor and launches on it wait for
// operations that write a view of it, and that reads of a view wait for operations that
// write the tensor. Reads of another part of the tensor do not wait.
func TestOrderThroughViews(t *testing.T) {
	o := hostedtest.Options(t, 3)
	o.Race = true
	l := hostedtest.New(t, o)
	x := l.Ints(lists.Count(0, 12), torch.F32, torch.On(0), 12)
	slow := func(t *tl.PE, x tl.Ptr, v float64) {
		for range 100 {
			t.Full(tl.Shape{64, 64}, tl.F32, 0)
		}
		t.Store(x, t.Full(tl.Shape{x.Dim(0)}, tl.F32, v))
	}
	double := func(t *tl.PE, x tl.Ptr) {
		n := tl.Shape{x.Dim(0)}
		t.Store(x, t.Load(x, n, tl.F32).Mul(2))
	}
	k := torch.Must(l.Launch("slow", slow, x.Narrow(0, 2, 4), 50.0))
	l.Holds("another part", x.Narrow(0, 6, 6), lists.Count(6, 6))
	if early := l.Now(); early >= k.Start()+k.Crit() {
		t.Errorf("a read of another part, until %v, waits for the launch", early)
	}
	l.Holds("the tensor", x, []int{0, 1, 50, 50, 50, 50, 6, 7, 8, 9, 10, 11})
	if end := k.Start() + k.Crit(); l.Now() < end {
		t.Errorf("read at %v, before the end of the launch at %v", l.Now(), end)
	}
	torch.Must(l.Launch("slow", slow, x.Narrow(0, 0, 3), 7.0))
	torch.Must(l.Launch("double", double, x))
	torch.Must(l.Launch("slow", slow, x.Narrow(0, 10, 2), 3.0))
	torch.Must(l.Launch("double", double, x.Narrow(0, 9, 2)))
	l.Holds("a view", x.View(3, 4), []int{14, 14, 14, 100, 100, 100, 12, 14, 16, 36, 6, 3})
	if races := torch.Must(l.Races()); len(races) > 0 {
		t.Errorf("races %v", races)
	}
}

// TestAsyncWorkOnViews checks that Numpy fails before Wait has been called if it would read
// elements that an asynchronous collective writes. This holds for the tensor and for its
// views.
func TestAsyncWorkOnViews(t *testing.T) {
	l, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		rank := r.Rank()
		x := torch.Must(r.FromSlice(lists.Count(rank, 12), torch.I32, torch.Shape{12}))
		a := torch.Must(dist.AllReduceAsync(r, x.Narrow(0, 0, 4), dist.SUM))
		b := torch.Must(dist.AllReduceAsync(r, x.Narrow(0, 4, 4), dist.SUM))
		refused := func(y *torch.Tensor, what, by string) {
			_, err := y.Numpy()
			hostedtest.Says(t, "async", err, fmt.Sprintf("Numpy of tensor %d%s i32: %s of the default group, which writes it, has not been waited for: call Wait of its Work first", rank+1, what, by))
		}
		refused(x, " [12]", "all_reduce 1")
		refused(x.View(3, 4), " [3 4]", "all_reduce 1")
		refused(x.Narrow(0, 3, 1), "[3:4] [1]", "all_reduce 1")
		refused(x.Narrow(0, 7, 5), "[7:12] [5]", "all_reduce 2")
		torch.OK(r.Check("the rest", x.Narrow(0, 8, 4), lists.Count(rank+8, 4)))
		torch.OK(a.Wait())
		torch.OK(r.Check("the first", x.Narrow(0, 0, 4), []int{1, 3, 5, 7}))
		refused(x, " [12]", "all_reduce 2")
		torch.OK(b.Wait())
		return r.Check("all", x, slices.Concat([]int{1, 3, 5, 7, 9, 11, 13, 15}, lists.Count(rank+8, 4)))
	})
	if err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestLaunchesAfterWorkOnViews checks that a launch on a tensor runs after an earlier
// asynchronous collective on a slice of the tensor, and that a later collective on another
// slice runs after the launch.
func TestLaunchesAfterWorkOnViews(t *testing.T) {
	o := hostedtest.Options(t, 3)
	o.Race = true
	l := hostedtest.New(t, o)
	err := l.Spawn(func(r *torch.Rank) error {
		rank := r.Rank()
		torch.OK(dist.InitProcessGroup(r, "ahbm"))
		g := torch.Must(dist.NewGroup(r, []int{0, 1}))
		x := torch.Must(r.FromSlice(lists.Count(rank, 8), torch.I32, torch.Shape{8}))
		if rank == 2 { // keeps an operation in flight all the time
			torch.Must(r.Launch("long", func(t *tl.PE, x tl.Ptr) {
				for range 1000 {
					t.Full(tl.Shape{64, 64}, tl.F32, 0)
				}
			}, x))
			return nil
		}
		addTen := func(t *tl.PE, x tl.Ptr, n int) { t.Store(x, t.Load(x, tl.Shape{n}, tl.I32).Add(10)) }
		other := torch.PEs(r.PE(rank, 0, 1)) // a PE that does not hold x
		a := torch.Must(dist.AllReduceAsync(r, x.Narrow(0, 0, 4), dist.SUM, g))
		torch.Must(r.Launch("tens", addTen, x, 8, other))
		b := torch.Must(dist.AllReduceAsync(r, x.Narrow(0, 2, 4), dist.SUM, g))
		torch.Must(r.Launch("tens", addTen, x.Narrow(0, 5, 2), 2, other))
		torch.OK(errors.Join(a.Wait(), b.Wait()))
		return r.Check("x", x, []int{11, 13, 30, 34, 29, 41, 26 + rank, 17 + rank})
	}, 3)
	if err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
	if races := torch.Must(l.Races()); len(races) > 0 {
		t.Errorf("races %v", races)
	}
}

// TestRowOfColumnsIsNotOnePiece checks that a collective refuses one row of a tensor that
// is divided by columns. The parts of the row are on several PEs, with parts of other rows
// between them.
func TestRowOfColumnsIsNotOnePiece(t *testing.T) {
	_, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		x := torch.Must(r.FromSlice(lists.Count(0, 24), torch.I32, torch.Shape{4, 6}, torch.DPPolicy{PE: torch.ColumnWise, NumCubes: 1, NumPEs: 2}))
		return dist.AllGatherIntoTensor(r, torch.Must(r.Zeros(torch.I32, torch.Shape{12})), x.Narrow(0, 1, 1))
	})
	hostedtest.Says(t, "one row", err, "ranks 0, 1: all_gather 1 of the default group: rank 0: a part of tensor 1[1:2] [1 6] i32 does not lie in one piece: cut it by columns, or by rows without copies, or give it to one PE, and cut all tensors of a collective alike")
}

// TestCollectivesNeedContiguousTensors checks that collectives and messages refuse slices
// with gaps and accept the results of Contiguous for these slices.
func TestCollectivesNeedContiguousTensors(t *testing.T) {
	l, err := hostedtest.Spawn(t, 2, func(r *torch.Rank) error {
		rank := r.Rank()
		x := torch.Must(r.FromSlice(lists.Count(10*rank, 12), torch.I32, torch.Shape{3, 4}))
		cols := x.Narrow(1, 1, 2)
		torch.OK(r.Synchronize()) // so that both ranks have made their tensors
		name := fmt.Sprintf("tensor %d[:, 1:3] [3 2] i32 is not contiguous: give the tensor that Contiguous returns", rank+1)
		for what, f := range map[string]func(){
			"all_reduce": func() { dist.AllReduce(r, cols, dist.SUM) },
			"broadcast":  func() { dist.Broadcast(r, cols, 0) },
			"all_gather": func() { dist.AllGather(r, []*torch.Tensor{cols, x.Narrow(1, 0, 1)}, x) },
			"Send":       func() { dist.Send(r, cols, 1-rank, 0) },
			"Recv":       func() { dist.Recv(r, cols, 1-rank, 0) },
		} {
			hostedtest.Says(t, what, hostedtest.Misuse(f), "torch: "+what+": "+name)
		}
		if y := torch.Must(x.Contiguous()); y != x {
			t.Error("Contiguous of a contiguous tensor is another")
		}
		y := torch.Must(cols.Contiguous())
		torch.OK(dist.AllReduce(r, y, dist.SUM))
		torch.OK(r.Check("sum", y, []int{12, 14, 20, 22, 28, 30}))
		torch.OK(cols.CopyFrom(y))
		want := lists.Count(10*rank, 12)
		want[1], want[2], want[5], want[6], want[9], want[10] = 12, 14, 20, 22, 28, 30
		return errors.Join(r.Check("copied back", x, want), y.Free())
	})
	if err != nil || !l.Checks().OK() {
		t.Errorf("error %v, checks %+v", err, l.Checks())
	}
}

// TestViewsOfPartialTensors checks that a read of a view of a partial tensor returns the
// sum of the addends. While the tensor is partial, an all-reduce of some of its elements
// must be refused. An all-reduce of all elements must turn the addends of all views into
// copies.
func TestViewsOfPartialTensors(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	torch.OK(dist.InitProcessGroup(l.Rank, "ahbm"))
	x := l.Ints(lists.Count(0, 10), torch.F32, torch.DPPolicy{SIP: torch.Partial, Cube: torch.Partial, PE: torch.Partial})
	l.MustLaunch("own", func(t *tl.PE, x tl.Ptr) {
		t.Store(x, t.Load(x, tl.Shape{10}, tl.F32).Add(float64(t.Rank())))
	}, x)
	part, rows := x.Narrow(0, 2, 3), x.View(2, 5)
	n := 24 * 23 / 2
	l.Holds("part", part, []int{n + 2, n + 3, n + 4})
	hostedtest.Says(t, "part", hostedtest.Misuse(func() { dist.AllReduce(l.Rank, part, dist.SUM) }),
		"torch: all_reduce: tensor 1[2:5] [3] f32 is a part of a partial tensor, whose other elements would still have addends: reduce tensor 1 [10] f32")
	torch.OK(dist.AllReduce(l.Rank, rows, dist.SUM))
	torch.OK(errors.Join(l.Check("x", x, lists.Count(n, 10)), l.Check("part", part, lists.Count(n+2, 3)), l.Check("rows", rows, lists.Count(n, 10))))
	if !l.Checks().OK() || l.Checks()[0].Elems != 24*10 {
		t.Errorf("checks %+v", l.Checks())
	}
	torch.OK(dist.AllReduce(l.Rank, part, dist.SUM)) // sums 24 copies
	l.Holds("x", x.Narrow(0, 1, 5), []int{n + 1, 24 * (n + 2), 24 * (n + 3), 24 * (n + 4), n + 5})
}

// TestViewsWithoutValues checks that operations on views take the same time with values and
// without.
func TestViewsWithoutValues(t *testing.T) {
	var took [2]torch.Time
	for i, off := range []bool{false, true} {
		o := hostedtest.Options(t, 2)
		o.NoData = off
		l := hostedtest.New(t, o)
		torch.OK(l.Spawn(func(r *torch.Rank) error {
			torch.OK(dist.InitProcessGroup(r, "ahbm"))
			x := torch.Must(r.FromSlice(lists.Count(0, 60), torch.I32, torch.Shape{6, 10}, torch.DPPolicy{PE: torch.RowWise, NumCubes: 1, NumPEs: 2}))
			cols := x.Narrow(1, 2, 5)
			torch.OK(cols.CopyFrom(lists.Count(0, 30)))
			torch.Must(r.Launch("tens", addTen, cols, 2))
			y := torch.Must(cols.Contiguous())
			torch.OK(dist.AllReduce(r, y, dist.SUM))
			torch.OK(errors.Join(cols.CopyFrom(y), dist.AllReduce(r, x.Narrow(0, 1, 4), dist.SUM), r.Synchronize()))
			took[i] = max(took[i], r.Now())
			if _, err := cols.Numpy(); off && !strings.HasSuffix(err.Error(), "[:, 2:7] [6 5] i32 has no values: this run was made without data") {
				t.Errorf("a read: %v", err)
			}
			return nil
		}, 2))
	}
	if took[0] != took[1] || took[1] == 0 {
		t.Errorf("%v with values, %v without", took[0], took[1])
	}
}

// TestCloneTakesTime checks that Clone of a slice with gaps takes as long as a kernel that
// copies the rows of the slice.
func TestCloneTakesTime(t *testing.T) {
	var took [2]torch.Time
	for i, f := range []func(l *hostedtest.Lab, x *torch.Tensor){
		func(l *hostedtest.Lab, x *torch.Tensor) { torch.Must(x.Clone()) },
		func(l *hostedtest.Lab, x *torch.Tensor) {
			y := l.MustZeros(torch.F32, torch.On(0, 1), 64, 50)
			torch.Must(l.Launch("copy", func(t *tl.PE, y, x tl.Ptr) { t.Store(y, t.Load(x, tl.Shape{32, 50}, tl.F32)) }, y, x))
		},
	} {
		l := hostedtest.New(t, hostedtest.Options(t, 3))
		x := l.MustZeros(torch.F32, torch.On(0, 1), 64, 100)
		f(l, x.Narrow(1, 10, 50))
		torch.OK(l.Synchronize())
		took[i] = l.Now()
	}
	if took[0] != took[1] || took[0] == 0 {
		t.Errorf("a clone of columns takes %d fs, a kernel that copies them %d", took[0], took[1])
	}
}

// TestEmptyViewsShareNoMemory checks that a view without elements shares no memory with its
// tensor, wherever in the tensor the view starts.
func TestEmptyViewsShareNoMemory(t *testing.T) {
	l := hostedtest.New(t, hostedtest.Options(t, 3))
	x := l.Ints(lists.Count(0, 21), torch.F32, torch.On(0, 1, 2), 7, 3)
	for name, empty := range map[string]*torch.Tensor{"rows": x.Narrow(0, 4, 0), "columns": x.Narrow(1, 1, 0), "of rows": x.Narrow(0, 1, 5).Narrow(0, 2, 0)} {
		if empty.SharesMemory(x) || x.SharesMemory(empty) {
			t.Errorf("no %s share memory with the tensor", name)
		}
	}
	if !x.SharesMemory(x.Narrow(0, 6, 1)) || x.Narrow(0, 0, 3).SharesMemory(x.Narrow(0, 3, 4)) {
		t.Error("rows share memory with others, or not with the tensor")
	}
}
