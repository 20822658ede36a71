package tp

import (
	"fmt"
	"slices"
	"strings"
)

// defaultOrder is the order that "" means. It lists all dimensions of parallelism: tensor,
// context, expert, data, pipeline.
const defaultOrder = "tp-cp-ep-dp-pp"

// sizes holds the number of ranks along each dimension.
type sizes map[string]int

// orderDims returns the dimensions that `order` lists, in lower case, followed by the
// dimensions that `order` leaves out. It returns an error if `order` has an unknown
// dimension, has a dimension twice, or leaves out a dimension whose size is not 1.
func (s sizes) orderDims(order string) ([]string, error) {
	known := strings.Split(defaultOrder, "-")
	if order == "" {
		return known, nil
	}
	list := strings.Split(strings.ToLower(order), "-")
	for i, d := range list {
		if !slices.Contains(known, d) {
			return nil, fmt.Errorf("order %q: there is no dimension %q: write some order of %s", order, d, defaultOrder)
		}
		if slices.Contains(list[:i], d) {
			return nil, fmt.Errorf("order %q has %s twice: write it once", order, d)
		}
	}
	for _, d := range known {
		if slices.Contains(list, d) {
			continue
		}
		if s[d] > 1 {
			return nil, fmt.Errorf("order %q leaves out %s, which has %d ranks: add it, as in %q", order, d, s[d], order+"-"+d)
		}
		list = append(list, d)
	}
	return list, nil
}

// groupsAlong divides the ranks of a world into groups along the dimensions dims, such as
// "tp-pp". The ranks of a group differ only in their coordinates along dims. The coordinate
// along the first dimension of `order` changes fastest with the rank number. Groups are
// sorted by their first ranks.
func groupsAlong(s sizes, order []string, dims string) [][]int {
	world, count := 1, 1
	along := strings.Split(dims, "-")
	for _, d := range order {
		world *= s[d]
		if !slices.Contains(along, d) {
			count *= s[d]
		}
	}
	list := make([][]int, count)
	for rank := range world {
		rest, at, stride := rank, 0, 1
		for _, d := range order {
			if !slices.Contains(along, d) {
				at += rest % s[d] * stride
				stride *= s[d]
			}
			rest /= s[d]
		}
		list[at] = append(list[at], rank)
	}
	return list
}
