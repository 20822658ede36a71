package torch

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/topology"
)

// algorithm returns the algorithm of a name if it does the collective, and else the usual
// one. For auto it returns the cheapest that fits, the same for all lanes. Room is the bytes
// of TCM that other work needs at the same time, and alone excludes inboxes.
func (c *Context) algorithm(name string, plan *ccl.Plan, lanes []lane, queues topology.IPCQ, room memory.Bytes, alone bool) (*ccl.Algorithm, error) {
	does := plan.Collective
	if name == ccl.Auto {
		return c.cheapest(plan, lanes, queues, room, alone)
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
	room        memory.Bytes
	alone       bool // no inboxes
	chunk       int
}

// cheapest returns the algorithm that costs least, or the usual one if no cost is known. It
// is an error if that does not fit either. Programs ask for the same again and again.
func (c *Context) cheapest(plan *ccl.Plan, lanes []lane, queues topology.IPCQ, room memory.Bytes, alone bool) (*ccl.Algorithm, error) {
	places := peNumbers(lanes[0].pes)
	key := choice{plan.Collective, plan.DType, fmt.Sprint(places), plan.Root, plan.Count(0), len(lanes), queues, room, alone, plan.Chunk}
	if a := c.choices[key]; a != nil && len(plan.Counts) == 1 {
		return a, nil
	}
	network := ccl.NewNetwork(c.Topology(), places, queues)
	network.Lanes, network.Beat, network.QueuesAlone, network.Room = len(lanes), c.m.Engine.Beat, alone, room
	a, _ := ccl.Pick(plan, network)
	if a == nil {
		usual, err := ccl.Find(ccl.Usual(plan.Collective), plan.Collective)
		if err != nil {
			return nil, err
		}
		if err := network.Fits(usual, plan); err != nil {
			return nil, fmt.Errorf("auto finds no algorithm for %v that fits: %w", plan.Collective, err)
		}
		a = usual
	}
	c.choices[key] = a
	return a, nil
}
