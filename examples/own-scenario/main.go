// Command ownscenario is kernbench with an additional distributed scenario: a stencil over
// a line of numbers that is divided into pieces, one for each rank. Before a rank can
// compute, it needs the numbers next to its piece. Its neighbours put them into its window.
//
//	go run . run halo.yaml
//	go run . run halo.yaml --nranks 5 --rounds 100
//	go run . comm run halo.yaml --backend sim --check race
//
// Each rank is a process that runs this program: kernbench.Main starts the processes.
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

// halo computes the sum of each number and its two neighbours in the line, whose ends are
// connected. x has the n numbers of the rank, and space for one more number on either side.
//
// The two waits are sufficient. A rank reads the numbers from its neighbours only after
// their signals have arrived, and the next round begins after all ranks have ended this
// one.
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

// at returns the input at a place of the whole line, which consists of n numbers per rank.
func at(e scenario.Env, n, place int) float64 {
	place = (place + n*e.Ranks) % (n * e.Ranks)
	return float64(place%17 + e.Round)
}

// height sets the n numbers of a rank in its input. The input has one more place before
// these numbers, for a number of the left neighbour, and one more place after them, for a
// number of the right neighbour.
func height(e scenario.Env, out []float64) error {
	n := e.Int("n")
	for i := range n {
		out[1+i] = at(e, n, e.Rank*n+i)
	}
	return nil
}

// smooth sets the golden output of a rank.
func smooth(e scenario.Env, out []float64) error {
	n := e.Int("n")
	for i := range out {
		place := e.Rank*n + i
		out[i] = at(e, n, place-1) + at(e, n, place) + at(e, n, place+1)
	}
	return nil
}
