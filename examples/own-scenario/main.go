// Command ownscenario is kernbench with a distributed scenario of its own: a stencil
// over a line of numbers that is cut into pieces, one for each rank. Before it can
// compute, each rank needs the numbers beside its piece, which its neighbours put into
// its window.
//
//	go run . run halo.yaml
//	go run . run halo.yaml --nranks 5 --rounds 100
//	go run . comm run halo.yaml --backend sim --check race
//
// Ranks are this program again: kernbench.Main starts it once for each.
package main

import (
	"github.com/kernbench/kernbench"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/tl"
)

func main() {
	scenario.RegisterKernel("halo", halo)
	scenario.RegisterInput("height", height)
	scenario.RegisterGolden("smooth", smooth)
	kernbench.Main()
}

// halo replaces each number by the sum of itself and those beside it. x has n of them,
// and room for one more on either side; the line is closed to a ring.
//
// The neighbours write what nobody reads before their signals have come, and the next
// round begins when this one has ended everywhere: nothing else has to wait.
func halo(t *tl.PE, x, out tl.Ptr, n int) {
	const fromLeft, fromRight = 0, 1
	left := (t.Rank() + t.NumRanks() - 1) % t.NumRanks()
	right := (t.Rank() + 1) % t.NumRanks()

	t.Put(left, x.At(n+1), t.Load(x.At(1), tl.Shape{1}, tl.F32))
	t.Notify(left, fromRight, tl.Set, 1)
	t.Put(right, x.At(0), t.Load(x.At(n), tl.Shape{1}, tl.F32))
	t.Notify(right, fromLeft, tl.Set, 1)
	t.WaitSignal(fromLeft, tl.EQ, 1)
	t.WaitSignal(fromRight, tl.EQ, 1)

	shape := tl.Shape{n}
	sum := t.Load(x.At(0), shape, tl.F32).Add(t.Load(x.At(1), shape, tl.F32)).Add(t.Load(x.At(2), shape, tl.F32))
	t.Store(out, sum)
}

// at is the number at a place of the whole line, which has n of each rank.
func at(e scenario.Env, n, place int) float64 {
	place = (place + n*e.Ranks) % (n * e.Ranks)
	return float64(place%17 + e.Round)
}

// height is a rank's piece, between two places for its neighbours' numbers.
func height(e scenario.Env, out []float64) error {
	n := e.Int("n")
	for i := range n {
		out[1+i] = at(e, n, e.Rank*n+i)
	}
	return nil
}

// smooth is what must come out.
func smooth(e scenario.Env, out []float64) error {
	n := e.Int("n")
	for i := range out {
		place := e.Rank*n + i
		out[i] = at(e, n, place-1) + at(e, n, place) + at(e, n, place+1)
	}
	return nil
}
