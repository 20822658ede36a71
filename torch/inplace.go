package torch

import (
	"fmt"

	"github.com/kernbench/kernbench/ccl"
)

// inPlace checks the memory that a rank both sends and receives into: of collectives on a
// block for each rank, that may be its own block and nothing else. An all-to-all copies what
// it sends first, but lanes do not wait for each other: blocks of different lanes, which only
// a group of one rank can have in common, are checked as others are.
func inPlace(c ccl.Collective, members []member, lanes []lane) error {
	blocks := c == ccl.AllGather || c == ccl.Gather || c == ccl.ReduceScatter || c == ccl.Scatter || c == ccl.AllToAll && len(members) == 1
	for i := range lanes[0].pes {
		if !blocks || !lanes[0].sharesStorage(i) {
			continue
		}
		for j := range lanes {
			for k := range lanes {
				for m, in := range lanes[j].in[i] {
					for n, out := range lanes[k].out[i] {
						own := m+n == i && in.va == out.va && in.elems == out.elems // one of them has one block
						if in.overlaps(out) && !(j == k && (own || c == ccl.AllToAll)) {
							return fmt.Errorf("rank %d sends %s and receives into %s, which share memory: they may do so where the block of the rank is, and nowhere else",
								members[i].rank, in.x.name, out.x.name)
						}
					}
				}
			}
		}
	}
	return nil
}

// sharesStorage reports whether a rank sends and receives into views of one tensor.
func (l *lane) sharesStorage(rank int) bool {
	for _, in := range l.in[rank] {
		for _, out := range l.out[rank] {
			if in.x.storage == out.x.storage {
				return true
			}
		}
	}
	return false
}
