package torch

import (
	"fmt"
	"slices"
)

// NewSubgroups divides the world into groups of consecutive ranks, size in each, and returns
// the caller's group and all groups. The size has to divide the world. All ranks call it.
func (d *Distributed) NewSubgroups(size int, opts ...GroupOption) (own *Group, all []*Group, err error) {
	world, err := d.group("NewSubgroups", nil)
	if err != nil {
		return nil, nil, err
	}
	n := len(world.shared.ranks)
	refuse(size < 1 || n%size != 0, "NewSubgroups", "groups of %d in a world of %d ranks: the size has to divide the world", size, n)
	return d.subgroups("NewSubgroups", nil, slices.Collect(slices.Chunk(count(0, n), size)), opts)
}

// NewSubgroupsByEnumeration makes a group of each list of ranks of the world, and returns
// the caller's group, nil if it is in none, and all groups. No rank is in two of them. All
// ranks call it. Where a collective takes a group, nil is the default group.
func (d *Distributed) NewSubgroupsByEnumeration(lists [][]int, opts ...GroupOption) (own *Group, all []*Group, err error) {
	return d.subgroups("NewSubgroupsByEnumeration", nil, lists, opts)
}

// SplitGroup makes a group of each list of ranks of the parent, by their ranks in the
// parent, which nil is the default group for. It returns the caller's group, nil if it is in
// none. No rank is in two of them. The members of the parent call it, and no other rank. The
// groups have the options of the parent where no option changes them.
func (d *Distributed) SplitGroup(parent *Group, lists [][]int, opts ...GroupOption) (*Group, error) {
	g, err := d.group("SplitGroup", []*Group{parent})
	if err != nil {
		return nil, err
	}
	if g.rank < 0 {
		return nil, fmt.Errorf("SplitGroup: rank %d is not in %s: call it on these alone", d.c.current.rank, g.described())
	}
	if g == d.c.current.groups[0] {
		parent = nil // its groups are those of the world
	}
	own, _, err := d.subgroups("SplitGroup", parent, lists, opts)
	return own, err
}

// subgroups makes groups of ranks of the default group, or of a parent.
func (d *Distributed) subgroups(op string, parent *Group, lists [][]int, opts []GroupOption) (own *Group, all []*Group, err error) {
	refuse(len(lists) == 0, op, "no groups: give a list of ranks for each")
	in := map[int]int{}
	for i, ranks := range lists {
		for _, rank := range ranks {
			j, known := in[rank]
			refuse(known && j != i, op, "rank %d is in lists %d and %d, %v and %v: a rank is in one group", rank, j, i, lists[j], ranks)
			in[rank] = i
		}
	}
	for _, ranks := range lists {
		g, err := d.subgroup(op, parent, ranks, opts)
		if err != nil {
			return nil, all, err
		}
		if all = append(all, g); g.rank >= 0 && own == nil {
			own = g
		}
	}
	return own, all, nil
}

// GetProcessGroupRanks returns the ranks of the world that are in a group, by their rank in
// it.
func (d *Distributed) GetProcessGroupRanks(group ...*Group) []int {
	return d.must("GetProcessGroupRanks", group).Ranks()
}

// GetGroupRank returns the rank in a group of a rank of the world.
func (d *Distributed) GetGroupRank(group *Group, rank int) int {
	g := d.must("GetGroupRank", []*Group{group})
	i := slices.Index(g.shared.ranks, rank)
	refuse(i < 0, "GetGroupRank", "rank %d is not in %v", rank, g)
	return i
}

// GetGlobalRank returns the rank of the world of a rank of a group.
func (d *Distributed) GetGlobalRank(group *Group, rank int) int {
	g := d.must("GetGlobalRank", []*Group{group})
	refuse(rank < 0 || rank >= len(g.shared.ranks), "GetGlobalRank", "no rank %d in %v: it has 0 to %d", rank, g, len(g.shared.ranks)-1)
	return g.shared.ranks[rank]
}
