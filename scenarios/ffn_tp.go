package scenarios

import (
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/tl"
)

func init() {
	register("ffn_tp")
	scenario.RegisterKernel("ffn_tp", ffnTP)
	scenario.RegisterGolden("ffn_tp", ffnGolden)
}

// ffnRows is the rows of x that are multiplied at a time.
const ffnRows = 64

// ffnTP leaves the sum of everybody's x·w in everybody's out.
func ffnTP(t *tl.PE, x, w, partial, out tl.Ptr, m, k, n int) {
	ranks := upTo(t.NumRanks())
	weights := t.Load(w, tl.Shape{k, n}, tl.F32).Pin()
	for row := 0; row < m; row += ffnRows {
		rows := min(ffnRows, m-row)
		t.Store(partial.At(row), t.Load(x.At(row), tl.Shape{rows, k}, tl.F32).Dot(weights))
	}
	Barrier(t, ready)
	partial, out = partial.Strided(1), out.Strided(1) // rows one after the other
	blocks(m*n, func(at, elems int) {
		t.Store(out.At(at), sum(t, ranks, partial.At(at), elems))
	})
	Barrier(t, done)
}

// ffnGolden is that sum in closed form: x[i][l] = (k·i + l + a)/32 and w[l][j] =
// (n·l + j + b)/48 are linear in l, so that the sum over l of their product takes the
// sums of l and of l² alone.
func ffnGolden(e scenario.Env, out []float64) error {
	k, n := e.Int("k"), e.Int("n")
	kf, nf := float64(k), float64(n)
	sum1 := kf * (kf - 1) / 2
	sum2 := kf * (kf - 1) * (2*kf - 1) / 6
	for at := range out {
		i, j := float64(at/n), float64(at%n)
		for r := range e.Ranks {
			a := kf*i + 0.25*float64(r) + float64(e.Round)
			b := j + 0.5*float64(r+1)
			out[at] += (nf*sum2 + (b+nf*a)*sum1 + kf*a*b) / (32 * 48)
		}
	}
	return nil
}
