package ccl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
)

// Algorithm is an implementation of one or more collectives.
type Algorithm struct {
	Name        string // "ring"
	Summary     string // a description of one line
	Collectives []Collective
	// Neighbors returns the ranks that a rank exchanges messages with, and the port for
	// each of them. The relation is symmetric: each neighbour lists the rank, too.
	Neighbors func(p *Plan, rank int) []Neighbor
	// Inbox returns the maximum number of elements that a rank receives from one neighbour.
	// Where a PE has too few ports for queues, each rank allocates an inbox of this size
	// for each neighbour. If Inbox is nil, the algorithm uses only queues, and a group with
	// too many neighbours is refused.
	Inbox func(p *Plan) int
	// Tiles is the number of tiles, each as large as a message, that must fit in TCM for
	// the kernel; 0 means topology.LeastTiles.
	Tiles int
	// Divide returns a number of elements that follow each other in messages, such as a
	// block, and the number of messages that they need so that links stay busy. If the user
	// gives no message size, messages grow until there are no more than that (see
	// [Plan.Fit]). If Divide is nil, messages are as large as a slot.
	Divide func(p *Plan) (elems, messages int)
	// Kernel runs the collective on one rank.
	Kernel func(t *tl.PE, a *Args)
	// Schedule describes the messages of the kernel. Package ccl/cost computes the time of
	// the kernel from them. An algorithm without a schedule may register a formula in
	// ccl/cost. Auto never picks an algorithm that has neither.
	Schedule func(p *Plan) Schedule
}

// Neighbor is a port of a rank and the peer that it leads to.
type Neighbor struct {
	Port     tl.Port
	Rank     int // the peer
	PeerPort tl.Port
	Inbox    int // the index of this rank in the Neighbors of the peer
}

// withInboxes returns the neighbours of a rank and sets the field Inbox of each. Inbox is
// the index that the rank has in the neighbour's own list of neighbours. The function
// `neighbors` returns the neighbours of any rank, without Inbox.
func withInboxes(rank int, neighbors func(rank int) []Neighbor) []Neighbor {
	list := neighbors(rank)
	for i := range list {
		n := &list[i]
		n.Inbox = slices.IndexFunc(neighbors(n.Rank), func(back Neighbor) bool { return back.Rank == rank && back.Port == n.PeerPort })
	}
	return list
}

// Auto is the name that stands for the algorithm with the lowest cost.
const Auto = "auto"

var algorithms []*Algorithm

// Register adds an algorithm to the library and returns it. It panics if the algorithm is
// incomplete, or if its name is already registered.
func Register(a *Algorithm) *Algorithm {
	switch {
	case a.Name == "" || a.Summary == "" || len(a.Collectives) == 0 || a.Neighbors == nil || a.Kernel == nil:
		panic(fmt.Sprintf("ccl: algorithm %q is not complete: set Name, Summary, Collectives, Neighbors and Kernel", a.Name))
	case slices.ContainsFunc(algorithms, func(b *Algorithm) bool { return b.Name == a.Name }):
		panic(fmt.Sprintf("ccl: two algorithms are called %q", a.Name))
	}
	algorithms = append(algorithms, a)
	slices.SortFunc(algorithms, func(a, b *Algorithm) int { return strings.Compare(a.Name, b.Name) })
	return a
}

// builtin registers algorithm a with a kernel that calls `run`. The kernel itself handles
// groups of one rank, so it calls `run` only for groups of several ranks and for SendRecv.
func builtin(a *Algorithm, run func(m *member)) *Algorithm {
	a.Kernel = func(t *tl.PE, args *Args) {
		m := &member{Args: args, Transport: *args.Connect(t, a.Neighbors, a.Inbox)}
		if !m.runSingle() {
			run(m)
		}
	}
	return Register(a)
}

// Algorithms returns all algorithms that perform a collective, sorted by name.
func Algorithms(c Collective) []*Algorithm {
	return slices.DeleteFunc(slices.Clone(algorithms), func(a *Algorithm) bool { return !a.Serves(c) })
}

// Names returns the names of all registered algorithms.
func Names() []string {
	return lists.Map(algorithms, func(a *Algorithm) string { return a.Name })
}

// Find returns the algorithm with the given name. It returns an error if there is no such
// algorithm, or if the algorithm does not perform collective c.
func Find(name string, c Collective) (*Algorithm, error) {
	var served []string
	for _, a := range Algorithms(c) {
		if a.Name == name {
			return a, nil
		}
		served = append(served, a.Name)
	}
	if slices.Contains(Names(), name) {
		return nil, fmt.Errorf("algorithm %s does no %v: use one of %s", name, c, strings.Join(served, ", "))
	}
	return nil, fmt.Errorf("no algorithm %q: of %v there are %s", name, c, strings.Join(served, ", "))
}

// Serves reports whether the algorithm performs collective c.
func (a *Algorithm) Serves(c Collective) bool { return slices.Contains(a.Collectives, c) }

// Ports returns the maximum number of ports that any rank of the plan needs.
func (a *Algorithm) Ports(p *Plan) int {
	most := 0
	for rank := range p.Ranks {
		most = max(most, len(a.Neighbors(p, rank)))
	}
	return most
}

// CheckNeighbors returns an error if Neighbors lists a rank that does not exist. If
// `inboxes` is set, it also returns an error if a neighbour does not list the rank at the
// index that the field Inbox gives.
func (a *Algorithm) CheckNeighbors(p *Plan, inboxes bool) error {
	lists := make([][]Neighbor, p.Ranks)
	for rank := range lists {
		lists[rank] = a.Neighbors(p, rank)
		for _, n := range lists[rank] {
			if n.Rank < 0 || n.Rank >= p.Ranks {
				return fmt.Errorf("algorithm %s: Neighbors of rank %d names rank %d: ranks are 0 to %d", a.Name, rank, n.Rank, p.Ranks-1)
			}
		}
	}
	for rank := 0; inboxes && rank < p.Ranks; rank++ {
		for _, n := range lists[rank] {
			back := lists[n.Rank]
			if n.Inbox >= 0 && n.Inbox < len(back) && back[n.Inbox].Rank == rank {
				continue
			}
			place := slices.IndexFunc(back, func(b Neighbor) bool { return b.Rank == rank })
			if place < 0 {
				return fmt.Errorf("algorithm %s: Neighbors of rank %d names rank %d, whose Neighbors does not name rank %[2]d", a.Name, rank, n.Rank)
			}
			return fmt.Errorf("algorithm %s: Neighbors of rank %d has Inbox %d for its neighbour rank %d: write %d, the place of rank %[2]d in Neighbors of rank %[4]d", a.Name, rank, n.Inbox, n.Rank, place)
		}
	}
	return nil
}
