package dist_test

import (
	"testing"

	"github.com/kernbench/kernbench/internal/hosted/hostedtest"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestMakingOverlaps checks that computing and reducing at the same time takes little more
// time than computing by itself or reducing by itself. The sizes are chosen so that
// computing and reducing take about the same time.
func TestMakingOverlaps(t *testing.T) {
	const ranks, pieces, n = 4, 8, 16384
	measure := func(run func(r *torch.Rank, list []*torch.Tensor, make func(t *tl.PE, pe, piece int) func() bool) error) (total torch.Time) {
		_, err := hostedtest.Spawn(t, ranks, func(r *torch.Rank) error {
			var list []*torch.Tensor
			for range pieces {
				list = append(list, torch.Must(r.Zeros(torch.F32, torch.Shape{n})))
			}
			torch.OK(dist.Barrier(r))
			torch.OK(r.Synchronize())
			start := r.Now()
			err := run(r, list, func(t *tl.PE, pe, piece int) func() bool {
				at, to := 0, list[piece].Pieces(0, 0, 1, n, pe)[0].Ptr
				a, b := t.Zeros(tl.Shape{32, 64}, tl.F16).Pin(), t.Zeros(tl.Shape{64, 32}, tl.F16).Pin()
				return func() bool {
					if at == n {
						return false
					}
					v := a.Dot(b)
					for range 3 {
						before := v
						v = a.Dot(b, before)
						before.Free()
					}
					t.Store(to.At(0, at), v.Reshape(1, 1024))
					v.Free()
					at += 1024
					return true
				}
			})
			torch.OK(err)
			torch.OK(r.Synchronize())
			total = max(total, r.Now()-start)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return total
	}
	computeAll := func(r *torch.Rank, list []*torch.Tensor, begin func(t *tl.PE, pe, piece int) func() bool) {
		pe := r.PE(list[0].Shards()[0].SIP, 0, 0)
		torch.Must(r.Launch("make", func(t *tl.PE) {
			for piece := range list {
				for next := begin(t, pe, piece); next(); {
				}
			}
		}, torch.PEs(pe), torch.Using(list...)))
	}
	computing := measure(func(r *torch.Rank, list []*torch.Tensor, begin func(t *tl.PE, pe, piece int) func() bool) error {
		computeAll(r, list, begin)
		return nil
	})
	reducing := measure(func(r *torch.Rank, list []*torch.Tensor, _ func(t *tl.PE, pe, piece int) func() bool) error {
		for _, x := range list {
			torch.OK(dist.AllReduce(r, x, dist.SUM))
		}
		return nil
	})
	inTurn := measure(func(r *torch.Rank, list []*torch.Tensor, begin func(t *tl.PE, pe, piece int) func() bool) error {
		computeAll(r, list, begin)
		for _, x := range list {
			torch.OK(dist.AllReduce(r, x, dist.SUM))
		}
		return nil
	})
	overlapped := measure(func(r *torch.Rank, list []*torch.Tensor, begin func(t *tl.PE, pe, piece int) func() bool) error {
		return dist.AllReduceMaking(r, dist.Making{Name: "make", Make: begin, Room: 128 << 10}, list, dist.SUM)
	})
	t.Logf("computing %v, reducing %v, in turn %v, overlapped %v: %.2f", computing, reducing, inTurn, overlapped, float64(overlapped)/float64(inTurn))
	if ratio := computing.NS() / reducing.NS(); ratio < 0.6 || ratio > 1.6 {
		t.Errorf("computing takes %v and reducing %v: choose another case", computing, reducing)
	}
	if overlapped < max(computing, reducing)/2 || overlapped > inTurn*3/4 {
		t.Errorf("computing and reducing at once takes %v, want at most three quarters of %v", overlapped, inTurn)
	}
}
