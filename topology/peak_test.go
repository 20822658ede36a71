package topology

import "testing"

// TestPeaks checks the peak rates of the engines and other numbers that are derived from a
// spec.
func TestPeaks(t *testing.T) {
	spec, err := Preset("default")
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := spec.PE.GEMM.Peak(); got != 8.192e12 || !ok {
		t.Errorf("GEMM peak %g %v, want 8.192e12", got, ok)
	}
	if got, ok := spec.PE.Math.Peak(); got != 64e9 || !ok {
		t.Errorf("MATH peak %g %v, want 64e9", got, ok)
	}
	if got := spec.PE.IPCQ.RingBytes(); got != 128*KiB {
		t.Errorf("rings of %v, want 128KiB", got)
	}
	if got := spec.PE.GEMM.Tile.String(); got != "32×64×32" {
		t.Errorf("tile %s", got)
	}
	free, err := Preset("alpha_beta")
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := free.PE.GEMM.Peak(); ok {
		t.Errorf("GEMM of alpha_beta has a peak, %g", got)
	}
	if _, ok := free.PE.Math.Peak(); ok {
		t.Error("MATH of alpha_beta has a peak")
	}
}
