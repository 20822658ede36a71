package ccl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/printable"
)

// Collective is an operation that a group of ranks does together.
type Collective uint8

// The collectives, under the names of torch.distributed.
const (
	AllReduce     Collective = iota // all ranks get the reduction of all
	Reduce                          // the root gets it
	Broadcast                       // all ranks get the root's data
	AllGather                       // all ranks get the blocks of all
	ReduceScatter                   // rank r gets the reduction of block r of all
	AllToAll                        // rank r gets block r of all
	Gather                          // the root gets the blocks of all
	Scatter                         // rank r gets the root's block r
	SendRecv                        // some ranks have messages for others
	Barrier                         // no rank goes on before all have arrived
	numCollectives
)

var collectiveNames = [numCollectives]string{
	"all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all", "gather", "scatter", "sendrecv", "barrier",
}

// String returns the name: "all_reduce".
func (c Collective) String() string { return printable.Name("Collective", c, collectiveNames[:]) }

// Collectives returns all collectives.
func Collectives() []Collective { return below(numCollectives) }

// below returns the values of an enumeration before one.
func below[T ~uint8](end T) (all []T) {
	for v := range end {
		all = append(all, v)
	}
	return all
}

// ParseCollective returns the collective of a name, whatever its underscores, hyphens and case.
func ParseCollective(name string) (Collective, error) {
	known, ok := config.Canonical(name, collectiveNames[:])
	if !ok {
		return 0, fmt.Errorf("no collective %q: use one of %s", name, strings.Join(collectiveNames[:], ", "))
	}
	return Collective(slices.Index(collectiveNames[:], known)), nil
}

// Reduces reports whether the collective combines elements with a reduction.
func (c Collective) Reduces() bool { return c == AllReduce || c == Reduce || c == ReduceScatter }

// Rooted reports whether one rank is the root.
func (c Collective) Rooted() bool {
	return c == Reduce || c == Broadcast || c == Gather || c == Scatter
}
