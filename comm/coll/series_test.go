package coll_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/coll"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/numeric"
)

// delayAtRandom returns a function for the parameter disturb of program.run. Each rank
// calls that function with its group g. From then on the rank is delayed at random before
// each wait for other ranks. It skips its waits in the phase `mutant`; if mutant is "", it
// skips none. The call returns a second function, which delays the rank at random. The rank
// calls the second function between collectives.
func delayAtRandom(seed uint64, mutant string) func(g *coll.Group) func() {
	return func(g *coll.Group) func() {
		r := rand.New(rand.NewPCG(seed, uint64(g.Comm().Rank())))
		pause := func() {
			if r.IntN(4) > 0 {
				return
			}
			for range r.IntN(64) {
				runtime.Gosched()
			}
		}
		g.OnWait(func(phase string) bool {
			pause()
			return phase == mutant
		})
		return pause
	}
}

// randomProgram returns a random program of n ranks with the given number of jobs. Equal
// seeds give equal programs.
func randomProgram(seed uint64, n, jobs int) *program {
	r := rand.New(rand.NewPCG(seed, 0))
	return newProgram(func(_ string, n int) int { return r.IntN(n) }, n, jobs)
}

// TestBackToBack checks the results of many collectives that follow each other without
// barriers. Their inputs differ from one collective to the next.
func TestBackToBack(t *testing.T) {
	for _, backend := range backends {
		for i, n := range []int{2, 3, 3, 4} {
			t.Run(fmt.Sprintf("%s/%d/%d", backend, n, i), func(t *testing.T) {
				seed := uint64(100*i + n)
				commtest.Succeed(t, randomProgram(seed, n, 110).run(backend, delayAtRandom(seed, "")))
			})
		}
	}
}

// TestMutants removes the waits of one phase and checks that random programs like those of
// TestBackToBack then give wrong results. Without the wait for the previous call, a
// mismatch error counts, too. The test does this for each phase in which collectives wait.
// It uses shm, because the race detector does not check shared memory. With inproc the race
// detector would report the missing wait first.
func TestMutants(t *testing.T) {
	for _, mutant := range []string{coll.CallBefore, coll.Data, coll.Result, coll.SlotInUse, coll.OthersRead, coll.OthersWrite} {
		t.Run(mutant, func(t *testing.T) {
			const maxSeeds = 500
			for seed := range uint64(maxSeeds) {
				for _, err := range randomProgram(seed, 3, 120).run("shm", delayAtRandom(seed, mutant)) {
					if err == nil {
						continue
					}
					// Without a wait for the previous call, a rank reads a note too early.
					if mutant == coll.CallBefore && errors.Is(err, comm.ErrMismatch) || errors.As(err, new(wrongResult)) {
						return
					}
				}
			}
			t.Errorf("%d series without the wait %q: got right values, want wrong ones", maxSeeds, mutant)
		})
	}
}

// TestLaggard runs an all_gather and then a gather. It delays rank 2 in the all_gather, so
// that rank 1 enters the gather and gets several steps ahead. In the gather, rank 1 sends
// nothing to rank 2. The test checks that rank 1 does not overwrite the slots that rank 2 still
// reads.
func TestLaggard(t *testing.T) {
	const n = 3
	r := rand.New(rand.NewPCG(1, 1))
	newJob := func(kind coll.Kind, count int) *job {
		j := &job{kind: kind, dtype: numeric.F64, count: count}
		j.placeBuffers(func(what string, _ int) int {
			if what == "in place" {
				return 1
			}
			return 0 // private
		}, n, 4096)
		j.fillInputs(r, n)
		return j
	}
	p := program{n: n, o: coll.Options{SlotBytes: 64 * n}, memoryBytes: 4096, jobs: []*job{newJob(coll.KindAllGather, 8), newJob(coll.KindGather, 64)}}
	for range 3 {
		commtest.Succeed(t, p.run("shm", func(g *coll.Group) func() {
			entries := 0
			g.OnWait(func(phase string) bool {
				if phase == "entry" && g.Comm().Rank() == 2 {
					if entries++; entries == 2 { // rank 2 has checked the call with rank 0, and not yet with rank 1
						for range 2000 {
							runtime.Gosched()
						}
					}
				}
				return false
			})
			return func() {}
		}))
	}
}
