package ccl

import "testing"

// TestCheckNeighbors checks that CheckNeighbors reports wrong lists of neighbours before
// they cause a deadlock.
func TestCheckNeighbors(t *testing.T) {
	ring := func(p *Plan, rank int) []Neighbor { // a ring of 5 ranks; the neighbour to the east first
		return []Neighbor{{Rank: (rank + 1) % 5, Inbox: 1}, {Rank: (rank + 4) % 5, Inbox: 0}}
	}
	for _, tt := range []struct {
		name    string
		change  func(rank int, list []Neighbor) []Neighbor
		inboxes bool
		want    string
	}{
		{"right", func(rank int, list []Neighbor) []Neighbor { return list }, true, ""},
		{"a rank too many", func(rank int, list []Neighbor) []Neighbor { list[0].Rank = rank + 1; return list }, false,
			"algorithm a: Neighbors of rank 4 names rank 5: ranks are 0 to 4"},
		{"a rank too few", func(rank int, list []Neighbor) []Neighbor { list[1].Rank = rank - 1; return list }, false,
			"algorithm a: Neighbors of rank 0 names rank -1: ranks are 0 to 4"},
		{"queues need no inbox", func(rank int, list []Neighbor) []Neighbor { list[0].Inbox = 0; return list }, false, ""},
		{"the inbox of another", func(rank int, list []Neighbor) []Neighbor { list[0].Inbox = 0; return list }, true,
			"algorithm a: Neighbors of rank 0 has Inbox 0 for its neighbour rank 1: write 1, the place of rank 0 in Neighbors of rank 1"},
		{"no such inbox", func(rank int, list []Neighbor) []Neighbor { list[1].Inbox = 2; return list }, true,
			"algorithm a: Neighbors of rank 0 has Inbox 2 for its neighbour rank 4: write 0, the place of rank 0 in Neighbors of rank 4"},
		{"one way", func(rank int, list []Neighbor) []Neighbor { return list[:1] }, true,
			"algorithm a: Neighbors of rank 0 names rank 1, whose Neighbors does not name rank 0"},
	} {
		a := &Algorithm{Name: "a", Neighbors: func(p *Plan, rank int) []Neighbor { return tt.change(rank, ring(p, rank)) }}
		err, got := a.CheckNeighbors(&Plan{Ranks: 5}, tt.inboxes), ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}
