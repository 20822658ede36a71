package tp

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

// TestRanksHaveTheSameBits checks that all ranks have the same bits after a row-parallel
// layer, with every collective algorithm, whether the reduction overlaps with the product
// or follows it.
func TestRanksHaveTheSameBits(t *testing.T) {
	const rows, in, out = 12, 24, 20
	x, w, bias := gaussian(rows*in, 1, 1), gaussian(in*out, 1, 2), gaussian(out, 1, 3)
	for _, a := range ccl.Algorithms(ccl.AllReduce) {
		for _, ranks := range []int{3, 4} {
			r := newSystem(t, ranks)
			results := map[int][][]byte{} // by pieces
			err := r.Spawn(func(r *torch.Rank) error {
				torch.OK(dist.InitProcessGroup(r, "ahbm", dist.Algorithm(a.Name)))
				torch.OK(InitializeModelParallel(r, ranks, 1, 1, 1, ""))
				for _, overlap := range []int{1, 3} {
					profile := torch.Must(r.Profile())
					l := torch.Must(NewRowParallelLinear(r, "fc2", in, out, Options{InputIsParallel: true, Bias: true, Overlap: overlap}))
					torch.OK(l.Load(w, bias))
					mine := torch.Must(r.FromSlice(boxElements(x, in, 0, r.Rank()*in/ranks, rows, in/ranks), torch.F16, torch.Shape{rows, in / ranks}, Spread))
					y, _, err := l.Forward(mine)
					torch.OK(err)
					results[overlap] = append(results[overlap], torch.Must(y.Numpy()).Bytes)
					phases := torch.Must(profile.Stop())
					if !slices.ContainsFunc(phases, func(p torch.Phase) bool { return p.Algorithm == a.Name }) {
						return fmt.Errorf("overlap %d: reduced by another algorithm: %+v", overlap, phases)
					}
				}
				return nil
			}, ranks)
			if err != nil {
				t.Errorf("%s on %d ranks: %v", a.Name, ranks, err)
			}
			for overlap, list := range results {
				for _, b := range list {
					if len(list) != ranks || !bytes.Equal(b, list[0]) {
						t.Errorf("%s on %d ranks, overlap %d: %d results, one of which is\n%x, another\n%x", a.Name, ranks, overlap, len(list), b, list[0])
					}
				}
			}
		}
	}
}
