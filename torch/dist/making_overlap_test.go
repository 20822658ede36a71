package dist_test

import (
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// Where making and reducing take about as long, doing both at once takes little more than
// one of them.
func TestMakingOverlaps(t *testing.T) {
	const ranks, pieces, n = 4, 8, 16384
	took := func(run func(r *torch.Rank, list []*torch.Tensor, make func(t *tl.PE, pe, piece int) func() bool) error) (total torch.Time) {
		_, err := hostedtest.Spawn(t, ranks, func(r *torch.Rank) error {
			var list []*torch.Tensor
			for range pieces {
				list = append(list, torch.Must(r.Zeros(torch.F32, torch.Shape{n})))
			}
			torch.OK(dist.Barrier(r))
			torch.OK(r.Synchronize())
			began := r.Now()
			err := run(r, list, func(t *tl.PE, pe, piece int) func() bool {
				at, to := 0, list[piece].Pieces(0, 0, 1, n, pe)[0].Ptr
				a, b := t.Zeros(tl.Shape{32, 64}, tl.F16).Pin(), t.Zeros(tl.Shape{64, 32}, tl.F16).Pin()
				return func() bool {
					if at == n {
						return false
					}
					v := a.Dot(b)
					for range 3 {
						v = a.Dot(b, v)
					}
					t.Store(to.At(0, at), v.Reshape(1, 1024))
					at += 1024
					return true
				}
			})
			torch.OK(err)
			torch.OK(r.Synchronize())
			total = max(total, r.Now()-began)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return total
	}
	makeAll := func(r *torch.Rank, list []*torch.Tensor, begin func(t *tl.PE, pe, piece int) func() bool) {
		pe := r.PE(list[0].Shards()[0].SIP, 0, 0)
		torch.Must(r.Launch("make", func(t *tl.PE) {
			for piece := range list {
				for next := begin(t, pe, piece); next(); {
				}
			}
		}, torch.PEs(pe), torch.Using(list...)))
	}
	making := took(func(r *torch.Rank, list []*torch.Tensor, begin func(t *tl.PE, pe, piece int) func() bool) error {
		makeAll(r, list, begin)
		return nil
	})
	reducing := took(func(r *torch.Rank, list []*torch.Tensor, _ func(t *tl.PE, pe, piece int) func() bool) error {
		for _, x := range list {
			torch.OK(dist.AllReduce(r, x, dist.SUM))
		}
		return nil
	})
	apart := took(func(r *torch.Rank, list []*torch.Tensor, begin func(t *tl.PE, pe, piece int) func() bool) error {
		makeAll(r, list, begin)
		for _, x := range list {
			torch.OK(dist.AllReduce(r, x, dist.SUM))
		}
		return nil
	})
	beside := took(func(r *torch.Rank, list []*torch.Tensor, begin func(t *tl.PE, pe, piece int) func() bool) error {
		return dist.AllReduceMaking(r, dist.Making{Name: "make", Make: begin, Room: 128 << 10}, list, dist.SUM)
	})
	t.Logf("making %v, reducing %v, one after the other %v, beside each other %v: %.2f", making, reducing, apart, beside, float64(beside)/float64(apart))
	if ratio := making.NS() / reducing.NS(); ratio < 0.6 || ratio > 1.6 {
		t.Errorf("making takes %v and reducing %v: choose another case", making, reducing)
	}
	if beside < max(making, reducing)/2 || beside > apart*3/4 {
		t.Errorf("beside each other it takes %v, want at most three quarters of %v", beside, apart)
	}
}
