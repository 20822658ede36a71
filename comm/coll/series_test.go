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

// tardy delays a rank at random, before it waits for others and between collectives,
// and has it skip the waits of a phase if there is one.
func tardy(seed uint64, mutant string) func(g *coll.Group) func() {
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

func randomProgram(seed uint64, n, jobs int) *program {
	r := rand.New(rand.NewPCG(seed, 0))
	return newProgram(func(_ string, n int) int { return r.IntN(n) }, n, jobs)
}

// TestBackToBack is many collectives with inputs that change, none of which waits for
// anything but what it needs.
func TestBackToBack(t *testing.T) {
	for _, backend := range backends {
		for i, n := range []int{2, 3, 3, 4} {
			t.Run(fmt.Sprintf("%s/%d/%d", backend, n, i), func(t *testing.T) {
				seed := uint64(100*i + n)
				commtest.Succeed(t, randomProgram(seed, n, 110).run(backend, tardy(seed, "")))
			})
		}
	}
}

// TestMutants leaves out each of the waits that collectives have for others: the checks
// of TestBackToBack must see it. Ranks are on shm, where the race detector, which would
// see it first, does not look.
func TestMutants(t *testing.T) {
	for _, mutant := range []string{coll.CallBefore, coll.Data, coll.Result, coll.SlotInUse, coll.OthersRead, coll.OthersWrite} {
		t.Run(mutant, func(t *testing.T) {
			const most = 500
			for seed := range uint64(most) {
				for _, err := range randomProgram(seed, 3, 120).run("shm", tardy(seed, mutant)) {
					if err == nil {
						continue
					}
					// Who does not wait for the call before reads a note that has not come.
					if mutant == coll.CallBefore && errors.Is(err, comm.ErrMismatch) || errors.As(err, new(wrong)) {
						return
					}
				}
			}
			t.Errorf("%d series without the wait %q: got right values, want wrong ones", most, mutant)
		})
	}
}

// TestLaggard has rank 2 still read the slots of an all_gather while rank 1 is steps
// into the gather that follows, which is none of rank 2's business.
func TestLaggard(t *testing.T) {
	const n = 3
	r := rand.New(rand.NewPCG(1, 1))
	jobs := func(kind coll.Kind, count int) *job {
		j := &job{kind: kind, dtype: numeric.F64, count: count}
		j.place(func(what string, _ int) int {
			if what == "in place" {
				return 1
			}
			return 0 // private
		}, n, 4096)
		j.fill(r, n)
		return j
	}
	p := program{n: n, o: coll.Options{SlotBytes: 64 * n}, room: 4096, jobs: []*job{jobs(coll.KindAllGather, 8), jobs(coll.KindGather, 64)}}
	for range 3 {
		commtest.Succeed(t, p.run("shm", func(g *coll.Group) func() {
			met := 0
			g.OnWait(func(phase string) bool {
				if phase == "entry" && g.Comm().Rank() == 2 {
					if met++; met == 2 { // it knows of rank 0, not yet of rank 1
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
