package coll_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/coll"
	"github.com/kernbench/kernbench/comm/commtest"
)

// TestDomains checks the results of collectives in two groups. Only rank 1 is in the
// domains of both groups; it calls the collectives of both in a random order.
func TestDomains(t *testing.T) {
	const jobs = 40
	domains := [2][]int{{1, 0}, {1, 2}}
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			programs := [2]*program{randomProgram(1, 2, jobs), randomProgram(2, 2, jobs)}
			commtest.Succeed(t, runWorld(backend, 3, func(c *comm.Comm) error {
				var todo []func() error
				for i, members := range domains {
					if c.Rank() == 2-2*i {
						continue // not a member
					}
					p := programs[i]
					d, err := c.Domain(members...)
					if err != nil {
						return err
					}
					g, err := coll.New(d, p.o)
					if err != nil {
						return err
					}
					m, err := newMemory(d, p.memoryBytes)
					if err != nil {
						return err
					}
					next := 0
					for range p.jobs {
						todo = append(todo, func() error {
							next++
							if err := p.jobs[next-1].run(g, m, func() {}); err != nil {
								return fmt.Errorf("domain %d, call %d: %w", i, next-1, err)
							}
							return nil
						})
					}
				}
				r := rand.New(rand.NewPCG(3, 4)) // rank 1 mixes the calls of both domains
				r.Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
				for _, do := range todo {
					if err := do(); err != nil {
						return err
					}
				}
				return nil
			}))
		})
	}
}

// TestDomainMismatch checks the errors of two ranks that call a collective of a domain with
// different counts. The errors name the ranks by their numbers in the world, not in the
// domain.
func TestDomainMismatch(t *testing.T) {
	errs := runWorld("inproc", 3, func(c *comm.Comm) error {
		if c.Rank() == 1 {
			return nil
		}
		d, err := c.Domain(2, 0)
		if err != nil {
			return err
		}
		g, err := coll.New(d, coll.Options{})
		if err != nil {
			return err
		}
		x := make([]int32, 4+c.Rank())
		return coll.AllReduce(g, x, x, coll.Sum)
	})
	own := map[int]string{
		0: "rank 0: all_reduce, entry, rank 2: ranks do not agree: the count is 4 at rank 0 and 6 at rank 2",
		2: "rank 2: all_reduce, entry, rank 0: ranks do not agree: the count is 6 at rank 2 and 4 at rank 0",
	}
	for rank, want := range own {
		if err := commtest.Says(errs[rank], want, fmt.Sprintf("rank %d: all_reduce, entry, signal %d, rank %d: another rank has failed: %s", rank, 2+rank/2, 2-rank, own[2-rank])); err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}
