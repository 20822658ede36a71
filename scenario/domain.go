package scenario

import (
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/comm"
)

// ErrNotMember is the error of asking a domain for a rank that is no member.
var ErrNotMember = comm.ErrNotMember

// Domain is some of the ranks, as one of all ranks sees them.
type Domain struct {
	Name  string
	Ranks []int // its members, by their ranks in the domain
	Rank  int   // this rank's in the domain, -1 if it is no member
}

// at returns the domain as a rank sees it.
func (d Domain) at(rank int) Domain {
	d.Rank = slices.Index(d.Ranks, rank)
	return d
}

// Lookup is the rank in the domain of a rank of the run: an error if it is no member.
func (d Domain) Lookup(rank int) (int, error) {
	if i := slices.Index(d.Ranks, rank); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("rank %d: %w %s %v", rank, ErrNotMember, d.Name, d.Ranks)
}
