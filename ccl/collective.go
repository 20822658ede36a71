package ccl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/printable"
)

// Collective is an operation that a group of ranks performs together.
type Collective uint8

// The collectives, with the names of torch.distributed.
const (
	AllReduce     Collective = iota // all ranks get the reduction of the data of all ranks
	Reduce                          // the root gets the reduction of the data of all ranks
	Broadcast                       // all ranks get the root's data
	AllGather                       // all ranks get the blocks of all ranks
	ReduceScatter                   // rank r gets the reduction of block r of all ranks
	AllToAll                        // rank r gets block r of all ranks
	Gather                          // the root gets the blocks of all ranks
	Scatter                         // rank r gets the root's block r
	SendRecv                        // some ranks send messages to other ranks
	Barrier                         // no rank continues before all ranks have arrived
	numCollectives
)

var collectiveNames = [numCollectives]string{
	"all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all", "gather", "scatter", "sendrecv", "barrier",
}

// String returns the name of the collective, such as "all_reduce".
func (c Collective) String() string { return printable.Name("Collective", c, collectiveNames[:]) }

// Collectives returns all collectives.
func Collectives() []Collective { return enumerate(numCollectives) }

// enumerate returns all values of an enumeration that are less than end.
func enumerate[T ~uint8](end T) (all []T) {
	for v := range end {
		all = append(all, v)
	}
	return all
}

// ParseCollective returns the collective with the given name. Underscores, hyphens and case
// are ignored.
func ParseCollective(name string) (Collective, error) {
	known, ok := config.Canonical(name, collectiveNames[:])
	if !ok {
		return 0, fmt.Errorf("no collective %q: use one of %s", name, strings.Join(collectiveNames[:], ", "))
	}
	return Collective(slices.Index(collectiveNames[:], known)), nil
}

// Reduces reports whether the collective combines elements with a reduction.
func (c Collective) Reduces() bool { return c == AllReduce || c == Reduce || c == ReduceScatter }

// Rooted reports whether the collective has a root, a rank with a role of its own.
func (c Collective) Rooted() bool {
	return c == Reduce || c == Broadcast || c == Gather || c == Scatter
}
