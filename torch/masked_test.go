package torch_test

import (
	"testing"

	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// TestStoreWithEmptyMask checks that a store with an empty mask writes nothing, even if the
// tile to store is not loaded yet.
func TestStoreWithEmptyMask(t *testing.T) {
	c, err := torch.New(t.Context(), torch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := c.Main()
	defer r.Close()
	x := torch.Must(r.FromSlice([]float32{1, 2, 3, 4}, torch.F32, torch.Shape{4}))
	if _, err := r.Launch("nothing", func(t *tl.PE, x tl.Ptr) {
		loaded := t.Load(x, tl.Shape{2}, tl.F32)
		t.Store(x.At(2), loaded, tl.Mask(0))
		t.Store(x.At(3), loaded, tl.Mask(1))
	}, x); err != nil {
		t.Fatal(err)
	}
	if err := r.Check("x", x, []float32{1, 2, 3, 1}); err != nil {
		t.Fatal(err)
	}
	if !r.Checks().OK() {
		t.Errorf("wrong values: %+v", r.Checks())
	}
}
