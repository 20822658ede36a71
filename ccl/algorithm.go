package ccl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
)

// Algorithm is an implementation of a collective, or of several.
type Algorithm struct {
	Name        string // "ring"
	Summary     string // one line
	Collectives []Collective
	// Neighbors returns the ranks that a rank exchanges messages with, and over which ports. Each
	// neighbour names the rank in return.
	Neighbors func(p *Plan, rank int) []Neighbor
	// Inbox returns the most elements that a rank receives from one neighbour. Where there are
	// too few ports for queues, a rank needs memory for them. Without Inbox the algorithm uses
	// queues alone, and a group with too many neighbours is refused.
	Inbox func(p *Plan) int
	// Tiles is the number of tiles, each as large as a message, that the kernel needs room for in
	// TCM; 0 is topology.LeastTiles.
	Tiles int
	// Kernel runs the collective on one rank.
	Kernel func(t *tl.PE, a *Args)
	// Schedule describes the messages of the kernel, from which package ccl/cost computes its
	// time. An algorithm without a schedule may register a formula there. Auto never picks an
	// algorithm with neither.
	Schedule func(p *Plan) Schedule
}

// Neighbor is the other end of one of a rank's ports.
type Neighbor struct {
	Port     tl.Port
	Rank     int
	PeerPort tl.Port
	Inbox    int // the place of this rank among the neighbour's own Neighbors, counted from 0
}

// withInboxes returns the neighbours of a rank, with Inbox set. The function of returns those of
// each rank.
func withInboxes(rank int, of func(rank int) []Neighbor) []Neighbor {
	list := of(rank)
	for i := range list {
		n := &list[i]
		n.Inbox = slices.IndexFunc(of(n.Rank), func(back Neighbor) bool { return back.Rank == rank && back.Port == n.PeerPort })
	}
	return list
}

// Auto is the name by which a group asks for the algorithm that costs least.
const Auto = "auto"

var algorithms []*Algorithm

// Register adds an algorithm. It panics if the algorithm is not complete, or another
// has its name.
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

// builtin registers an algorithm whose kernel is a function of a member of a group of several
// ranks.
func builtin(a *Algorithm, run func(m *member)) *Algorithm {
	a.Kernel = func(t *tl.PE, args *Args) {
		m := &member{Args: args, Transport: *args.Connect(t, a.Neighbors, a.Inbox)}
		if !m.alone() {
			run(m)
		}
	}
	return Register(a)
}

// Algorithms returns all algorithms that do a collective, by name.
func Algorithms(c Collective) []*Algorithm {
	return slices.DeleteFunc(slices.Clone(algorithms), func(a *Algorithm) bool { return !a.Serves(c) })
}

// Names returns the names of all algorithms.
func Names() []string {
	return lists.Map(algorithms, func(a *Algorithm) string { return a.Name })
}

// Find returns the algorithm of a name that does a collective.
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

// Serves reports whether the algorithm does a collective.
func (a *Algorithm) Serves(c Collective) bool { return slices.Contains(a.Collectives, c) }

// Ports returns the most ports that a rank needs.
func (a *Algorithm) Ports(p *Plan) int {
	most := 0
	for rank := range p.Ranks {
		most = max(most, len(a.Neighbors(p, rank)))
	}
	return most
}

// CheckNeighbors returns an error if Neighbors names a rank that does not exist or, where
// messages go to inboxes, an inbox that is not for the rank.
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
