package tp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestGroupsAlongDimensions checks groupsAlong on the examples in the documentation of
// Megatron and of its generator of ranks.
func TestGroupsAlongDimensions(t *testing.T) {
	of24, of16 := sizes{"tp": 2, "dp": 3, "pp": 4}, sizes{"tp": 2, "dp": 2, "pp": 4}
	for _, c := range []struct {
		s    sizes
		dims string
		want string
	}{
		{of24, "dp", "[[0 2 4] [1 3 5] [6 8 10] [7 9 11] [12 14 16] [13 15 17] [18 20 22] [19 21 23]]"},
		{of24, "tp", "[[0 1] [2 3] [4 5] [6 7] [8 9] [10 11] [12 13] [14 15] [16 17] [18 19] [20 21] [22 23]]"},
		{of24, "pp", "[[0 6 12 18] [1 7 13 19] [2 8 14 20] [3 9 15 21] [4 10 16 22] [5 11 17 23]]"},
		{of24, "tp-pp", "[[0 1 6 7 12 13 18 19] [2 3 8 9 14 15 20 21] [4 5 10 11 16 17 22 23]]"},
		{of24, "tp-dp", "[[0 1 2 3 4 5] [6 7 8 9 10 11] [12 13 14 15 16 17] [18 19 20 21 22 23]]"},
		{of16, "tp", "[[0 1] [2 3] [4 5] [6 7] [8 9] [10 11] [12 13] [14 15]]"},
		{of16, "pp", "[[0 4 8 12] [1 5 9 13] [2 6 10 14] [3 7 11 15]]"},
		{of16, "dp", "[[0 2] [1 3] [4 6] [5 7] [8 10] [9 11] [12 14] [13 15]]"},
	} {
		if got := fmt.Sprint(groupsAlong(c.s, []string{"tp", "dp", "pp"}, c.dims)); got != c.want {
			t.Errorf("%v along %s:\ngot  %s\nwant %s", c.s, c.dims, got, c.want)
		}
	}
}

// drawSizes draws a random order of the dimensions and the size of each.
func drawSizes(t *rapid.T) (s sizes, order []string) {
	order = rapid.Permutation(strings.Split(defaultOrder, "-")).Draw(t, "order")
	s = sizes{}
	for _, d := range order {
		s[d] = rapid.IntRange(1, 3).Draw(t, d)
	}
	return s, order
}

// TestEveryRankIsInOneGroup checks that groupsAlong puts every rank in exactly one group. A
// group must be sorted, and its size must be the product of the sizes of its dimensions.
func TestEveryRankIsInOneGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, order := drawSizes(t)
		dims := order[:rapid.IntRange(1, len(order)).Draw(t, "dims")]
		world, size := 1, 1
		for _, d := range order {
			world *= s[d]
			if slices.Contains(dims, d) {
				size *= s[d]
			}
		}
		var all []int
		for _, ranks := range groupsAlong(s, order, strings.Join(dims, "-")) {
			if len(ranks) != size || !slices.IsSorted(ranks) {
				t.Errorf("group %v, want %d ranks in order", ranks, size)
			}
			all = append(all, ranks...)
		}
		slices.Sort(all)
		for i, rank := range all {
			if i != rank {
				t.Fatalf("rank %d is missing, or the rank before it occurs twice: %v", i, all)
			}
		}
		if len(all) != world {
			t.Errorf("%d ranks in groups, want %d", len(all), world)
		}
	})
}

// TestOrthogonalGroupsShareOneRank checks that a group along some dimensions and a group
// along the other dimensions have exactly one rank in common.
func TestOrthogonalGroupsShareOneRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, order := drawSizes(t)
		mixed := rapid.Permutation(order).Draw(t, "mixed")
		n := rapid.IntRange(1, len(order)-1).Draw(t, "cut")
		for _, a := range groupsAlong(s, order, strings.Join(mixed[:n], "-")) {
			for _, b := range groupsAlong(s, order, strings.Join(mixed[n:], "-")) {
				common := 0
				for _, rank := range a {
					if slices.Contains(b, rank) {
						common++
					}
				}
				if common != 1 {
					t.Fatalf("%v along %v and %v along %v have %d ranks in common, want 1", a, mixed[:n], b, mixed[n:], common)
				}
			}
		}
	})
}

// TestOrders checks which dimensions, and which errors, orderDims returns for an order.
func TestOrders(t *testing.T) {
	s := sizes{"tp": 2, "cp": 1, "ep": 1, "dp": 3, "pp": 1}
	for _, c := range []struct{ order, want string }{
		{"", "[tp cp ep dp pp] <nil>"},
		{"dp-tp", "[dp tp cp ep pp] <nil>"},
		{"pp-ep-tp-cp-dp", "[pp ep tp cp dp] <nil>"},
		{"PP-EP-TP-CP-DP", "[pp ep tp cp dp] <nil>"},
		{"Dp-tP", "[dp tp cp ep pp] <nil>"},
		{"TP-tp-DP", `[] order "TP-tp-DP" has tp twice: write it once`},
		{"tp-pp", `[] order "tp-pp" leaves out dp, which has 3 ranks: add it, as in "tp-pp-dp"`},
		{"tp-dp-tp", `[] order "tp-dp-tp" has tp twice: write it once`},
		{"tp-zp", `[] order "tp-zp": there is no dimension "zp": write some order of tp-cp-ep-dp-pp`},
	} {
		list, err := s.orderDims(c.order)
		if got := fmt.Sprint(list, err); got != c.want {
			t.Errorf("order %q:\ngot  %s\nwant %s", c.order, got, c.want)
		}
	}
}
