package torch

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/topology"
)

// algorithm is the one of a name if it does a collective, and else the usual one; or what
// costs least, which all lanes do, of those that do with queues alone if that is asked for.
func (c *Context) algorithm(name string, plan *ccl.Plan, lanes []lane, queues topology.IPCQ, alone bool) (*ccl.Algorithm, error) {
	does := plan.Collective
	if name == ccl.Auto {
		if a := c.cheapest(plan, lanes, queues, alone); a != nil {
			return a, nil
		}
		name = ccl.Usual(does)
	}
	if a, err := ccl.Find(name, does); err == nil || !slices.Contains(ccl.Names(), name) {
		return a, err // which says what there is
	}
	return ccl.Find(ccl.Usual(does), does)
}

// choice is what the cost of a collective depends on.
type choice struct {
	does        ccl.Collective
	dtype       DType
	pes         string
	root, count int
	lanes       int
	queues      topology.IPCQ
	alone       bool // no inboxes
	chunk       int
}

// cheapest is the algorithm that costs least. Programs ask for the same again and again.
func (c *Context) cheapest(plan *ccl.Plan, lanes []lane, queues topology.IPCQ, alone bool) *ccl.Algorithm {
	places := lanes[0].places()
	key := choice{plan.Collective, plan.DType, fmt.Sprint(places), plan.Root, plan.Counts[0], len(lanes), queues, alone, plan.Chunk}
	if a := c.choices[key]; a != nil && len(plan.Counts) == 1 {
		return a
	}
	network := ccl.NewNetwork(c.Topology(), places, queues)
	network.Lanes, network.Beat, network.QueuesAlone = len(lanes), c.m.Engine.Beat, alone
	a, _ := ccl.Pick(plan, network)
	if c.choices == nil {
		c.choices = map[choice]*ccl.Algorithm{}
	}
	c.choices[key] = a
	return a
}
