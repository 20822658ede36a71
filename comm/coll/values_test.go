package coll_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/comm/coll"
	"github.com/kernbench/kernbench/comm/commtest"
)

// program is a sequence of collectives of one group.
type program struct {
	n           int
	o           coll.Options
	memoryBytes int // bytes for buffers in a window at each rank, and also in private memory
	jobs        []*job
}

// newProgram draws a program of n ranks that consists of the given number of jobs.
func newProgram(pick picker, n, jobs int) *program {
	p := &program{n: n, memoryBytes: max(32<<10, 1024*n)}
	if n > 8 {
		p.memoryBytes = 256 * n
	}
	p.o.Algorithm = coll.Algorithm(pick("algorithm", 3))
	p.o.SlotBytes = []int{64 * n, 64*n + 64, 1000 + 64*n, 0}[pick("slot", 4)]
	slot := p.o.SlotBytes
	if slot == 0 {
		slot = 64 << 10
	}
	for range jobs {
		p.jobs = append(p.jobs, newJob(pick, n, slot, p.memoryBytes))
	}
	return p
}

// run executes the program on a backend and returns the errors by rank. At each rank it
// first calls disturb, which may set up delays and returns the function pause. It calls
// pause before and after each collective.
func (p *program) run(backend string, disturb func(g *coll.Group) (pause func())) []error {
	return runGroup(backend, p.n, p.o, func(g *coll.Group) error {
		m, err := newMemory(g.Comm(), p.memoryBytes)
		if err != nil {
			return err
		}
		pause := disturb(g)
		for i, j := range p.jobs {
			if err := j.run(g, m, pause); err != nil {
				return fmt.Errorf("call %d: %w", i, err)
			}
		}
		return nil
	})
}

func noDelay(*coll.Group) func() { return func() {} }

// TestValues runs random collectives and checks that every result has the same bits as the
// operations of package numeric in the order of ranks.
func TestValues(t *testing.T) {
	for _, backend := range backends {
		t.Run(backend, rapid.MakeCheck(func(t *rapid.T) {
			pick := func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) }
			n := rapid.SampledFrom([]int{1, 2, 3, 4, 5, 8}).Draw(t, "ranks")
			commtest.Succeed(t, newProgram(pick, n, 1+pick("jobs", 4)).run(backend, noDelay))
		}))
	}
}

// TestManyRanks runs random collectives of 17 to 64 ranks, and checks their results in the
// same way as TestValues.
func TestManyRanks(t *testing.T) {
	for _, n := range []int{17, 33, 64} {
		for i, backend := range backends {
			t.Run(fmt.Sprintf("%s/%d", backend, n), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(n), uint64(i)))
				commtest.Succeed(t, newProgram(func(_ string, n int) int { return r.IntN(n) }, n, 6).run(backend, noDelay))
			})
		}
	}
}
