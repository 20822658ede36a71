package tp

import (
	"fmt"
	"slices"
	"strings"
)

// defaultOrder is what an empty order stands for, and every dimension of parallelism
// that there is: tensor, context, expert, data, pipeline.
const defaultOrder = "tp-cp-ep-dp-pp"

// sizes is the number of ranks along each dimension.
type sizes map[string]int

// ordered returns the dimensions that an order names, in upper or lower case, followed by
// those it leaves out, of which there is one rank each.
func (s sizes) ordered(order string) ([]string, error) {
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

// groups cuts the ranks of a world into groups along some dimensions, "tp-pp": ranks of a
// group differ in their places along these alone. Ranks count through the first dimension
// of the order fastest; groups are in the order of their first ranks.
func groups(s sizes, order []string, dims string) [][]int {
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
