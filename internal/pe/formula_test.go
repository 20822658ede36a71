package pe

import (
	"testing"

	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

// TestFormulasByHand checks the formulas against numbers computed by hand for the default
// PE: a MAC array of 16×16×16 that takes 8 cycles to fill, vectors of 64 elements, 512 GB/s
// in each direction, 1 GHz.
func TestFormulasByHand(t *testing.T) {
	spec, err := topology.Preset("default")
	if err != nil {
		t.Fatal(err)
	}
	pe := spec.PE
	for _, c := range []struct {
		what      string
		got, want simtime.Time
	}{
		{"the default tile, 2·4·2 blocks", GemmTime(pe.GEMM, 32, 64, 32), 24 * ns},
		{"one element", GemmTime(pe.GEMM, 1, 1, 1), 9 * ns},
		{"one more than a block each way", GemmTime(pe.GEMM, 17, 17, 17), 16 * ns},
		{"256×256×256", GemmTime(pe.GEMM, 256, 256, 256), (4096 + 8) * ns},
		{"nothing to multiply", GemmTime(pe.GEMM, 32, 0, 32), 0},
		{"64 additions", MathTime(pe.Math, pe.Math.Cycles.Simple, 64), ns},
		{"65 additions", MathTime(pe.Math, pe.Math.Cycles.Simple, 65), 2 * ns},
		{"65 exponentials", MathTime(pe.Math, pe.Math.Cycles.Exp, 65), 8 * ns},
		{"nothing to add", MathTime(pe.Math, pe.Math.Cycles.Simple, 0), 0},
		{"8 KiB in, 5 ns, 2 KiB out", CommandTime(pe, 8192, 5*ns, 2048), (16 + 5 + 4) * ns},
		{"nothing in, nothing out", CommandTime(pe, 0, 5*ns, 0), 5 * ns},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	// The slower of fetch/store unit and TCM port counts; each direction adds the overhead.
	pe.TCM.Overhead, pe.TCM.ReadBandwidth, pe.FetchStore.Bandwidth = 3*ns, 256*topology.GBps, 1024*topology.GBps
	if got, want := CommandTime(pe, 8192, 0, 2048), (3+32+3+4)*ns; got != want {
		t.Errorf("slow reads: %v, want %v", got, want)
	}
}

// TestCostsAreTheFormulas checks that Costs.Math equals MathTime with the cycles of each
// operation.
func TestCostsAreTheFormulas(t *testing.T) {
	spec, err := topology.Load(t.Context(), "default", "pe.math.cycles.simple=2", "pe.math.cycles.div=3", "pe.math.cycles.sqrt=5", "pe.math.cycles.exp=7")
	if err != nil {
		t.Fatal(err)
	}
	c := NewCosts(&spec.PE)
	cycles := map[numeric.Op]int{
		numeric.Div: 3, numeric.Sqrt: 5, numeric.Rsqrt: 8, numeric.Exp: 7, numeric.Log: 7, numeric.Sigmoid: 7, numeric.Tanh: 7,
		numeric.Clamp: 4, numeric.SoftmaxOp: 3*2 + 7 + 3,
	}
	for op := numeric.Add; op.Valid(); op++ {
		want := 2
		if n, ok := cycles[op]; ok {
			want = n
		}
		if got, want := c.Math(op, 1000), MathTime(spec.PE.Math, want, 1000); got != want {
			t.Errorf("%v: %v, want %v", op, got, want)
		}
	}
}
