package scenario

import "fmt"

// Matrix is signals of which each rank has one for each rank that notifies it, so that the
// notices of different ranks do not add up in one counter. A kernel gets it as the argument
// matrix:NAME.
type Matrix struct {
	Name  string
	First int // the signal that is for notices of rank 0; those of other ranks follow
	Ranks int
}

// From returns the signal that is for notices of the rank source. Source notifies a peer with
// t.Notify(peer, m.From(t.Rank()), ...), and the peer waits with t.WaitSignal(m.From(source),
// ...). From panics if there is no such rank.
func (m Matrix) From(source int) int {
	if source < 0 || source >= m.Ranks {
		panic(fmt.Sprintf("matrix %s: no rank %d: it has a signal for each of the ranks 0 to %d", m.Name, source, m.Ranks-1))
	}
	return m.First + source
}
