package ccl

import (
	"fmt"
	"slices"
	"strings"
)

// Collective is what a group of ranks does together.
type Collective uint8

// The collectives, under the names of torch.distributed.
const (
	AllReduce     Collective = iota // everyone gets the reduction of all
	Reduce                          // the root does
	Broadcast                       // everyone gets what the root has
	AllGather                       // everyone gets everyone's block
	ReduceScatter                   // rank r gets the reduction of everyone's block r
	AllToAll                        // rank r gets everyone's block r
	Gather                          // the root gets everyone's block
	Scatter                         // rank r gets the root's block r
	SendRecv                        // some ranks have messages for others
	Barrier                         // nobody goes on before everyone is there
	numCollectives
)

var collectiveNames = [numCollectives]string{
	"all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all", "gather", "scatter", "sendrecv", "barrier",
}

// String returns the name: "all_reduce".
func (c Collective) String() string {
	if c >= numCollectives {
		return fmt.Sprintf("Collective(%d)", uint8(c))
	}
	return collectiveNames[c]
}

// Collectives returns all of them.
func Collectives() []Collective { return below(numCollectives) }

// below returns the values of an enumeration before one.
func below[T ~uint8](end T) (all []T) {
	for v := range end {
		all = append(all, v)
	}
	return all
}

// ParseCollective finds a collective by name, with or without underscores.
func ParseCollective(name string) (Collective, error) {
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "") }
	i := slices.IndexFunc(collectiveNames[:], func(known string) bool { return plain(known) == plain(name) })
	if i < 0 {
		return 0, fmt.Errorf("no collective %q: use one of %s", name, strings.Join(collectiveNames[:], ", "))
	}
	return Collective(i), nil
}

// Reduces reports whether the collective combines elements with a reduction.
func (c Collective) Reduces() bool { return c == AllReduce || c == Reduce || c == ReduceScatter }

// Rooted reports whether one rank is the root.
func (c Collective) Rooted() bool {
	return c == Reduce || c == Broadcast || c == Gather || c == Scatter
}
